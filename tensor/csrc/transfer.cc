// Buffers through which a device gets what the host has for it in one copy: see transfer.go.
#include "handle.h"

using namespace gorl;

gorl_err gorl_transfer_new(int64_t bytes, int32_t device, gorl_t* host, gorl_t* there) {
  GORL_BEGIN(0)
  const auto on = device_of(device);
  auto memory = at::empty({bytes}, at::TensorOptions().dtype(at::kByte));
  *there = wrap(on.is_cpu() ? memory : at::empty({bytes}, at::TensorOptions().dtype(at::kByte).device(on)));
  *host = wrap(memory);
  GORL_END
}
gorl_err gorl_transfer_send(gorl_t host, gorl_t there, int64_t bytes) {
  GORL_BEGIN(0)
  if (T(there).device().is_cpu()) return nullptr;
  const auto device = T(there).device();
  T(there).narrow(0, 0, bytes).copy_(staged(T(host).data_ptr(), {bytes}, at::kByte, at::kByte, device), /*non_blocking=*/true);
  GORL_END
}
gorl_err gorl_transfer_part(gorl_t memory, int64_t offset, const int64_t* sizes, int32_t n, int32_t dtype, gorl_t* out) {
  GORL_BEGIN(0)
  auto size = sizes_of(sizes, n);
  int64_t elements = 1;
  for (auto d : size) elements *= d;
  const auto type = scalar_of(dtype);
  const auto bytes = elements * static_cast<int64_t>(c10::elementSize(type));
  *out = wrap(T(memory).narrow(0, offset, bytes).view(type).view(size));
  GORL_END
}
