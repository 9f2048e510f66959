// The order in which gradients add up, where a graph is made by a gradient on another device than the CPU.
#pragma once
#include <ATen/SequenceNumber.h>

#include <unordered_set>
#include <vector>

#include "handle.h"

namespace gorl {

// libtorch runs a graph's nodes, and so adds gradients up, by their numbers, which it counts by thread. The graph of a
// gradient on a device is made by the device's own thread, whose count depends on all that it did before: the last bits of a
// run would, too. So the device's thread counts on from the caller's number, and the caller from the device's.
struct CountOn : torch::autograd::Function<CountOn> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, at::Tensor x) {
    ctx->saved_data["number"] = static_cast<int64_t>(at::sequence_number::peek());
    return x.view_as(x);
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx, torch::autograd::variable_list grads) {
    count_to(static_cast<uint64_t>(ctx->saved_data["number"].toInt()));
    return grads;
  }
  static void count_to(uint64_t number) {
    while (at::sequence_number::peek() < number) at::sequence_number::get_and_increment();
  }
};

// torch::autograd::grad with create_graph.
inline std::vector<at::Tensor> numbered_grad(std::vector<at::Tensor> outputs, const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& ones) {
  bool elsewhere = false;
  for (auto& y : outputs) {
    if (y.device().is_cpu()) continue;
    y = CountOn::apply(y);
    elsewhere = true;
  }
  auto grads = torch::autograd::grad(outputs, inputs, ones, /*retain_graph=*/true, /*create_graph=*/true);
  if (!elsewhere) return grads;
  constexpr uint64_t leaf = UINT64_MAX;  // the number of all nodes that keep gradients of leaves
  uint64_t last = 0;
  std::unordered_set<torch::autograd::Node*> seen;
  std::vector<torch::autograd::Node*> rest;
  for (auto& g : grads) rest.push_back(g.grad_fn().get());
  while (!rest.empty()) {
    auto* node = rest.back();
    rest.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    if (node->sequence_nr() != leaf) last = std::max(last, node->sequence_nr());
    for (auto& edge : node->next_edges()) rest.push_back(edge.function.get());
  }
  CountOn::count_to(last + 1);
  return grads;
}

}  // namespace gorl
