// OpenBLAS falls back to kernels of 2004 on a processor that is newer than itself (Debian 12's does, on servers of 2023).
// Matrices are then multiplied five times slower than need be. Unless the user has chosen with OPENBLAS_CORETYPE, this
// file takes the kernels of the newest instruction set that both know, if gorl-blas-check (blas/check.cc) has seen them
// multiply correctly: an OpenBLAS that does not know a processor may compute wrong numbers on it, or crash. `make setup`
// runs that program and leaves the result in a file beside this library. All of this happens at the first call that
// computes. Loading the library does nothing.
#include "handle.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <mutex>
#include <sstream>

#include "blas/openblas.h"

namespace gorl {
namespace {

// The OpenBLAS behind libtorch. A program may have loaded this library for itself only (RTLD_LOCAL): then the symbols of
// OpenBLAS are not among those of the whole program.
const openblas::Library& blas_library() {
  static const openblas::Library found = [] {
    openblas::Library blas = openblas::find(RTLD_DEFAULT);
    if (blas.handle != nullptr) return blas;
    void* const self = dlopen(openblas::file_of(reinterpret_cast<const void*>(&gorl_live)).c_str(), RTLD_LAZY | RTLD_NOLOAD);
    return self == nullptr ? blas : openblas::find(self);
  }();
  return found;
}

// What gorl_blas_kernels says of the kernels in use.
std::string& kernels_remark() {
  static std::string text;
  return text;
}

#if defined(__x86_64__)
// Runs gorl-blas-check in a process of its own, which shares nothing with this one, and returns what it prints.
std::string run_check(const std::string& program, const std::string& library) {
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) return "";
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t signals;
  sigemptyset(&signals);
  posix_spawnattr_setsigmask(&attributes, &signals);
  for (const int s : {SIGALRM, SIGCHLD, SIGPIPE}) sigaddset(&signals, s);
  posix_spawnattr_setsigdefault(&attributes, &signals);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  char* const arguments[] = {const_cast<char*>(program.c_str()), const_cast<char*>(library.c_str()), nullptr};
  pid_t child = -1;
  if (posix_spawn(&child, program.c_str(), &files, &attributes, arguments, environ) != 0) child = -1;
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&files);
  close(out[1]);
  std::string text;
  char part[4096];
  ssize_t n = 0;
  while (child > 0 && ((n = read(out[0], part, sizeof part)) > 0 || (n < 0 && errno == EINTR)))
    if (n > 0) text.append(part, static_cast<size_t>(n));
  close(out[0]);
  while (child > 0 && waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return text;
}

void choose_kernels() {
  const openblas::Library& blas = blas_library();
  if (blas.handle == nullptr || getenv("OPENBLAS_CORETYPE") != nullptr || !blas.fell_back()) return;
  const std::string self = openblas::file_of(reinterpret_cast<const void*>(&gorl_live));
  const std::string folder = self.substr(0, self.rfind('/') + 1), program = folder + "gorl-blas-check";
  const std::string identity = blas.identity();
  std::stringstream file;
  file << std::ifstream(folder + "libgorltorch.blas").rdbuf();
  openblas::Choice choice;
  if (!openblas::parse(file.str(), identity, &choice)) {
    if (access(program.c_str(), X_OK) != 0) {
      kernels_remark() = "slow on this processor; faster kernels could not be checked, because " + program +
                         " is missing: run make setup";
      return;
    }
    if (!openblas::parse(run_check(program, blas.path), identity, &choice)) {
      kernels_remark() = "slow on this processor; checking faster kernels failed: run " + program + " " + blas.path;
      return;
    }
  }
  kernels_remark() = choice.remark;
  if (!choice.kernels.empty() && !openblas::use(blas, choice))
    kernels_remark() = "slow on this processor; " + choice.kernels + " could not be switched to: run make setup";
}
#else
void choose_kernels() {}
#endif

}  // namespace

void prepare_blas() {
  static std::once_flag once;
  std::call_once(once, [] {
    try {
      choose_kernels();
    } catch (const std::exception& e) {
      kernels_remark() = e.what();
    }
  });
}

void set_blas_threads(int32_t n) {
  static const auto set = blas_library().handle == nullptr
                              ? nullptr
                              : openblas::symbol<void (*)(int)>(blas_library().handle, "openblas_set_num_threads");
  if (set != nullptr) set(n);
}

}  // namespace gorl

const char* gorl_blas_kernels(void) {
  gorl::prepare_blas();
  static const std::string text = [] {
    const std::string name = gorl::blas_library().handle == nullptr ? "" : gorl::blas_library().core();
    return name.empty() || gorl::kernels_remark().empty() ? name : name + " (" + gorl::kernels_remark() + ")";
  }();
  return text.c_str();
}
