// OpenBLAS falls back to kernels of 2004 on a processor that is newer than itself (Debian 12's does, on servers of 2023).
// Matrices are then multiplied five times slower than need be. Unless the user has chosen with OPENBLAS_CORETYPE, this
// file takes the kernels of the newest instruction set that both know, after it has seen them multiply correctly: an
// OpenBLAS that does not know a processor may compute wrong numbers on it, or crash.
#include "handle.h"

#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <vector>

namespace gorl {
namespace {

template <typename F>
F blas_symbol(const char* name) { return reinterpret_cast<F>(dlsym(RTLD_DEFAULT, name)); }

std::string& kernels_remark() {
  static std::string text;
  return text;
}

#if defined(__x86_64__)
using blas_gemm_fn = void (*)(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
                              const float*, const int*, const float*, float*, const int*);
using blas_gemv_fn = void (*)(const char*, const int*, const int*, const float*, const float*, const int*, const float*, const int*,
                              const float*, float*, const int*);

// Small whole numbers: sums of their products are exact in float32 in whatever order, so that results are compared for
// equality.
std::vector<float> whole_numbers(size_t n, uint32_t state) {
  std::vector<float> out(n);
  for (auto& x : out) {
    state = state * 1664525u + 1013904223u;
    x = static_cast<float>(static_cast<int32_t>(state >> 24) - 128) / 2;
  }
  return out;
}

// Compares C = op(A) · op(B) + C of one size with a loop. Column-major; A's and B's columns are longer than need be, and
// what lies between C's columns must stay as it is.
bool multiplies(blas_gemm_fn gemm, char ta, char tb, int m, int n, int k) {
  const int lda = (ta == 'N' ? m : k) + 1, ldb = (tb == 'N' ? k : n) + 2, ldc = m + 3;
  const auto a = whole_numbers(static_cast<size_t>(lda) * (ta == 'N' ? k : m), 1);
  const auto b = whole_numbers(static_cast<size_t>(ldb) * (tb == 'N' ? n : k), 2);
  auto want = whole_numbers(static_cast<size_t>(ldc) * n, 3), got = want;
  std::vector<float> column(m);  // of op(A)
  for (int l = 0; l < k; l++) {
    for (int i = 0; i < m; i++) column[i] = a[ta == 'N' ? static_cast<size_t>(l) * lda + i : static_cast<size_t>(i) * lda + l];
    for (int j = 0; j < n; j++) {
      const float y = b[tb == 'N' ? static_cast<size_t>(j) * ldb + l : static_cast<size_t>(l) * ldb + j];
      float* const out = want.data() + static_cast<size_t>(j) * ldc;
      for (int i = 0; i < m; i++) out[i] += y * column[i];
    }
  }
  const float one = 1;
  gemm(&ta, &tb, &m, &n, &k, &one, a.data(), &lda, b.data(), &ldb, &one, got.data(), &ldc);
  return got == want;
}

// The same for a vector: y = op(A) · x + y.
bool multiplies_vector(blas_gemv_fn gemv, char ta, int m, int n) {
  const int lda = m + 1, one_step = 1, in = ta == 'N' ? n : m, out = ta == 'N' ? m : n;
  const auto a = whole_numbers(static_cast<size_t>(lda) * n, 1), x = whole_numbers(in, 2);
  auto want = whole_numbers(out + 1, 3), got = want;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < m; i++) {
      const float v = a[static_cast<size_t>(j) * lda + i];
      if (ta == 'N') want[i] += v * x[j]; else want[j] += v * x[i];
    }
  const float one = 1;
  gemv(&ta, &m, &n, &one, a.data(), &lda, x.data(), &one_step, &one, got.data(), &one_step);
  return got == want;
}

// Whether the kernels in use multiply correctly in every class of sizes: one row, matrices small enough for kernels of
// their own, one block with remainders in all directions, and more than one block of every kernel's in the two
// directions in which blocks are added or joined.
bool kernels_multiply() {
  const auto gemm = blas_symbol<blas_gemm_fn>("sgemm_");
  const auto gemv = blas_symbol<blas_gemv_fn>("sgemv_");
  if (gemm == nullptr || gemv == nullptr) return false;
  for (const char ta : {'N', 'T'}) {
    if (!multiplies_vector(gemv, ta, 67, 35) || !multiplies_vector(gemv, ta, 1029, 131)) return false;
    for (const char tb : {'N', 'T'})
      for (const auto& size : {std::array<int, 3>{1, 6, 17}, {17, 5, 31}, {64, 64, 64}, {131, 133, 97}, {997, 21, 523}})
        if (!multiplies(gemm, ta, tb, size[0], size[1], size[2])) return false;
  }
  return true;
}

void use_kernels(const char* name) {
  setenv("OPENBLAS_CORETYPE", name, 1);
  blas_symbol<void (*)()>("gotoblas_dynamic_quit")();
  blas_symbol<void (*)()>("gotoblas_dynamic_init")();
  unsetenv("OPENBLAS_CORETYPE");
}

// Tries kernels in a child process, which may crash or hang without harm. Returns what is wrong with them, "" if nothing.
// Where this runs, in a constructor of the library, Go has not started yet, and OpenBLAS stops its threads for a fork.
std::string try_kernels(const char* name) {
  int report[2];
  if (pipe(report) != 0) return "could not be checked";
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    if (const auto threads = blas_symbol<void (*)(int)>("openblas_set_num_threads")) threads(1);
    use_kernels(name);
    const char right = kernels_multiply() ? 1 : 0;
    _exit(write(report[1], &right, 1) == 1 ? 0 : 1);
  }
  close(report[1]);
  char right = 0;
  ssize_t n = 0;
  while (child > 0 && (n = read(report[0], &right, 1)) < 0 && errno == EINTR) {
  }
  close(report[0]);
  while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  if (child < 0) return "could not be checked";
  if (n != 1) return "crashed";
  return right ? "" : "multiplied wrongly";
}

struct ChooseKernels {
  ChooseKernels() {
    const auto name = blas_symbol<char* (*)()>("openblas_get_corename");
    if (name == nullptr || getenv("OPENBLAS_CORETYPE") != nullptr || blas_symbol<void*>("gotoblas_dynamic_quit") == nullptr ||
        blas_symbol<void*>("gotoblas_dynamic_init") == nullptr)
      return;
    if (std::strcmp(name(), "Prescott") != 0 && std::strcmp(name(), "Nehalem") != 0) return;
    std::vector<const char*> better;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
      better.push_back("SkylakeX");
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) better.push_back("Haswell");
    std::string& remark = kernels_remark();
    for (const char* kernels : better) {
      const std::string wrong = try_kernels(kernels);
      if (wrong.empty()) {
        use_kernels(kernels);
        remark = "checked" + (remark.empty() ? "" : "; " + remark);
        return;
      }
      remark += (remark.empty() ? "" : "; ") + std::string(kernels) + " " + wrong;
    }
  }
} choose_kernels;
#endif

}  // namespace
}  // namespace gorl

const char* gorl_blas_kernels(void) {
  static const std::string text = [] {
    const auto name = gorl::blas_symbol<char* (*)()>("openblas_get_corename");
    if (name == nullptr) return std::string();
    return gorl::kernels_remark().empty() ? name() : name() + (" (" + gorl::kernels_remark() + ")");
  }();
  return text.c_str();
}
