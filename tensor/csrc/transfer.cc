// Buffers through which a device gets what the host has for it in one copy: see transfer.go.
#include <cstring>

#include "engine.h"

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
gorl_err gorl_transfer_copy_(gorl_t memory, int64_t offset, int64_t numel, int32_t dtype, gorl_t dst) {
  GORL_BEGIN(0)
  const at::Tensor &from = T(memory), &to = T(dst);
  const auto type = scalar_of(dtype);
  const auto bytes = numel * static_cast<int64_t>(c10::elementSize(type));
  TORCH_CHECK(to.numel() == numel && to.scalar_type() == type, "a part of ", numel, " values of type ", type,
              " is copied to a tensor of ", to.numel(), " of type ", to.scalar_type());
  TORCH_CHECK(offset + bytes <= from.numel(), "the part at ", offset, " of ", bytes, " bytes does not lie in the transfer");
  if (bytes == 0) return nullptr;  // an empty tensor may have no memory
  if (from.device().is_cpu() && to.device().is_cpu() && to.is_contiguous())
    std::memcpy(to.data_ptr(), static_cast<const char*>(from.data_ptr()) + offset, bytes);
  else
    to.copy_(from.narrow(0, offset, bytes).view(type).view(to.sizes()));
  GORL_END
}
gorl_err gorl_transfer_part(gorl_t memory, int64_t offset, const int64_t* sizes, int32_t n, int32_t dtype, gorl_t* out) {
  GORL_BEGIN(0)
  const auto size = sizes_of(sizes, n);
  const auto type = scalar_of(dtype);
  const auto width = static_cast<int64_t>(c10::elementSize(type)), bytes = c10::multiply_integers(size) * width;
  TORCH_CHECK(offset % width == 0 && offset + bytes <= T(memory).numel(), "the part at ", offset, " of ", bytes, " bytes does not lie in the transfer");
  // Every step takes some parts: on the CPU they are made without the dispatcher.
  *out = wrap(T(memory).device().is_cpu() ? alias(T(memory), size, offset / width, type) : T(memory).narrow(0, offset, bytes).view(type).view(size));
  GORL_END
}
