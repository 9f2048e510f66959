// What is counted beside the losses, without a gradient.
#include "engine.h"

using namespace gorl;

// Adds scalars to the elements of sums (float64, on their device).
gorl_err gorl_tally_(gorl_t sums, const gorl_t* scalars, int32_t n) {
  GORL_BEGIN(0)
  at::Tensor& s = T(sums);
  TORCH_CHECK(s.dim() == 1 && s.numel() == n, "there are ", n, " scalars for sums of the shape ", s.sizes());
  bool loop = s.device().is_cpu() && s.scalar_type() == at::kDouble && s.is_contiguous();
  for (int32_t i = 0; i < n && loop; i++) loop = plain(T(scalars[i])) && T(scalars[i]).numel() == 1;
  if (loop) {
    for (int32_t i = 0; i < n; i++) perform([o = s.data_ptr<double>() + i, p = data(T(scalars[i]))] { *o += *p; }, s, T(scalars[i]));
    Call::recorded();
    return nullptr;
  }
  std::vector<at::Tensor> all;
  for (int32_t i = 0; i < n; i++) all.push_back(T(scalars[i]).detach().reshape({}));
  s.add_(at::stack(all));
  GORL_END
}

gorl_err gorl_positive_share(gorl_t x, gorl_t* share, gorl_t* mean) {
  GORL_BEGIN(0)
  const at::Tensor& t = T(x);
  if (engine() && plain(t)) {
    auto positives = make({}), average = make({});
    perform([p = data(t), n = t.numel(), share_ = data(positives), mean_ = data(average)] {
      double positive = 0, sum = 0;
      for (int64_t i = 0; i < n; i++) {
        positive += p[i] > 0;
        sum += p[i];
      }
      *share_ = static_cast<float>(positive / static_cast<double>(n));
      *mean_ = static_cast<float>(sum / static_cast<double>(n));
    }, t, positives, average);
    Call::recorded();
    *share = wrap(std::move(positives));
    *mean = wrap(std::move(average));
    return nullptr;
  }
  auto positives = (t > 0).to(at::kFloat).mean(), average = t.mean();
  *share = wrap(std::move(positives));
  *mean = wrap(std::move(average));
  GORL_END
}
