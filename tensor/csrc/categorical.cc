// Distributions over choices, as one node of the autograd graph: see node.h. Elsewhere than in plain memory of the CPU they are
// separate operations.
#include <cmath>

#include "node.h"

namespace gorl {
namespace {

// Sums over the distributions of a row of the log-probability of its choice, (n, 1), and of the entropies, (n, 1). A row of logits
// has those of each distribution, counts[0] and so on.
struct Categorical : Op {
  std::vector<int64_t> counts;
  at::Tensor choices, log_p;  // (n, distributions), and the normalised logits
  Categorical(const at::Tensor& logits, std::vector<int64_t> counts_, const at::Tensor& choices_)
      : Op(torch::autograd::collect_next_edges(logits)), counts(std::move(counts_)), choices(choices_), log_p(make(logits.sizes())) {}

  std::pair<at::Tensor, at::Tensor> forward(const at::Tensor& logits) {
    const int64_t n = logits.size(0);
    auto chosen = make({n, 1}), entropy = make({n, 1});
    perform([n, counts = counts, x = data(logits), a = data(choices), l = data(log_p), c = data(chosen), e = data(entropy)] {
      const float* logit = x;
      const float* action = a;
      float* out = l;
      for (int64_t i = 0; i < n; i++) {
        c[i] = e[i] = 0;
        for (const int64_t count : counts) {
          float most = logit[0], sum = 0;
          for (int64_t j = 1; j < count; j++) most = logit[j] > most ? logit[j] : most;
          for (int64_t j = 0; j < count; j++) sum += std::exp(logit[j] - most);
          const float whole = most + std::log(sum);
          const float choice = *action++;
          TORCH_CHECK(choice >= 0 && choice < static_cast<float>(count), "row ", i, " chooses ", choice, " of ", count);
          for (int64_t j = 0; j < count; j++) {
            out[j] = logit[j] - whole;
            e[i] -= std::exp(out[j]) * out[j];
          }
          c[i] += out[static_cast<int64_t>(choice)];
          logit += count;
          out += count;
        }
      }
    }, logits, choices, log_p, chosen, entropy);
    return {chosen, entropy};
  }

  // By a logit x_j of a distribution with probabilities p and entropy H, the log-probability of a changes by [j = a] - p_j, and the
  // entropy by -p_j (ln p_j + H).
  variable_list backward(const variable_list& grads) override {
    auto dx = make(log_p.sizes());
    const auto of = [](const at::Tensor& g) { return g.defined() ? contiguous(g) : g; };
    const auto by_choice = of(grads[0]), by_entropy = of(grads[1]);
    perform([n = log_p.size(0), counts = counts, l = data(log_p), a = data(choices), o = data(dx), gc = by_choice.defined() ? data(by_choice) : nullptr,
             ge = by_entropy.defined() ? data(by_entropy) : nullptr] {
      const float* in = l;
      const float* action = a;
      float* out = o;
      for (int64_t i = 0; i < n; i++)
        for (const int64_t count : counts) {
          const float g = gc == nullptr ? 0 : gc[i], h = ge == nullptr ? 0 : ge[i];
          float entropy = 0;
          for (int64_t j = 0; j < count; j++) {
            out[j] = std::exp(in[j]);
            entropy -= out[j] * in[j];
          }
          for (int64_t j = 0; j < count; j++) out[j] *= -g - (ge == nullptr ? 0 : h * (in[j] + entropy));
          out[static_cast<int64_t>(*action++)] += g;
          in += count;
          out += count;
        }
    }, log_p, choices, dx, by_choice, by_entropy);
    return {dx};
  }
  void release() override { choices.reset(), log_p.reset(); }
};

}  // namespace
}  // namespace gorl

using namespace gorl;

gorl_err gorl_categorical(gorl_t logits, gorl_t choices, const int64_t* counts, int32_t n, int grad, gorl_t* chosen, gorl_t* entropy) {
  GORL_BEGIN(grad)
  const at::Tensor &x = T(logits), &a = T(choices);
  std::vector<int64_t> each_count(counts, counts + n);
  int64_t width = 0;
  for (const int64_t count : each_count) {
    TORCH_CHECK(count > 0 && count <= INT32_MAX, "a distribution has ", count, " choices");
    width += count;
  }
  TORCH_CHECK(x.dim() == 2 && x.size(1) == width && a.dim() == 2 && a.size(0) == x.size(0) && a.size(1) == n, "want logits (rows, ", width,
              ") and choices (rows, ", n, "), got ", x.sizes(), " and ", a.sizes());
  if (engine() && plain(x) && plain(a) && !a.requires_grad()) {
    auto op = node<Categorical>(x, std::move(each_count), a);
    auto result = op->forward(x);
    if (grad && followed(x)) {
      track(result.first, op);
      track(result.second, op);
    }
    Call::recorded();
    *chosen = wrap(std::move(result.first));
    *entropy = wrap(std::move(result.second));
    return nullptr;
  }
  const auto index = a.to(at::kLong);
  std::vector<at::Tensor> of_choice, entropies;
  int64_t first = 0;
  for (size_t i = 0; i < each_count.size(); first += each_count[i++]) {
    auto log_p = at::log_softmax(x.narrow(1, first, each_count[i]), 1);
    of_choice.push_back(at::gather(log_p, 1, index.narrow(1, static_cast<int64_t>(i), 1)));
    entropies.push_back((log_p.exp() * log_p).sum(1, true).neg());
  }
  const auto together = [](const std::vector<at::Tensor>& list) { return list.size() == 1 ? list[0] : at::cat(list, 1).sum(1, true); };
  auto all_chosen = together(of_choice), all_entropies = together(entropies);
  *chosen = wrap(std::move(all_chosen));
  *entropy = wrap(std::move(all_entropies));
  GORL_END
}
