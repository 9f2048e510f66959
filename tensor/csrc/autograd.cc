#include "node.h"
#include "numbering.h"

using namespace gorl;

gorl_err gorl_backward(gorl_t loss) {
  GORL_BEGIN(1)
  if (engine() && backpropagate(T(loss))) Call::recorded();
  else T(loss).backward();
  GORL_END
}

gorl_err gorl_grad(const gorl_t* outputs, int32_t no, const gorl_t* inputs, int32_t ni, int create_graph, gorl_t* out) {
  GORL_BEGIN(1)
  std::vector<at::Tensor> os, is, ones;
  for (int32_t i = 0; i < no; i++) {
    os.push_back(T(outputs[i]));
    ones.push_back(at::ones_like(T(outputs[i])));
  }
  for (int32_t i = 0; i < ni; i++) is.push_back(T(inputs[i]));
  auto grads = create_graph != 0 ? numbered_grad(os, is, ones) : torch::autograd::grad(os, is, ones);
  for (int32_t i = 0; i < ni; i++) out[i] = wrap(grads[static_cast<size_t>(i)]);
  GORL_END
}

gorl_err gorl_requires_grad_(gorl_t a, int on) { GORL_BEGIN(1) T(a).requires_grad_(on != 0); GORL_END }

// Moves a parameter's values into flat[offset:], makes the parameter a view of them, and its gradient a view of
// flat_grad. The parameter's handle, and every other handle of the same tensor, stays valid.
gorl_err gorl_bind(gorl_t parameter, gorl_t flat, gorl_t flat_grad, int64_t offset) {
  GORL_BEGIN(0)
  at::Tensor& p = T(parameter);
  auto view = T(flat).narrow(0, offset, p.numel()).view(p.sizes());
  view.copy_(p);
  // libtorch 1.13 does not know that memory of PrivateUse1 is like the CPU's, as it does of CUDA's.
  if (view.device().type() == c10::DeviceType::PrivateUse1) {
    p.unsafeGetTensorImpl()->shallow_copy_from(view.getIntrusivePtr());
  } else {
    p.set_data(view);
  }
  p.requires_grad_(true);
  p.mutable_grad() = T(flat_grad).narrow(0, offset, p.numel()).view(p.sizes());
  GORL_END
}

gorl_err gorl_grad_of(gorl_t a, gorl_t* out) {
  GORL_BEGIN(0)
  TORCH_CHECK(T(a).grad().defined(), "the tensor has no gradient");
  *out = wrap(T(a).grad());
  GORL_END
}
