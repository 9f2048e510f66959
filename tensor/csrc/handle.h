// What every source file of the shim shares: handles, the guard around each call, and libtorch's version differences.
#pragma once
#include <torch/torch.h>

#include <atomic>
#include <cstring>
#include <string>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "gorl.h"

namespace gorl {

inline at::Tensor& T(gorl_t h) { return *static_cast<at::Tensor*>(h); }

// Counts and wraps a result.
gorl_t wrap(at::Tensor t);

// Makes the wanted number of compute threads true for the calling OS thread (OpenMP keeps it per thread).
void prepare_thread();

// Chooses OpenBLAS's kernels, once in a process (blas.cc).
void prepare_blas();

// The matrix library behind libtorch may keep a pool of its own; only some of them take their number from OpenMP.
void set_blas_threads(int32_t n);

char* message(const char* what);

// -1 is the CPU, from 0 on the index of a CUDA device, and from -2 down that of a device of PrivateUse1, libtorch's key for
// backends from outside.
inline at::Device device_of(int32_t code) {
  if (code == -1) return at::Device(at::kCPU);
  if (code < -1) return at::Device(c10::DeviceType::PrivateUse1, static_cast<at::DeviceIndex>(-2 - code));
  return at::Device(at::kCUDA, static_cast<at::DeviceIndex>(code));
}
inline int32_t code_of(const at::Device& d) {
  if (d.is_cpu()) return -1;
  return d.type() == c10::DeviceType::PrivateUse1 ? -2 - d.index() : d.index();
}
inline at::ScalarType scalar_of(int32_t dtype) {
  TORCH_CHECK(dtype >= 0 && dtype < static_cast<int32_t>(at::ScalarType::Undefined), "there is no element type ", dtype);
  return static_cast<at::ScalarType>(dtype);
}
inline at::IntArrayRef sizes_of(const int64_t* s, int32_t n) { return at::IntArrayRef(s, static_cast<size_t>(n)); }

// Host memory in the type `to` with what lies at `in`, for a copy to the device that the host does not wait for: on CUDA it
// is pinned, and libtorch keeps it until the copy is done.
at::Tensor staged(const void* in, at::IntArrayRef sizes, at::ScalarType from, at::ScalarType to, at::Device device);

// Plain float32 memory on the CPU can be walked by a loop instead of a chain of operations.
inline bool plain(const at::Tensor& t) { return t.device().is_cpu() && t.scalar_type() == at::kFloat && t.is_contiguous(); }

// t in the type of mixed precision; -1 leaves it as it is. Gradients pass through.
inline at::Tensor lowered(const at::Tensor& t, int32_t lower) { return lower < 0 ? t : t.to(scalar_of(lower)); }
// The result of a layer that computed in that type, in float32 again.
inline at::Tensor raised(const at::Tensor& t, int32_t lower) { return lower < 0 ? t : t.to(at::kFloat); }

at::Tensor activate(int32_t op, const at::Tensor& a);

// While it lives, numbers below 1.2e-38 are zero on the calling OS thread. Adam's moments of a unit that no longer learns fade
// to such numbers, and processors of Intel take a hundred cycles for each operation on one.
class FlushTiny {
#if defined(__x86_64__)
  static constexpr unsigned zeros = 0x8040;  // of results, and of operands
  const unsigned before_ = _mm_getcsr();

 public:
  FlushTiny() { if ((before_ & zeros) != zeros) _mm_setcsr(before_ | zeros); }
  ~FlushTiny() { if ((before_ & zeros) != zeros) _mm_setcsr(before_); }
#else
 public:
  FlushTiny() {}  // other processors are not slower with them
#endif
  FlushTiny(const FlushTiny&) = delete;
};

// What the calling thread records of what it computes; null where it does not record (record.h).
class Recorder;
extern __attribute__((tls_model("initial-exec"))) __thread Recorder* recorder;

// A call by Go. While the thread records, a call that does not say that it is recorded spoils the recording, in which what the call
// did would be missing.
class Call {
 public:
  Call() : outer_(recorded_) { recorded_ = false; }
  ~Call() {
    if (recorder != nullptr && !recorded_) spoil();
    recorded_ = outer_;
  }
  Call(const Call&) = delete;
  // To be said where the call has recorded all that it computed, or computed nothing.
  static void recorded() { recorded_ = true; }

 private:
  static void spoil();
  static __attribute__((tls_model("initial-exec"))) __thread bool recorded_;
  const bool outer_;
};

}  // namespace gorl

#define GORL_BEGIN(grad)                         \
  gorl::Call call_;                              \
  try {                                          \
    gorl::prepare_thread();                      \
    gorl::FlushTiny flush_tiny;                  \
    at::AutoGradMode grad_mode_guard((grad) != 0);
#define GORL_END                                 \
    return nullptr;                              \
  } catch (const c10::Error& e) {                \
    return gorl::message(e.what_without_backtrace()); \
  } catch (const std::exception& e) {            \
    return gorl::message(e.what());              \
  } catch (...) {                                \
    return gorl::message("unknown C++ exception"); \
  }
