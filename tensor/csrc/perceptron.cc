// A multilayer perceptron as one node of the autograd graph, and one with the penalty on its input gradient: see node.h.
#include "net.h"
#include "numbering.h"
#include "penalty.h"

#include <numeric>

namespace gorl {
namespace {

// Where values of n rows of each layer lie: h[0] is the input, h[k + 1] what layer k makes of h[k].
std::vector<float*> places(const Net& net, int64_t n, float* x, const at::Tensor& hidden, float* y) {
  std::vector<float*> h{x};
  float* p = data(hidden);
  for (size_t k = 0; k + 1 < net.layers(); k++) {
    h.push_back(p);
    p += n * net.out(k);
  }
  h.push_back(y);
  return h;
}

// z (rows, out_k) = f_k(h W_k^T + b_k) of some rows; without a bias only h W_k^T, times f'(z) given values of where it is.
void up(const Net& net, size_t k, int64_t rows, const float* h, float* z, bool layer, const float* derive_of, int32_t derivative) {
  Product p{};
  p.m = rows; p.n = net.out(k); p.k = net.in(k);
  p.a = h; p.a_row = p.k; p.a_col = 1;
  p.b = data(net.w[k]); p.b_row = 1; p.b_col = p.k;
  p.c = z; p.c_row = p.n;
  p.bias = layer ? data(net.b[k]) : nullptr;
  p.activation = layer ? net.f[k] : static_cast<int32_t>(GORL_IDENTITY);
  p.derive_of = derive_of; p.derivative = derivative;
  kernels().multiply(p);
}

// g (rows, in_k) = dz W_k, times f'(z) given the values of the layer before.
void down(const Net& net, size_t k, int64_t rows, const float* dz, float* g, const float* derive_of, int32_t derivative) {
  Product p{};
  p.m = rows; p.n = net.in(k); p.k = net.out(k);
  p.a = dz; p.a_row = p.k; p.a_col = 1;
  p.b = data(net.w[k]); p.b_row = p.n; p.b_col = 1;
  p.c = g; p.c_row = p.n;
  p.activation = GORL_IDENTITY;
  p.derive_of = derive_of; p.derivative = derivative;
  kernels().multiply(p);
}

// g (m, n) += a^T b of a (rows, m) and b (rows, n).
void add_product(int64_t rows, const float* a, int64_t m, const float* b, int64_t n, float* g) {
  Product p{};
  p.m = m; p.n = n; p.k = rows;
  p.a = a; p.a_row = 1; p.a_col = m;
  p.b = b; p.b_row = n; p.b_col = 1;
  p.c = g; p.c_row = n;
  p.add = true;
  p.activation = GORL_IDENTITY;
  kernels().multiply(p);
}

// gw (out_k, in_k) += dz^T h over some rows.
void weigh(const Net& net, size_t k, int64_t rows, const float* dz, const float* h, float* gw) {
  add_product(rows, dz, net.out(k), h, net.in(k), gw);
}

// Goes down through the network over rows [r, r + rows): adds to the gradients, given the gradient dy by the outputs and, unless
// null, further ones more[k] by what the activation of layer k is applied to (of the part's rows alone). dx, unless null, becomes
// the gradient by the input.
void descend(const Net& net, const std::vector<float*>& h, const float* dy, const std::vector<float*>* more, float* dx,
             const Gradients::Place& to, int64_t r, int64_t rows) {
  const size_t last = net.layers() - 1;
  const int32_t end = net.f[last];
  const float* dz = dy + r * net.out(last);
  if (end != GORL_IDENTITY) {
    float* own = space(0, rows * net.out(last));
    copy_bytes(own, dz, static_cast<size_t>(rows * net.out(last)) * 4);
    kernels().derive(end, own, h[last + 1] + r * net.out(last), rows * net.out(last));
    dz = own;
  }
  for (size_t k = last + 1; k-- > 0;) {
    if (more != nullptr && (*more)[k] != nullptr) kernels().axpy(const_cast<float*>(dz), 1, (*more)[k], rows * net.out(k));
    weigh(net, k, rows, dz, h[k] + r * net.in(k), to.w[k]);
    kernels().add_columns(to.b[k], dz, rows, net.out(k));
    if (k > 0) {
      float* g = space(1 + k % 2, rows * net.in(k));
      down(net, k, rows, dz, g, h[k] + r * net.in(k), net.f[k - 1]);
      dz = g;
    } else if (dx != nullptr) {
      down(net, 0, rows, dz, dx + r * net.in(0), nullptr, GORL_IDENTITY);
    }
  }
}

void ascend(const Net& net, const std::vector<float*>& h, int64_t r, int64_t rows) {
  for (size_t k = 0; k < net.layers(); k++)
    up(net, k, rows, h[k] + r * net.in(k), h[k + 1] + r * net.out(k), true, nullptr, GORL_IDENTITY);
}

at::Tensor apply(const Net& net, const at::Tensor& x, const at::Tensor& hidden, int64_t larger_parts = 1) {
  const int64_t n = x.size(0);
  const Rows rows{n, net.weights / larger_parts, net.place()};
  auto y = make({n, net.out(net.layers() - 1)});
  const auto h = places(net, n, data(x), hidden, data(y));
  each_rows(rows, [&](int64_t r, int64_t count) { ascend(net, h, r, count); });
  if (recorder != nullptr) {
    const auto compute = [net, h, hidden](int64_t r, int64_t count) { ascend(net, h, r, count); };
    recorder->add(Pass{rows, net.reads(bare_of(x)), {y}, compute, nullptr});
  }
  return y;
}

struct Perceptron : NetworkOp {
  at::Tensor x, hidden, y;
  Perceptron(Net net_, const at::Tensor& x_, at::Tensor hidden_, const at::Tensor& y_)
      : NetworkOp(torch::autograd::collect_next_edges(x_)), x(bare_of(x_)), hidden(std::move(hidden_)), y(bare_of(y_)) {
    net = std::move(net_);
  }
  variable_list backward(const variable_list& grads) override {
    dy = contiguous(grads[0]);
    if (next_edge(0).function == nullptr) {
      leave();
      return {at::Tensor()};
    }
    dx = make(x.sizes());
    run_back({this});
    return {dx};
  }
  Rows rows() const override {
    const int64_t down = net.weights - (dx.defined() ? 0 : net.w[0].numel());
    return {x.size(0), net.weights + down, net.place()};
  }
  void back(int64_t first, int64_t count, const Gradients::Place& to) override {
    const auto h = places(net, x.size(0), data(x), hidden, data(y));
    descend(net, h, data(dy), nullptr, dx.defined() ? data(dx) : nullptr, to, first, count);
  }
  void release() override { x.reset(), hidden.reset(), y.reset(), dy.reset(), dx.reset(); }

