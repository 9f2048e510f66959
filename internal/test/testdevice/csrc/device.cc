// What libtorch asks a backend for: its devices, and their random numbers.
#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#if __has_include(<ATen/detail/PrivateUse1HooksInterface.h>)
#include <ATen/detail/PrivateUse1HooksInterface.h>
#define GTD_HOOKS
#endif
#include <execinfo.h>
#include <signal.h>
#include <unistd.h>

#include "memory.h"

namespace gtd {
namespace {

struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return kType; }
  c10::Device exchangeDevice(c10::Device d) const override {
    auto was = getDevice();
    setDevice(d);
    return was;
  }
  c10::Device getDevice() const override { return device_at(current); }
  void setDevice(c10::Device d) const override { uncheckedSetDevice(d); }
  void uncheckedSetDevice(c10::Device d) const noexcept override {
    if (d.has_index()) current = d.index();
  }
  // libtorch declares these two noexcept up to 2.6 and not later; an override may always be noexcept.
  c10::Stream getStream(c10::Device d) const noexcept override { return c10::Stream(c10::Stream::DEFAULT, d); }
  c10::Stream exchangeStream(c10::Stream s) const noexcept override { return s; }
  c10::DeviceIndex deviceCount() const noexcept override { return GTD_DEVICES; }
};
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

#ifdef GTD_HOOKS
// 2.x asks which accelerator there is; a libtorch with CUDA would answer CUDA. isBuilt and isAvailable are not marked
// as overrides, because 2.6 does not declare them.
struct Hooks final : at::PrivateUse1HooksInterface {
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  bool isBuilt() const { return true; }
  bool isAvailable() const { return true; }
};
#endif

// A fault in a device's memory says what it is before it ends the program.
struct sigaction before;
void on_fault(int number, siginfo_t* info, void* context) {
  for (int i = 0; i < GTD_DEVICES; i++) {
    if (!arena(i).has(info->si_addr)) continue;
    static const char text[] = "\ntest device: the host touched device memory; C++ stack:\n";
    (void)!write(2, text, sizeof text - 1);
    void* frames[64];
    backtrace_symbols_fd(frames, backtrace(frames, 64), 2);
  }
  if (before.sa_flags & SA_SIGINFO) {
    before.sa_sigaction(number, info, context);
  } else {
    signal(number, SIG_DFL);
    raise(number);
  }
}

struct Start {
  Start() {
#ifdef GTD_HOOKS
    at::RegisterPrivateUse1HooksInterface(new Hooks);
    c10::register_privateuse1_backend("privateuseone");
#endif
    c10::SetAllocator(kType, &allocator);
    arena(0);
    void* warm[1];
    backtrace(warm, 1);
    struct sigaction now {};
    now.sa_sigaction = on_fault;
    now.sa_flags = SA_SIGINFO | SA_ONSTACK;
    sigaction(SIGSEGV, &now, &before);
  }
} start;

}  // namespace

// Gives the CPU's numbers. Its state has a size of its own, as that of a CUDA generator has.
struct DeviceGenerator final : c10::GeneratorImpl {
  static constexpr int64_t kMark = 8;
  at::Generator inner;
  DeviceGenerator(uint64_t seed, int64_t device)
      : GeneratorImpl(device_at(device), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)), inner(at::detail::createCPUGenerator(seed)) {}
  void set_current_seed(uint64_t seed) override { inner.set_current_seed(seed); }
  uint64_t current_seed() const override { return inner.current_seed(); }
  uint64_t seed() override { return inner.seed(); }
#if TORCH_VERSION_MAJOR >= 2
  void set_offset(uint64_t) override {}
  uint64_t get_offset() const override { return 0; }
#endif
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    auto state = inner.get_state();
    auto out = at::empty({state.numel() + kMark}, at::kByte);
    std::memcpy(out.data_ptr(), "GTDstate", kMark);
    std::memcpy(static_cast<char*>(out.data_ptr()) + kMark, state.data_ptr(), static_cast<size_t>(state.numel()));
    return out.getIntrusivePtr();
  }
  void set_state(const c10::TensorImpl& s) override {
    TORCH_CHECK(s.device().is_cpu() && s.dtype() == caffe2::TypeMeta::Make<uint8_t>(), "test device: the state must be bytes on the CPU");
    auto want = inner.get_state();
    TORCH_CHECK(s.numel() == want.numel() + kMark && std::memcmp(s.data(), "GTDstate", kMark) == 0, "test device: this is no state of a device's generator");
    std::memcpy(want.data_ptr(), static_cast<const char*>(s.data()) + kMark, static_cast<size_t>(want.numel()));
    inner.set_state(want);
  }
  DeviceGenerator* clone_impl() const override {
    auto* g = new DeviceGenerator(0, device().index());
    g->inner.set_state(inner.get_state());
    return g;
  }
};

}  // namespace gtd

// gorl's shim finds it by this name: see gorl_generator_new.
extern "C" void* gorl_privateuse1_generator(uint64_t seed, int32_t device) {
  return new at::Generator(at::make_generator<gtd::DeviceGenerator>(seed, device));
}
