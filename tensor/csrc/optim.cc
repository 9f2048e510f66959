// Optimizer steps over flat parameters: one call a step, whatever the networks. On the CPU they are plain loops over
// contiguous memory, elsewhere a handful of operations on whole segments.
#include <ATen/ScalarOps.h>

#include <cmath>
#include <initializer_list>
#include <numeric>

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

// What a step of Adam depends on beside the gradients: for each segment the size of the step and, with decoupled decay, what
// parameters shrink by; and epsilon. The root of the second moment is not divided by its correction, but size and epsilon are
// multiplied by it.
struct AdamFactors {
  double correction1, root2, epsilon, weight_decay;
  AdamFactors(int64_t step, double beta1, double beta2, double eps, double decay)
      : correction1(1 - std::pow(beta1, static_cast<double>(step))), root2(std::sqrt(1 - std::pow(beta2, static_cast<double>(step)))),
        epsilon(eps * root2), weight_decay(decay) {}
  double size(double lr) const { return lr * root2 / correction1; }
  double shrink(double lr) const { return 1 - lr * weight_decay; }
};

// Numbers that tensors on another device are multiplied by: the host's own, or what it has put there before. Either way an
// operation gives the same bits.
struct Factors {
  const at::Tensor* there;  // NULL: the host's
  at::Tensor operator()(int64_t i, double here) const {
    return there != nullptr ? there->select(0, i) : at::native::wrapped_scalar_tensor(here);
  }
};
Factors factors_of(gorl_t h, int64_t count) {
  if (h == nullptr) return {nullptr};
  TORCH_CHECK(T(h).numel() == count, "there are ", T(h).numel(), " factors, ", count, " are wanted");
  return {&T(h)};
}

// Calls f(first, last) for each run of segments that lie side by side.
template <class F>
void each_run(const int64_t* begin, const int64_t* end, int32_t n, F f) {
  for (int32_t first = 0; first < n;) {
    int32_t last = first;
    while (last + 1 < n && end[last] == begin[last + 1]) last++;
    f(first, last);
    first = last + 1;
  }
}

}  // namespace

