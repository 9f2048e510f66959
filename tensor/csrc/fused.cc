// Operations that training repeats in every minibatch, each as one node of the autograd graph with a backward written by
// hand: a small network spends most of an update on the bookkeeping of separate operations. On plain CPU memory they are
// loops; elsewhere, and where a gradient of a gradient is asked for, they are the separate operations.
#include <cmath>
#include <vector>

#include "handle.h"

namespace gorl {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// x as a float32 beside like. What float32 cannot hold becomes infinite, as in separate operations; at::scalar_tensor throws.
at::Tensor scalar(double x, const at::Tensor& like) { return at::scalar_tensor(static_cast<float>(x), like.options()); }

// ---- multilayer perceptron ---------------------------------------------------------------------------------------

// Activation on z in place, leaving h = f(z).
void activate_(int32_t op, at::Tensor& z) {
  switch (op) {
    case GORL_IDENTITY: return;
    case GORL_RELU: z.relu_(); return;
    case GORL_TANH: z.tanh_(); return;
    case GORL_SIGMOID: z.sigmoid_(); return;
    case GORL_ELU: at::elu_(z); return;
  }
  TORCH_CHECK(false, "no in-place activation ", op);
}

// The activations whose derivative follows from their value.
bool from_value(int32_t op) {
  return op == GORL_IDENTITY || op == GORL_RELU || op == GORL_TANH || op == GORL_SIGMOID || op == GORL_ELU;
}

// g := g * f'(z), given h = f(z).
void derive_(int32_t op, at::Tensor& g, const at::Tensor& h) {
  if (op == GORL_IDENTITY) return;
  float* __restrict p = g.data_ptr<float>();
  const float* __restrict q = h.data_ptr<float>();
  const int64_t n = g.numel();
  switch (op) {
    case GORL_RELU:
      for (int64_t i = 0; i < n; i++) p[i] = q[i] > 0 ? p[i] : 0.f;
      return;
    case GORL_TANH:
      for (int64_t i = 0; i < n; i++) p[i] *= 1.f - q[i] * q[i];
      return;
    case GORL_SIGMOID:
      for (int64_t i = 0; i < n; i++) p[i] *= q[i] * (1.f - q[i]);
      return;
    case GORL_ELU:
      for (int64_t i = 0; i < n; i++) p[i] *= q[i] > 0 ? 1.f : q[i] + 1.f;
      return;
  }
}

// g := g * f''(z) * v, given h = f(z).
void curve_(int32_t op, at::Tensor& g, const at::Tensor& h, const at::Tensor& v) {
  float* __restrict p = g.data_ptr<float>();
  const float* __restrict q = h.data_ptr<float>();
  const float* __restrict r = v.data_ptr<float>();
  const int64_t n = g.numel();
  switch (op) {
    case GORL_TANH:
      for (int64_t i = 0; i < n; i++) p[i] *= -2.f * q[i] * (1.f - q[i] * q[i]) * r[i];
      return;
    case GORL_SIGMOID:
      for (int64_t i = 0; i < n; i++) p[i] *= q[i] * (1.f - q[i]) * (1.f - 2.f * q[i]) * r[i];
      return;
    case GORL_ELU:
      for (int64_t i = 0; i < n; i++) p[i] *= q[i] > 0 ? 0.f : (q[i] + 1.f) * r[i];
      return;
  }
}
bool curved(int32_t op) { return op == GORL_TANH || op == GORL_SIGMOID || op == GORL_ELU; }

// Adds the column sums of g to out.
void add_columns(at::Tensor& grad, const at::Tensor& g) {
  float* __restrict out = grad.data_ptr<float>();
  const float* __restrict p = g.data_ptr<float>();
  const int64_t rows = g.size(0), cols = g.size(1);
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < cols; j++) out[j] += p[i * cols + j];
}

