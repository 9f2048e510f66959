#include "handle.h"

#include <malloc.h>

namespace gorl {
namespace {

std::atomic<int64_t> live{0};
std::atomic<int32_t> threads{1};
thread_local int32_t threads_here = 0;

}  // namespace

gorl_t wrap(at::Tensor t) {
  auto* h = new at::Tensor(std::move(t));
  live.fetch_add(1, std::memory_order_relaxed);
  return h;
}

void prepare_thread() {
  const int32_t want = threads.load(std::memory_order_relaxed);
  if (threads_here == want) return;
  threads_here = want;
  prepare_blas();
  at::set_num_threads(want);
  set_blas_threads(want);
}

char* message(const char* what) { return strdup(what); }

at::Tensor staged(const void* in, at::IntArrayRef sizes, at::ScalarType from, at::ScalarType to, at::Device device) {
  auto host = at::empty(sizes, at::TensorOptions().dtype(to).pinned_memory(device.is_cuda()));
  if (from == to) {
    if (host.numel() > 0) std::memcpy(host.data_ptr(), in, host.nbytes());
  } else if (host.numel() > 0) {
    host.copy_(at::from_blob(const_cast<void*>(in), sizes, at::TensorOptions().dtype(from)));
  }
  return host;
}

at::Tensor* poison() {
  static auto* undefined = new at::Tensor();
  return undefined;
}

}  // namespace gorl

using namespace gorl;

void gorl_tune_allocator(void) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
  mallopt(M_ARENA_MAX, 4);
#endif
}

int64_t gorl_live(void) { return live.load(std::memory_order_relaxed); }
gorl_t gorl_poison(void) { return poison(); }

void gorl_free(gorl_t* handles, int64_t n) {
  int64_t freed = 0;
  for (int64_t i = 0; i < n; i++) {
    if (handles[i] != nullptr && handles[i] != poison()) {
      delete static_cast<at::Tensor*>(handles[i]);
      freed++;
    }
    handles[i] = poison();
  }
  live.fetch_sub(freed, std::memory_order_relaxed);
}

void gorl_free_string(char* s) { free(s); }

void gorl_set_threads(int32_t n) { threads.store(n, std::memory_order_relaxed); }
int32_t gorl_threads(void) { return threads.load(std::memory_order_relaxed); }
const char* gorl_torch_version(void) { return TORCH_VERSION; }
const char* gorl_header(void) { return GORL_HEADER; }  // scripts/shim.sh defines it
int32_t gorl_cuda_devices(void) { return torch::cuda::is_available() ? static_cast<int32_t>(torch::cuda::device_count()) : 0; }
int32_t gorl_privateuse1_devices(void) {
  constexpr auto type = c10::DeviceType::PrivateUse1;
  return c10::impl::hasDeviceGuardImpl(type) ? static_cast<int32_t>(c10::impl::getDeviceGuardImpl(type)->deviceCount()) : 0;
}
int32_t gorl_cuda_built(void) {
#ifdef GORL_CUDA
  return 1;
#else
  return 0;
#endif
}
gorl_err gorl_can_lower(int32_t dtype, int32_t device) {
  GORL_BEGIN(0)
  if (device == -1) {
    if (scalar_of(dtype) == at::kHalf) throw std::runtime_error("float16 needs a GPU; on the CPU use bfloat16");
    if (!at::globalContext().hasMKLDNN())
      throw std::runtime_error("this libtorch was built without oneDNN, which multiplies in bfloat16 on the CPU");
#ifdef __x86_64__
    if (!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq"))
      throw std::runtime_error("oneDNN multiplies in bfloat16 on processors with AVX-512 only, which this CPU lacks");
#endif
  }
  // Large enough for the library that multiplies large matrices, which may refuse what small products can.
  auto x = at::ones({64, 64}, at::dtype(scalar_of(dtype)).device(device_of(device)));
  try {
    at::linear(x, x);
  } catch (const c10::Error&) {
    throw;
  } catch (const std::exception& e) {
    throw std::runtime_error(std::string("this libtorch cannot multiply in it on this processor: ") + e.what());
  }
  GORL_END
}
gorl_err gorl_cuda_synchronize(void) {
  GORL_BEGIN(0)
  if (torch::cuda::is_available()) torch::cuda::synchronize();
  GORL_END
}

int32_t gorl_dim(gorl_t a) { return T(a).defined() ? static_cast<int32_t>(T(a).dim()) : 0; }
void gorl_shape(gorl_t a, int64_t* out) {
  if (!T(a).defined()) return;
  auto s = T(a).sizes();
  for (size_t i = 0; i < s.size(); i++) out[i] = s[i];
}
int32_t gorl_dtype(gorl_t a) { return static_cast<int32_t>(T(a).scalar_type()); }
int32_t gorl_device(gorl_t a) { return T(a).defined() ? code_of(T(a).device()) : -1; }
int64_t gorl_numel(gorl_t a) { return T(a).defined() ? T(a).numel() : 0; }
int32_t gorl_requires_grad(gorl_t a) { return T(a).defined() && T(a).requires_grad() ? 1 : 0; }
int32_t gorl_is_leaf(gorl_t a) { return T(a).defined() && T(a).is_leaf() ? 1 : 0; }
void* gorl_identity(gorl_t a) { return T(a).unsafeGetTensorImpl(); }
void* gorl_data(gorl_t a) {
  const at::Tensor& t = T(a);
  return t.defined() && t.device().is_cpu() && t.is_contiguous() ? t.data_ptr() : nullptr;
}
gorl_err gorl_item(gorl_t a, double* out) {
  GORL_BEGIN(0)
  *out = T(a).item().toDouble();
  GORL_END
}
gorl_err gorl_read(gorl_t a, int32_t dtype, void* out, int64_t numel) {
  GORL_BEGIN(0)
  TORCH_CHECK(T(a).numel() == numel, "the tensor has ", T(a).numel(), " elements, the slice ", numel);
  if (numel > 0) {
    at::from_blob(out, T(a).sizes(), at::TensorOptions().dtype(scalar_of(dtype))).copy_(T(a));
  }
  GORL_END
}
gorl_err gorl_write(gorl_t a, int32_t dtype, const void* in, int64_t numel) {
  GORL_BEGIN(0)
  TORCH_CHECK(T(a).numel() == numel, "the tensor has ", T(a).numel(), " elements, the slice ", numel);
  if (numel == 0) return nullptr;
  if (T(a).device().is_cpu()) {
    T(a).copy_(at::from_blob(const_cast<void*>(in), T(a).sizes(), at::TensorOptions().dtype(scalar_of(dtype))));
  } else {
    T(a).copy_(staged(in, T(a).sizes(), scalar_of(dtype), T(a).scalar_type(), T(a).device()), /*non_blocking=*/true);
  }
  GORL_END
}
