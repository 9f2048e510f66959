// The emulation of stream capture (CUDA graphs). In a capture every launch is recorded with where its operands and results lie,
// and a replay does the same on the same memory. What CUDA refuses in a capture is refused.
//
// Results of a capture must have sizes, so kernels do run in it. When it ends all that they have written is undone: memory of
// before is as it was, and memory that was taken meanwhile is full of NaN.
#pragma once
#include <functional>

#include "memory.h"

namespace gtd {

class Capture {
 public:
  explicit Capture(int64_t device) : device_(device) {}
  ~Capture();
  void begin(const std::vector<at::Generator>& generators);
  void end(bool keep);
  void replay();
  void drop();

  // Refuses what the capturing stream cannot do, and with it the whole capture.
  [[noreturn]] void refuse(const std::string& what);
  // A launch that reads and writes the given tensors of the device, done by run. It must not be on another device.
  void add(std::function<void()> run, const std::vector<at::Tensor>& touched);
  // Says that t is going to be written to, in a kernel that is about to run.
  void writes(const at::Tensor& t);
  // Random numbers come from g, which the capture must know.
  void draws(const at::Generator& g);

 private:
  struct Range {
    const void* at;
    size_t bytes;
  };
  static Range range_of(const at::Tensor& t);
  Arena& memory() const { return arena(device_); }

  int64_t device_;
  std::vector<std::pair<std::function<void()>, std::vector<Range>>> launches_;
  std::vector<std::pair<Range, std::string>> before_;  // memory that was written to, and what it had
  std::vector<std::pair<at::Generator, at::Tensor>> generators_;  // with their states before
  std::string refused_;
  bool open_ = false, ready_ = false;
};

// Ends what cannot be in a capture, if the calling thread is part of one.
inline void outside_captures(const std::string& what) {
  if (auto* c = capture()) c->refuse(what);
}

}  // namespace gtd
