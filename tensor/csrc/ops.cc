#include <cmath>
#include <limits>

#include "elementwise.h"

namespace gorl {

at::Tensor activate(int32_t op, const at::Tensor& a) {
  switch (op) {
    case GORL_TANH: return at::tanh(a);
    case GORL_SIGMOID: return at::sigmoid(a);
    case GORL_RELU: return at::relu(a);
    case GORL_ELU: return at::elu(a);
    case GORL_SOFTPLUS: return at::softplus(a);
    case GORL_SILU: return at::silu(a);
    case GORL_GELU: return at::gelu(a);
    case GORL_LEAKY_RELU: return at::leaky_relu(a, 0.01);
    case GORL_SOFTSIGN: return a / (1 + at::abs(a));
    case GORL_SELU: return at::selu(a);
    case GORL_IDENTITY: return a;
  }
  TORCH_CHECK(false, "unknown activation code ", op);
}

namespace {

at::Tensor unary(int32_t op, const at::Tensor& a) {
  switch (op) {
    case GORL_NEG: return at::neg(a);
    case GORL_EXP: return at::exp(a);
    case GORL_LOG: return at::log(a);
    case GORL_SQRT: return at::sqrt(a);
    case GORL_SQUARE: return at::square(a);
    case GORL_ABS: return at::abs(a);
    case GORL_DETACH: return a.detach();
    case GORL_CLONE: return a.clone();
    case GORL_CONTIGUOUS: return a.contiguous();
    case GORL_COS: return at::cos(a);
    case GORL_SIN: return at::sin(a);
  }
  return activate(op, a);
}

at::Tensor binary(int32_t op, const at::Tensor& a, const at::Tensor& b) {
  switch (op) {
    case GORL_ADD: return at::add(a, b);
    case GORL_SUB: return at::sub(a, b);
    case GORL_MUL: return at::mul(a, b);
    case GORL_DIV: return at::div(a, b);
    case GORL_MINIMUM: return at::minimum(a, b);
    case GORL_MAXIMUM: return at::maximum(a, b);
    case GORL_MATMUL: return at::matmul(a, b);
    case GORL_EQ: return at::eq(a, b);
  }
  TORCH_CHECK(false, "unknown operation code ", op);
}

at::Tensor with_scalar(int32_t op, const at::Tensor& a, double x) {
  switch (op) {
    case GORL_ADD_S: return at::add(a, x);
    case GORL_MUL_S: return at::mul(a, x);
    case GORL_RSUB_S: return at::rsub(a, x);
    case GORL_EQ_S: return at::eq(a, x);
    case GORL_GT_S: return at::gt(a, x);
  }
  TORCH_CHECK(false, "unknown operation code ", op);
}

at::Tensor reduce(int32_t op, const at::Tensor& a, at::IntArrayRef dims, bool keep) {
  std::vector<int64_t> all;
  if (dims.empty()) {
    for (int64_t i = 0; i < a.dim(); i++) all.push_back(i);
    dims = all;
  }
  switch (op) {
    case GORL_SUM: return at::sum(a, dims, keep);
    case GORL_MEAN: return at::mean(a, dims, keep);
    case GORL_STD: return at::std(a, dims, /*unbiased=*/true, keep);
    case GORL_AMAX: return at::amax(a, dims, keep);
  }
  TORCH_CHECK(false, "unknown reduction code ", op);
}

at::Tensor along(int32_t op, const at::Tensor& a, int64_t dim) {
  switch (op) {
    case GORL_LOG_SOFTMAX: return at::log_softmax(a, dim);
    case GORL_SOFTMAX: return at::softmax(a, dim);
    case GORL_ARGMAX: return at::argmax(a, dim, true);
    case GORL_UNSQUEEZE: return a.unsqueeze(dim);
  }
  TORCH_CHECK(false, "unknown operation code ", op);
}

}  // namespace
}  // namespace gorl

using namespace gorl;

// The result of the engine, or where it is undefined that of libtorch, which computes `theirs` of copies of what it names.
#define GORL_FAST(mine, theirs, ...)                                   \
  at::Tensor result = mine;                                            \
  if (result.defined()) Call::recorded();                              \
  else result = by_libtorch([__VA_ARGS__] { return theirs; });         \
  *out = wrap(std::move(result));
#define GORL_SLOW(theirs, ...) *out = wrap(by_libtorch([__VA_ARGS__] { return theirs; }));

