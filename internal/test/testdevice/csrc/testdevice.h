// The C face of the emulated accelerator. The functions are found by name once the library is loaded.
#pragma once
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#define GTD_DEVICES 2

// What one device has counted. Copies within a device and between devices are launches, too, and so is the replay of a graph;
// launches in a capture are counted apart. Of the writes, those are blocking that wait until the device has the data.
enum gtd_counter { GTD_LAUNCHES, GTD_READS, GTD_WRITES, GTD_BLOCKING, GTD_COPIES, GTD_CAPTURED, GTD_REPLAYS, GTD_ALLOCATIONS, GTD_LIVE_BYTES, GTD_COUNTERS };

void gtd_counts(int32_t device, int64_t* out);
// Begins (or ends) a list of what the devices do; gtd_events returns it, a line an event, and the caller frees it.
void gtd_log(int32_t on);
char* gtd_events(void);

// Deliberate mistakes, which tests make. gtd_touch reads the first element of a tensor as if it were in memory of the host,
// and gtd_alias returns an at::Tensor over a tensor's memory that does not keep it alive.
float gtd_touch(void* tensor);
void* gtd_alias(void* tensor);
// n float32 elements that nothing has been written to.
void* gtd_fresh(int32_t device, int64_t n);

#ifdef __cplusplus
}
#endif
