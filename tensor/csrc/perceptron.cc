// A multilayer perceptron as one node of the autograd graph, and one with the penalty on its input gradient: see fused.h.
#include "fused.h"
#include "numbering.h"
#include "penalty.h"

namespace gorl {
namespace {

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

}  // namespace
}  // namespace gorl

using namespace gorl;

gorl_err gorl_mlp(gorl_t x, const gorl_t* weights, const gorl_t* biases, const int32_t* activations, int32_t layers, int32_t lower, int grad, gorl_t* out) {
  GORL_BEGIN(grad)
  const at::Tensor& in = T(x);
  if (lower < 0 && grad && !in.requires_grad() && plain(in) && in.dim() == 2) {
    Net net(weights, biases, activations, layers);
    if (net.plain_ && net.learns()) {
      *out = wrap(Perceptron::apply(in, net.w.front(), net.w, net.b, net.f));
      return nullptr;
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
  Net net(weights, biases, activations, layers);
  if (lower < 0 && plain(in) && in.dim() == 2 && net.plain_ && net.learns() && activations[layers - 1] == GORL_IDENTITY && net.w.back().size(0) == 1) {
    auto result = Critic::apply(in, net.w.front(), net.w, net.b, net.f);
    *out = wrap(result[0]);
    *penalty = wrap(result[1]);
    return nullptr;
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
  auto g = numbered_grad({T(*out).sum()}, {in}, {})[0];
  *penalty = wrap(g.square().sum(-1).mean());
  GORL_END
}
