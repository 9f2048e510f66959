// Operations that training repeats in every minibatch, each as one node of the autograd graph with a backward written by
// hand: a small network spends most of an update on the bookkeeping of separate operations. On plain CPU memory they are
// loops; elsewhere, and where a gradient of a gradient is asked for, they are the separate operations.
#pragma once
#include <cmath>
#include <vector>

#include "handle.h"

namespace gorl {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// x as a float32 beside like. What float32 cannot hold becomes infinite, as in separate operations; at::scalar_tensor throws.
inline at::Tensor scalar(double x, const at::Tensor& like) { return at::scalar_tensor(static_cast<float>(x), like.options()); }

// Whether a node can add to t's gradient itself: contiguous float32 on the CPU and, where it learns, a leaf whose gradient is
// a view of the flat gradients.
inline bool ready(const at::Tensor& t) {
  return plain(t) && (!t.requires_grad() || (t.is_leaf() && t.grad().defined() && t.grad().is_view() && plain(t.grad())));
}

// Adds the column sums of g to a gradient.
inline void add_columns(at::Tensor& grad, const at::Tensor& g) {
  float* __restrict out = grad.data_ptr<float>();
  const float* __restrict p = g.data_ptr<float>();
  const int64_t rows = g.size(0), cols = g.size(1);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) out[j] += p[i * cols + j];
}

}  // namespace gorl
