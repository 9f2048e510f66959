#pragma once
#include "csrc/testdevice.h"

const char* bridge_load(const char* name);
void bridge_counts(int32_t device, int64_t* out);
void bridge_log(int32_t on);
char* bridge_events(void);
float bridge_touch(void* tensor);
void* bridge_alias(void* tensor);
void* bridge_fresh(int32_t device, int64_t n);
