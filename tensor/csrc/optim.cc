// Optimizer steps over flat parameters: one call a step, whatever the networks. On the CPU they are plain loops over
// contiguous memory, elsewhere a handful of operations on whole segments.
#include <cmath>
#include <initializer_list>

#include "engine.h"

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
  if (engine() && plain(g) && plain(T(norms))) {
    auto* p = g.data_ptr<float>();
    auto* out = T(norms).data_ptr<float>();
    for (int32_t s = 0; s < n; s++) {
      const double sum = kernels().squares(p + begin[s], end[s] - begin[s]);
      const double norm = std::sqrt(sum);
      out[s] = static_cast<float>(norm);
      if (!(max_norm[s] > 0)) continue;
      const double factor = max_norm[s] / (norm + 1e-6);
      if (factor >= 1) continue;
      kernels().scale(p + begin[s], static_cast<float>(factor), end[s] - begin[s]);
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
  const bool loop = engine() && plain(T(param)) && plain(T(grad)) && plain(T(exp_avg)) && plain(T(exp_avg_sq));
  for (int32_t s = 0; s < n; s++) {
    if (loop) {
      Adam c;
      c.beta1 = static_cast<float>(beta1), c.rest1 = static_cast<float>(1 - beta1);
      c.beta2 = static_cast<float>(beta2), c.rest2 = static_cast<float>(1 - beta2);
      c.eps = static_cast<float>(eps), c.root2 = static_cast<float>(root2);
      c.size = static_cast<float>(lr[s] / correction1);
      c.l2 = static_cast<float>(decoupled ? 0 : weight_decay);
      c.shrink = static_cast<float>(decoupled ? 1 - lr[s] * weight_decay : 1);
      const int64_t n_ = end[s] - begin[s], parts = parts_of(n_, 10 * n_);
      each(parts, [&](int64_t part) {
        const int64_t i = begin[s] + begin_of(part, parts, n_), left = begin[s] + begin_of(part + 1, parts, n_) - i;
        kernels().adam(c, data(T(param)) + i, data(T(grad)) + i, data(T(exp_avg)) + i, data(T(exp_avg_sq)) + i, left);
      });
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
