// The losses on other devices than the CPU, where a kernel's launch costs more than what it computes: the gradient comes
// with the loss, in a few kernels more, instead of one for each operation's derivative.
#pragma once
#include "node.h"

namespace gorl {

// A scalar loss and its gradient by its only input that is followed.
struct Given : torch::autograd::Function<Given> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, at::Tensor /*input*/, at::Tensor loss, at::Tensor gradient) {
    ctx->save_for_backward({gradient});
    return loss.detach();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx, torch::autograd::variable_list grads) {
    at::AutoGradMode off(false);
    return {ctx->get_saved_variables()[0] * grads[0], {}, {}};
  }
};

inline bool elsewhere(const at::Tensor& t) { return !t.device().is_cpu() && t.scalar_type() == at::kFloat; }

// now, old and advantage are (n, 1); x and y are the free and the limited objective.
inline void device_surrogate(const at::Tensor& now, const at::Tensor& old, const at::Tensor& advantage, double clip, at::Tensor* loss,
                             at::Tensor* divergence, at::Tensor* fraction) {
  at::Tensor value, gradient;
  {
    at::AutoGradMode off(false);
    auto d = now - old, r = d.exp(), limited = r.clamp(1 - clip, 1 + clip);
    auto x = advantage * r, y = advantage * limited;
    value = at::minimum(x, y).mean().neg();
    gradient = (x * (x <= y)).mul_(-1.0 / static_cast<double>(now.numel()));
    *divergence = (r - 1).sub_(d).mean();
    *fraction = at::ne(r, limited).mean(at::kFloat);
  }
  *loss = Given::apply(now, value, gradient);
}

// kind 0: no clip; 1: the clipped loss alone; 2: the larger one, row by row.
inline at::Tensor device_value_loss(const at::Tensor& predicted, const at::Tensor& old, const at::Tensor& returns, double clip, int32_t kind) {
  at::Tensor value, gradient;
  {
    at::AutoGradMode off(false);
    const double k = 2.0 / static_cast<double>(predicted.numel());
    auto free = predicted - returns;
    if (kind == 0) {
      value = free.square().mean();
      gradient = free.mul_(k);
    } else {
      auto d = predicted - old, limited = d.clamp(-clip, clip);
      auto held = (old + limited).sub_(returns);
      auto inside = d == limited;
      if (kind == 1) {
        value = held.square().mean();
        gradient = (held * inside).mul_(k);
      } else {
        auto x = free.square(), y = held.square();
        value = at::maximum(x, y).mean();
        gradient = (free * (x >= y).logical_or_(inside)).mul_(k);
      }
    }
  }
  return Given::apply(predicted, value, gradient);
}

// Sum over dimensions of the log-density of normal distributions, (n, 1), with one log standard deviation for all rows.
struct DeviceGaussianLogProb : torch::autograd::Function<DeviceGaussianLogProb> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, at::Tensor action, at::Tensor mean, at::Tensor log_std) {
    constexpr double half_log_2pi = 0.91893853320467274178;
    auto d = action - mean, z = d * (log_std * -2).exp_(), square = d.mul_(z);
    ctx->save_for_backward({z, square});
    return at::add(at::rsub(log_std, -half_log_2pi), square, -0.5).sum(-1, true);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx, torch::autograd::variable_list grads) {
    at::AutoGradMode off(false);
    auto saved = ctx->get_saved_variables();
    return {{}, grads[0] * saved[0], (saved[1] - 1).mul_(grads[0]).sum(0)};
  }
};

}  // namespace gorl
