#include "net.h"

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

void Op::release_variables() {
  released_ = true;
  if (recorder == nullptr && !recorded_) release();  // otherwise a replay needs it
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

void NetworkOp::leave() {
  if (patient_ && gorl_threads() > 1) left_ = true;
  else run_back({this});
}

void run_back(std::vector<NetworkOp*> ops) {
  // Shares keeps this order for passes through the same network. It is that of the forward passes.
  std::sort(ops.begin(), ops.end(), [](const NetworkOp* a, const NetworkOp* b) { return a->number < b->number; });
  std::vector<Rows> rows;
  for (const NetworkOp* op : ops) rows.push_back(op->rows());
  Shares shares(rows);
  std::vector<std::shared_ptr<Gradients>> all, of;  // of: each node's
  for (size_t i = 0; i < ops.size(); i++) {
    auto same = std::find_if(all.begin(), all.end(), [&](const auto& g) { return g->fits(ops[i]->net); });
    of.push_back(same != all.end() ? *same : all.emplace_back(std::make_shared<Gradients>(ops[i]->net, shares.parts)));
    of.back()->use(shares.cuts[i]);
  }
  // Of networks that share layers, the same part adds to the parameters' own gradients: the last one.
  for (const auto& g : all)
    for (const auto& other : all)
      if (g != other && g->overlaps(*other)) g->own(shares.parts - 1);
  perform([ops = std::move(ops), shares = std::move(shares), all = std::move(all), of = std::move(of)] {
    shares.each([&](size_t i, int64_t part, int64_t first, int64_t count) {
      ops[i]->back(first, count, of[i]->at(part));
    });
    if (shares.parts == 1) return;
    each(shares.parts, [&](int64_t part) {
      for (const auto& g : all) g->sum(part);
    });
  });
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
  std::vector<NetworkOp*> late;  // they live as long as the loss
  stack.push_back(root);
  while (!stack.empty()) {
    Op* op = stack.back();
    stack.pop_back();
    variable_list in(op->num_outputs());
    bool any = false;
    for (const auto& g : op->grads_) any = any || g.defined();
    if (any) {
      op->patient_ = true;
      op->left_ = false;
      in = op->apply(std::move(op->grads_));
      op->patient_ = false;
      if (op->left_) late.push_back(static_cast<NetworkOp*>(op));
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
  if (!late.empty()) run_back(late);
  for (NetworkOp* op : late) op->release_variables();
  return true;
}

}  // namespace gorl