// The layers of a perceptron, and whether they are of the plain kind that the nodes below can differentiate: contiguous
// float32 on the CPU, parameters that are leaves whose gradients are views of the flat gradients.
struct Net {
  std::vector<at::Tensor> w, b;
  std::vector<int64_t> f;
  bool plain_ = true;
  Net(const gorl_t* weights, const gorl_t* biases, const int32_t* activations, int32_t layers) {
    for (int32_t i = 0; i < layers; i++) {
      w.push_back(T(weights[i]));
      f.push_back(activations[i]);
      plain_ = plain_ && biases[i] != nullptr && from_value(activations[i]) && ready(w.back());
      if (biases[i] == nullptr) continue;
      b.push_back(T(biases[i]));
      plain_ = plain_ && ready(b.back()) && w.back().requires_grad() == b.back().requires_grad();
    }
  }
  static bool ready(const at::Tensor& t) {
    return plain(t) && (!t.requires_grad() || (t.is_leaf() && t.grad().defined() && t.grad().is_view() && plain(t.grad())));
  }
  bool learns() const { return w.front().requires_grad(); }
};

// Values of all layers, h[0] = x.
std::vector<at::Tensor> values(const at::Tensor& x, const std::vector<at::Tensor>& w, const std::vector<at::Tensor>& b, const std::vector<int64_t>& f) {
  std::vector<at::Tensor> h{x};
  for (size_t i = 0; i < w.size(); i++) {
    auto z = at::addmm(b[i], h.back(), w[i].t());
    activate_(static_cast<int32_t>(f[i]), z);
    h.push_back(z);
  }
  return h;
}

// Adds the gradients of one layer, given dL/dz and the layer's input.
void learn(const at::Tensor& w, const at::Tensor& b, const at::Tensor& dz, const at::Tensor& input) {
  if (!w.requires_grad()) return;
  at::Tensor gw = w.grad(), gb = b.grad();
  gw.addmm_(dz.t(), input);
  add_columns(gb, dz);
}

struct Saved {
  std::vector<at::Tensor> w, b;
  std::vector<int64_t> f;
  explicit Saved(AutogradContext* ctx)
      : w(ctx->saved_data["w"].toTensorVector()), b(ctx->saved_data["b"].toTensorVector()), f(ctx->saved_data["f"].toIntVector()) {}
  static void keep(AutogradContext* ctx, const std::vector<at::Tensor>& w, const std::vector<at::Tensor>& b, const std::vector<int64_t>& f) {
    ctx->saved_data["w"] = w;
    ctx->saved_data["b"] = b;
    ctx->saved_data["f"] = f;
  }
};

// A perceptron as one node. The anchor is one of its parameters: it makes the result require a gradient. Gradients of the
// parameters are added straight to where they are kept.
struct Perceptron : Function<Perceptron> {
  static at::Tensor forward(AutogradContext* ctx, at::Tensor x, at::Tensor /*anchor*/, const std::vector<at::Tensor>& w,
                            const std::vector<at::Tensor>& b, const std::vector<int64_t>& f) {
    auto h = values(x, w, b, f);
    ctx->save_for_backward(h);
    Saved::keep(ctx, w, b, f);
    return h.back();
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    at::AutoGradMode off(false);
    auto h = ctx->get_saved_variables();
    Saved net(ctx);
    at::Tensor g = grads[0].contiguous();
    if (net.f.back() != GORL_IDENTITY) g = g.clone();
    for (size_t i = net.w.size(); i-- > 0;) {
      derive_(static_cast<int32_t>(net.f[i]), g, h[i + 1]);
      learn(net.w[i], net.b[i], g, h[i]);
      if (i > 0) g = at::mm(g, net.w[i]);
    }
    return variable_list(5);
  }
};

