#include "engine.h"

using namespace gorl;

gorl_err gorl_full(const int64_t* sizes, int32_t n, double value, int32_t dtype, int32_t device, gorl_t* out) {
  GORL_BEGIN(0)
  const auto options = at::TensorOptions().dtype(scalar_of(dtype)).device(device_of(device));
  *out = wrap(by_libtorch([size = sizes_of(sizes, n).vec(), value, options] { return at::full(size, value, options); }));
  GORL_END
}
gorl_err gorl_arange(int64_t n, int32_t device, gorl_t* out) {
  GORL_BEGIN(0)
  *out = wrap(at::arange(n, at::TensorOptions().dtype(at::kLong).device(device_of(device))));
  GORL_END
}
gorl_err gorl_from_host(const void* data, const int64_t* sizes, int32_t n, int32_t dtype, int32_t device, gorl_t* out) {
  GORL_BEGIN(0)
  const auto type = scalar_of(dtype);
  auto t = staged(data, sizes_of(sizes, n), type, type, device_of(device));
  *out = wrap(t.to(device_of(device), type, /*non_blocking=*/true));
  GORL_END
}
gorl_err gorl_to(gorl_t a, int32_t dtype, int32_t device, int grad, gorl_t* out) {
  GORL_BEGIN(grad)
  *out = wrap(by_libtorch([x = T(a), device, dtype] { return x.to(device_of(device), scalar_of(dtype)); }));
  GORL_END
}
