// What the engine computes is recorded where a graph on the CPU asks for it (graph.cc). Each operation is a step on raw memory,
// which perform does and, where the thread records, writes down. A replay does the steps again, on the same memory: without
// libtorch's tensors and autograd, without allocation, and without calls from Go, which take a small network longer than its
// arithmetic. Operations of libtorch's own are steps too, as long as autograd does not follow them. All else spoils a recording.
#pragma once
#include <algorithm>
#include <functional>
#include <vector>

#include "handle.h"

namespace gorl {

// The rows of a pass through a network. Threads share them out (Shares, engine.h).
struct Rows {
  int64_t n = 0, cost = 0;    // cost: the multiplications of a row
  int64_t place = 0;          // where the parameters begin in the flat ones; -1 for a pass with cuts, which comes first
  std::vector<int64_t> cuts;  // where rows must be cut; if it is empty, rows are cut between blocks
  // The rows of a block. Few rows in another part are not worth the weights in another cache.
  int64_t block() const { return std::clamp<int64_t>(n / 16, 1, 8); }
};

struct Pass {
  Rows rows;
  std::vector<at::Tensor> reads, results;
  std::function<void(int64_t first, int64_t count)> compute;
  std::function<void()> end;  // follows when all rows are computed; may be empty
};

class Recorder {
 public:
  void add(std::function<void()> step) {
    close();
    if (!spoiled_) steps_.push_back(std::move(step));
  }
  // Forward passes of perceptrons without a step between them are replayed side by side if none of them reads what
  // another makes. The threads then meet once instead of once a pass.
  void add(Pass pass);
  void close();  // makes one step of the passes added so far
  // Keeps the memory that steps work on.
  void keep(const at::Tensor& t) {
    if (!spoiled_) kept_.push_back(t);
  }
  // Counts memory that is made while the thread records, and will be kept.
  void note(size_t bytes) { spoiled_ = spoiled_ || (bytes_ += bytes) > most; }
  // Says that something was done that no step does.
  void spoil() { spoiled_ = true; }
  bool spoiled() const { return spoiled_; }
  void replay() const {
    for (const auto& step : steps_) step();
  }

 private:
  // Minibatches with more memory spend their time on arithmetic, of which a replay spares nothing.
  static constexpr size_t most = 4 << 20;
  std::vector<std::function<void()>> steps_;
  std::vector<Pass> passes_;  // they follow the steps
  std::vector<at::Tensor> kept_;
  size_t bytes_ = 0;
  bool spoiled_ = false;
};

// Does a step, which works on the memory of these tensors, and records it. The step has what it needs by value.
template <class F, class... Tensors>
void perform(F&& step, const Tensors&... of) {
  step();
  if (recorder == nullptr) return;
  (recorder->keep(of), ...);
  recorder->add(std::forward<F>(step));
}

// Returns the result of f, an operation of libtorch. A step computes it again into the same memory.
template <class F>
at::Tensor by_libtorch(F&& f) {
  at::Tensor result = f();
  if (recorder == nullptr || result.requires_grad() || !result.device().is_cpu()) return result;
  recorder->note(result.nbytes());
  recorder->add([f = std::forward<F>(f), result] {
    const at::Tensor again = f();
    if (!again.is_alias_of(result)) result.copy_(again);  // a view is up to date
  });
  Call::recorded();
  return result;
}

// Does a step by which libtorch changes a tensor in place, and records it.
template <class F>
void in_place(F&& step) {
  perform(std::forward<F>(step));
  Call::recorded();
}

// t itself where its memory is contiguous, or a copy, which no step makes.
inline at::Tensor contiguous(const at::Tensor& t) {
  if (recorder != nullptr && !t.is_contiguous()) recorder->spoil();
  return t.contiguous();
}

}  // namespace gorl