// A perceptron with one linear output, and the mean over rows of the squared gradient of the output by the input:
// with u = dy/dz and v = dy/dh, v_k = u_k W_k and u_(k-1) = v_k f'(z_(k-1)), the penalty is mean |v_1|^2. The backward
// goes once up through that chain and once down through the network.
struct Critic : Function<Critic> {
  static variable_list forward(AutogradContext* ctx, at::Tensor x, at::Tensor /*anchor*/, const std::vector<at::Tensor>& w,
                               const std::vector<at::Tensor>& b, const std::vector<int64_t>& f) {
    const size_t layers = w.size();
    auto h = values(x, w, b, f);
    std::vector<at::Tensor> u(layers), v(layers);
    v[layers - 1] = w[layers - 1].expand({x.size(0), w[layers - 1].size(1)}).contiguous();
    for (size_t k = layers - 1; k-- > 0;) {
      u[k] = v[k + 1].clone();
      derive_(static_cast<int32_t>(f[k]), u[k], h[k + 1]);
      v[k] = at::mm(u[k], w[k]);
    }
    auto penalty = at::mean(at::sum(at::square(v[0]), -1));
    variable_list all(h.begin(), h.end());
    all.insert(all.end(), u.begin(), u.end() - 1);
    all.insert(all.end(), v.begin(), v.end());
    ctx->save_for_backward(all);
    Saved::keep(ctx, w, b, f);
    return {h.back(), penalty};
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    at::AutoGradMode off(false);
    auto all = ctx->get_saved_variables();
    Saved net(ctx);
    const size_t layers = net.w.size();
    auto h = [&](size_t k) { return all[k]; };
    auto u = [&](size_t k) { return all[layers + 1 + k]; };
    auto v = [&](size_t k) { return all[layers + 1 + layers - 1 + k]; };
    const int64_t n = h(0).size(0);
    std::vector<at::Tensor> dz(layers);  // what the penalty says of z_k
    if (grads[1].defined()) {
      auto dv = v(0) * (2.0 * grads[1].item<double>() / static_cast<double>(n));
      for (size_t k = 0; k + 1 < layers; k++) {
        const auto op = static_cast<int32_t>(net.f[k]);
        if (net.w[k].requires_grad()) {
          at::Tensor gw = net.w[k].grad();
          gw.addmm_(u(k).t(), dv);
        }
        auto du = at::mm(dv, net.w[k].t());
        if (curved(op)) {
          dz[k] = du.clone();
          curve_(op, dz[k], h(k + 1), v(k + 1));
        }
        derive_(op, du, h(k + 1));
        dv = du;
      }
      if (net.w[layers - 1].requires_grad()) {
        at::Tensor gw = net.w[layers - 1].grad();
        add_columns(gw, dv);
      }
    }
    at::Tensor g = grads[0].defined() ? grads[0].contiguous() : at::zeros_like(h(layers));
    for (size_t i = layers; i-- > 0;) {
      if (i + 1 < layers) {
        derive_(static_cast<int32_t>(net.f[i]), g, h(i + 1));
        if (dz[i].defined()) g.add_(dz[i]);
      }
      learn(net.w[i], net.b[i], g, h(i));
      if (i > 0) g = at::mm(g, net.w[i]);
    }
    return variable_list(5);
  }
};

// ---- losses ------------------------------------------------------------------------------------------------------

