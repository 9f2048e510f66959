// Recurrences over time and running statistics: loops on the CPU, operations elsewhere.
#include <cmath>
#include <vector>

#include "engine.h"

using namespace gorl;

// A[t] = r[t] - V[t] + gamma * (bootstrap[t] * V'[t] + lambda * chain[t] * A[t+1]), everything (T, ...) of one shape.
gorl_err gorl_gae(gorl_t rewards, gorl_t values, gorl_t next_values, gorl_t bootstrap, gorl_t chain, double gamma, double lambda, gorl_t* out) {
  GORL_BEGIN(0)
  const at::Tensor &r = T(rewards), &v = T(values), &nv = T(next_values), &b = T(bootstrap), &c = T(chain);
  for (auto* x : {&v, &nv, &b, &c})
    TORCH_CHECK(x->sizes() == r.sizes(), "shapes differ: rewards ", r.sizes(), ", other ", x->sizes());
  TORCH_CHECK(r.dim() >= 1 && r.size(0) > 0, "there are no time steps");
  at::Tensor a;
  if (plain(r) && plain(v) && plain(nv) && plain(b) && plain(c)) {
    a = at::empty_like(r);
    const int64_t steps = r.size(0), n = r.numel() / steps;
    const float *R = r.data_ptr<float>(), *V = v.data_ptr<float>(), *N = nv.data_ptr<float>();
    const float *B = b.data_ptr<float>(), *C = c.data_ptr<float>();
    auto* A = a.data_ptr<float>();
    const auto g = static_cast<float>(gamma), l = static_cast<float>(lambda);
    for (int64_t t = steps - 1; t >= 0; t--) {
      for (int64_t i = 0; i < n; i++) {
        const int64_t k = t * n + i;
        const float next = t == steps - 1 ? 0.f : A[k + n];
        A[k] = R[k] - V[k] + g * (B[k] * N[k] + l * C[k] * next);
      }
    }
  } else {
    // The recurrence is linear, A[t] = d[t] + k[t] * A[t+1], so that doubling solves it: once d[t] sums up h steps from t on
    // and k[t] is the product over them, d[t] + k[t] * d[t+h] sums up 2h. That is a few operations for each doubling
    // instead of for each step.
    const int64_t steps = r.size(0);
    a = r - v + gamma * (b * nv);
    auto k = (gamma * lambda) * c;
    for (int64_t h = 1; h < steps; h *= 2) {
      auto head = a.narrow(0, 0, steps - h);
      auto sum = at::addcmul(head, k.narrow(0, 0, steps - h), a.narrow(0, h, steps - h));
      head.copy_(sum);
      if (2 * h < steps) k = k.narrow(0, 0, steps - 2 * h) * k.narrow(0, h, steps - 2 * h);
    }
  }
  *out = wrap(a);
  GORL_END
}

namespace {

// The loops below walk the statistics by pointer.
void check_statistics(const at::Tensor& mean, const at::Tensor& variance, const at::Tensor& x) {
  TORCH_CHECK(mean.numel() > 0, "the statistics are empty");
  for (auto* t : {&mean, &variance}) {
    TORCH_CHECK(t->scalar_type() == at::kDouble && t->is_contiguous(), "the statistics must be contiguous float64");
    TORCH_CHECK(t->dim() == 1, "the statistics must be vectors, one has the shape ", t->sizes());
    TORCH_CHECK(t->numel() == mean.numel(), "the mean has ", mean.numel(), " elements, the variance ", variance.numel());
    TORCH_CHECK(t->device() == x.device(), "the statistics are on ", t->device(), ", the values on ", x.device());
  }
}

}  // namespace