 private:
  at::Tensor dy, dx;  // of a pass
};

// A perceptron with one linear output, and the mean over rows of the squared gradient of the output by the input:
// with u = dy/dz and v = dy/dh, v_k = u_k W_k and u_(k-1) = v_k f'(z_(k-1)), the penalty is mean |v_0|^2. The backward
// goes once up through that chain and once down through the network.
//
// Where activations are piecewise linear, as relu is, the gradient of the loss by z_k is dy u_k, which is known: there is no way down, and
// the gradient by W_k, from the loss and from the penalty, is one product, u_k^T (dy h_k + dpenalty/dv_k). That is four products
// a layer instead of six.
struct Critic : NetworkOp {
  at::Tensor x, hidden, slopes;
  bool piecewise_linear = true;  // f'' is zero everywhere
  Critic(Net net_, at::Tensor x_) : NetworkOp(edge_list()), x(std::move(x_)) {
    net = std::move(net_);
    for (int32_t f : net.f) piecewise_linear = piecewise_linear && !curved(f);
  }

  // u[k] (n, out_k) for all layers but the last and v[k] (n, in_k): dy/dz and dy/dh in the memory of slopes. Of
  // piecewise linear networks no v is kept but the first: v[k + 1] is where u[k] is.
  struct Slopes {
    std::vector<float*> u, v;
  };
  Slopes slopes_of(int64_t n) const {
    Slopes s;
    float* p = data(slopes);
    const auto next = [&](int64_t width) { return std::exchange(p, p + n * width); };
    for (size_t k = 0; k < net.layers(); k++) {
      s.v.push_back(piecewise_linear && k > 0 ? s.u[k - 1] : next(net.in(k)));
      s.u.push_back(k + 1 < net.layers() ? next(net.out(k)) : nullptr);
    }
    return s;
  }

