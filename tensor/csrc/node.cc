#include "node.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <algorithm>
#include <numeric>
#include <utility>

namespace gorl {

using torch::autograd::AccumulateGrad;

// It has libtorch's number, so that libtorch's engine runs the nodes of a mixed graph in the order of their creation, whatever the
// thread did before.
Op::Op(edge_list&& inputs) : Node(std::move(inputs)) {}

variable_list Op::apply(variable_list&& grads) {
  TORCH_CHECK(!released_, "backward was called a second time through the same operations: compute the loss again before it");
  at::AutoGradMode off(false);
  return backward(grads);
}

void Op::release_variables() {
  released_ = true;
  release();
}

bool ready(const at::Tensor& t) {
  return plain(t) && (!t.requires_grad() || (t.is_leaf() && t.grad().defined() && t.grad().is_view() && plain(t.grad())));
}

bool ours(const at::Tensor& t) {
  if (!t.requires_grad()) return true;
  return t.is_leaf() ? ready(t) : dynamic_cast<Op*>(t.grad_fn().get()) != nullptr;
}

namespace {

// Shares the nodes among the threads, the largest first, each to the thread that has the least work: their indices, by thread. All
// are one thread's where they cannot be shared about evenly; the rows of each are split then. It depends on sizes alone.
std::vector<std::vector<size_t>> shared_out(const std::vector<Op*>& ops) {
  std::vector<size_t> order(ops.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return ops[a]->work() > ops[b]->work(); });
  const auto threads = static_cast<size_t>(gorl_threads());
  std::vector<std::vector<size_t>> shares(threads);
  std::vector<int64_t> work(threads, 0);
  int64_t all = 0;
  for (size_t i : order) {
    const auto t = static_cast<size_t>(std::min_element(work.begin(), work.end()) - work.begin());
    shares[t].push_back(i);
    work[t] += ops[i]->work();
    all += ops[i]->work();
  }
  const int64_t longest = *std::max_element(work.begin(), work.end());
  if (parts_of(gorl_threads(), all) == 1 || 10 * longest * gorl_threads() > 11 * all) return {order};
  return shares;
}

}  // namespace

// Runs nodes of which none needs another, and returns what their backward does.
std::vector<variable_list> run_side_by_side(const std::vector<Op*>& ops) {
  const auto shares = shared_out(ops);
  std::vector<variable_list> out(ops.size());
  if (shares.size() > 1)
    for (size_t i = 1; i < ops.size(); i++) ops[i]->set_aside();
  each(static_cast<int64_t>(shares.size()), [&](int64_t part) {
    for (size_t i : shares[static_cast<size_t>(part)]) out[i] = ops[i]->apply(std::move(ops[i]->grads_));
  });
  for (Op* op : ops) {
    op->settle();
    op->release_variables();
    op->grads_.clear();
  }
  return out;
}

bool backpropagate(const at::Tensor& loss) {
  auto* root = dynamic_cast<Op*>(loss.grad_fn().get());
  if (root == nullptr || !plain(loss) || loss.numel() != 1) return false;
  static std::atomic<uint64_t> runs{0};
  const uint64_t run = ++runs;
  std::vector<Op*> all, stack{root};
  root->seen_ = run;
  root->waiting_ = 0;
  while (!stack.empty()) {
    Op* op = stack.back();
    stack.pop_back();
    all.push_back(op);
    for (const auto& edge : op->next_edges()) {
      if (edge.function == nullptr) continue;
      if (auto* next = dynamic_cast<Op*>(edge.function.get())) {
        if (next->seen_ != run) {
          next->seen_ = run;
          next->waiting_ = 0;
          stack.push_back(next);
        }
        next->waiting_++;
        continue;
      }
      auto* leaf = dynamic_cast<AccumulateGrad*>(edge.function.get());
      if (leaf == nullptr || !ready(leaf->variable)) return false;
    }
  }
  for (Op* op : all) op->grads_.assign(op->num_inputs(), at::Tensor());
  root->grads_[loss.output_nr()] = scalar(1);
  const auto hand_on = [&](Op* op, const variable_list& in) {
    for (size_t i = 0; i < in.size(); i++) {
      const auto& edge = op->next_edge(i);
      if (edge.function == nullptr) continue;
      if (auto* next = dynamic_cast<Op*>(edge.function.get())) {
        if (in[i].defined()) {
          auto& g = next->grads_[edge.input_nr];
          if (g.defined()) {  // a gradient may be shared: it is not changed in place
            auto sum = make(g.sizes());
            std::memcpy(data(sum), data(g), static_cast<size_t>(g.numel()) * 4);
            kernels().axpy(data(sum), 1, data(in[i]), g.numel());
            g = sum;
          } else {
            g = in[i];
          }
        }
        if (--next->waiting_ == 0) stack.push_back(next);
      } else if (in[i].defined()) {
        auto* leaf = static_cast<AccumulateGrad*>(edge.function.get());
        kernels().axpy(data(leaf->variable.grad()), 1, data(in[i]), in[i].numel());
      }
    }
  };
  const bool threads = gorl_threads() > 1;
  std::vector<Op*> later;  // those that are worth a thread wait until no other node is ready
  stack.push_back(root);
  while (!stack.empty() || !later.empty()) {
    if (stack.empty()) {
      const auto ready_ = std::exchange(later, {});
      const auto gradients = run_side_by_side(ready_);
      for (size_t i = 0; i < ready_.size(); i++) hand_on(ready_[i], gradients[i]);
      continue;
    }
    Op* op = stack.back();
    stack.pop_back();
    const bool any = std::any_of(op->grads_.begin(), op->grads_.end(), [](const at::Tensor& g) { return g.defined(); });
    if (any && threads && op->work() > 0) {
      later.push_back(op);
      continue;
    }
    variable_list in(op->num_outputs());
    if (any) {
      in = op->apply(std::move(op->grads_));
      op->release_variables();
    }
    op->grads_.clear();
    hand_on(op, in);
  }
  return true;
}

}  // namespace gorl
