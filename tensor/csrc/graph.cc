// Graphs: what a device is asked for is recorded once and asked for again as a whole, in one launch in the place of hundreds.
// On CUDA they are libtorch's CUDAGraph. A library with a backend of PrivateUse1 may export functions for them, as it does
// for generators. See graph.go.
#include "engine.h"

#include <dlfcn.h>
// GORL_CUDA_GRAPHS says that CUDA's own headers are here. A memory pool that outlives a graph lies in a header of its own since libtorch 2.10.
#if defined(GORL_CUDA_GRAPHS) && __has_include(<ATen/cuda/MemPool.h>)
#include <ATen/cuda/CUDAGraph.h>
#include <ATen/cuda/MemPool.h>
#include <c10/cuda/CUDAGuard.h>
#define GORL_HAS_CUDA_GRAPHS
#endif

namespace gorl {
namespace {

class Recording {
 public:
  virtual ~Recording() = default;
  // What the calling thread asks of the device from begin to end is recorded. Random numbers come from these generators.
  virtual void begin(const std::vector<at::Generator*>& generators) = 0;
  virtual void end(bool keep) = 0;  // without keep nothing is
  virtual void replay() = 0;
  virtual void drop() = 0;
  virtual bool whole() const { return true; }  // whether all was recorded
};

// On the CPU the engine records its own steps while it does them.
class CpuRecording : public Recording {
 public:
  void begin(const std::vector<at::Generator*>&) override {
    TORCH_CHECK(recorder == nullptr, "this thread records already");
    steps_ = std::make_unique<Recorder>();
    recorder = steps_.get();
  }
  void end(bool keep) override {
    recorder = nullptr;
    if (!keep || steps_->spoiled()) steps_.reset();
    else steps_->close();
  }
  void replay() override { steps_->replay(); }
  void drop() override { steps_.reset(); }
  bool whole() const override { return steps_ != nullptr; }

 private:
  std::unique_ptr<Recorder> steps_;
};

#ifdef GORL_HAS_CUDA_GRAPHS
// Until some 2.x a graph is told which generators it uses; later ones find out.
template <class Graph>
auto announce(Graph& graph, const at::Generator& g, int) -> decltype(graph.register_generator_state(g)) { graph.register_generator_state(g); }
template <class Graph>
void announce(Graph&, const at::Generator&, long) {}

class CudaRecording : public Recording {
 public:
  explicit CudaRecording(at::Device device) : device_(device) {}
  ~CudaRecording() override {
    const c10::cuda::CUDAGuard guard(device_);
    drop();
    former_.reset();
    pool_.reset();
  }
  // Other threads may do what they like meanwhile: agents learn side by side.
  void begin(const std::vector<at::Generator*>& generators) override {
    const c10::cuda::CUDAGuard guard(device_);
    drop();
    // libtorch's pinned memory lets go of a pool with the pool's last graph, and refuses it afterwards.
    if (former_ == nullptr) {
      pool_.reset();
      pool_ = std::make_unique<at::cuda::MemPool>();
    }
    graph_ = std::make_unique<at::cuda::CUDAGraph>();
    try {
      for (auto* g : generators) announce(*graph_, *g, 0);
      graph_->capture_begin(pool_->id(), cudaStreamCaptureModeThreadLocal);
    } catch (...) {
      graph_.reset();
      former_.reset();
      static_cast<void>(pool_.release());  // it may count as being recorded to, and its destructor would end the process
      throw;
    }
  }
  void end(bool keep) override {
    const c10::cuda::CUDAGuard guard(device_);
    try {
      graph_->capture_end();
    } catch (...) {
      former_ = std::move(graph_);
      if (keep) throw;
      return;
    }
    if (keep) {
      former_.reset();  // not before: no graph may be destroyed while this thread records
    } else {
      former_ = std::move(graph_);
    }
  }
  void replay() override {
    const c10::cuda::CUDAGuard guard(device_);
    graph_->replay();
  }
  void drop() override {
    const c10::cuda::CUDAGuard guard(device_);
    if (graph_ == nullptr) return;
    c10::cuda::getCurrentCUDAStream(device_.index()).synchronize();  // a replay may be in progress
    former_ = std::move(graph_);
  }

 private:
  at::Device device_;
  std::unique_ptr<at::cuda::MemPool> pool_;  // of all graphs, one after the other: libtorch gives the memory of a graph's own back late
  std::unique_ptr<at::cuda::CUDAGraph> graph_, former_;  // former_ is dropped, and keeps pool_ in use until the next recording has ended
};
#endif

// The functions that a backend's library exports; see internal/test/testdevice/csrc/capture.cc.
class BackendRecording : public Recording {
 public:
  explicit BackendRecording(int32_t index) : native_(call<void*>("new", index)) {}
  ~BackendRecording() override { call<void>("free", native_); }
  void begin(const std::vector<at::Generator*>& generators) override {
    call<void>("begin", native_, generators.data(), static_cast<int32_t>(generators.size()));
  }
  void end(bool keep) override { call<void>("end", native_, static_cast<int32_t>(keep)); }
  void replay() override { call<void>("replay", native_); }
  void drop() override { call<void>("drop", native_); }

 private:
  template <class Result, class... Args>
  static Result call(const std::string& verb, Args... args) {
    auto f = reinterpret_cast<Result (*)(Args...)>(dlsym(RTLD_DEFAULT, ("gorl_privateuse1_graph_" + verb).c_str()));
    TORCH_CHECK(f != nullptr, "the backend of PrivateUse1 has no function gorl_privateuse1_graph_", verb);
    return f(args...);
  }
  void* native_;
};

Recording& R(void* graph) { return *static_cast<Recording*>(graph); }

}  // namespace
}  // namespace gorl

using namespace gorl;

gorl_err gorl_graph_new(int32_t device, void** out) {
  GORL_BEGIN(0)
  if (device < -1) {
    *out = static_cast<Recording*>(new BackendRecording(-2 - device));
    return nullptr;
  }
  if (device == -1) {
    *out = static_cast<Recording*>(new CpuRecording());
    return nullptr;
  }
#ifdef GORL_HAS_CUDA_GRAPHS
  *out = static_cast<Recording*>(new CudaRecording(device_of(device)));
#else
  throw std::runtime_error("gorl's library was built without CUDA graphs: build it against PyTorch 2.10 or later, with the CUDA toolkit's "
                           "headers in CUDA_HOME (docs/building.md)");
#endif
  GORL_END
}
void gorl_graph_free(void* graph) { delete static_cast<Recording*>(graph); }
gorl_err gorl_graph_begin(void* graph, void** generators, int32_t n) {
  GORL_BEGIN(0)
  Call::recorded();
  auto** first = reinterpret_cast<at::Generator**>(generators);
  R(graph).begin({first, first + n});
  GORL_END
}
gorl_err gorl_graph_end(void* graph, int keep, int* whole) {
  GORL_BEGIN(0)
  Call::recorded();
  R(graph).end(keep != 0);
  *whole = R(graph).whole() ? 1 : 0;
  GORL_END
}
gorl_err gorl_graph_replay(void* graph) { GORL_BEGIN(0) R(graph).replay(); GORL_END }
gorl_err gorl_graph_drop(void* graph) { GORL_BEGIN(0) R(graph).drop(); GORL_END }
