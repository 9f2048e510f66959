// Memory of the emulated devices.
//
// Each device has two ranges of addresses of the same size: its memory, which no one may ever read or write, and a shadow of
// it. A tensor's data pointer lies in the first, so that any access by the host is a fault, in whatever thread and also while
// a kernel runs. Kernels work on the same offsets of the shadow. Fresh memory is full of NaN, as a GPU's is full of garbage,
// and freed memory is overwritten and refused.
#pragma once
#include <torch/torch.h>

#include <sys/mman.h>

#include <atomic>
#include <deque>
#include <map>
#include <mutex>

#include "testdevice.h"

namespace gtd {

constexpr auto kType = c10::DeviceType::PrivateUse1;

class Capture;  // capture.h
// The capture that the calling thread is part of: the thread that began it, and the threads on which libtorch differentiates for
// that one. nullptr for none.
Capture* capture();

struct Arena {
  static constexpr size_t kSize = size_t{1} << 36, kGrain = 512;
  char* base = reserve(PROT_NONE);
  char* shadow = reserve(PROT_READ | PROT_WRITE);
  std::atomic<int64_t> counts[GTD_COUNTERS] = {};

  bool has(const void* p) const { return p >= base && p < base + kSize; }

  void* take(size_t n) {
    const size_t size = (n + kGrain - 1) / kGrain * kGrain;
    std::lock_guard<std::mutex> hold(mutex_);
    size_t at;
    auto& idle = idle_[size];
    if (idle.size() > kRest) {
      at = idle.front();
      idle.pop_front();
    } else {
      at = top_;
      TORCH_CHECK(at + size + kGrain <= kSize, "test device: out of memory");
      top_ += size + kGrain;  // a gap between neighbours
    }
    live_[at] = {size, capture(), false};
    counts[GTD_ALLOCATIONS]++;
    counts[GTD_LIVE_BYTES] += static_cast<int64_t>(size);
    std::memset(shadow + at, 0xff, size);  // NaN
    return base + at;
  }

  void give(void* p) {
    std::lock_guard<std::mutex> hold(mutex_);
    const auto at = static_cast<size_t>(static_cast<char*>(p) - base);
    Block& block = live_.at(at);
    const size_t size = block.size;
    counts[GTD_LIVE_BYTES] -= static_cast<int64_t>(size);
    std::memset(shadow + at, 0xff, size);
    if (block.owner != nullptr) {
      block.freed = true;
      return;
    }
    live_.erase(at);
    idle_[size].push_back(at);
  }

  // Whether p lies in memory that a capture has taken.
  bool owned(const void* p, const Capture* by) {
    const auto at = static_cast<size_t>(static_cast<const char*>(p) - base);
    std::lock_guard<std::mutex> hold(mutex_);
    auto block = live_.upper_bound(at);
    return block != live_.begin() && std::prev(block)->second.owner == by;
  }
  // Overwrites the memory that a capture has taken.
  void forget(const Capture* of) {
    std::lock_guard<std::mutex> hold(mutex_);
    for (auto& [at, block] : live_)
      if (block.owner == of) std::memset(shadow + at, 0xff, block.size);
  }
  // What a capture has taken is memory like any other again, and what has been freed of it can be given to others.
  void disown(const Capture* of) {
    std::lock_guard<std::mutex> hold(mutex_);
    for (auto i = live_.begin(); i != live_.end();) {
      auto& [at, block] = *i;
      if (block.owner != of) {
        ++i;
        continue;
      }
      block.owner = nullptr;
      if (!block.freed) {
        ++i;
        continue;
      }
      idle_[block.size].push_back(at);
      i = live_.erase(i);
    }
  }

  // Where kernels find n bytes at p, which must lie within one allocation that has not been freed, or that the replayed capture
  // by has taken.
  char* shadow_of(const void* p, size_t n, const Capture* by = nullptr) {
    const auto at = static_cast<size_t>(static_cast<const char*>(p) - base);
    std::lock_guard<std::mutex> hold(mutex_);
    auto next = live_.upper_bound(at);
    const bool within = next != live_.begin() && at + n <= std::prev(next)->first + std::prev(next)->second.size;
    TORCH_CHECK(within && (!std::prev(next)->second.freed || std::prev(next)->second.owner == by),
                "test device: a stale pointer: memory at ", p, " has been freed, or is not the tensor's");
    return shadow + at;
  }

 private:
  static constexpr size_t kRest = 8;  // freed blocks of a size that rest before they are used again
  static char* reserve(int protection) {
    void* p = mmap(nullptr, kSize, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    TORCH_CHECK(p != MAP_FAILED, "test device: no addresses are left");
    return static_cast<char*>(p);
  }
  std::mutex mutex_;
  size_t top_ = kGrain;
  std::map<size_t, std::deque<size_t>> idle_;  // by size
  struct Block {
    size_t size;
    const Capture* owner;  // memory that a capture takes stays its own, also where it is freed
    bool freed;
  };
  std::map<size_t, Block> live_;  // by offset
};

inline Arena& arena(int64_t device) {
  static auto* arenas = new Arena[GTD_DEVICES];
  TORCH_CHECK(device >= 0 && device < GTD_DEVICES, "test device: there is no device ", device);
  return arenas[device];
}

// The calling thread's device, as CUDA has one.
inline thread_local c10::DeviceIndex current = 0;

inline c10::Device device_at(int64_t index) { return c10::Device(kType, static_cast<c10::DeviceIndex>(index)); }

#if TORCH_VERSION_MAJOR >= 2
#define GTD_CONST
template <class T>
using opt = std::optional<T>;
#else
#define GTD_CONST const
template <class T>
using opt = c10::optional<T>;
#endif

struct Allocator final : c10::Allocator {
  static void release(void* p) {
    for (int i = 0; i < GTD_DEVICES; i++)
      if (p != nullptr && arena(i).has(p)) arena(i).give(p);
  }
  c10::DataPtr allocate(size_t n) GTD_CONST override {
    void* p = n == 0 ? nullptr : arena(current).take(n);
    return {p, p, &release, device_at(current)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
#if TORCH_VERSION_MAJOR >= 2
  void copy_data(void* to, const void* from, size_t n) const override {
    auto& a = arena(current);
    std::memcpy(a.shadow_of(to, n), a.shadow_of(from, n), n);
  }
#endif
};
inline Allocator allocator;

// Makes a device the calling thread's for a while.
struct On {
  c10::DeviceIndex before = current;
  explicit On(int64_t device) { current = static_cast<c10::DeviceIndex>(device); }
  ~On() { current = before; }
};

inline bool here(const at::Tensor& t) { return t.defined() && t.device().type() == kType; }

// A tensor of the CPU over the same elements, for kernels alone.
inline at::Tensor unveil(const at::Tensor& t) {
  auto options = at::TensorOptions().dtype(t.dtype());
  if (t.numel() == 0) return at::from_blob(nullptr, t.sizes(), t.strides(), options);
  size_t last = 0;  // the index of the last element
  for (int64_t i = 0; i < t.dim(); i++) last += static_cast<size_t>((t.size(i) - 1) * t.stride(i));
  const void* p = t.unsafeGetTensorImpl()->data();
  return at::from_blob(arena(t.device().index()).shadow_of(p, (last + 1) * t.dtype().itemsize()), t.sizes(), t.strides(), options);
}

}  // namespace gtd
