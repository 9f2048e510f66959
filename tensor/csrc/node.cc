#include "node.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>

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
  stack.push_back(root);
  while (!stack.empty()) {
    Op* op = stack.back();
    stack.pop_back();
    variable_list in(op->num_outputs());
    bool any = false;
    for (const auto& g : op->grads_) any = any || g.defined();
    if (any) {
      in = op->apply(std::move(op->grads_));
      op->release_variables();
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
  }
  return true;
}

}  // namespace gorl