  std::pair<at::Tensor, at::Tensor> forward() {
    const int64_t n = x.size(0);
    const Rows rows{n, 2 * net.weights, net.place()};
    const size_t last = net.layers() - 1;
    int64_t width = net.in(0);
    for (size_t k = 0; k < last; k++) width += piecewise_linear ? net.out(k) : 2 * net.out(k);
    hidden = net.room(n);
    slopes = make({n * width});
    auto y = make({n, 1}), penalty = make({});
    squares.resize(static_cast<size_t>((n + rows.block() - 1) / rows.block()));
    const auto h = places(net, n, data(x), hidden, data(y));
    const auto compute = [this, last, h, s = slopes_of(n), block = rows.block()](int64_t r, int64_t rows) {
      ascend(net, h, r, rows);
      for (int64_t i = r; i < r + rows; i++)
        copy_bytes(s.v[last] + i * net.in(last), data(net.w[last]), static_cast<size_t>(net.in(last)) * 4);
      for (size_t k = last; k-- > 0;) {
        const int64_t size = rows * net.out(k), at = r * net.out(k);
        float* u = s.u[k] + at;
        if (!piecewise_linear) copy_bytes(u, s.v[k + 1] + at, static_cast<size_t>(size) * 4);
        if (!piecewise_linear || k + 1 == last) kernels().derive(net.f[k], u, h[k + 1] + at, size);
        const bool slope = piecewise_linear && k > 0;  // what comes out is u[k - 1]
        down(net, k, rows, u, s.v[k] + r * net.in(k), slope ? h[k] + r * net.in(k) : nullptr,
             slope ? net.f[k - 1] : static_cast<int32_t>(GORL_IDENTITY));
      }
      for (int64_t i = r; i < r + rows; i += block) {  // a part begins with a block
        const int64_t size = std::min(block, r + rows - i) * net.in(0);
        squares[static_cast<size_t>(i / block)] = kernels().squares(s.v[0] + i * net.in(0), size);
      }
    };
    const auto end = [this, n, penalty_ = data(penalty)] {
      *penalty_ = static_cast<float>(std::accumulate(squares.begin(), squares.end(), 0.) / static_cast<double>(n));
    };
    each_rows(rows, compute);
    end();
    if (recorder != nullptr) recorder->add(Pass{rows, net.reads(x), {y, penalty}, compute, end});
    return {y, penalty};
  }

  variable_list backward(const variable_list& grads) override {
    const int64_t n = x.size(0);
    dy = grads[0].defined() ? contiguous(grads[0]) : make({n, 1});
    if (!grads[0].defined()) std::fill_n(data(dy), n, 0.f);
    dpenalty = grads[1];
    leave();
    return {};
  }
  Rows rows() const override { return {x.size(0), (piecewise_linear ? 2 : 4) * net.weights, net.place()}; }
  void back(int64_t r, int64_t rows, const Gradients::Place& to) override {
    const int64_t n = x.size(0);
    const size_t last = net.layers() - 1;
    const auto h = places(net, n, data(x), hidden, nullptr);
    std::vector<float*> more(net.layers(), nullptr);  // what the penalty says of z_k
    if (!dpenalty.defined()) return descend(net, h, data(dy), &more, nullptr, to, r, rows);
    const auto s = slopes_of(n);
    const double share = 2 * static_cast<double>(*data(dpenalty)) / static_cast<double>(n);
    const size_t slot = 3;  // after those of descend
    float* dv = space(slot, rows * net.in(0));  // dpenalty/dv_k
    std::fill_n(dv, rows * net.in(0), 0.f);
    kernels().axpy(dv, static_cast<float>(share), s.v[0] + r * net.in(0), rows * net.in(0));
    for (size_t k = 0; k < last; k++) {
      const int64_t size = rows * net.out(k), at = r * net.out(k);
      if (!piecewise_linear) weigh(net, k, rows, s.u[k] + at, dv, to.w[k]);
      float* du = space(slot + 1 + 2 * k, size);
      const bool bends = curved(net.f[k]);
      up(net, k, rows, dv, du, false, bends ? nullptr : h[k + 1] + at, net.f[k]);
      if (bends) {
        more[k] = space(slot + 2 + 2 * k, size);
        copy_bytes(more[k], du, static_cast<size_t>(size) * 4);
        kernels().curve(net.f[k], more[k], h[k + 1] + at, s.v[k + 1] + at, size);
        kernels().derive(net.f[k], du, h[k + 1] + at, size);
      }
      if (piecewise_linear) {
        kernels().axpy_rows(dv, data(dy) + r, h[k] + r * net.in(k), rows, net.in(k));
        weigh(net, k, rows, s.u[k] + at, dv, to.w[k]);
        add_product(rows, data(dy) + r, 1, s.u[k] + at, net.out(k), to.b[k]);
      }
      dv = du;
    }
    if (piecewise_linear) {
      kernels().axpy_rows(dv, data(dy) + r, h[last] + r * net.in(last), rows, net.in(last));
      kernels().add_columns(to.b[last], data(dy) + r, rows, 1);
    }
    kernels().add_columns(to.w[last], dv, rows, net.in(last));
    if (!piecewise_linear) descend(net, h, data(dy), &more, nullptr, to, r, rows);
  }
  void release() override { x.reset(), hidden.reset(), slopes.reset(), dy.reset(), dpenalty.reset(); }

