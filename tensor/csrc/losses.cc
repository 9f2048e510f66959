// The losses of PPO and of AMP's discriminator, each as one node of the autograd graph: see node.h. Elsewhere than in plain
// memory of the CPU they are the separate operations, or on devices those of device_losses.h.
#include <cmath>

#include "device_losses.h"
#include "node.h"

namespace gorl {
namespace {

// t times the scalar g.
at::Tensor times(const at::Tensor& t, const at::Tensor& g) {
  auto out = make(t.sizes());
  perform([n = t.numel(), p = data(t), k = data(g), o = data(out)] { for (int64_t i = 0; i < n; i++) o[i] = *k * p[i]; }, t, g, out);
  return out;
}

// A loss whose gradient by its only input was computed with it.
struct Known : Op {
  at::Tensor gradient;
  Known(const at::Tensor& input, at::Tensor gradient_) : Op(torch::autograd::collect_next_edges(input)), gradient(std::move(gradient_)) {}
  variable_list backward(const variable_list& grads) override { return {times(gradient, grads[0])}; }
  void release() override { gradient.reset(); }
};

void follow(at::Tensor& loss, const at::Tensor& input, at::Tensor gradient) {
  if (at::GradMode::is_enabled() && input.requires_grad()) track(loss, node<Known>(input, std::move(gradient)));
}

// Sum over dimensions of the log-density of normal distributions, (n, 1).
struct GaussianLogProb : Op {
  at::Tensor action, mean, log_std;
  GaussianLogProb(const at::Tensor& a, const at::Tensor& m, const at::Tensor& l)
      : Op(torch::autograd::collect_next_edges(m, l)), action(a), mean(bare_of(m)), log_std(bare_of(l)) {}
  static at::Tensor forward(const at::Tensor& action, const at::Tensor& mean, const at::Tensor& log_std) {
    const int64_t n = mean.size(0), width = mean.size(1);
    auto out = make({n, 1});
    perform([n, width, a = data(action), m = data(mean), l = data(log_std), o = data(out)] {
      std::vector<float> scale(static_cast<size_t>(width));
      float constant = 0;
      for (int64_t j = 0; j < width; j++) {
        const float std = std::exp(l[j]);
        scale[static_cast<size_t>(j)] = 1 / (2 * (std * std));
        constant += std::log(std) + 0.91893853320467274178f;
      }
      for (int64_t i = 0; i < n; i++) {
        float sum = 0;
        for (int64_t j = 0; j < width; j++) {
          const float d = a[i * width + j] - m[i * width + j];
          sum -= d * d * scale[static_cast<size_t>(j)];
        }
        o[i] = sum - constant;
      }
    }, action, mean, log_std, out);
    return out;
  }
  variable_list backward(const variable_list& grads) override {
    const auto g = contiguous(grads[0]);
    auto dm = make(mean.sizes()), dl = make(log_std.sizes());
    perform([n = mean.size(0), width = mean.size(1), a = data(action), m = data(mean), l = data(log_std), gi = data(g), pm = data(dm), pl = data(dl)] {
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
    }, action, mean, log_std, g, dm, dl);
    return {dm, dl};
  }
  void release() override { action.reset(), mean.reset(), log_std.reset(); }
};

// (E[softplus(fake)] + E[softplus(-real)]) / 2.
struct CrossEntropy : Op {
  at::Tensor fake, real;
  CrossEntropy(const at::Tensor& f, const at::Tensor& r) : Op(torch::autograd::collect_next_edges(f, r)), fake(bare_of(f)), real(bare_of(r)) {}
  variable_list backward(const variable_list& grads) override {
    auto of = [&](const at::Tensor& t, float sign) {
      auto out = make(t.sizes());
      perform([n = t.numel(), p = data(t), g = data(grads[0]), o = data(out), sign] {
        for (int64_t i = 0; i < n; i++) o[i] = sign * p[i];
        kernels().activate(GORL_SIGMOID, o, n);
        kernels().scale(o, sign * 0.5f * *g / static_cast<float>(n), n);
      }, t, grads[0], out);
      return out;
    };
    return {of(fake, 1), of(real, -1)};
  }
  void release() override { fake.reset(), real.reset(); }
};

// sum_i scale_i |w_i|^2 over leaves whose gradients are kept.
struct Decay : Op {
  std::vector<at::Tensor> w;
  std::vector<double> scales;
  Decay(std::vector<at::Tensor> w_, std::vector<double> scales_) : Op(edge_list()), w(std::move(w_)), scales(std::move(scales_)) {}
  variable_list backward(const variable_list& grads) override {
    for (size_t k = 0; k < w.size(); k++)
      perform([to = data(w[k].grad()), scale = scales[k], g = data(grads[0]), p = data(w[k]), n = w[k].numel()] {
        kernels().axpy(to, static_cast<float>(2 * scale * *g), p, n);
      }, w[k], grads[0]);
    return {};
  }
  void release() override { w.clear(); }
};

bool row_plain(const at::Tensor& t, const at::Tensor& like) { return plain(t) && t.sizes() == like.sizes(); }

}  // namespace
}  // namespace gorl