// Sum over dimensions of the log-density of normal distributions, (n, 1).
struct GaussianLogProb : Function<GaussianLogProb> {
  static at::Tensor forward(AutogradContext* ctx, at::Tensor action, at::Tensor mean, at::Tensor log_std) {
    const int64_t n = mean.size(0), width = mean.size(1);
    auto out = at::empty({n, 1}, mean.options());
    const float *a = action.data_ptr<float>(), *m = mean.data_ptr<float>(), *l = log_std.data_ptr<float>();
    auto* o = out.data_ptr<float>();
    std::vector<float> std(static_cast<size_t>(width)), log(static_cast<size_t>(width));
    for (int64_t j = 0; j < width; j++) {
      std[static_cast<size_t>(j)] = std::exp(l[j]);
      log[static_cast<size_t>(j)] = std::log(std[static_cast<size_t>(j)]);
    }
    for (int64_t i = 0; i < n; i++) {
      float sum = 0;
      for (int64_t j = 0; j < width; j++) {
        const float d = a[i * width + j] - m[i * width + j], s = std[static_cast<size_t>(j)];
        sum += -(d * d) / (2 * (s * s)) - log[static_cast<size_t>(j)] - 0.91893853320467274178f;
      }
      o[i] = sum;
    }
    ctx->save_for_backward({action, mean, log_std});
    return out;
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    at::AutoGradMode off(false);
    auto saved = ctx->get_saved_variables();
    auto g = grads[0].contiguous();
    const int64_t n = saved[1].size(0), width = saved[1].size(1);
    auto dm = at::empty_like(saved[1]), dl = at::zeros_like(saved[2]);
    const float *a = saved[0].data_ptr<float>(), *m = saved[1].data_ptr<float>(), *l = saved[2].data_ptr<float>(), *gi = g.data_ptr<float>();
    float *pm = dm.data_ptr<float>(), *pl = dl.data_ptr<float>();
    std::vector<float> inverse(static_cast<size_t>(width));
    std::vector<double> sums(static_cast<size_t>(width), 0);
    for (int64_t j = 0; j < width; j++) inverse[static_cast<size_t>(j)] = std::exp(-2 * l[j]);
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < width; j++) {
        const float d = a[i * width + j] - m[i * width + j], p = inverse[static_cast<size_t>(j)];
        pm[i * width + j] = gi[i] * d * p;
        sums[static_cast<size_t>(j)] += gi[i] * (d * d * p - 1);
      }
    for (int64_t j = 0; j < width; j++) pl[j] = static_cast<float>(sums[static_cast<size_t>(j)]);
    return {at::Tensor(), dm, dl};
  }
};

// The clipped surrogate, with the divergence estimate and the share of clipped ratios beside it.
struct Surrogate : Function<Surrogate> {
  static variable_list forward(AutogradContext* ctx, at::Tensor now, at::Tensor old, at::Tensor advantage, double clip) {
    const int64_t n = now.numel();
    const float *p = now.data_ptr<float>(), *q = old.data_ptr<float>(), *a = advantage.data_ptr<float>();
    auto grad = at::empty_like(now);
    auto* g = grad.data_ptr<float>();
    const auto lo = static_cast<float>(1 - clip), hi = static_cast<float>(1 + clip);
    double loss = 0, kl = 0, outside = 0;
    for (int64_t i = 0; i < n; i++) {
      const float d = p[i] - q[i], r = std::exp(d), limited = r < lo ? lo : (r > hi ? hi : r);
      const float x = a[i] * r, y = a[i] * limited;
      loss += x < y || std::isnan(x) ? x : y;
      kl += (r - 1) - d;
      outside += r < lo || r > hi;
      g[i] = x <= y ? -x / static_cast<float>(n) : 0.f;
    }
    ctx->save_for_backward({grad});
    const auto k = 1.0 / static_cast<double>(n);
    auto of = [&](double x) { return scalar(x, now); };
    auto divergence = of(kl * k), fraction = of(outside * k);
    ctx->mark_non_differentiable({divergence, fraction});
    return {of(-loss * k), divergence, fraction};
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    at::AutoGradMode off(false);
    return {ctx->get_saved_variables()[0] * grads[0], at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

// E[(R - V)^2], V kept within clip of its old value. kind 0: no clip; 1: the clipped loss alone; 2: the larger one.
struct ValueLoss : Function<ValueLoss> {
  static at::Tensor forward(AutogradContext* ctx, at::Tensor predicted, at::Tensor old, at::Tensor returns, double clip, int64_t kind) {
    const int64_t n = predicted.numel();
    const float *v = predicted.data_ptr<float>(), *o = old.data_ptr<float>(), *r = returns.data_ptr<float>();
    auto grad = at::empty_like(predicted);
    auto* g = grad.data_ptr<float>();
    const auto c = static_cast<float>(clip);
    const float k = 2.f / static_cast<float>(n);
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
      const float d = v[i] - o[i];
      const bool inside = kind == 0 || (d >= -c && d <= c);
      const float near = inside ? v[i] : (d < 0 ? o[i] - c : o[i] + c);
      const float free = r[i] - v[i], held = kind != 0 && inside ? r[i] - (o[i] + d) : r[i] - near;
      if (kind == 0 || (kind == 2 && !(held * held > free * free))) {
        sum += free * free;
        g[i] = -k * free;
      } else {
        sum += held * held;
        g[i] = inside ? -k * held : 0.f;
      }
    }
    ctx->save_for_backward({grad});
    return scalar(sum / static_cast<double>(n), predicted);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    at::AutoGradMode off(false);
    variable_list out(5);
    out[0] = ctx->get_saved_variables()[0] * grads[0];
    return out;
  }
};

// (E[softplus(fake)] + E[softplus(-real)]) / 2.
struct CrossEntropy : Function<CrossEntropy> {
  static float softplus(float x) { return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x)); }
  static float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }
  static at::Tensor forward(AutogradContext* ctx, at::Tensor fake, at::Tensor real) {
    ctx->save_for_backward({fake, real});
    auto mean = [](const at::Tensor& t, float sign) {
      double sum = 0;
      const auto* p = t.data_ptr<float>();
      for (int64_t i = 0; i < t.numel(); i++) sum += softplus(sign * p[i]);
      return sum / static_cast<double>(t.numel());
    };
    return scalar(0.5 * (mean(fake, 1) + mean(real, -1)), fake);
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    at::AutoGradMode off(false);
    auto saved = ctx->get_saved_variables();
    const auto g = grads[0].item<float>();
    auto of = [&](const at::Tensor& t, float sign) {
      auto out = at::empty_like(t);
      const auto* p = t.data_ptr<float>();
      auto* o = out.data_ptr<float>();
      const float k = sign * 0.5f * g / static_cast<float>(t.numel());
      for (int64_t i = 0; i < t.numel(); i++) o[i] = k * sigmoid(sign * p[i]);
      return out;
    };
    return {of(saved[0], 1), of(saved[1], -1)};
  }
};

