#include "engine.h"

#include <ATen/EmptyTensor.h>

#include <condition_variable>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>

namespace gorl {

// One table for each instruction set; scripts/shim.sh says which are compiled.
#if defined(__x86_64__)
namespace simd_AVX512 { extern const Kernels kernels; }
namespace simd_AVX2 { extern const Kernels kernels; }
namespace simd_SSE2 { extern const Kernels kernels; }
#elif defined(__aarch64__)
namespace simd_NEON { extern const Kernels kernels; }
#else
namespace simd_plain { extern const Kernels kernels; }
#endif

namespace {

const Kernels& choose() {
#if defined(__x86_64__)
  const char* wanted = getenv("GORL_SIMD");
  auto may = [&](const char* name) { return wanted == nullptr || std::strcmp(wanted, name) == 0; };
  if (may("AVX512") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return simd_AVX512::kernels;
  if ((may("AVX2") || may("AVX512")) && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return simd_AVX2::kernels;
  return simd_SSE2::kernels;
#elif defined(__aarch64__)
  return simd_NEON::kernels;
#else
  return simd_plain::kernels;
#endif
}

}  // namespace

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

bool engine() {
  static const bool on = [] {
    const char* e = getenv("GORL_ENGINE");
    return e == nullptr || std::strcmp(e, "torch") != 0;
  }();
  return on;
}

namespace {

// Memory of small results. A block is a power of two of bytes behind a line that says which; a thread keeps some of those that
// it has released for its next results.
constexpr size_t line = 64, smallest = 8, classes = 12, kept = 1 << 20;  // blocks of 256 bytes to 512 kB

struct Blocks {
  std::vector<char*> spare[classes];
  ~Blocks() {
    for (auto& list : spare)
      for (char* p : list) free(p);
  }
};
__attribute__((tls_model("initial-exec"))) thread_local Blocks blocks;

void release(void* data) {
  char* p = static_cast<char*>(data) - line;
  if (GORL_EXACT_MEMORY) return free(p);
  const size_t c = static_cast<size_t>(*reinterpret_cast<int64_t*>(p));
  auto& list = blocks.spare[c];
  if ((list.size() + 1) << (c + smallest) > kept) free(p);
  else list.push_back(p);
}

void* block(size_t bytes) {
  if (GORL_EXACT_MEMORY) {
    void* exact = nullptr;
    TORCH_CHECK(posix_memalign(&exact, line, line + bytes) == 0, "there is no memory for ", bytes, " bytes");
    return static_cast<char*>(exact) + line;
  }
  size_t c = 0;
  while ((size_t(1) << (c + smallest)) < bytes) c++;
  auto& list = blocks.spare[c];
  char* p;
  if (list.empty()) {
    p = static_cast<char*>(aligned_alloc(line, line + (size_t(1) << (c + smallest))));
    TORCH_CHECK(p != nullptr, "there is no memory for ", bytes, " bytes");
    *reinterpret_cast<int64_t*>(p) = static_cast<int64_t>(c);
  } else {
    p = list.back();
    list.pop_back();
  }
  return p + line;
}

// What a thread keeps of cells, by their size.
constexpr size_t grain = 32, largest = 1024, most = 256;
struct Spare {
  struct Link { Link* next; };
  Link* first[largest / grain] = {};
  size_t count[largest / grain] = {};
  ~Spare() {
    for (auto*& link : first)
      while (link != nullptr) ::operator delete(std::exchange(link, link->next));
  }
};
__attribute__((tls_model("initial-exec"))) thread_local Spare spare;

// libtorch's own, in cells.
struct TensorCell final : c10::TensorImpl, Celled { using c10::TensorImpl::TensorImpl; };
struct StorageCell final : c10::StorageImpl, Celled { using c10::StorageImpl::StorageImpl; };

}  // namespace

void* cell(size_t bytes) {
  const size_t i = (bytes - 1) / grain;
  if (bytes > largest || GORL_EXACT_MEMORY) return ::operator new(bytes);
  auto& s = spare;
  if (s.first[i] == nullptr) return ::operator new((i + 1) * grain);
  s.count[i]--;
  return std::exchange(s.first[i], s.first[i]->next);
}

void free_cell(void* p, size_t bytes) {
  const size_t i = (bytes - 1) / grain;
  auto& s = spare;
  if (bytes > largest || GORL_EXACT_MEMORY || s.count[i] == most) return ::operator delete(p);
  s.count[i]++;
  s.first[i] = new (p) Spare::Link{s.first[i]};
}

__thread Recorder* recorder = nullptr;
__thread bool Call::recorded_ = false;
void Call::spoil() { recorder->spoil(); }

at::Tensor make(at::IntArrayRef sizes) {
  const size_t bytes = static_cast<size_t>(c10::multiply_integers(sizes)) * 4;
  if (recorder != nullptr) recorder->note(bytes);
  if (bytes > size_t(1) << (smallest + classes - 1)) return at::detail::empty_cpu(sizes, at::kFloat);
  void* p = block(bytes);
  c10::Storage storage(c10::make_intrusive<StorageCell>(c10::StorageImpl::use_byte_size_t(), bytes, c10::DataPtr(p, p, &release, at::kCPU),
                                                        c10::GetAllocator(at::kCPU), true));
  auto out = at::detail::make_tensor<TensorCell>(std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CPU), caffe2::TypeMeta::Make<float>());
  out.unsafeGetTensorImpl()->set_sizes_contiguous(sizes);
  return out;
}

at::Tensor alias(const at::Tensor& t, at::IntArrayRef sizes, int64_t offset, at::ScalarType type) {
  auto* impl = t.unsafeGetTensorImpl();
  auto out = at::detail::make_tensor<TensorCell>(c10::Storage(impl->storage()), impl->key_set(), c10::scalarTypeToTypeMeta(type));
  auto* made = out.unsafeGetTensorImpl();
  made->set_storage_offset(impl->storage_offset() * static_cast<int64_t>(impl->itemsize()) / static_cast<int64_t>(c10::elementSize(type)) + offset);
  made->set_sizes_contiguous(sizes);
  return out;
}

at::Tensor scalar(double x) {
  auto out = make({});
  *data(out) = static_cast<float>(x);
  return out;
}

namespace {

// The threads of the engine. A worker looks out for its next task for some dozens of microseconds, which is as long as the gaps
// within a minibatch, and then sleeps. A caller that has done its own part takes back what a worker has not begun, so that it
// never waits for a core that others have. One caller has the workers at a time; another one does all parts of its task itself.
class Pool {
 public:
  void run(int64_t parts, Task task) {
    if (!mine_.try_lock()) {
      for (int64_t p = 0; p < parts; p++) task.call(task.f, p);
      return;
    }
    std::lock_guard<std::mutex> held(mine_, std::adopt_lock);
    while (static_cast<int64_t>(workers_.size()) < parts - 1) {
      auto* w = new Worker();
      workers_.push_back(w);
      std::thread([w] { w->work(); }).detach();
    }
    for (int64_t p = 1; p < parts; p++) workers_[static_cast<size_t>(p - 1)]->give(p, task);
    std::exception_ptr failed;
    try {
      task.call(task.f, 0);
    } catch (...) {
      failed = std::current_exception();
    }
    for (int64_t p = 1; p < parts; p++) {
      auto* w = workers_[static_cast<size_t>(p - 1)];
      auto e = w->take_back() ? w->run() : w->wait();
      if (!failed) failed = e;
    }
    if (failed) std::rethrow_exception(failed);
  }