using namespace gorl;

gorl_err gorl_gaussian_log_prob_sum(gorl_t action, gorl_t mean, gorl_t log_std, int grad, gorl_t* out) {
  GORL_BEGIN(grad)
  const at::Tensor &a = T(action), &m = T(mean), &l = T(log_std);
  if (engine() && !a.requires_grad() && plain(m) && m.dim() == 2 && row_plain(a, m) && plain(l) && l.dim() == 1 && l.size(0) == m.size(1)) {
    auto result = GaussianLogProb::forward(a, m, l);
    if (grad && followed(m, l)) track(result, node<GaussianLogProb>(a, m, l));
    Call::recorded();
    *out = wrap(std::move(result));
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
  if (engine() && plain(p) && plain(q) && plain(a) && !followed(q, a)) {
    const int64_t n = p.numel();
    auto gradient = make(p.sizes()), value = make({}), moved = make({}), share = make({});
    perform([n, now_ = data(p), old_ = data(q), adv = data(a), g = data(gradient), clip, value_ = data(value), moved_ = data(moved), share_ = data(share)] {
      const auto lo = static_cast<float>(1 - clip), hi = static_cast<float>(1 + clip);
      double sum = 0, kl = 0, outside = 0;
      for (int64_t i = 0; i < n; i++) {
        const float d = now_[i] - old_[i], r = std::exp(d), limited = r < lo ? lo : (r > hi ? hi : r);
        const float x = adv[i] * r, y = adv[i] * limited;
        sum += x < y || std::isnan(x) ? x : y;
        kl += (r - 1) - d;
        outside += r < lo || r > hi;
        g[i] = x <= y ? -x / static_cast<float>(n) : 0.f;
      }
      const double k = 1.0 / static_cast<double>(n);
      *value_ = static_cast<float>(-sum * k), *moved_ = static_cast<float>(kl * k), *share_ = static_cast<float>(outside * k);
    }, p, q, a, gradient, value, moved, share);
    Call::recorded();
    follow(value, p, std::move(gradient));
    *loss = wrap(std::move(value));
    *divergence = wrap(std::move(moved));
    *fraction = wrap(std::move(share));
    return nullptr;
  }
  if (elsewhere(p) && !followed(q, a)) {
    at::Tensor value, kl, share;
    device_surrogate(p, q, a, clip, &value, &kl, &share);
    *loss = wrap(value);
    *divergence = wrap(kl);
    *fraction = wrap(share);
    return nullptr;
  }
  auto d = p - q, r = d.exp();
  auto value = -at::minimum(a * r, a * r.clamp(1 - clip, 1 + clip)).mean();
  at::AutoGradMode off(false);
  auto moved = ((r.detach() - 1) - d.detach()).mean(), share = ((r.detach() - 1).abs() > clip).to(at::kFloat).mean();
  *loss = wrap(std::move(value));
  *divergence = wrap(std::move(moved));
  *fraction = wrap(std::move(share));
  GORL_END
}

gorl_err gorl_value_loss(gorl_t predicted, gorl_t old, gorl_t returns, double clip, int32_t kind, gorl_t* out) {
  GORL_BEGIN(1)
  const at::Tensor &v = T(predicted), &o = T(old), &r = T(returns);
  TORCH_CHECK(v.sizes() == o.sizes() && v.sizes() == r.sizes(), "shapes differ: predictions ", v.sizes(), ", old values ", o.sizes(), ", returns ", r.sizes());
  if (engine() && plain(v) && plain(o) && plain(r) && !followed(o, r)) {
    // kind 0: no clip; 1: the clipped loss alone; 2: the larger one.
    const int64_t n = v.numel();
    auto gradient = make(v.sizes()), value = make({});
    perform([n, now_ = data(v), old_ = data(o), ret = data(r), g = data(gradient), value_ = data(value), c = static_cast<float>(clip), kind] {
      const float k = 2.f / static_cast<float>(n);
      double sum = 0;
      for (int64_t i = 0; i < n; i++) {
        const float d = now_[i] - old_[i];
        const bool inside = kind == 0 || (d >= -c && d <= c);
        const float near = inside ? now_[i] : (d < 0 ? old_[i] - c : old_[i] + c);
        const float free = ret[i] - now_[i], held = kind != 0 && inside ? ret[i] - (old_[i] + d) : ret[i] - near;
        if (kind == 0 || (kind == 2 && !(held * held > free * free))) {
          sum += free * free;
          g[i] = -k * free;
        } else {
          sum += held * held;
          g[i] = inside ? -k * held : 0.f;
        }
      }
      *value_ = static_cast<float>(sum / static_cast<double>(n));
    }, v, o, r, gradient, value);
    Call::recorded();
    follow(value, v, std::move(gradient));
    *out = wrap(std::move(value));
    return nullptr;
  }
  if (elsewhere(v) && !followed(o, r)) {
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
  if (engine() && plain(f) && plain(r)) {
    auto loss = make({});
    perform([p = data(f), n = f.numel(), q = data(r), m = r.numel(), o = data(loss)] {
      const auto mean = [](float sign, const float* x, int64_t n) {
        return kernels().softplus(sign, x, n) / static_cast<double>(n);
      };
      *o = static_cast<float>(0.5 * (mean(1, p, n) + mean(-1, q, m)));
    }, f, r, loss);
    Call::recorded();
    if (followed(f, r)) track(loss, node<CrossEntropy>(f, r));
    *out = wrap(std::move(loss));
    return nullptr;
  }
  *out = wrap((at::softplus(f).mean() + at::softplus(-r).mean()) * 0.5);
  GORL_END
}

gorl_err gorl_decay(const gorl_t* weights, const double* scales, int32_t n, gorl_t* out) {
  GORL_BEGIN(1)
  std::vector<at::Tensor> w;
  bool all = engine();
  for (int32_t i = 0; i < n; i++) {
    w.push_back(T(weights[i]));
    all = all && w.back().requires_grad() && ready(w.back());
  }
  TORCH_CHECK(n > 0, "there are no weights");
  if (all) {
    auto loss = make({});
    const auto forward = [o = data(loss)](const std::vector<at::Tensor>& w, const double* scales) {
      double sum = 0;
      for (size_t k = 0; k < w.size(); k++) sum += scales[k] * kernels().squares(data(w[k]), w[k].numel());
      *o = static_cast<float>(sum);
    };
    forward(w, scales);
    if (recorder != nullptr) {
      recorder->keep(loss);
      recorder->add([forward, w, scales = std::vector<double>(scales, scales + n)] { forward(w, scales.data()); });
    }
    Call::recorded();
    track(loss, node<Decay>(std::move(w), std::vector<double>(scales, scales + n)));
    *out = wrap(std::move(loss));
    return nullptr;
  }
  auto sum = at::square(w[0]).sum() * scales[0];
  for (size_t i = 1; i < w.size(); i++) sum = sum + at::square(w[i]).sum() * scales[i];
  *out = wrap(sum);
  GORL_END
}