// sum_i scale_i |w_i|^2 over leaves whose gradients are kept.
struct Decay : Function<Decay> {
  static at::Tensor forward(AutogradContext* ctx, at::Tensor /*anchor*/, const std::vector<at::Tensor>& w, const std::vector<double>& scales) {
    double sum = 0;
    for (size_t k = 0; k < w.size(); k++) {
      double part[16] = {0};
      const auto* p = w[k].data_ptr<float>();
      const int64_t n = w[k].numel();
      int64_t i = 0;
      for (; i + 16 <= n; i += 16)
        for (int j = 0; j < 16; j++) part[j] += static_cast<double>(p[i + j]) * p[i + j];
      for (; i < n; i++) part[0] += static_cast<double>(p[i]) * p[i];
      for (double x : part) sum += scales[k] * x;
    }
    ctx->saved_data["w"] = w;
    ctx->saved_data["scales"] = scales;
    return scalar(sum, w.front());
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    at::AutoGradMode off(false);
    auto w = ctx->saved_data["w"].toTensorVector();
    auto scales = ctx->saved_data["scales"].toDoubleVector();
    const double g = grads[0].item<double>();
    for (size_t k = 0; k < w.size(); k++) {
      float* __restrict out = w[k].grad().data_ptr<float>();
      const float* __restrict p = w[k].data_ptr<float>();
      const auto c = static_cast<float>(2 * scales[k] * g);
      for (int64_t i = 0; i < w[k].numel(); i++) out[i] += c * p[i];
    }
    return variable_list(3);
  }
};

bool row_plain(const at::Tensor& t, const at::Tensor& like) { return plain(t) && t.sizes() == like.sizes(); }

}  // namespace
}  // namespace gorl

using namespace gorl;