 private:
  struct Worker {
    enum { idle, offered, running, done };
    // What the threads tell each other for a task: one line, which goes from one core's cache to the other's and back.
    alignas(64) std::atomic<int> state{idle};
    int64_t part = 0;
    Task task{};
    std::exception_ptr failed;
    // How it sleeps.
    alignas(64) std::atomic<bool> asleep{false};
    std::mutex mutex;
    std::condition_variable wake;
    bool called = false;  // since it fell asleep: awake too late for one task, it looks out for the next

    // Looks out for a state for some fifty microseconds. A virtual machine takes many pauses in a row for a reason to give the
    // core to somebody else, so there is one only now and then.
    bool await(int wanted) {
      for (int i = 0; i < 1 << 17; i++) {
        if (state.load(std::memory_order_acquire) == wanted) return true;
#if defined(__x86_64__)
        if (i % 128 == 127) __builtin_ia32_pause();
#endif
      }
      return false;
    }
    void give(int64_t p, Task t) {
      part = p;
      task = t;
      state.store(offered);
      if (asleep.load()) {
        std::lock_guard<std::mutex> lock(mutex);
        called = true;
        wake.notify_one();
      }
    }
    bool take_back() {
      int expected = offered;
      return state.compare_exchange_strong(expected, idle);
    }
    std::exception_ptr wait() {
      while (!await(done)) std::this_thread::yield();
      state.store(idle, std::memory_order_relaxed);
      return failed;
    }
    std::exception_ptr run() {
      try {
        task.call(task.f, part);
      } catch (...) {
        return std::current_exception();
      }
      return nullptr;
    }
    void work() {
      FlushTiny flush;
      for (;;) {
        if (!await(offered)) {
          std::unique_lock<std::mutex> lock(mutex);
          asleep.store(true);
          wake.wait(lock, [&] { return called || state.load() == offered; });
          asleep.store(false);
          called = false;
        }
        int expected = offered;
        if (!state.compare_exchange_strong(expected, running)) continue;
        failed = run();
        state.store(done, std::memory_order_release);
      }
    }
  };

