// The losses of PPO and of AMP's discriminator, each as one node of the autograd graph: see fused.h.
#include "device_losses.h"
#include "fused.h"

namespace gorl {
namespace {

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

gorl_err gorl_gaussian_log_prob_sum(gorl_t action, gorl_t mean, gorl_t log_std, int grad, gorl_t* out) {
  GORL_BEGIN(grad)
  const at::Tensor &a = T(action), &m = T(mean), &l = T(log_std);
  if (plain(m) && m.dim() == 2 && row_plain(a, m) && plain(l) && l.dim() == 1 && l.size(0) == m.size(1)) {
    *out = wrap(GaussianLogProb::apply(a, m, l));
    return nullptr;
  }
  if (elsewhere(m) && m.dim() == 2 && a.sizes() == m.sizes() && !a.requires_grad() && l.dim() == 1 && l.size(0) == m.size(1)) {
    *out = wrap(DeviceGaussianLogProb::apply(a, m, l));
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
  if (elsewhere(p) && !followed_by(q, a)) {
    at::Tensor value, kl, share;
    device_surrogate(p, q, a, clip, &value, &kl, &share);
    *loss = wrap(value);
    *divergence = wrap(kl);
    *fraction = wrap(share);
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
  if (elsewhere(v) && !followed_by(o, r)) {
    *out = wrap(device_value_loss(v, o, r, clip, kind));
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
  bool all = true;
  for (int32_t i = 0; i < n; i++) {
    w.push_back(T(weights[i]));
    all = all && w.back().requires_grad() && ready(w.back());
  }
  TORCH_CHECK(n > 0, "there are no weights");
  if (all) {
    *out = wrap(Decay::apply(w.front(), w, std::vector<double>(scales, scales + n)));
    return nullptr;
  }
  auto sum = at::square(w[0]).sum() * scales[0];
  for (size_t i = 1; i < w.size(); i++) sum = sum + at::square(w[i]).sum() * scales[i];
  *out = wrap(sum);
  GORL_END
}
