#include "engine.h"

#include <ATen/CPUGeneratorImpl.h>
#include <dlfcn.h>

using namespace gorl;

namespace {
at::Generator& G(void* g) { return *static_cast<at::Generator*>(g); }

// Whole numbers in [low, low + range), the ones that libtorch draws.
at::Tensor whole_numbers(at::IntArrayRef sizes, int64_t low, uint64_t range, const at::Generator& g) {
  int64_t n = 1, span = 1;  // the span is also limited where a size is 0
  for (const int64_t size : sizes) {
    TORCH_CHECK(size >= 0 && !__builtin_mul_overflow(span, std::max<int64_t>(size, 1), &span) && span <= int64_t(1) << 48,
                "there is no tensor of the shape ", sizes);
    n *= size;
  }
  auto out = alias(make({2 * n}), sizes, 0, at::kLong);
  perform([n, p = static_cast<int64_t*>(out.data_ptr()), low, range, g] {
    auto* source = at::check_generator<at::CPUGeneratorImpl>(g);
    std::lock_guard<std::mutex> lock(source->mutex_);
    for (int64_t i = 0; i < n; i++) p[i] = low + static_cast<int64_t>(source->random() % range);
  }, out);
  Call::recorded();
  return out;
}
}  // namespace

gorl_err gorl_generator_new(uint64_t seed, int32_t device, void** out) {
  GORL_BEGIN(0)
  if (device < -1) {  // libtorch 1.13 has no generators of such devices; the backend's library exports a function
    auto make = reinterpret_cast<void* (*)(uint64_t, int32_t)>(dlsym(RTLD_DEFAULT, "gorl_privateuse1_generator"));
    TORCH_CHECK(make != nullptr, "the backend of PrivateUse1 has no function gorl_privateuse1_generator");
    *out = make(seed, -2 - device);
    return nullptr;
  }
  if (device == -1) {  // libtorch 1.13 leaks what it clones
    *out = new at::Generator(at::make_generator<at::CPUGeneratorImpl>(seed));
    return nullptr;
  }
  // A clone of the device's default generator is an independent one, on every device and libtorch version.
  auto g = at::globalContext().defaultGenerator(device_of(device)).clone();
  g.set_current_seed(seed);
  *out = new at::Generator(std::move(g));
  GORL_END
}
void gorl_generator_free(void* g) { delete static_cast<at::Generator*>(g); }
gorl_err gorl_generator_seed(void* g, uint64_t seed) { GORL_BEGIN(0) G(g).set_current_seed(seed); GORL_END }
gorl_err gorl_generator_get(void* g, gorl_t* out) { GORL_BEGIN(0) *out = wrap(G(g).get_state()); GORL_END }
gorl_err gorl_generator_set(void* g, gorl_t state) { GORL_BEGIN(0) G(g).set_state(T(state)); GORL_END }

gorl_err gorl_random(int32_t op, const int64_t* sizes, int32_t n, double a, double b, void* g, int32_t device, gorl_t* out) {
  GORL_BEGIN(0)
  auto f = at::TensorOptions().dtype(at::kFloat).device(device_of(device));
  auto l = at::TensorOptions().dtype(at::kLong).device(device_of(device));
  auto size = sizes_of(sizes, n);
  switch (op) {
    case GORL_RANDN: *out = wrap(by_libtorch([sizes = size.vec(), g = G(g), f] { return at::randn(sizes, g, f); })); break;
    case GORL_RAND: *out = wrap(by_libtorch([sizes = size.vec(), g = G(g), f] { return at::rand(sizes, g, f); })); break;
    case GORL_RANDINT:
      if (engine() && device == -1 && a < b && b - a < 1 << 28)
        *out = wrap(whole_numbers(size, static_cast<int64_t>(a), static_cast<uint64_t>(b - a), G(g)));
      else
        *out = wrap(at::randint(static_cast<int64_t>(a), static_cast<int64_t>(b), size, G(g), l));
      break;
    case GORL_RANDPERM: *out = wrap(at::randperm(sizes[0], G(g), l)); break;
    default: TORCH_CHECK(false, "unknown random code ", op);
  }
  GORL_END
}

gorl_err gorl_multinomial(gorl_t probabilities, int64_t samples, void* g, gorl_t* out) {
  GORL_BEGIN(0) *out = wrap(at::multinomial(T(probabilities), samples, true, G(g))); GORL_END
}
