// Nodes of the autograd graph with a backward written by hand. Where every node between a loss and the parameters is one of
// these, backpropagate runs them one after the other without libtorch's autograd engine, whose bookkeeping costs a small
// network more than its arithmetic. In a graph with other nodes libtorch's engine runs these too, because they are
// torch::autograd::Nodes. Gradients of the parameters of a layer are added straight to where they are kept. A gradient that
// comes out of these nodes cannot be differentiated again, but for those with backward_again.
#pragma once
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>

#include "engine.h"

namespace gorl {

using torch::autograd::edge_list;
using torch::autograd::variable_list;

struct Op : torch::autograd::Node, Celled {
  explicit Op(edge_list&& inputs);
  // The gradients of the inputs (the node's edges, in order) from those of the outputs; either may be undefined.
  virtual variable_list backward(const variable_list& grads) = 0;
  // The same by operations that libtorch can differentiate, where a graph of the gradient is asked for.
  virtual variable_list backward_again(const variable_list& grads) { return backward(grads); }
  // Lets go of what backward needs.
  virtual void release() = 0;
  variable_list apply(variable_list&& grads) final;
  void release_variables() final;

  bool again_ = false;  // whether backward_again is overridden and the input is not ours

 protected:
  bool patient_ = false;  // whether the pass has an end at which things can be done
  bool left_ = false;     // whether backward left its work to that end; only of a NetworkOp (net.h)

 private:
  friend bool backpropagate(const at::Tensor& loss);
  bool released_ = false;
  const bool recorded_ = recorder != nullptr;  // made while the thread records
  // What backpropagate notes down: the gradients so far, and how many nodes have not been run that add to them.
  variable_list grads_;
  int64_t waiting_ = 0;
  uint64_t seen_ = 0;
};

// Nodes are counted by std::shared_ptr in libtorch until some 2.x, and by c10::intrusive_ptr since; edges say which it is.
template <class> struct Counted;
template <class Base> struct Counted<std::shared_ptr<Base>> {
  template <class N> using pointer = std::shared_ptr<N>;
  template <class N, class... Args> static pointer<N> make(Args&&... args) {
    return pointer<N>(new N(std::forward<Args>(args)...), [](N* n) { deleteNode(n); }, Cells<N>()); // libtorch's, which does not recurse
  }
};
template <class Base, class Null> struct Counted<c10::intrusive_ptr<Base, Null>> {
  template <class N> using pointer = c10::intrusive_ptr<N>;
  template <class N, class... Args> static pointer<N> make(Args&&... args) { return c10::make_intrusive<N>(std::forward<Args>(args)...); }
};
using Counting = Counted<decltype(torch::autograd::Edge::function)>;

// Makes out a result of the node.
inline void track(at::Tensor& out, const Counting::pointer<Op>& node) { torch::autograd::set_history(out, node); }
template <class N, class... Args>
Counting::pointer<N> node(Args&&... args) { return Counting::make<N>(std::forward<Args>(args)...); }

// Whether autograd follows one of the tensors.
template <class... Tensors>
bool followed(const Tensors&... t) { return (... || t.requires_grad()); }

// Whether the engine can add to t's gradient itself: contiguous float32 on the CPU and, where it learns, a leaf whose gradient
// is a view of the flat gradients.
bool ready(const at::Tensor& t);
// Whether autograd does not follow t, or only by nodes of the engine without backward_again and parameters that are
// ready. The gradients of other tensors may be differentiated again, which is libtorch's task.
bool ours(const at::Tensor& t);

// Adds the gradient of loss, a scalar, to the gradients of the parameters, and returns true; false, with nothing done, where a
// node of the graph is libtorch's.
bool backpropagate(const at::Tensor& loss);

}  // namespace gorl
