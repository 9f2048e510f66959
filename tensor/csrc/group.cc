// Processes that compute together: libtorch's c10d, with Gloo between CPUs and NCCL between GPUs. A store keeps keys that
// all processes see (TCPStore), and a group of ranks meets there and adds tensors up. See group.go.
#include "handle.h"

#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#ifdef USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>
#endif

#include <csignal>

namespace gorl {
namespace {
// Threads that are started while it lives have SIGPIPE blocked. Gloo's threads write to sockets whose other end may be
// gone, which is an error for them to report; on a thread that is not Go's the signal would end the process.
class PipeSignalBlocked {
 public:
  PipeSignalBlocked() {
    sigset_t pipe;
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe, &before_);
  }
  ~PipeSignalBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

// c10d's groups have had another base class since libtorch 2.0, so each kind is held by its own class.
class Ranks {
 public:
  virtual ~Ranks() = default;
  virtual void all_reduce(at::Tensor t) = 0;
  virtual void broadcast(at::Tensor t, int root) = 0;
  virtual void all_gather(at::Tensor in, std::vector<at::Tensor> out) = 0;
};

template <class G>
class RanksOf : public Ranks {
 public:
  explicit RanksOf(c10::intrusive_ptr<G> group) : group_(std::move(group)) {}
  void all_reduce(at::Tensor t) override {
    std::vector<at::Tensor> list{t};
    group_->allreduce(list)->wait();
  }
  void broadcast(at::Tensor t, int root) override {
    c10d::BroadcastOptions options;
    options.rootRank = root;
    std::vector<at::Tensor> list{t};
    group_->broadcast(list, options)->wait();
  }
  void all_gather(at::Tensor in, std::vector<at::Tensor> out) override {
    std::vector<at::Tensor> list{in};
    std::vector<std::vector<at::Tensor>> lists{std::move(out)};
    group_->allgather(lists, list)->wait();
  }

 private:
  c10::intrusive_ptr<G> group_;
};

using StorePtr = c10::intrusive_ptr<c10d::Store>;
StorePtr& store_of(void* h) { return *static_cast<StorePtr*>(h); }
Ranks& ranks_of(void* h) { return *static_cast<Ranks*>(h); }
}  // namespace
}  // namespace gorl

using namespace gorl;

gorl_err gorl_store_new(const char* host, int32_t* port, int32_t serve, int64_t timeout_ms, void** out) {
  GORL_BEGIN(0)
  const PipeSignalBlocked blocked;
  c10d::TCPStoreOptions options;
  options.port = static_cast<uint16_t>(*port);
  options.isServer = serve != 0;
  options.waitWorkers = false;
  options.timeout = std::chrono::milliseconds(timeout_ms);
  auto store = c10::make_intrusive<c10d::TCPStore>(host, options);
  *port = store->getPort();
  *out = new StorePtr(store);
  GORL_END
}
void gorl_store_free(void* store) { delete static_cast<StorePtr*>(store); }
gorl_err gorl_store_set(void* store, const char* key, const void* value, int64_t n) {
  GORL_BEGIN(0)
  const auto* p = static_cast<const uint8_t*>(value);
  store_of(store)->set(key, std::vector<uint8_t>(p, p + n));
  GORL_END
}
// Does not wait: *value is NULL where nobody has set the key yet.
gorl_err gorl_store_get(void* store, const char* key, char** value, int64_t* n) {
  GORL_BEGIN(0)
  *value = nullptr;
  if (store_of(store)->check({key})) {
    const auto got = store_of(store)->get(key);
    *n = static_cast<int64_t>(got.size());
    *value = static_cast<char*>(std::malloc(got.size() + 1));
    std::memcpy(*value, got.data(), got.size());
  }
  GORL_END
}

