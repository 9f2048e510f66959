// The penalty on the input gradient of a perceptron, for devices other than the CPU.
#pragma once
#include <vector>

#include "handle.h"

namespace gorl {

// Applies a perceptron with one linear output to x (n, in), and computes the mean over rows of the squared gradient of the
// output by its input in closed form, as a chain of operations that autograd follows: with u = dy/dz and v = dy/dh,
// v_k = u_k W_k and u_(k-1) = v_k f'(z_(k-1)), the penalty is mean |v_1|^2. Returns false where the network is of another
// kind. The chain has no graph made within a backward pass: libtorch would number its nodes on the device's own thread, and
// the order in which gradients add up, and so their last bits, would depend on what that thread did before.
inline bool chained_penalty(const at::Tensor& x, const gorl_t* weights, const gorl_t* biases, const int32_t* activations,
                            int32_t layers, int32_t lower, at::Tensor* out, at::Tensor* penalty) {
  if (x.dim() != 2 || activations[layers - 1] != GORL_IDENTITY || T(weights[layers - 1]).size(0) != 1) return false;
  for (int32_t i = 0; i < layers; i++) {
    switch (activations[i]) {
      case GORL_IDENTITY: case GORL_RELU: case GORL_TANH: case GORL_SIGMOID: case GORL_ELU: continue;
    }
    return false;
  }
  std::vector<at::Tensor> w, h{lowered(x, lower)};
  for (int32_t i = 0; i < layers; i++) {
    w.push_back(lowered(T(weights[i]), lower));
    auto z = biases[i] == nullptr ? at::linear(h.back(), w[i]) : at::linear(h.back(), w[i], lowered(T(biases[i]), lower));
    h.push_back(activate(activations[i], z));
  }
  auto v = w.back().expand({x.size(0), w.back().size(1)});
  for (auto k = static_cast<size_t>(layers) - 1; k-- > 0;) {
    const at::Tensor& y = h[k + 1];
    switch (activations[k]) {
      case GORL_RELU: v = v * (y > 0).to(y.scalar_type()); break;
      case GORL_TANH: v = v * (1 - y * y); break;
      case GORL_SIGMOID: v = v * (y * (1 - y)); break;
      case GORL_ELU: v = v * (at::clamp_max(y, 0) + 1); break;
    }
    v = at::mm(v, w[k]);
  }
  *out = raised(h.back(), lower);
  *penalty = raised(v, lower).square().sum(-1).mean();
  return true;
}

}  // namespace gorl