 private:
  std::vector<double> squares;  // of the slopes in each block of rows
  at::Tensor dy, dpenalty;      // of a pass
};

}  // namespace
}  // namespace gorl

using namespace gorl;

gorl_err gorl_mlp(gorl_t x, const gorl_t* weights, const gorl_t* biases, const int32_t* activations, int32_t layers, int32_t lower, int grad, gorl_t* out) {
  GORL_BEGIN(grad)
  const at::Tensor& in = T(x);
  if (engine() && lower < 0 && plain(in) && in.dim() == 2 && (!grad || ours(in))) {
    Net net(weights, biases, activations, layers);
    if (net.plain_ && in.size(1) == net.in(0)) {
      if (!grad || (!in.requires_grad() && net.frozen())) {
        *out = wrap(apply(net, in, net.room(in.size(0)), without_backward));
        Call::recorded();
        return nullptr;
      }
      if (net.learns) {
        auto hidden = net.room(in.size(0));
        auto y = apply(net, in, hidden);
        track(y, node<Perceptron>(std::move(net), in, std::move(hidden), y));
        Call::recorded();
        *out = wrap(std::move(y));
        return nullptr;
      }
    }
  }
  at::Tensor h = lowered(in, lower);
  for (int32_t i = 0; i < layers; i++) {
    auto w = lowered(T(weights[i]), lower);
    h = biases[i] == nullptr ? at::linear(h, w) : at::linear(h, w, lowered(T(biases[i]), lower));
    if (activations[i] != GORL_IDENTITY) h = activate(activations[i], h);
  }
  *out = wrap(raised(h, lower));
  GORL_END
}

gorl_err gorl_critic(gorl_t x, const gorl_t* weights, const gorl_t* biases, const int32_t* activations, int32_t layers, int32_t lower, gorl_t* out, gorl_t* penalty) {
  GORL_BEGIN(1)
  at::Tensor in = T(x).detach();
  if (engine() && lower < 0 && plain(in) && in.dim() == 2 && activations[layers - 1] == GORL_IDENTITY) {
    Net net(weights, biases, activations, layers);
    if (net.plain_ && net.learns && in.size(1) == net.in(0) && net.out(net.layers() - 1) == 1) {
      auto critic = node<Critic>(std::move(net), in);
      auto result = critic->forward();
      track(result.first, critic);
      track(result.second, critic);
      if (recorder != nullptr) recorder->keep(result.first);  // and the node, whose memory the recording reads
      Call::recorded();
      *out = wrap(std::move(result.first));
      *penalty = wrap(std::move(result.second));
      return nullptr;
    }
  }
  at::Tensor y, p;
  if (!in.device().is_cpu() && chained_penalty(in, weights, biases, activations, layers, lower, &y, &p)) {
    *out = wrap(y);
    *penalty = wrap(p);
    return nullptr;
  }
  in.requires_grad_(true);
  gorl_t leaf = wrap(in);
  gorl_err err = gorl_mlp(leaf, weights, biases, activations, layers, lower, 1, out);
  gorl_free(&leaf, 1);
  if (err != nullptr) return err;
  try {
    auto g = numbered_grad({T(*out).sum()}, {in}, {})[0];
    *penalty = wrap(g.square().sum(-1).mean());
  } catch (...) {
    gorl_free(out, 1);
    throw;
  }
  GORL_END
}