// address is that of this process, which the other ranks connect to.
gorl_err gorl_group_new(const char* backend, void* store, const char* prefix, int32_t rank, int32_t size, const char* address, int64_t timeout_ms, void** out) {
  GORL_BEGIN(0)
  const PipeSignalBlocked blocked;
  auto own = c10::make_intrusive<c10d::PrefixStore>(prefix, store_of(store));
  const auto timeout = std::chrono::milliseconds(timeout_ms);
  if (std::string(backend) == "nccl") {
#ifdef USE_C10D_NCCL
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = timeout;
    *out = static_cast<Ranks*>(new RanksOf<c10d::ProcessGroupNCCL>(c10::make_intrusive<c10d::ProcessGroupNCCL>(own, rank, size, options)));
#else
    TORCH_CHECK(false, "this build has no NCCL; build gorl's libraries against a libtorch with CUDA and NCCL, or take gloo");
#endif
  } else {
    auto options = c10d::ProcessGroupGloo::Options::create(timeout);
    options->devices.push_back(c10d::ProcessGroupGloo::createDeviceForHostname(address));
    *out = static_cast<Ranks*>(new RanksOf<c10d::ProcessGroupGloo>(c10::make_intrusive<c10d::ProcessGroupGloo>(own, rank, size, options)));
  }
  GORL_END
}
int32_t gorl_nccl_built(void) {
#ifdef USE_C10D_NCCL
  return 1;
#else
  return 0;
#endif
}
void gorl_group_free(void* group) { delete static_cast<Ranks*>(group); }
gorl_err gorl_group_all_reduce(void* group, gorl_t t) {
  GORL_BEGIN(0) ranks_of(group).all_reduce(T(t)); GORL_END
}
gorl_err gorl_group_broadcast(void* group, gorl_t t, int32_t root) {
  GORL_BEGIN(0) ranks_of(group).broadcast(T(t), root); GORL_END
}
gorl_err gorl_group_all_gather(void* group, gorl_t in, gorl_t out) {
  GORL_BEGIN(0) ranks_of(group).all_gather(T(in), T(out).unbind(0)); GORL_END
}

// A buffer is the gradients of a minibatch of so many rows, and behind them a tail: rows, figures, a flag for each rank.
// Before the ranks' buffers are added up, gradients and figures are multiplied by the rows.
gorl_err gorl_group_pack_(gorl_t buffer, int64_t gradients, double rows, const gorl_t* figures, int32_t n, int32_t rank) {
  GORL_BEGIN(0)
  at::Tensor& b = T(buffer);
  TORCH_CHECK(gradients + 1 + n + rank < b.numel(), "the buffer is too short for ", n, " figures and rank ", rank);
  bool loop = plain(b);
  for (int32_t i = 0; i < n && loop; i++) loop = plain(T(figures[i])) && T(figures[i]).numel() == 1;
  if (loop) {
    auto* p = b.data_ptr<float>();
    const auto w = static_cast<float>(rows);
    for (int64_t i = 0; i < gradients; i++) p[i] *= w;
    auto* tail = p + gradients;
    std::fill(tail, p + b.numel(), 0.0f);
    *tail++ = w;
    bool finite = true;
    for (int32_t i = 0; i < n; i++) {
      const float x = T(figures[i]).data_ptr<float>()[0];
      finite = finite && std::isfinite(x);
      *tail++ = x * w;
    }
    tail[rank] = finite ? 0.0f : 1.0f;
    return nullptr;
  }
  b.narrow(0, 0, gradients).mul_(rows);
  b.narrow(0, gradients, b.numel() - gradients).zero_();
  b[gradients].fill_(rows);
  std::vector<at::Tensor> all;
  for (int32_t i = 0; i < n; i++) all.push_back(T(figures[i]).detach().to(at::kFloat).reshape({}));
  auto values = at::stack(all);
  b.narrow(0, gradients + 1, n).copy_(values * rows);
  b[gradients + 1 + n + rank].copy_(at::isfinite(values).all().logical_not());
  GORL_END
}
// Once they are added up: means over all ranks' rows again.
gorl_err gorl_group_unpack_(gorl_t buffer, int64_t gradients, int32_t n) {
  GORL_BEGIN(0)
  at::Tensor& b = T(buffer);
  if (plain(b)) {
    auto* p = b.data_ptr<float>();
    const float w = 1.0f / p[gradients];
    for (int64_t i = 0; i < gradients; i++) p[i] *= w;
    for (int64_t i = gradients + 1; i <= gradients + n; i++) p[i] *= w;
    return nullptr;
  }
  auto rows = b[gradients].clone();
  b.narrow(0, 0, gradients).div_(rows);
  b.narrow(0, gradients + 1, n).div_(rows);
  GORL_END
}