// Merges the rows of x into running (mean, variance, count), all float64. With bessel the batch variance is the unbiased
// one, as in skrl; otherwise the biased one, which makes the merge exact and a single row harmless. A count beyond freeze_after
// (0: any) keeps everything as it is.
gorl_err gorl_scaler_update_(gorl_t x, gorl_t mean, gorl_t variance, gorl_t count, int bessel, double freeze_after) {
  GORL_BEGIN(0)
  const int64_t width = T(mean).numel();
  check_statistics(T(mean), T(variance), T(x));
  TORCH_CHECK(T(count).numel() == 1 && T(count).scalar_type() == at::kDouble && T(count).device() == T(x).device(),
              "the count must be one float64 beside the mean");
  TORCH_CHECK(T(x).dim() > 0 && T(x).size(-1) == width, "the rows' width must be that of the statistics, ", width);
  auto rows = T(x).detach().reshape({-1, width});
  const int64_t n = rows.size(0);
  TORCH_CHECK(n > 0, "there are no rows");
  if (rows.device().is_cpu()) {
    auto f = rows.to(at::kFloat).contiguous();
    const auto* p = f.data_ptr<float>();
    std::vector<double> sum(static_cast<size_t>(width), 0), square(static_cast<size_t>(width), 0);
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < width; j++) sum[static_cast<size_t>(j)] += p[i * width + j];
    for (auto& s : sum) s /= static_cast<double>(n);
    for (int64_t i = 0; i < n; i++)
      for (int64_t j = 0; j < width; j++) {
        const double d = p[i * width + j] - sum[static_cast<size_t>(j)];
        square[static_cast<size_t>(j)] += d * d;
      }
    auto *mu = T(mean).data_ptr<double>(), *var = T(variance).data_ptr<double>(), *cnt = T(count).data_ptr<double>();
    const double c = *cnt, total = c + static_cast<double>(n);
    if (freeze_after > 0 && c > freeze_after) return nullptr;
    for (int64_t j = 0; j < width; j++) {
      const double batch = square[static_cast<size_t>(j)] / static_cast<double>(bessel ? n - 1 : n);
      const double delta = sum[static_cast<size_t>(j)] - mu[j];
      var[j] = (var[j] * c + batch * static_cast<double>(n) + delta * delta * c * static_cast<double>(n) / total) / total;
      mu[j] += delta * static_cast<double>(n) / total;
    }
    *cnt = total;
  } else {
    auto d = rows.to(at::kDouble);
    auto batch_mean = d.mean(0), batch_var = d.var(0, bessel != 0);
    auto delta = batch_mean - T(mean);
    auto total = T(count) + static_cast<double>(n);
    auto new_var = (T(variance) * T(count) + batch_var * static_cast<double>(n) + delta.square() * T(count) * static_cast<double>(n) / total) / total;
    auto new_mean = T(mean) + delta * static_cast<double>(n) / total;
    if (freeze_after > 0) {  // decided on the device: the host does not wait for the count
      auto frozen = T(count) > freeze_after;
      new_var = at::where(frozen, T(variance), new_var);
      new_mean = at::where(frozen, T(mean), new_mean);
      total = at::where(frozen, T(count), total);
    }
    T(variance).copy_(new_var);
    T(mean).copy_(new_mean);
    T(count).copy_(total);
  }
  GORL_END
}

gorl_err gorl_scaler_forward(gorl_t x, gorl_t mean, gorl_t variance, double eps, double clip, gorl_t* out) {
  GORL_BEGIN(0)
  const at::Tensor& a = T(x);
  check_statistics(T(mean), T(variance), a);
  if (plain(a) && a.dim() > 0 && a.size(-1) == T(mean).numel()) {
    auto y = make(a.sizes());
    perform([width = T(mean).numel(), elements = a.numel(), mu = T(mean).data_ptr<double>(), var = T(variance).data_ptr<double>(), from = data(a),
             to = data(y), eps, c = static_cast<float>(clip)] {
      std::vector<float> moments(static_cast<size_t>(2 * width));
      float* __restrict m = moments.data();
      float* __restrict s = m + width;
      for (int64_t j = 0; j < width; j++) {
        m[j] = static_cast<float>(mu[j]);
        s[j] = std::sqrt(static_cast<float>(var[j])) + static_cast<float>(eps);
      }
      const auto* __restrict p = from;
      auto* __restrict q = to;
      for (int64_t i = 0; i < elements / width; i++, p += width, q += width)
        for (int64_t j = 0; j < width; j++) {
          const float z = (p[j] - m[j]) / s[j];
          q[j] = z < -c ? -c : (z > c ? c : z);
        }
    }, a, T(mean), T(variance), y);
    Call::recorded();
    *out = wrap(y);
  } else {
    auto z = (a - T(mean).to(at::kFloat)) / (at::sqrt(T(variance).to(at::kFloat)) + eps);
    *out = wrap(at::clamp(z, -clip, clip));
  }
  GORL_END
}

gorl_err gorl_scaler_inverse(gorl_t x, gorl_t mean, gorl_t variance, double clip, gorl_t* out) {
  GORL_BEGIN(0)
  check_statistics(T(mean), T(variance), T(x));
  *out = wrap(at::sqrt(T(variance).to(at::kFloat)) * at::clamp(T(x), -clip, clip) + T(mean).to(at::kFloat));
  GORL_END
}
