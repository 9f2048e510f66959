// The layers of a perceptron, and where the threads that share a minibatch add up their gradients: see perceptron.cc.
#pragma once
#include <algorithm>
#include <memory>
#include <mutex>

#include "node.h"

namespace gorl {
namespace {

// The activations that the kernels know. Their derivatives follow from their value.
inline bool known(int32_t op) {
  return op == GORL_IDENTITY || op == GORL_RELU || op == GORL_TANH || op == GORL_SIGMOID || op == GORL_ELU;
}
// Whether f'' is not zero everywhere.
inline bool curved(int32_t op) { return op == GORL_TANH || op == GORL_SIGMOID || op == GORL_ELU; }

// Memory of the calling thread, kept for the next call: slot i holds n floats.
inline std::vector<std::vector<float>>& spaces() {
  thread_local std::vector<std::vector<float>> slots;
  return slots;
}
inline float* space(size_t slot, int64_t n) {
  auto& slots = spaces();
  if (slots.size() <= slot) slots.resize(slot + 1);
  if (GORL_EXACT_MEMORY) slots[slot] = std::vector<float>(static_cast<size_t>(n));
  else if (static_cast<int64_t>(slots[slot].size()) < n) slots[slot].resize(static_cast<size_t>(n));
  return slots[slot].data();
}
// Frees slots of more than 8 MB. Go moves calls between threads, and each thread would keep its own.
inline void trim_space() {
  for (auto& slot : spaces())
    if (slot.size() > size_t(2) << 20) std::vector<float>().swap(slot);
}

// The layers of a perceptron: layer k computes f_k(h W_k^T + b_k).
struct Net {
  std::vector<at::Tensor> w, b;
  std::vector<int32_t> f;
  bool plain_ = true, learns = true;  // whether the kernels can apply it; whether all of its gradients can be added to
  int64_t weights = 0;

  Net() = default;
  Net(const gorl_t* weights_, const gorl_t* biases, const int32_t* activations, int32_t layers) {
    for (int32_t i = 0; i < layers && plain_; i++) {
      const at::Tensor& weight = T(weights_[i]);
      plain_ = biases[i] != nullptr && known(activations[i]) && plain(weight) && weight.dim() == 2 && plain(T(biases[i])) &&
               T(biases[i]).dim() == 1 && T(biases[i]).numel() == weight.size(0) && (i == 0 || weight.size(1) == w.back().size(0));
      if (!plain_) return;
      w.push_back(weight);
      b.push_back(T(biases[i]));
      f.push_back(activations[i]);
      learns = learns && w.back().requires_grad() && b.back().requires_grad() && ready(w.back()) && ready(b.back());
      weights += weight.numel();
    }
  }
  size_t layers() const { return w.size(); }
  int64_t in(size_t k) const { return w[k].size(1); }
  int64_t out(size_t k) const { return w[k].size(0); }
  bool frozen() const {
    for (size_t k = 0; k < w.size(); k++)
      if (followed(w[k], b[k])) return false;
    return true;
  }
  // Makes room for the values of all layers of n rows in one tensor, but for the last layer's.
  at::Tensor room(int64_t n) const {
    int64_t width = 0;
    for (size_t k = 0; k + 1 < layers(); k++) width += out(k);
    return make({n * width});
  }
};

// Where the parts of a minibatch add their gradients: the first to the parameters' own, each other one to memory of its own,
// which it clears itself, lest the memory go from one processor's cache to another's and back. Networks with the same parameters
// share it while all of them need it.
class Gradients {
 public:
  struct Place {
    std::vector<float*> w, b;
  };
  static std::shared_ptr<Gradients> of(const Net& net, int64_t parts) {
    std::lock_guard<std::mutex> lock(mutex());
    for (const auto& link : open())
      if (auto g = link.lock(); g != nullptr && g->parts_ == parts && g->fits(net)) return g;
    auto& list = open();
    list.erase(std::remove_if(list.begin(), list.end(), [](const auto& link) { return link.expired(); }), list.end());
    std::shared_ptr<Gradients> made(new Gradients(net, parts));
    list.push_back(made);
    return made;
  }
  ~Gradients() {
    if (parts_ == 1) return;
    std::lock_guard<std::mutex> lock(mutex());
    spare().push_back(std::move(memory_));
  }
  // Where a part adds its gradients; for the thread that does.
  Place at(int64_t part) {
    if (part == 0) {
      begun_[0] = 1;
      return own_;
    }
    if (!std::exchange(begun_[static_cast<size_t>(part)], 1))
      std::memset(others(part), 0, static_cast<size_t>(size_) * 4);
    return split(others(part));
  }
  // Adds a slice of the parts up, in their order. Networks that share the memory share the sum, which is made once.
  // There are as many slices as parts (each_own). The next pass begins anew.
  void sum(int64_t slice) {
    if (parts_ == 1 || !std::exchange(begun_[static_cast<size_t>(slice)], 0)) return;
    for (int64_t part = 1; part < parts_; part++) {
      const Place from = split(others(part));
      for (size_t k = 0; k < own_.w.size(); k++) {
        add(own_.w[k], from.w[k], places_[2 * k], weights_[k], slice);
        add(own_.b[k], from.b[k], places_[2 * k + 1], biases_[k], slice);
      }
    }
  }

