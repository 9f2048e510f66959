// Streams of devices other than the CPU. This file needs no header of CUDA, so every machine compiles it.
#include "handle.h"

#include <c10/core/Event.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace gorl {

namespace {
// Makes a stream current on the calling thread until end. The stream first waits for the work that the thread's previous
// stream holds at that time; after end the previous stream waits for the work of this one.
class StreamGuard {
 public:
  explicit StreamGuard(c10::Stream stream)
      : guard_(stream.device_type()), stream_(stream), before_(guard_.getStream(stream.device())) {
    order(before_, stream_);
    guard_.exchangeStream(stream_);
  }
  void end() {
    guard_.exchangeStream(before_);
    order(stream_, before_);
  }

 private:
  // Lets what second gets from now on wait for what first holds.
  void order(c10::Stream first, c10::Stream second) {
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
gorl_err gorl_stream_enter(void* stream, void** guard) {
  GORL_BEGIN(0) *guard = new StreamGuard(*static_cast<c10::Stream*>(stream)); GORL_END
}
gorl_err gorl_stream_leave(void* guard) {
  GORL_BEGIN(0) std::unique_ptr<StreamGuard>(static_cast<StreamGuard*>(guard))->end(); GORL_END
}
