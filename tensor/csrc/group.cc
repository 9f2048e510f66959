// Sums over the GPUs of several processes, by NCCL through libtorch's c10d, and the layout of the buffer that ranks
// add up.
// Package distributed connects the processes; sums on the CPU are its own. See group.go.
#include "handle.h"

#ifdef USE_C10D_NCCL
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <csignal>
#include <deque>
#include <mutex>

namespace gorl {
namespace {
// Threads that are started while it lives have SIGPIPE blocked. NCCL's threads write to sockets whose other end may be
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

// The keys that c10d sets while it connects GPUs. The store has no network: package distributed takes what is set here
// to the other processes, and puts what is set there into this one.
class Keys : public c10d::HashStore {
 public:
  using c10d::HashStore::set;
  void set(const std::string& key, const std::vector<uint8_t>& value) override {
    {
      const std::lock_guard<std::mutex> guard(lock_);
      unsent_.emplace_back(key, value);
    }
    put(key, value);
  }
  void put(const std::string& key, const std::vector<uint8_t>& value) { c10d::HashStore::set(key, value); }
  bool take(std::pair<std::string, std::vector<uint8_t>>& next) {
    const std::lock_guard<std::mutex> guard(lock_);
    if (unsent_.empty()) return false;
    next = std::move(unsent_.front());
    unsent_.pop_front();
    return true;
  }

 private:
  std::mutex lock_;
  std::deque<std::pair<std::string, std::vector<uint8_t>>> unsent_;
};

struct Ranks {
  c10::intrusive_ptr<Keys> keys;
  c10::intrusive_ptr<c10d::ProcessGroupNCCL> group;
};
Ranks& ranks_of(void* h) { return *static_cast<Ranks*>(h); }

char* copied(const void* p, size_t n) {
  auto* to = static_cast<char*>(std::malloc(n + 1));
  std::memcpy(to, p, n);
  to[n] = 0;
  return to;
}
}  // namespace
}  // namespace gorl

using namespace gorl;

gorl_err gorl_nccl_new(int32_t rank, int32_t size, int64_t timeout_ms, void** out) {
  GORL_BEGIN(0)
  const PipeSignalBlocked blocked;
  const auto timeout = std::chrono::milliseconds(timeout_ms);
  auto keys = c10::make_intrusive<Keys>();
  keys->setTimeout(timeout);
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout;
  *out = new Ranks{keys, c10::make_intrusive<c10d::ProcessGroupNCCL>(keys, rank, size, options)};
  GORL_END
}
int32_t gorl_nccl_built(void) { return 1; }
void gorl_nccl_free(void* ranks) { delete static_cast<Ranks*>(ranks); }
gorl_err gorl_nccl_put(void* ranks, const char* key, const void* value, int64_t n) {
  GORL_BEGIN(0)
  const auto* p = static_cast<const uint8_t*>(value);
  ranks_of(ranks).keys->put(key, std::vector<uint8_t>(p, p + n));
  GORL_END
}
gorl_err gorl_nccl_take(void* ranks, char** key, char** value, int64_t* n) {
  GORL_BEGIN(0)
  *key = *value = nullptr;
  std::pair<std::string, std::vector<uint8_t>> next;
  if (!ranks_of(ranks).keys->take(next)) return nullptr;
  *key = copied(next.first.data(), next.first.size());
  *value = copied(next.second.data(), next.second.size());
  *n = static_cast<int64_t>(next.second.size());
  GORL_END
}
gorl_err gorl_nccl_all_reduce(void* ranks, gorl_t t) {
  GORL_BEGIN(0)
  const PipeSignalBlocked blocked;  // the first call connects the GPUs
  std::vector<at::Tensor> list{T(t)};
  ranks_of(ranks).group->allreduce(list)->wait();
  GORL_END
}
gorl_err gorl_nccl_broadcast(void* ranks, gorl_t t, int32_t root) {
  GORL_BEGIN(0)
  c10d::BroadcastOptions options;
  options.rootRank = root;
  std::vector<at::Tensor> list{T(t)};
  ranks_of(ranks).group->broadcast(list, options)->wait();
  GORL_END
}
#else
using namespace gorl;

namespace {
gorl_err no_nccl() {
  return message(
      "this build has no NCCL; build gorl's libraries against a libtorch with CUDA and NCCL, or set "
      "distributed.backend to sockets");
}
}  // namespace
gorl_err gorl_nccl_new(int32_t, int32_t, int64_t, void**) { return no_nccl(); }
int32_t gorl_nccl_built(void) { return 0; }
void gorl_nccl_free(void*) {}
gorl_err gorl_nccl_put(void*, const char*, const void*, int64_t) { return no_nccl(); }
gorl_err gorl_nccl_take(void*, char**, char**, int64_t*) { return no_nccl(); }
gorl_err gorl_nccl_all_reduce(void*, gorl_t) { return no_nccl(); }
gorl_err gorl_nccl_broadcast(void*, gorl_t, int32_t) { return no_nccl(); }
#endif

// A buffer is the gradients of a minibatch of so many rows, and behind them a tail: rows, figures, a flag for each rank.
// Before the ranks' buffers are added up, gradients and figures are multiplied by the rows.
gorl_err gorl_group_pack_(gorl_t buffer, int64_t gradients, double rows, const gorl_t* figures, int32_t n, int32_t rank) {
  GORL_BEGIN(0)
  at::Tensor& b = T(buffer);
  TORCH_CHECK(gradients >= 0 && rank >= 0 && rank < b.numel() - gradients - 1 - n, "the buffer of ", b.numel(), " elements has no room for ",
              gradients, " gradients, ", n, " figures and rank ", rank);
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
  TORCH_CHECK(gradients >= 0 && n >= 0 && n < b.numel() - gradients, "the buffer of ", b.numel(), " elements does not hold ", gradients,
              " gradients and ", n, " figures");
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
