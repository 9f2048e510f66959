// Optimizer steps over flat parameters: one call a step, whatever the networks. On the CPU they are plain loops over
// contiguous memory, elsewhere a handful of operations on whole segments.
#include <cmath>
#include <initializer_list>

#include "handle.h"

using namespace gorl;

namespace {

// The loops below walk the tensors by pointer.
void check_segments(const int64_t* begin, const int64_t* end, int32_t n, std::initializer_list<const at::Tensor*> flat) {
  const int64_t length = (*flat.begin())->numel();
  for (auto* t : flat)
    TORCH_CHECK(t->dim() == 1 && t->numel() == length, "the flat tensors' lengths differ: ", length, " and ", t->sizes());
  for (int32_t s = 0; s < n; s++)
    TORCH_CHECK(0 <= begin[s] && begin[s] <= end[s] && end[s] <= length, "segment ", s, " is [", begin[s], ", ", end[s], ") of ", length, " elements");
}

}  // namespace

gorl_err gorl_clip_norm_(gorl_t grad, const int64_t* begin, const int64_t* end, const double* max_norm, int32_t n, gorl_t norms) {
  GORL_BEGIN(0)
  at::Tensor& g = T(grad);
  check_segments(begin, end, n, {&g});
  TORCH_CHECK(T(norms).numel() >= n, "there is room for ", T(norms).numel(), " norms, ", n, " are wanted");
  if (plain(g) && plain(T(norms))) {
    auto* p = g.data_ptr<float>();
    auto* out = T(norms).data_ptr<float>();
    for (int32_t s = 0; s < n; s++) {
      // Sixteen partial sums let the compiler use vector registers without reordering a single sum.
      double part[16] = {0};
      int64_t i = begin[s];
      for (; i + 16 <= end[s]; i += 16)
        for (int k = 0; k < 16; k++) part[k] += static_cast<double>(p[i + k]) * p[i + k];
      double sum = 0;
      for (; i < end[s]; i++) sum += static_cast<double>(p[i]) * p[i];
      for (double x : part) sum += x;
      const double norm = std::sqrt(sum);
      out[s] = static_cast<float>(norm);
      if (!(max_norm[s] > 0)) continue;
      const double factor = max_norm[s] / (norm + 1e-6);
      if (factor >= 1) continue;
      const auto f = static_cast<float>(factor);
      for (i = begin[s]; i < end[s]; i++) p[i] *= f;
    }
  } else {
    for (int32_t s = 0; s < n; s++) {
      auto part = g.narrow(0, begin[s], end[s] - begin[s]);
      auto norm = part.norm();
      T(norms)[s].copy_(norm);
      if (max_norm[s] > 0) part.mul_((max_norm[s] / (norm + 1e-6)).clamp_max(1.0));
    }
  }
  GORL_END
}

gorl_err gorl_adam_(gorl_t param, gorl_t grad, gorl_t exp_avg, gorl_t exp_avg_sq, const int64_t* begin, const int64_t* end,
                    const double* lr, int32_t n, int64_t step, double beta1, double beta2, double eps, double weight_decay, int decoupled) {
  GORL_BEGIN(0)
  check_segments(begin, end, n, {&T(param), &T(grad), &T(exp_avg), &T(exp_avg_sq)});
  const double correction1 = 1 - std::pow(beta1, static_cast<double>(step));
  const double root2 = std::sqrt(1 - std::pow(beta2, static_cast<double>(step)));
  const bool loop = plain(T(param)) && plain(T(grad)) && plain(T(exp_avg)) && plain(T(exp_avg_sq));
  for (int32_t s = 0; s < n; s++) {
    if (loop) {
      float* __restrict p = T(param).data_ptr<float>();
      const float* __restrict g = T(grad).data_ptr<float>();
      float* __restrict m = T(exp_avg).data_ptr<float>();
      float* __restrict v = T(exp_avg_sq).data_ptr<float>();
      const auto b1 = static_cast<float>(beta1), c1 = static_cast<float>(1 - beta1);
      const auto b2 = static_cast<float>(beta2), c2 = static_cast<float>(1 - beta2);
      const auto e = static_cast<float>(eps), r2 = static_cast<float>(root2);
      const auto size = static_cast<float>(lr[s] / correction1);
      const auto l2 = static_cast<float>(decoupled ? 0 : weight_decay);
      const auto shrink = static_cast<float>(decoupled ? 1 - lr[s] * weight_decay : 1);
      for (int64_t i = begin[s]; i < end[s]; i++) {
        const float gi = g[i] + l2 * p[i];
        m[i] = m[i] * b1 + gi * c1;
        v[i] = v[i] * b2 + gi * gi * c2;
        p[i] = p[i] * shrink - size * (m[i] / (std::sqrt(v[i]) / r2 + e));
      }
    } else {
      const int64_t len = end[s] - begin[s];
      auto p = T(param).narrow(0, begin[s], len), g = T(grad).narrow(0, begin[s], len);
      auto m = T(exp_avg).narrow(0, begin[s], len), v = T(exp_avg_sq).narrow(0, begin[s], len);
      if (weight_decay != 0) {
        if (decoupled) p.mul_(1 - lr[s] * weight_decay);
        else g = g.add(p, weight_decay);
      }
      m.mul_(beta1).add_(g, 1 - beta1);
      v.mul_(beta2).addcmul_(g, g, 1 - beta2);
      p.addcdiv_(m, v.sqrt().div_(root2).add_(eps), -lr[s] / correction1);
    }
  }
  GORL_END
}

gorl_err gorl_sgd_(gorl_t param, gorl_t grad, gorl_t momentum_buffer, const int64_t* begin, const int64_t* end,
                   const double* lr, int32_t n, int64_t step, double momentum, double weight_decay, int nesterov) {
  GORL_BEGIN(0)
  check_segments(begin, end, n, {&T(param), &T(grad), &T(momentum_buffer)});
  for (int32_t s = 0; s < n; s++) {
    const int64_t len = end[s] - begin[s];
    auto p = T(param).narrow(0, begin[s], len);
    auto g = T(grad).narrow(0, begin[s], len);
    auto b = T(momentum_buffer).narrow(0, begin[s], len);
    if (weight_decay != 0) g = g.add(p, weight_decay);
    if (momentum != 0) {
      if (step == 1) b.copy_(g);
      else b.mul_(momentum).add_(g);
      g = nesterov ? g.add(b, momentum) : b;
    }
    p.add_(g, -lr[s]);
  }
  GORL_END
}
