// What only devices beside the CPU have: copies that the host does not wait for, and streams. It needs no header of CUDA,
// so that it is compiled on every machine.
#include "handle.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace gorl {

at::Tensor staged(const void* in, at::IntArrayRef sizes, at::ScalarType from, at::ScalarType to, at::Device device) {
  auto host = at::empty(sizes, at::TensorOptions().dtype(to).pinned_memory(device.is_cuda()));
  if (from == to) {
    if (host.numel() > 0) std::memcpy(host.data_ptr(), in, host.nbytes());
  } else if (host.numel() > 0) {
    host.copy_(at::from_blob(const_cast<void*>(in), sizes, at::TensorOptions().dtype(from)));
  }
  return host;
}

namespace {
// A stay of the calling thread on a stream. Everything that it asks of the device goes there meanwhile. The stream goes on
// behind what the thread's stream before it was asked until then, and that one behind the stay.
class Stay {
 public:
  explicit Stay(c10::Stream stream)
      : guard_(stream.device_type()), stream_(stream), before_(guard_.getStream(stream.device())) {
    follow(stream_, before_);
    guard_.exchangeStream(stream_);
  }
  void end() {
    guard_.exchangeStream(before_);
    follow(before_, stream_);
  }

 private:
  void follow(c10::Stream second, c10::Stream first) {
    c10::Event event(stream_.device_type());
    event.record(first);
    event.block(second);
  }
  c10::impl::VirtualGuardImpl guard_;
  c10::Stream stream_, before_;
};
}  // namespace
}  // namespace gorl

using namespace gorl;

gorl_err gorl_stream_new(int32_t device, void** out) {
  GORL_BEGIN(0)
  const auto d = device_of(device);
  *out = d.is_cuda() ? new c10::Stream(c10::impl::VirtualGuardImpl(d.type()).getStreamFromGlobalPool(d)) : nullptr;
  GORL_END
}
void gorl_stream_free(void* stream) { delete static_cast<c10::Stream*>(stream); }
gorl_err gorl_stream_enter(void* stream, void** stay) {
  GORL_BEGIN(0) *stay = new Stay(*static_cast<c10::Stream*>(stream)); GORL_END
}
gorl_err gorl_stream_leave(void* stay) {
  GORL_BEGIN(0) std::unique_ptr<Stay>(static_cast<Stay*>(stay))->end(); GORL_END
}

int32_t gorl_cuda_built(void) {
#ifdef GORL_CUDA
  return 1;
#else
  return 0;
#endif
}