 private:
  Gradients(const Net& net, int64_t parts) : parts_(parts), begun_(static_cast<size_t>(parts)) {
    for (size_t k = 0; k < net.layers(); k++) {
      own_.w.push_back(data(net.w[k].grad()));
      own_.b.push_back(data(net.b[k].grad()));
      for (const auto* t : {&net.w[k], &net.b[k]}) places_.push_back(t->grad().storage_offset());
      weights_.push_back(net.w[k].numel());
      biases_.push_back(net.b[k].numel());
      size_ += weights_[k] + biases_[k];
    }
    stride_ = (size_ + 31) / 16 * 16;  // no line of a cache holds gradients of two parts
    if (parts == 1) return;
    if (!spare().empty()) {
      memory_ = std::move(spare().back());
      spare().pop_back();
    }
    const auto n = static_cast<size_t>((parts - 1) * stride_ + 16);
    if (memory_.size() < n) memory_ = std::vector<float>(n);
  }
  // Networks may share only some of their layers.
  bool fits(const Net& net) const {
    if (own_.w.size() != net.layers()) return false;
    for (size_t k = 0; k < net.layers(); k++)
      if (own_.w[k] != data(net.w[k].grad()) || own_.b[k] != data(net.b[k].grad())) return false;
    return true;
  }
  float* others(int64_t part) { return memory_.data() + (part - 1) * stride_; }
  Place split(float* p) const {
    Place place;
    for (size_t k = 0; k < weights_.size(); k++) {
      place.w.push_back(p);
      place.b.push_back(p += weights_[k]);
      p += biases_[k];
    }
    return place;
  }
  void add(float* to, const float* from, int64_t at, int64_t n, int64_t slice) const {
    each_own(slice, parts_, at, at + n,
             [&](int64_t i, int64_t count) { kernels().axpy(to + i - at, 1, from + i - at, count); });
  }
  static std::mutex& mutex() {
    static std::mutex m;
    return m;
  }
  static std::vector<std::weak_ptr<Gradients>>& open() {
    static std::vector<std::weak_ptr<Gradients>> list;
    return list;
  }
  static std::vector<std::vector<float>>& spare() {  // memory for the next ones
    static std::vector<std::vector<float>> list;
    return list;
  }

  const int64_t parts_;
  Place own_;
  std::vector<int64_t> weights_, biases_, places_;  // places_: in the flat gradients
  int64_t size_ = 0, stride_ = 0;
  std::vector<float> memory_;
  std::vector<char> begun_;
};

}  // namespace
}  // namespace gorl