gorl_err gorl_mlp(gorl_t x, const gorl_t* weights, const gorl_t* biases, const int32_t* activations, int32_t layers, int grad, gorl_t* out) {
  GORL_BEGIN(grad)
  const at::Tensor& in = T(x);
  if (grad && !in.requires_grad() && plain(in) && in.dim() == 2) {
    Net net(weights, biases, activations, layers);
    if (net.plain_ && net.learns()) {
      *out = wrap(Perceptron::apply(in, net.w.front(), net.w, net.b, net.f));
      return nullptr;
    }
  }
  at::Tensor h = in;
  for (int32_t i = 0; i < layers; i++) {
    h = biases[i] == nullptr ? at::linear(h, T(weights[i])) : at::linear(h, T(weights[i]), T(biases[i]));
    if (activations[i] != GORL_IDENTITY) h = activate(activations[i], h);
  }
  *out = wrap(h);
  GORL_END
}

gorl_err gorl_critic(gorl_t x, const gorl_t* weights, const gorl_t* biases, const int32_t* activations, int32_t layers, gorl_t* out, gorl_t* penalty) {
  GORL_BEGIN(1)
  at::Tensor in = T(x).detach();
  Net net(weights, biases, activations, layers);
  if (plain(in) && in.dim() == 2 && net.plain_ && net.learns() && activations[layers - 1] == GORL_IDENTITY && net.w.back().size(0) == 1) {
    auto result = Critic::apply(in, net.w.front(), net.w, net.b, net.f);
    *out = wrap(result[0]);
    *penalty = wrap(result[1]);
    return nullptr;
  }
  in.requires_grad_(true);
  gorl_t leaf = wrap(in);
  gorl_err err = gorl_mlp(leaf, weights, biases, activations, layers, 1, out);
  gorl_free(&leaf, 1);
  if (err != nullptr) return err;
  auto g = torch::autograd::grad({T(*out).sum()}, {in}, {}, true, true)[0];
  *penalty = wrap(g.square().sum(-1).mean());
  GORL_END
}

gorl_err gorl_gaussian_log_prob_sum(gorl_t action, gorl_t mean, gorl_t log_std, int grad, gorl_t* out) {
  GORL_BEGIN(grad)
  const at::Tensor &a = T(action), &m = T(mean), &l = T(log_std);
  if (plain(m) && m.dim() == 2 && row_plain(a, m) && plain(l) && l.dim() == 1 && l.size(0) == m.size(1)) {
    *out = wrap(GaussianLogProb::apply(a, m, l));
    return nullptr;
  }
  constexpr double half_log_2pi = 0.91893853320467274178;
  auto std = at::exp(l);
  auto d = a - m;
  *out = wrap((-(d * d) / (2 * at::square(std)) - at::log(std) - half_log_2pi).sum(-1, true));
  GORL_END
}

gorl_err gorl_surrogate(gorl_t now, gorl_t old, gorl_t advantage, double clip, gorl_t* loss, gorl_t* divergence, gorl_t* fraction) {
  GORL_BEGIN(1)
  const at::Tensor &p = T(now), &q = T(old), &a = T(advantage);
  TORCH_CHECK(p.sizes() == q.sizes() && p.sizes() == a.sizes(), "shapes differ: log-probabilities ", p.sizes(), " and ", q.sizes(), ", advantages ", a.sizes());
  if (plain(p) && plain(q) && plain(a)) {
    auto r = Surrogate::apply(p, q, a, clip);
    *loss = wrap(r[0]);
    *divergence = wrap(r[1]);
    *fraction = wrap(r[2]);
    return nullptr;
  }
  auto d = p - q, r = d.exp();
  *loss = wrap(-at::minimum(a * r, a * r.clamp(1 - clip, 1 + clip)).mean());
  at::AutoGradMode off(false);
  *divergence = wrap(((r.detach() - 1) - d.detach()).mean());
  *fraction = wrap(((r.detach() - 1).abs() > clip).to(at::kFloat).mean());
  GORL_END
}