gorl_err gorl_clip_norm_(gorl_t grad, const int64_t* begin, const int64_t* end, const double* max_norm, int32_t n, gorl_t norms) {
  GORL_BEGIN(0)
  at::Tensor& g = T(grad);
  check_segments(begin, end, n, {&g});
  TORCH_CHECK(T(norms).numel() >= n, "there is room for ", T(norms).numel(), " norms, ", n, " are wanted");
  if (engine() && plain(g) && plain(T(norms))) {
    for (int32_t s = 0; s < n; s++) {
      perform([p = data(g), all = g.numel(), begin = begin[s], end = end[s], limit = max_norm[s],
               out = data(T(norms)) + s] {
        const int64_t parts = parts_of(end - begin, flat_cost * (end - begin));
        std::vector<double> squares(static_cast<size_t>(parts));
        each(parts, [&](int64_t part) {
          double sum = 0;
          each_own(part, parts, begin, end, all,
                   [&](int64_t i, int64_t count) { sum += kernels().squares(p + i, count); });
          squares[static_cast<size_t>(part)] = sum;
        });
        const double norm = std::sqrt(std::accumulate(squares.begin(), squares.end(), 0.));
        const double factor = limit / (norm + 1e-6);
        *out = static_cast<float>(norm);
        if (!(limit > 0 && factor < 1)) return;
        each(parts, [&](int64_t part) {
          each_own(part, parts, begin, end, all,
                   [&](int64_t i, int64_t count) { kernels().scale(p + i, static_cast<float>(factor), count); });
        });
      }, g, T(norms));
    }
    Call::recorded();
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

void gorl_adam_factors(const double* lr, int32_t n, int64_t step, double beta1, double beta2, double eps, double weight_decay, int32_t device, float* out) {
  const AdamFactors f(step, beta1, beta2, eps, weight_decay);
  const bool here = device == -1;  // where the engine multiplies by the correction itself
  for (int32_t s = 0; s < n; s++) {
    *out++ = static_cast<float>(here ? lr[s] / f.correction1 : f.size(lr[s]));
    *out++ = static_cast<float>(f.shrink(lr[s]));
  }
  *out = static_cast<float>(here ? f.root2 : f.epsilon);
}

gorl_err gorl_adam_(gorl_t param, gorl_t grad, gorl_t exp_avg, gorl_t exp_avg_sq, const int64_t* begin, const int64_t* end,
                    const double* lr, int32_t n, int64_t step, double beta1, double beta2, double eps, double weight_decay, int decoupled, gorl_t factors) {
  GORL_BEGIN(0)
  check_segments(begin, end, n, {&T(param), &T(grad), &T(exp_avg), &T(exp_avg_sq)});
  const Factors factor = factors_of(T(param).device().is_cpu() ? nullptr : factors, 2 * n + 1);
  const AdamFactors f(step, beta1, beta2, eps, weight_decay);
  if (engine() && plain(T(param)) && plain(T(grad)) && plain(T(exp_avg)) && plain(T(exp_avg_sq))) {
    Adam c;
    c.beta1 = static_cast<float>(beta1), c.rest1 = static_cast<float>(1 - beta1);
    c.beta2 = static_cast<float>(beta2), c.rest2 = static_cast<float>(1 - beta2);
    c.eps = static_cast<float>(eps), c.l2 = static_cast<float>(decoupled ? 0 : weight_decay);
    std::vector<float> numbers(static_cast<size_t>(2 * n + 1));  // as gorl_adam_factors writes them
    gorl_adam_factors(lr, n, step, beta1, beta2, eps, weight_decay, -1, numbers.data());
    int64_t elements = 0;
    for (int32_t s = 0; s < n; s++) elements += end[s] - begin[s];
    perform([c, numbers, decoupled, n, all = T(grad).numel(), parts = parts_of(elements, flat_cost * elements),
             begin = std::vector<int64_t>(begin, begin + n), end = std::vector<int64_t>(end, end + n),
             there = factors == nullptr ? nullptr : data(T(factors)), p = data(T(param)), g = data(T(grad)),
             m = data(T(exp_avg)), v = data(T(exp_avg_sq))] {
      const float* given = there == nullptr ? numbers.data() : there;
      each(parts, [&](int64_t part) {
        Adam now = c;
        now.root2 = given[2 * n];
        for (size_t s = 0; s < begin.size(); s++) {
          now.size = given[2 * s], now.shrink = decoupled ? given[2 * s + 1] : 1;
          each_own(part, parts, begin[s], end[s], all,
                   [&](int64_t i, int64_t count) { kernels().adam(now, p + i, g + i, m + i, v + i, count); });
        }
      });
    }, T(param), T(grad), T(exp_avg), T(exp_avg_sq));
    Call::recorded();
    return nullptr;
  }
  each_run(begin, end, n, [&](int32_t first, int32_t last) {
    auto run = [&](gorl_t t) { return T(t).narrow(0, begin[first], end[last] - begin[first]); };
    auto of = [&](const at::Tensor& t, int32_t s) { return t.narrow(0, begin[s] - begin[first], end[s] - begin[s]); };
    auto p = run(param), g = run(grad), m = run(exp_avg), v = run(exp_avg_sq);
    if (weight_decay != 0 && decoupled)
      for (int32_t s = first; s <= last; s++) of(p, s).mul_(factor(2 * s + 1, f.shrink(lr[s])));
    else if (weight_decay != 0)
      g = g.add(p, weight_decay);
    m.mul_(beta1).add_(g, 1 - beta1);
    v.mul_(beta2).addcmul_(g, g, 1 - beta2);
    at::Tensor sized;
    if (first == last) {
      sized = m.mul(factor(2 * first, f.size(lr[first])));
    } else {
      sized = m.clone();
      for (int32_t s = first; s <= last; s++) of(sized, s).mul_(factor(2 * s, f.size(lr[s])));
    }
    p.addcdiv_(sized, v.sqrt().add_(factor(2 * n, f.epsilon)), -1);
  });
  GORL_END
}

gorl_err gorl_sgd_(gorl_t param, gorl_t grad, gorl_t momentum_buffer, const int64_t* begin, const int64_t* end,
                   const double* lr, int32_t n, int64_t step, double momentum, double weight_decay, int nesterov, gorl_t factors) {
  GORL_BEGIN(0)
  check_segments(begin, end, n, {&T(param), &T(grad), &T(momentum_buffer)});
  const Factors factor = factors_of(factors, n);
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
    if (p.device().is_cpu()) p.add_(g, -lr[s]);
    else p.sub_(g.mul(factor(s, lr[s])));
  }
  GORL_END
}
