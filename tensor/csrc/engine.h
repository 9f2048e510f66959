// gorl's own engine for float32 on the CPU. A small network spends most of an update not on arithmetic but on libtorch's
// dispatch, on allocation and on the bookkeeping of autograd. The engine is what goes past them:
//
//   memory    results are ordinary at::Tensors, made without libtorch's dispatcher (make, alias);
//   kernels   matrix products with bias and activation, Adam and norms for the processor's vectors (simd/);
//   nodes     the formulas of training are nodes of the autograd graph with a backward on raw memory (node.h);
//   replays   the steps of a minibatch can be recorded, and done again without tensors and nodes (record.h);
//   threads   a few threads of its own share the networks of a minibatch and their rows (Shares).
//
// What the engine does not know goes to libtorch, operation by operation: its results are libtorch's tensors, and its nodes
// libtorch's nodes. GORL_ENGINE=torch in the environment sends everything there.
#pragma once

#include "handle.h"
#include "record.h"
#include "simd/simd.h"

namespace gorl {

// Whether the engine is used in this process.
bool engine();

// Memory of small objects, of which every minibatch makes and drops as many: a thread keeps what it has released for its next ones.
void* cell(size_t bytes);
void free_cell(void* p, size_t bytes);
// Objects of a class that derives from this live in cells.
struct Celled {
  static void* operator new(size_t bytes) { return cell(bytes); }
  static void operator delete(void* p, size_t bytes) { free_cell(p, bytes); }
};
// For the counters of std::shared_ptr.
template <class T> struct Cells {
  using value_type = T;
  Cells() = default;
  template <class Other> Cells(const Cells<Other>&) {}
  T* allocate(size_t n) { return static_cast<T*>(cell(n * sizeof(T))); }
  void deallocate(T* p, size_t n) { free_cell(p, n * sizeof(T)); }
  template <class Other> bool operator==(const Cells<Other>&) const { return true; }
  template <class Other> bool operator!=(const Cells<Other>&) const { return false; }
};

// A new float32 tensor on the CPU, not initialised.
at::Tensor make(at::IntArrayRef sizes);
// A tensor of other sizes, and perhaps another type, in the memory of a contiguous one on the CPU, from an element (of its own
// type) on. Autograd does not follow it.
at::Tensor alias(const at::Tensor& t, at::IntArrayRef sizes, int64_t offset, at::ScalarType type);
inline at::Tensor alias(const at::Tensor& t, at::IntArrayRef sizes, int64_t offset = 0) { return alias(t, sizes, offset, t.scalar_type()); }
// The same tensor, which autograd does not follow.
inline at::Tensor bare_of(const at::Tensor& t) { return alias(t, t.sizes()); }
// A float32 scalar on the CPU.
at::Tensor scalar(double x);

// memcpy, but for nothing, which may lie nowhere.
inline void copy_bytes(void* to, const void* from, size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
}

inline float* data(const at::Tensor& t) { return static_cast<float*>(t.data_ptr()); }

// The number of parts into which to split n rows whose arithmetic is so many multiplications in all: 1, or the number of
// threads where that pays. It depends on sizes alone, and sums are made part by part, so that a run can be repeated.
int64_t parts_of(int64_t n, int64_t multiplications);
// The factor by which parts are larger in a forward pass without a backward pass, as in acting. The other threads sleep
// then, or step environments. Waking them costs more than a small part gains.
constexpr int64_t without_backward = 8;
// A function and what it needs, without the memory of a std::function.
struct Task {
  void (*call)(const void* f, int64_t part);
  const void* f;
};
void run(int64_t parts, Task task);
// Calls f(part) for every part, on as many threads where they are free, and waits for all.
template <class F>
void each(int64_t parts, const F& f) {
  if (parts == 1) f(0);
  else run(parts, {[](const void* p, int64_t part) { (*static_cast<const F*>(p))(part); }, &f});
}
// The first row of a part.
inline int64_t begin_of(int64_t part, int64_t parts, int64_t n) { return part * n / parts; }
// Shares of several passes for the threads. Laid end to end, in the order of their parameters, the passes are cut into
// parts of about the same cost. Most networks then lie in one part, the same one each time, so that their weights stay
// in the cache of one thread. Passes with equal places keep the order of the list. Addresses play no part: they differ
// from run to run, and the cuts decide in which order gradients are added.
struct Shares {
  explicit Shares(const std::vector<Rows>& passes);
  int64_t parts;
  std::vector<std::vector<int64_t>> cuts;  // of each pass: part p has the rows from cuts[p] to cuts[p + 1]
  // Calls f(pass, part, first, count) for all rows.
  template <class F>
  void each(const F& f) const {
    gorl::each(parts, [&](int64_t part) {
      for (size_t i = 0; i < cuts.size(); i++) {
        const int64_t *c = cuts[i].data() + part, count = c[1] - c[0];
        if (count > 0) f(i, part, c[0], count);
      }
    });
  }
};
// Calls f(first, count) for the rows of one pass.
template <class F>
void each_rows(const Rows& rows, const F& f) {
  if (parts_of(rows.n / rows.block(), rows.n * rows.cost) == 1) return f(0, rows.n);
  Shares({rows}).each([&](size_t, int64_t, int64_t first, int64_t count) { f(first, count); });
}
// What an element of flat parameters costs, in multiplications of a product (parts_of). It may come from another core's
// cache.
constexpr int64_t flat_cost = 20;
// Calls f(first, count) for those of the flat parameters [begin, end) that a part sums up and steps. There are `all`
// flat parameters. A part has the same ones each time, so that their gradients and moments stay in the cache of one
// thread.
template <class F>
void each_own(int64_t part, int64_t parts, int64_t begin, int64_t end, int64_t all, F f) {
  begin = std::max(begin, begin_of(part, parts, all));
  end = std::min(end, begin_of(part + 1, parts, all));
  if (begin < end) f(begin, end - begin);
}

}  // namespace gorl
