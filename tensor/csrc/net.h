// The layers of a perceptron, and where the threads that share a minibatch add up their gradients: see perceptron.cc.
#pragma once
#include <algorithm>
#include <memory>
#include <mutex>

#include "node.h"

namespace gorl {

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
  int64_t place() const { return w[0].storage_offset(); }
  // What a pass over x reads.
  std::vector<at::Tensor> reads(const at::Tensor& x) const {
    std::vector<at::Tensor> all{x};
    all.insert(all.end(), w.begin(), w.end());
    all.insert(all.end(), b.begin(), b.end());
    return all;
  }
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

// Where the parts of a minibatch add the gradients of a network's parameters. Of the parts that have rows of it, the
// last one adds to the parameters' own gradients. Each other part adds to memory of its own. It clears that memory
// itself, which then stays in its thread's cache. Passes through the same network share one.
class Gradients {
 public:
  struct Place {
    std::vector<float*> w, b;
  };
  Gradients(const Net& net, int64_t parts)
      : net_(net), parts_(parts), begun_(static_cast<size_t>(parts)), used_(begun_), places_{own_of(net)} {
    if (parts == 1) return;
    for (size_t k = 0; k < net.layers(); k++) size_ += net.w[k].numel() + net.b[k].numel();
    {
      std::lock_guard<std::mutex> lock(mutex());
      if (!spare().empty()) {
        memory_ = std::move(spare().back());
        spare().pop_back();
      }
    }
    const int64_t stride = (size_ + 31) / 16 * 16;  // no line of a cache holds gradients of two parts
    const auto n = static_cast<size_t>((parts - 1) * stride);
    if (memory_.size() < n) memory_ = std::vector<float>(n);
    for (int64_t part = 0; part < parts - 1; part++) {
      Place place;
      float* p = memory_.data() + part * stride;
      for (size_t k = 0; k < net.layers(); k++) {
        place.w.push_back(std::exchange(p, p + net.w[k].numel()));
        place.b.push_back(std::exchange(p, p + net.b[k].numel()));
      }
      places_.insert(places_.end() - 1, place);
    }
  }
  Gradients(const Gradients&) = delete;
  ~Gradients() {
    if (parts_ == 1) return;
    std::lock_guard<std::mutex> lock(mutex());
    spare().push_back(std::move(memory_));
  }
  // Whether they are this network's. Networks may share only some of their layers.
  bool fits(const Net& net) const {
    const Place own = own_of(net);
    return own.w == places_.back().w && own.b == places_.back().b;
  }
  bool overlaps(const Gradients& other) const {
    const Place &a = places_.back(), &b = other.places_.back();
    const auto common = [](const std::vector<float*>& x, const std::vector<float*>& y) {
      return std::find_first_of(x.begin(), x.end(), y.begin(), y.end()) != x.end();
    };
    return common(a.w, b.w) || common(a.b, b.b);
  }
  // Makes a part, no earlier than those with rows, the one that adds to the parameters' own gradients.
  void own(int64_t part) { owner_ = part; }
  // Notes which parts have rows of a network.
  void use(const std::vector<int64_t>& cuts) {
    for (size_t p = 0; p < used_.size(); p++) {
      if (cuts[p] == cuts[p + 1]) continue;
      used_[p] = 1;
      own(std::max(owner_, static_cast<int64_t>(p)));
    }
  }
  // Where a part that has rows adds its gradients; for the thread that does.
  const Place& at(int64_t part) {
    if (part == owner_) return places_.back();
    const auto i = static_cast<size_t>(part);
    if (!std::exchange(begun_[i], 1)) std::memset(places_[i].w[0], 0, static_cast<size_t>(size_) * 4);
    return places_[i];
  }
  // Adds a slice of the parts up, in their order. There are as many slices as parts (each_own). A call for each slice
  // ends a pass.
  void sum(int64_t slice) {
    begun_[static_cast<size_t>(slice)] = 0;
    for (int64_t part = 0; part < owner_; part++) {
      if (!used_[static_cast<size_t>(part)]) continue;
      const Place &from = places_[static_cast<size_t>(part)], &own = places_.back();
      for (size_t k = 0; k < net_.layers(); k++) {
        add(own.w[k], from.w[k], net_.w[k].grad(), slice);
        add(own.b[k], from.b[k], net_.b[k].grad(), slice);
      }
    }
  }

 private:
  // Where the gradients of a network's parameters are.
  static Place own_of(const Net& net) {
    Place own;
    for (const auto& w : net.w) own.w.push_back(data(w.grad()));
    for (const auto& b : net.b) own.b.push_back(data(b.grad()));
    return own;
  }
  void add(float* to, const float* from, const at::Tensor& grad, int64_t slice) const {
    const int64_t at = grad.storage_offset(), all = static_cast<int64_t>(grad.storage().nbytes() / sizeof(float));
    each_own(slice, parts_, at, at + grad.numel(), all,
             [&](int64_t i, int64_t count) { kernels().axpy(to + i - at, 1, from + i - at, count); });
  }
  static std::mutex& mutex() {
    static std::mutex m;
    return m;
  }
  static std::vector<std::vector<float>>& spare() {  // memory for the next ones
    static std::vector<std::vector<float>> list;
    return list;
  }

  const Net net_;
  const int64_t parts_;
  int64_t owner_ = 0;
  std::vector<char> begun_, used_;  // of each part
  std::vector<Place> places_;       // of all parts but the last, then the parameters' own
  int64_t size_ = 0;
  std::vector<float> memory_;
};

// The node of a network. If the gradient of its input is not asked for, its backward may wait for the end of the pass.
// At that end threads share the rows of all such networks (Shares). They then meet once instead of once a network.
struct NetworkOp : Op {
  explicit NetworkOp(edge_list&& inputs) : Op(std::move(inputs)) {}
  // What there is to do in backward.
  virtual Rows rows() const = 0;
  // Does it for some rows, on any thread, and adds their gradients to those of the parameters.
  virtual void back(int64_t first, int64_t count, const Gradients::Place& to) = 0;

  Net net;
  const uint64_t number = made_++;  // the order of creation; libtorch's own numbers count by thread

 protected:
  // backward calls it: run_back follows at the end of the pass, or at once if the pass has none.
  void leave();

 private:
  static inline std::atomic<uint64_t> made_{0};
};

// Does what is left of the backward passes of some nodes.
void run_back(std::vector<NetworkOp*> ops);

}  // namespace gorl
