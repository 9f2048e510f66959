#include "elementwise.h"

#include <cmath>

namespace gorl {
namespace {

bool recording() { return at::GradMode::is_enabled(); }

// y = x a + y b + c, and its gradients: sums, differences and scalings of all kinds.
struct Combination : Op {
  float x, y;
  Combination(edge_list&& edges, float x_, float y_) : Op(std::move(edges)), x(x_), y(y_) {}
  static at::Tensor times(const at::Tensor& g, float k) {
    if (k == 1) return g;
    auto out = make(g.sizes());
    perform([n = g.numel(), p = data(g), o = data(out), k] { for (int64_t i = 0; i < n; i++) o[i] = k * p[i]; }, g, out);
    return out;
  }
  variable_list backward(const variable_list& grads) override {
    const auto g = contiguous(grads[0]);
    variable_list out{times(g, x)};
    if (num_outputs() == 2) out.push_back(times(g, y));
    return out;
  }
  void release() override {}
};

at::Tensor combine(const at::Tensor& a, float x, const at::Tensor* b, float y, float c) {
  auto out = make(a.sizes());
  perform([n = a.numel(), p = data(a), q = b == nullptr ? nullptr : data(*b), o = data(out), x, y, c] {
    if (q == nullptr) {
      if (x == 1) for (int64_t i = 0; i < n; i++) o[i] = p[i] + c;
      else if (c == 0) for (int64_t i = 0; i < n; i++) o[i] = x * p[i];
      else for (int64_t i = 0; i < n; i++) o[i] = c - p[i];  // x is -1
    } else {
      if (y == 1) for (int64_t i = 0; i < n; i++) o[i] = p[i] + q[i];
      else for (int64_t i = 0; i < n; i++) o[i] = p[i] - q[i];
    }
  }, a, b == nullptr ? a : *b, out);
  if (recording() && (a.requires_grad() || (b != nullptr && b->requires_grad())))
    track(out, node<Combination>(b == nullptr ? torch::autograd::collect_next_edges(a) : torch::autograd::collect_next_edges(a, *b), x, y));
  return out;
}

// An elementwise product.
struct Times : Op {
  at::Tensor a, b;
  Times(const at::Tensor& a_, const at::Tensor& b_) : Op(torch::autograd::collect_next_edges(a_, b_)), a(bare_of(a_)), b(bare_of(b_)) {}
  static at::Tensor product(const at::Tensor& a, const at::Tensor& b) {
    auto out = make(a.sizes());
    perform([n = a.numel(), p = data(a), q = data(b), o = data(out)] { for (int64_t i = 0; i < n; i++) o[i] = p[i] * q[i]; }, a, b, out);
    return out;
  }
  variable_list backward(const variable_list& grads) override {
    const auto g = contiguous(grads[0]);
    return {next_edge(0).function == nullptr ? at::Tensor() : product(g, b), next_edge(1).function == nullptr ? at::Tensor() : product(g, a)};
  }
  void release() override { a.reset(), b.reset(); }
};

at::Tensor product_of(const at::Tensor& a, const at::Tensor& b) {
  auto out = Times::product(a, b);
  if (recording() && followed(a, b)) track(out, node<Times>(a, b));
  return out;
}

// A function of one tensor whose derivative times g is slope(g, a, f(a)), element by element.
using Slope = float (*)(float g, float a, float y);
struct Map : Op {
  at::Tensor a, y;
  Slope slope;
  Map(const at::Tensor& a_, const at::Tensor& y_, Slope slope_)
      : Op(torch::autograd::collect_next_edges(a_)), a(bare_of(a_)), y(bare_of(y_)), slope(slope_) {}
  variable_list backward(const variable_list& grads) override {
    const auto g = contiguous(grads[0]);
    auto out = make(a.sizes());
    perform([n = a.numel(), gi = data(g), ai = data(a), yi = data(y), o = data(out), f = slope] {
      for (int64_t i = 0; i < n; i++) o[i] = f(gi[i], ai[i], yi[i]);
    }, g, a, y, out);
    return {out};
  }
  void release() override { a.reset(), y.reset(); }
};

template <class F>
at::Tensor map(const at::Tensor& a, F f, Slope slope) {
  auto out = make(a.sizes());
  perform([n = a.numel(), p = data(a), o = data(out), f] { for (int64_t i = 0; i < n; i++) o[i] = f(p[i]); }, a, out);
  if (recording() && a.requires_grad()) track(out, node<Map>(a, out, slope));
  return out;
}

// Limits to [lo, hi]. The gradient passes where the element is within the limits.
struct Clamp : Op {
  at::Tensor a;
  float lo, hi;
  Clamp(const at::Tensor& a_, float lo_, float hi_) : Op(torch::autograd::collect_next_edges(a_)), a(bare_of(a_)), lo(lo_), hi(hi_) {}
  variable_list backward(const variable_list& grads) override {
    const auto g = contiguous(grads[0]);
    auto out = make(a.sizes());
    perform([n = a.numel(), gi = data(g), ai = data(a), o = data(out), l = lo, h = hi] {
      for (int64_t i = 0; i < n; i++) o[i] = ai[i] >= l && ai[i] <= h ? gi[i] : 0.f;
    }, g, a, out);
    return {out};
  }
  void release() override { a.reset(); }
};

// The same elements in another shape.
struct Reshaped : Op {
  std::vector<int64_t> sizes;
  explicit Reshaped(const at::Tensor& a) : Op(torch::autograd::collect_next_edges(a)), sizes(a.sizes().vec()) {}
  variable_list backward(const variable_list& grads) override { return {alias(contiguous(grads[0]), sizes)}; }
  void release() override {}
};

// The sum, or the mean, over all elements, or over the last dimension: `width` elements each.
struct Sum : Op {
  std::vector<int64_t> sizes;
  int64_t width;
  float share;
  Sum(const at::Tensor& a, int64_t width_, float share_)
      : Op(torch::autograd::collect_next_edges(a)), sizes(a.sizes().vec()), width(width_), share(share_) {}
  variable_list backward(const variable_list& grads) override {
    const auto g = contiguous(grads[0]);
    auto out = make(sizes);
    perform([n = out.numel(), gi = data(g), o = data(out), w = width, k = share] {
      for (int64_t i = 0; i < n; i += w) std::fill_n(o + i, w, k * gi[i / w]);
    }, g, out);
    return {out};
  }
  void release() override {}
};

}  // namespace

at::Tensor fast_unary(int32_t op, const at::Tensor& a) {
  if (!engine() || !plain(a)) return {};
  if (op == GORL_DETACH) return bare_of(a);
  if (recording() && !ours(a)) return {};
  switch (op) {
    case GORL_NEG: return combine(a, -1, nullptr, 0, 0);
    case GORL_CLONE: return map(a, [](float x) { return x; }, [](float g, float, float) { return g; });
    case GORL_SQUARE: return map(a, [](float x) { return x * x; }, [](float g, float x, float) { return 2 * x * g; });
    case GORL_EXP: return map(a, [](float x) { return std::exp(x); }, [](float g, float, float y) { return g * y; });
    case GORL_RELU: return map(a, [](float x) { return x < 0 ? 0.f : x; }, [](float g, float x, float) { return x <= 0 ? 0.f : g; });
    case GORL_TANH: return map(a, [](float x) { return std::tanh(x); }, [](float g, float, float y) { return g * (1 - y * y); });
    case GORL_SIGMOID: return map(a, [](float x) { return 1 / (1 + std::exp(-x)); }, [](float g, float, float y) { return g * (y * (1 - y)); });
    case GORL_LOG: return map(a, [](float x) { return std::log(x); }, [](float g, float x, float) { return g / x; });
  }
  return {};
}

at::Tensor fast_binary(int32_t op, const at::Tensor& a, const at::Tensor& b) {
  if (op > GORL_MUL || !engine() || !plain(a) || !plain(b) || a.sizes() != b.sizes()) return {};
  if (recording() && !(ours(a) && ours(b))) return {};
  if (op == GORL_MUL) return product_of(a, b);
  return combine(a, 1, &b, op == GORL_ADD ? 1.f : -1.f, 0);
}

at::Tensor fast_scalar(int32_t op, const at::Tensor& a, double x) {
  if (op > GORL_RSUB_S || !engine() || !plain(a) || (recording() && !ours(a))) return {};
  const auto c = static_cast<float>(x);
  if (op == GORL_ADD_S) return combine(a, 1, nullptr, 0, c);
  if (op == GORL_MUL_S) return combine(a, c, nullptr, 0, 0);
  return combine(a, -1, nullptr, 0, c);
}

at::Tensor fast_clamp(const at::Tensor& a, double lo, double hi) {
  if (!engine() || !plain(a) || (recording() && !ours(a)) || !(lo <= hi)) return {};
  const auto l = static_cast<float>(lo), h = static_cast<float>(hi);
  auto out = make(a.sizes());
  perform([n = a.numel(), p = data(a), o = data(out), l, h] { for (int64_t i = 0; i < n; i++) o[i] = p[i] < l ? l : (p[i] > h ? h : p[i]); }, a, out);
  if (recording() && a.requires_grad()) track(out, node<Clamp>(a, l, h));
  return out;
}

at::Tensor fast_reduce(int32_t op, const at::Tensor& a, at::IntArrayRef dims, bool keep) {
  if ((op != GORL_SUM && op != GORL_MEAN) || !engine() || !plain(a) || a.numel() == 0 || (recording() && !ours(a))) return {};
  const bool last = dims.size() == 1 && a.dim() > 0 && (dims[0] == -1 || dims[0] == a.dim() - 1);
  if (!last && !(dims.empty() && !keep)) return {};
  const int64_t width = last ? a.size(-1) : a.numel();
  auto sizes = a.sizes().vec();
  if (!last) sizes.clear();
  else if (keep) sizes.back() = 1;
  else sizes.pop_back();
  auto out = make(sizes);
  perform([n = a.numel(), p = data(a), o = data(out), width, mean = op == GORL_MEAN] {
    for (int64_t i = 0; i < n / width; i++) {
      double sum = 0;
      for (int64_t j = 0; j < width; j++) sum += p[i * width + j];
      o[i] = static_cast<float>(mean ? sum / static_cast<double>(width) : sum);
    }
  }, a, out);
  if (recording() && a.requires_grad()) track(out, node<Sum>(a, width, op == GORL_MEAN ? 1 / static_cast<float>(width) : 1.f));
  return out;
}

namespace {

// Whether a view of t needs nothing of libtorch: no autograd, contiguous memory of the CPU.
bool bare(const at::Tensor& t) { return engine() && t.device().is_cpu() && t.is_contiguous() && !t.requires_grad(); }

}  // namespace

at::Tensor fast_narrow(const at::Tensor& a, int64_t dim, int64_t start, int64_t length) {
  if (dim != 0 || !bare(a) || a.dim() == 0 || start < 0 || length < 0 || start > a.size(0) || length > a.size(0) - start) return {};
  auto sizes = a.sizes().vec();
  const int64_t row = a.size(0) == 0 ? 0 : a.numel() / a.size(0);
  sizes[0] = length;
  return alias(a, sizes, start * row);
}

at::Tensor fast_select(const at::Tensor& a, int64_t dim, int64_t index) {
  if (dim != 0 || !bare(a) || a.dim() == 0 || index < 0 || index >= a.size(0)) return {};
  return alias(a, a.sizes().slice(1), index * (a.numel() / a.size(0)));
}

at::Tensor fast_unsqueeze(const at::Tensor& a, int64_t dim) {
  if (dim != 0 || !engine() || !a.device().is_cpu() || !a.is_contiguous() || (recording() && !(plain(a) && ours(a)))) return {};
  auto sizes = a.sizes().vec();
  sizes.insert(sizes.begin(), 1);
  auto out = alias(a, sizes);
  if (recording() && a.requires_grad()) track(out, node<Reshaped>(a));
  return out;
}

bool fast_copy(at::Tensor& to, const at::Tensor& from) {
  const auto simple = [](const at::Tensor& t) { return t.device().is_cpu() && t.is_contiguous(); };
  if (!engine() || !simple(to) || !simple(from) || to.scalar_type() != from.scalar_type() || to.sizes() != from.sizes()) return false;
  perform([o = to.data_ptr(), p = from.data_ptr(), bytes = to.nbytes()] { if (bytes > 0) std::memmove(o, p, bytes); }, to, from);
  to.unsafeGetTensorImpl()->bump_version();
  return true;
}

bool fast_fill(at::Tensor& to, double x) {
  if (!engine() || !plain(to)) return false;
  perform([o = data(to), n = to.numel(), y = static_cast<float>(x)] {
    const int64_t parts = parts_of(n, flat_cost * n);
    each(parts, [&](int64_t part) {
      each_own(part, parts, 0, n, n, [&](int64_t i, int64_t count) { std::fill_n(o + i, count, y); });
    });
  }, to);
  to.unsafeGetTensorImpl()->bump_version();
  return true;
}

at::Tensor fast_cat(const gorl_t* list, int32_t n, int64_t dim) {
  if (dim != 0 || n < 1) return {};
  const at::Tensor& first = T(list[0]);
  int64_t rows = 0;
  for (int32_t i = 0; i < n; i++) {
    const at::Tensor& t = T(list[i]);
    if (!bare(t) || !plain(t) || t.dim() != first.dim() || t.dim() == 0 || t.sizes().slice(1) != first.sizes().slice(1)) return {};
    rows += t.size(0);
  }
  auto sizes = first.sizes().vec();
  sizes[0] = rows;
  auto out = make(sizes);
  float* p = data(out);
  for (int32_t i = 0; i < n; i++) {
    const at::Tensor& t = T(list[i]);
    perform([p, q = data(t), bytes = t.nbytes()] { copy_bytes(p, q, bytes); }, t, out);
    p += t.numel();
  }
  return out;
}

at::Tensor fast_rows(const at::Tensor& a, int64_t dim, const at::Tensor& index) {
  if (dim != 0 || !bare(a) || !plain(a) || a.dim() == 0 || !bare(index) || index.scalar_type() != at::kLong || index.dim() != 1) return {};
  auto sizes = a.sizes().vec();
  const int64_t row = a.size(0) == 0 ? 0 : a.numel() / a.size(0), n = index.size(0);
  const auto* at = static_cast<const int64_t*>(index.data_ptr());
  const auto within = [n, at, rows = a.size(0)] {
    for (int64_t i = 0; i < n; i++)
      if (at[i] < 0 || at[i] >= rows) return false;
    return true;
  };
  if (!within()) return {};  // libtorch says what is wrong
  sizes[0] = n;
  auto out = make(sizes);
  perform([within, n, at, row, to = data(out), from = data(a)] {
    TORCH_CHECK_INDEX(within(), "a row's number is out of range");
    constexpr int64_t ahead = 16;  // rows of a large memory are asked for some time before they are copied
    constexpr int64_t cost = 40;  // of an element, in multiplications of a product
    const int64_t parts = parts_of(n, cost * n * row);
    each(parts, [=](int64_t part) {
      const int64_t end = begin_of(part + 1, parts, n);
      for (int64_t i = begin_of(part, parts, n); i < end; i++) {
        if (i + ahead < end)
          for (int64_t j = 0; j < row; j += 16) __builtin_prefetch(from + at[i + ahead] * row + j);
        if (row == 1) to[i] = from[at[i]];
        else copy_bytes(to + i * row, from + at[i] * row, static_cast<size_t>(row) * 4);
      }
    });
  }, a, index, out);
  return out;
}

}  // namespace gorl
