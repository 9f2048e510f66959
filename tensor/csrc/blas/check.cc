// gorl-blas-check LIBRARY [FILE]
//
// Finds out which of OpenBLAS's kernels multiply correctly on this processor. LIBRARY is OpenBLAS, or a library that needs
// OpenBLAS. `make setup` runs this program and has the result in FILE, libgorltorch.blas beside libgorltorch.so. Without
// FILE the result is printed: so libgorltorch.so runs this program if no such file is valid for the processor and the
// OpenBLAS that it finds. There is no result, and no FILE, if OpenBLAS knows the processor.
//
// Everything that could crash or hang is done in child processes. This process loads no library itself.
#include "openblas.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <functional>
#include <utility>
#include <vector>

namespace {

using gorl::openblas::Choice;
using gorl::openblas::Library;

using gemm_fn = void (*)(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
                         const float*, const int*, const float*, float*, const int*);
using gemv_fn = void (*)(const char*, const int*, const int*, const float*, const float*, const int*, const float*, const int*,
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
bool multiplies(gemm_fn gemm, char ta, char tb, int m, int n, int k) {
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
bool multiplies_vector(gemv_fn gemv, char ta, int m, int n) {
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
bool kernels_multiply(const Library& blas) {
  const auto gemm = gorl::openblas::symbol<gemm_fn>(blas.handle, "sgemm_");
  const auto gemv = gorl::openblas::symbol<gemv_fn>(blas.handle, "sgemv_");
  if (gemm == nullptr || gemv == nullptr) return false;
  for (const char ta : {'N', 'T'}) {
    if (!multiplies_vector(gemv, ta, 67, 35) || !multiplies_vector(gemv, ta, 1029, 131)) return false;
    for (const char tb : {'N', 'T'})
      for (const auto& size : {std::array<int, 3>{1, 6, 17}, {17, 5, 31}, {64, 64, 64}, {131, 133, 97}, {997, 21, 523}})
        if (!multiplies(gemm, ta, tb, size[0], size[1], size[2])) return false;
  }
  return true;
}

// Which slot of a table holds init differs between versions of OpenBLAS. It is the one slot that OpenBLAS calls while it
// takes a table into use. So find_init puts a function of its own into every slot, and lets OpenBLAS do that.
constexpr size_t most_slots = 2048;
size_t called = most_slots;

template <size_t I>
void slot() { called = I; }

template <size_t... I>
std::array<void (*)(), sizeof...(I)> slots(std::index_sequence<I...>) { return {slot<I>...}; }

size_t find_init(const Library& blas, const char* kernels) {
  const auto current = gorl::openblas::symbol<void**>(blas.handle, "gotoblas");
  const auto take = gorl::openblas::symbol<void (*)()>(blas.handle, "gotoblas_dynamic_init");
  const auto table = gorl::openblas::table(blas, kernels);
  if (current == nullptr || take == nullptr || table.size == 0 || table.size > most_slots) return most_slots;
  const std::vector<void*> content(table.slots, table.slots + table.size);
  const auto functions = slots(std::make_index_sequence<most_slots>());
  for (size_t i = 0; i < table.size; i++) table.slots[i] = reinterpret_cast<void*>(functions[i]);
  void* const before = std::exchange(*current, nullptr);
  setenv("OPENBLAS_CORETYPE", kernels, 1);
  take();
  unsetenv("OPENBLAS_CORETYPE");
  *current = before;
  std::memcpy(table.slots, content.data(), content.size() * sizeof(void*));
  return called;
}

// Returns what a function returns in a child process: "" if it crashed, or took more than 20 seconds.
std::string in_child(const std::function<std::string()>& f) {
  int report[2];
  if (pipe(report) != 0) return "";
  const pid_t child = fork();
  if (child == 0) {
    close(report[0]);
    alarm(20);
    // OpenBLAS reads them when it is loaded.
    unsetenv("OPENBLAS_CORETYPE");
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    const std::string text = f();
    _exit(write(report[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(report[1]);
  std::string text;
  char part[4096];
  ssize_t n;
  while ((n = read(report[0], part, sizeof part)) > 0 || (n < 0 && errno == EINTR))
    if (n > 0) text.append(part, static_cast<size_t>(n));
  close(report[0]);
  int status = 1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status == 0 ? text : "";
}

// Tries kernels as libgorltorch.so will use them.
std::string try_kernels(const std::string& path, const char* kernels, Choice* choice) {
  const std::string answer = in_child([&]() -> std::string {
    const Library blas{dlopen(path.c_str(), RTLD_NOW), path};
    Choice tried;
    tried.kernels = kernels;
    tried.init = find_init(blas, kernels);
    if (!gorl::openblas::use(blas, tried)) return "cannot be switched to";
    return kernels_multiply(blas) ? "right " + std::to_string(tried.init) : "multiplied wrongly";
  });
  if (answer.compare(0, 6, "right ") != 0) return answer.empty() ? "crashed" : answer;
  choice->kernels = kernels;
  choice->init = std::strtoul(answer.c_str() + 6, nullptr, 10);
  return "";
}

// The kernels that this processor could run, the best first.
std::vector<const char*> candidates() {
  std::vector<const char*> better;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512cd"))
    better.push_back("SkylakeX");
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) better.push_back("Haswell");
  return better;
}

Choice choose(const std::string& path) {
  Choice choice;
  std::string refused;
  for (const char* kernels : candidates()) {
    const std::string wrong = try_kernels(path, kernels, &choice);
    if (wrong.empty()) break;
    refused += (refused.empty() ? "" : "; ") + std::string(kernels) + " " + wrong;
  }
  choice.remark = choice.kernels.empty() ? "" : "checked";
  if (!refused.empty()) choice.remark += (choice.remark.empty() ? "" : "; ") + refused;
  if (refused.find("cannot be switched to") != std::string::npos)
    choice.remark += ": to try them, set OPENBLAS_CORETYPE before the program starts";
  return choice;
}

std::string content(const char* file) {
  std::string text;
  if (FILE* f = std::fopen(file, "r")) {
    char part[4096];
    for (size_t n; (n = std::fread(part, 1, sizeof part, f)) > 0;) text.append(part, n);
    std::fclose(f);
  }
  return text;
}

bool write_file(const std::string& file, const std::string& text) {
  const std::string part = file + ".new";
  FILE* const f = std::fopen(part.c_str(), "w");
  if (f == nullptr) return false;
  const bool written = std::fwrite(text.data(), 1, text.size(), f) == text.size();
  return std::fclose(f) == 0 && written && std::rename(part.c_str(), file.c_str()) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: gorl-blas-check LIBRARY [FILE]\n");
    return 2;
  }
  const char* const file = argc == 3 ? argv[2] : nullptr;
#ifdef SYS_close_range
  syscall(SYS_close_range, 3u, ~0u, 0u);  // what the program that runs this one has open
#endif
  alarm(90);
  const std::string found = in_child([&]() -> std::string {
    void* const library = dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL);
    if (library == nullptr) {
      std::fprintf(stderr, "gorl-blas-check: %s\n", dlerror());
      return "";
    }
    const Library blas = gorl::openblas::find(RTLD_DEFAULT);
    return blas.handle == nullptr || !blas.fell_back() ? "-" : blas.path + "\n" + blas.core() + "\n" + blas.identity();
  });
  if (found.empty()) {
    std::fprintf(stderr, "gorl-blas-check: %s could not be loaded\n", argv[1]);
    return 1;
  }
  if (found == "-") {
    if (file != nullptr) std::remove(file);
    return 0;
  }
  const size_t first = found.find('\n'), second = found.find('\n', first + 1);
  const std::string path = found.substr(0, first), core = found.substr(first + 1, second - first - 1), identity = found.substr(second + 1);
  Choice choice;
  if (file != nullptr && gorl::openblas::parse(content(file), identity, &choice)) return 0;
  choice = choose(path);
  if (file == nullptr) {
    std::fputs(choice.text(identity).c_str(), stdout);
    return 0;
  }
  if (!write_file(file, choice.text(identity))) {
    std::fprintf(stderr, "gorl-blas-check: writing %s: %s\n", file, std::strerror(errno));
    return 1;
  }
  std::printf("OpenBLAS does not know this processor and takes kernels for %s; gorl takes %s (%s)\n", core.c_str(),
              (choice.kernels.empty() ? core : choice.kernels).c_str(), choice.remark.c_str());
  return 0;
}
