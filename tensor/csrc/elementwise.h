// Elementwise operations, sums and views of plain tensors without libtorch's dispatcher: see engine.h. Each function returns
// an undefined tensor where the engine does not know the operation for these operands; libtorch then does it.
#pragma once
#include "node.h"

namespace gorl {

at::Tensor fast_unary(int32_t op, const at::Tensor& a);
at::Tensor fast_binary(int32_t op, const at::Tensor& a, const at::Tensor& b);
at::Tensor fast_scalar(int32_t op, const at::Tensor& a, double x);
at::Tensor fast_clamp(const at::Tensor& a, double lo, double hi);
at::Tensor fast_reduce(int32_t op, const at::Tensor& a, at::IntArrayRef dims, bool keep);
at::Tensor fast_narrow(const at::Tensor& a, int64_t dim, int64_t start, int64_t length);
at::Tensor fast_select(const at::Tensor& a, int64_t dim, int64_t index);
at::Tensor fast_unsqueeze(const at::Tensor& a, int64_t dim);
bool fast_copy(at::Tensor& to, const at::Tensor& from);
bool fast_fill(at::Tensor& to, double x);
at::Tensor fast_cat(const gorl_t* list, int32_t n, int64_t dim);
at::Tensor fast_rows(const at::Tensor& a, int64_t dim, const at::Tensor& index);

}  // namespace gorl
