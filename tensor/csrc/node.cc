#include "node.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>

namespace gorl {

using torch::autograd::AccumulateGrad;

// It has libtorch's number, so that libtorch's engine runs the nodes of a mixed graph in the order of their creation, whatever the
// thread did before.
Op::Op(edge_list&& inputs) : Node(std::move(inputs)) {}

variable_list Op::apply(variable_list&& grads) {
  TORCH_CHECK(!released_, "backward was called a second time through the same operations: compute the loss again before it");
  if (again_ && at::GradMode::is_enabled()) return backward_again(grads);
  at::AutoGradMode off(false);
  return backward(grads);
}

void Op::leave(int64_t parts) {
  if (patient_ && parts > 1) {
    left_ = parts;
    return;
  }
  at_once(parts);
}

void Op::at_once(int64_t parts) {
  perform([this, parts] {
    each(parts, [this](int64_t p) { part(p); });
    each(parts, [this](int64_t p) { finish(p); });
  });
}

void Op::release_variables() {
  released_ = true;
  if (recorder == nullptr) release();  // otherwise a replay needs it
}

bool ready(const at::Tensor& t) {
  return plain(t) && (!t.requires_grad() || (t.is_leaf() && t.grad().defined() && t.grad().is_view() && plain(t.grad())));
}

bool ours(const at::Tensor& t) {
  if (!t.requires_grad()) return true;
  if (t.is_leaf()) return ready(t);
  const auto* op = dynamic_cast<Op*>(t.grad_fn().get());
  return op != nullptr && !op->again_;
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
  if (recorder != nullptr) {  // all nodes
    recorder->keep(loss);
    recorder->keep(root->grads_[loss.output_nr()]);
  }
  std::vector<Op*> late;  // they live as long as the loss
  stack.push_back(root);
  while (!stack.empty()) {
    Op* op = stack.back();
    stack.pop_back();
    variable_list in(op->num_outputs());
    bool any = false;
    for (const auto& g : op->grads_) any = any || g.defined();
    if (any) {
      op->patient_ = true;
      op->left_ = 0;
      in = op->apply(std::move(op->grads_));
      op->patient_ = false;
      if (op->left_ > 0) late.push_back(op);
      else op->release_variables();
    }
    op->grads_.clear();
    for (size_t i = 0; i < in.size(); i++) {
      const auto& edge = op->next_edge(i);
      if (edge.function == nullptr) continue;
      if (auto* next = dynamic_cast<Op*>(edge.function.get())) {
        if (in[i].defined()) {
          auto& g = next->grads_[edge.input_nr];
          if (g.defined()) {  // a gradient may be shared: it is not changed in place
            auto sum = make(g.sizes());
            perform([n = g.numel(), o = data(sum), p = data(g), q = data(in[i])] {
              copy_bytes(o, p, static_cast<size_t>(n) * 4);
              kernels().axpy(o, 1, q, n);
            }, sum, g, in[i]);
            g = sum;
          } else {
            g = in[i];
          }
        }
        if (--next->waiting_ == 0) stack.push_back(next);
      } else if (in[i].defined()) {
        auto* leaf = static_cast<AccumulateGrad*>(edge.function.get());
        perform([o = data(leaf->variable.grad()), p = data(in[i]), n = in[i].numel()] { kernels().axpy(o, 1, p, n); }, in[i]);
      }
    }
  }
  if (late.empty()) return true;
  perform([late] {
    int64_t parts = 0;
    for (const Op* op : late) parts = std::max(parts, op->left_);
    each(parts, [&](int64_t p) {
      for (Op* op : late)
        if (p < op->left_) op->part(p);
    });
    // Nodes that share parameters may have different numbers of parts. Such nodes add up their gradients one after the
    // other, because the slices of different numbers of parts overlap.
    for (int64_t next; parts > 0; parts = next) {
      next = 0;
      for (const Op* op : late)
        if (op->left_ < parts) next = std::max(next, op->left_);
      each(parts, [&](int64_t p) {
        for (Op* op : late)
          if (op->left_ == parts) op->finish(p);
      });
    }
  });
  for (Op* op : late) op->release_variables();
  return true;
}

}  // namespace gorl