gorl_err gorl_unary(int32_t op, gorl_t a, int grad, gorl_t* out) { GORL_BEGIN(grad) GORL_FAST(fast_unary(op, T(a)), unary(op, x), op, x = T(a)) GORL_END }
gorl_err gorl_binary(int32_t op, gorl_t a, gorl_t b, int grad, gorl_t* out) {
  GORL_BEGIN(grad) GORL_FAST(fast_binary(op, T(a), T(b)), binary(op, x, y), op, x = T(a), y = T(b)) GORL_END
}
gorl_err gorl_scalar(int32_t op, gorl_t a, double x, int grad, gorl_t* out) {
  GORL_BEGIN(grad) GORL_FAST(fast_scalar(op, T(a), x), with_scalar(op, t, x), op, t = T(a), x) GORL_END
}
gorl_err gorl_clamp(gorl_t a, double lo, double hi, int grad, gorl_t* out) {
  GORL_BEGIN(grad)
  c10::optional<at::Scalar> low, high;
  if (!std::isinf(lo)) low = lo;
  if (!std::isinf(hi)) high = hi;
  GORL_FAST(low || high ? fast_clamp(T(a), lo, hi) : T(a), at::clamp(x, low, high), x = T(a), low, high)
  GORL_END
}
gorl_err gorl_reduce(int32_t op, gorl_t a, const int64_t* dims, int32_t n, int keep, int grad, gorl_t* out) {
  GORL_BEGIN(grad)
  GORL_FAST(fast_reduce(op, T(a), sizes_of(dims, n), keep != 0), reduce(op, x, over, keep != 0), op, x = T(a), over = sizes_of(dims, n).vec(), keep)
  GORL_END
}
gorl_err gorl_along(int32_t op, gorl_t a, int64_t dim, int grad, gorl_t* out) {
  GORL_BEGIN(grad) GORL_FAST(op == GORL_UNSQUEEZE ? fast_unsqueeze(T(a), dim) : at::Tensor(), along(op, x, dim), op, x = T(a), dim) GORL_END
}
gorl_err gorl_where(gorl_t c, gorl_t a, gorl_t b, int grad, gorl_t* out) {
  GORL_BEGIN(grad) GORL_SLOW(at::where(x, y, z), x = T(c), y = T(a), z = T(b)) GORL_END
}
gorl_err gorl_join(int32_t op, const gorl_t* list, int32_t n, int64_t dim, int grad, gorl_t* out) {
  GORL_BEGIN(grad)
  std::vector<at::Tensor> ts;
  auto joined = op == GORL_CAT ? fast_cat(list, n, dim) : at::Tensor();
  for (int32_t i = 0; i < n && !joined.defined(); i++) ts.push_back(T(list[i]));
  GORL_FAST(joined, op == GORL_CAT ? at::cat(ts, dim) : at::stack(ts, dim), op, ts = std::move(ts), dim)
  GORL_END
}
gorl_err gorl_narrow(gorl_t a, int64_t dim, int64_t start, int64_t length, int grad, gorl_t* out) {
  GORL_BEGIN(grad) GORL_FAST(fast_narrow(T(a), dim, start, length), x.narrow(dim, start, length), x = T(a), dim, start, length) GORL_END
}
gorl_err gorl_select(gorl_t a, int64_t dim, int64_t index, int grad, gorl_t* out) {
  GORL_BEGIN(grad) GORL_FAST(fast_select(T(a), dim, index), x.select(dim, index), x = T(a), dim, index) GORL_END
}
gorl_err gorl_index_select(gorl_t a, int64_t dim, gorl_t index, int grad, gorl_t* out) {
  GORL_BEGIN(grad) GORL_FAST(fast_rows(T(a), dim, T(index)), at::index_select(x, dim, which), x = T(a), dim, which = T(index)) GORL_END
}
gorl_err gorl_gather(gorl_t a, int64_t dim, gorl_t index, int grad, gorl_t* out) {
  GORL_BEGIN(grad) GORL_SLOW(at::gather(x, dim, which), x = T(a), dim, which = T(index)) GORL_END
}
gorl_err gorl_reshape(gorl_t a, const int64_t* sizes, int32_t n, int grad, gorl_t* out) {
  GORL_BEGIN(grad) GORL_SLOW(x.reshape(to), x = T(a), to = sizes_of(sizes, n).vec()) GORL_END
}
gorl_err gorl_expand(gorl_t a, const int64_t* sizes, int32_t n, int grad, gorl_t* out) {
  GORL_BEGIN(grad) GORL_SLOW(x.expand(to), x = T(a), to = sizes_of(sizes, n).vec()) GORL_END
}
gorl_err gorl_transpose(gorl_t a, int64_t d0, int64_t d1, int grad, gorl_t* out) { GORL_BEGIN(grad) GORL_SLOW(x.transpose(d0, d1), x = T(a), d0, d1) GORL_END }
gorl_err gorl_bitcast(gorl_t a, int32_t dtype, int grad, gorl_t* out) {
  GORL_BEGIN(grad)
  const at::Tensor& t = T(a);
  // A dimension of one element keeps any stride, which libtorch may refuse: contiguous memory is read as one row.
  if (t.dim() > 1 && t.is_contiguous()) {
    auto row = t.view({-1}).view(scalar_of(dtype));
    auto sizes = t.sizes().vec();
    sizes.back() = sizes.back() * t.element_size() / row.element_size();
    *out = wrap(row.view(sizes));
    return nullptr;
  }
  *out = wrap(t.view(scalar_of(dtype)));
  GORL_END
}
gorl_err gorl_permute(gorl_t a, const int64_t* dims, int32_t n, int grad, gorl_t* out) {
  GORL_BEGIN(grad) GORL_SLOW(x.permute(order), x = T(a), order = sizes_of(dims, n).vec()) GORL_END
}