gorl_err gorl_value_loss(gorl_t predicted, gorl_t old, gorl_t returns, double clip, int32_t kind, gorl_t* out) {
  GORL_BEGIN(1)
  const at::Tensor &v = T(predicted), &o = T(old), &r = T(returns);
  TORCH_CHECK(v.sizes() == o.sizes() && v.sizes() == r.sizes(), "shapes differ: predictions ", v.sizes(), ", old values ", o.sizes(), ", returns ", r.sizes());
  if (plain(v) && plain(o) && plain(r)) {
    *out = wrap(ValueLoss::apply(v, o, r, clip, kind));
    return nullptr;
  }
  auto free = at::square(r - v);
  if (kind == 0) {
    *out = wrap(free.mean());
    return nullptr;
  }
  auto held = at::square(r - (o + (v - o).clamp(-clip, clip)));
  *out = wrap(kind == 1 ? held.mean() : at::maximum(free, held).mean());
  GORL_END
}

gorl_err gorl_cross_entropy(gorl_t fake, gorl_t real, gorl_t* out) {
  GORL_BEGIN(1)
  const at::Tensor &f = T(fake), &r = T(real);
  *out = wrap(plain(f) && plain(r) ? CrossEntropy::apply(f, r) : (at::softplus(f).mean() + at::softplus(-r).mean()) * 0.5);
  GORL_END
}

gorl_err gorl_decay(const gorl_t* weights, const double* scales, int32_t n, gorl_t* out) {
  GORL_BEGIN(1)
  std::vector<at::Tensor> w;
  bool ready = true;
  for (int32_t i = 0; i < n; i++) {
    w.push_back(T(weights[i]));
    ready = ready && w.back().requires_grad() && Net::ready(w.back());
  }
  TORCH_CHECK(n > 0, "there are no weights");
  if (ready) {
    *out = wrap(Decay::apply(w.front(), w, std::vector<double>(scales, scales + n)));
    return nullptr;
  }
  auto sum = at::square(w[0]).sum() * scales[0];
  for (size_t i = 1; i < w.size(); i++) sum = sum + at::square(w[i]).sum() * scales[i];
  *out = wrap(sum);
  GORL_END
}

// Adds scalars to the elements of sums (float64, on their device).
gorl_err gorl_tally_(gorl_t sums, const gorl_t* scalars, int32_t n) {
  GORL_BEGIN(0)
  at::Tensor& s = T(sums);
  TORCH_CHECK(s.numel() == n, "there are ", n, " scalars for ", s.numel(), " sums");
  bool loop = s.device().is_cpu() && s.scalar_type() == at::kDouble && s.is_contiguous();
  for (int32_t i = 0; i < n && loop; i++) loop = plain(T(scalars[i])) && T(scalars[i]).numel() == 1;
  if (loop) {
    for (int32_t i = 0; i < n; i++) s.data_ptr<double>()[i] += T(scalars[i]).data_ptr<float>()[0];
    return nullptr;
  }
  std::vector<at::Tensor> all;
  for (int32_t i = 0; i < n; i++) all.push_back(T(scalars[i]).detach().reshape({}));
  s.add_(at::stack(all));
  GORL_END
}

gorl_err gorl_positive_share(gorl_t x, gorl_t* share, gorl_t* mean) {
  GORL_BEGIN(0)
  at::Tensor t = T(x).detach();
  if (plain(t)) {
    double positive = 0, sum = 0;
    const auto* p = t.data_ptr<float>();
    const int64_t n = t.numel();
    for (int64_t i = 0; i < n; i++) {
      positive += p[i] > 0;
      sum += p[i];
    }
    *share = wrap(scalar(positive / static_cast<double>(n), t));
    *mean = wrap(scalar(sum / static_cast<double>(n), t));
    return nullptr;
  }
  *share = wrap((t > 0).to(at::kFloat).mean());
  *mean = wrap(t.mean());
  GORL_END
}