  std::mutex mine_;
  std::vector<Worker*> workers_;  // they live as long as the process
};

}  // namespace

int64_t parts_of(int64_t n, int64_t multiplications) {
  const int64_t most = gorl_threads();
  // A part that takes less than about two microseconds is not worth a thread.
  return std::max<int64_t>(1, std::min({most, n, multiplications / 100000}));
}

void run(int64_t parts, Task task) {
  static auto* pool = new Pool();
  pool->run(parts, task);
}

Shares::Shares(const std::vector<Rows>& passes) : cuts(passes.size()) {
  int64_t n = 0, all = 0, least = 1;
  for (const Rows& r : passes) {
    n += r.cuts.empty() ? r.n / r.block() : 0;
    all += r.n * r.cost;
    least = std::max(least, static_cast<int64_t>(r.cuts.size()) - 1);
  }
  parts = std::max(least, parts_of(n, all));
  const auto end = static_cast<size_t>(parts);
  // taken[p] is the cost of the passes laid out so far. A pass with cuts counts with its rows before part p only.
  std::vector<int64_t> taken(end);
  std::vector<size_t> order(passes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t i, size_t j) { return passes[i].place < passes[j].place; });
  for (const size_t i : order) {
    const Rows& r = passes[i];
    auto& c = cuts[i] = r.cuts;
    if (c.empty()) c.push_back(0);
    for (size_t p = 1; p < end && r.cuts.empty(); p++) {
      const int64_t free = all * static_cast<int64_t>(p) / parts - taken[p];
      const int64_t row = free / std::max<int64_t>(1, r.cost) + r.block() / 2;
      c.push_back(row >= r.n ? r.n : std::max(c.back(), row / r.block() * r.block()));
    }
    c.resize(end + 1, r.n);
    for (size_t p = 1; p < end; p++) taken[p] += r.cost * (r.cuts.empty() ? r.n : c[p]);
  }
}

void Recorder::add(Pass pass) {
  bool follows = false;
  for (const Pass& before : passes_)
    for (const at::Tensor& y : before.results)
      for (const at::Tensor& x : pass.reads) follows = follows || x.is_alias_of(y);
  if (follows) close();
  if (!spoiled_) passes_.push_back(std::move(pass));
}

void Recorder::close() {
  if (passes_.empty()) return;
  std::vector<Rows> rows;
  for (const Pass& p : passes_) rows.push_back(p.rows);
  steps_.push_back([passes = std::exchange(passes_, {}), shares = Shares(rows)] {
    shares.each([&](size_t i, int64_t, int64_t first, int64_t count) { passes[i].compute(first, count); });
    for (const Pass& p : passes)
      if (p.end) p.end();
  });
}

}  // namespace gorl

#ifdef GORL_CANARY
// Faults that the sanitizers must find, for scripts/test-sanitizers.sh. Only libraries for sanitizers have this function.
extern "C" int gorl_canary(int fault) {
  volatile int result = fault;
  switch (fault) {
    case 0: return static_cast<int>(gorl::data(gorl::make({3}))[result + 3]);  // a read behind a result
    case 1: return INT32_MAX + result;                                         // an overflow
    case 2: {  // a race in the pool, between two threads that have waited for each other
      std::atomic<int> begun{0};
      gorl::each(2, [&](int64_t) {
        begun.fetch_add(1, std::memory_order_relaxed);
        for (int64_t i = 0; i < 1000000000 && begun.load(std::memory_order_relaxed) < 2; i++) {}
        for (int i = 0; i < 100000; i++) result = result + 1;
      });
    }
  }
  return 0;
}
#endif