gorl_err gorl_conv2d(gorl_t x, gorl_t w, gorl_t b, const int64_t* g, int32_t lower, int grad, gorl_t* out) {
  GORL_BEGIN(grad)
  at::Tensor in = lowered(T(x), lower);
  std::vector<int64_t> padding = {g[2], g[3]};
  if (g[2] != g[4] || g[3] != g[5]) {  // at::conv2d pads both sides alike
    in = at::constant_pad_nd(in, {g[3], g[5], g[2], g[4]});
    padding = {0, 0};
  }
  // oneDNN is the fast backend on the CPU, forwards and backwards. It keeps the memory format of its input, so that a
  // permuted picture is never copied into channel-major order.
  c10::optional<at::Tensor> bias;
  if (b != nullptr) bias = lowered(T(b), lower);
  auto y = at::conv2d(in, lowered(T(w), lower), bias, at::IntArrayRef(g, 2), padding, at::IntArrayRef(g + 6, 2), g[8]);
  *out = wrap(raised(y, lower));
  GORL_END
}
gorl_err gorl_linear(gorl_t x, gorl_t w, gorl_t b, int32_t lower, int grad, gorl_t* out) {
  GORL_BEGIN(grad)
  auto in = lowered(T(x), lower), weight = lowered(T(w), lower);
  *out = wrap(raised(b == nullptr ? at::linear(in, weight) : at::linear(in, weight, lowered(T(b), lower)), lower));
  GORL_END
}
gorl_err gorl_gaussian_log_prob(gorl_t action, gorl_t mean, gorl_t log_std, int grad, gorl_t* out) {
  GORL_BEGIN(grad)
  // In PyTorch's order of operations, so that the last bits agree too.
  constexpr double half_log_2pi = 0.91893853320467274178;
  auto std = at::exp(T(log_std));
  auto d = T(action) - T(mean);
  *out = wrap(-(d * d) / (2 * at::square(std)) - at::log(std) - half_log_2pi);
  GORL_END
}

gorl_err gorl_copy_(gorl_t dst, gorl_t src) {
  GORL_BEGIN(0)
  if (fast_copy(T(dst), T(src))) Call::recorded();
  else in_place([to = T(dst), x = T(src)] { to.copy_(x); });
  GORL_END
}
gorl_err gorl_add_(gorl_t dst, gorl_t src, double alpha) { GORL_BEGIN(0) in_place([to = T(dst), x = T(src), alpha] { to.add_(x, alpha); }); GORL_END }
gorl_err gorl_mul_(gorl_t dst, double x) { GORL_BEGIN(0) in_place([to = T(dst), x] { to.mul_(x); }); GORL_END }
gorl_err gorl_fill_(gorl_t dst, double x) {
  GORL_BEGIN(0)
  if (fast_fill(T(dst), x)) Call::recorded();
  else in_place([to = T(dst), x] { to.fill_(x); });
  GORL_END
}
gorl_err gorl_index_copy_(gorl_t dst, gorl_t index, gorl_t src) {
  GORL_BEGIN(0) in_place([to = T(dst), which = T(index), x = T(src)] { to.index_copy_(0, which, x); }); GORL_END
}
