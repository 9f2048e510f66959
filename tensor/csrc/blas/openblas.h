// What libgorltorch.so (blas.cc) and gorl-blas-check (check.cc) both know about OpenBLAS. Nothing here needs libtorch.
#pragma once
#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <cctype>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace gorl::openblas {

template <typename F>
F symbol(void* library, const char* name) { return reinterpret_cast<F>(dlsym(library, name)); }

// The file that holds an address, without symbolic links.
inline std::string file_of(const void* address) {
  Dl_info found;
  char path[PATH_MAX];
  if (dladdr(address, &found) == 0 || realpath(found.dli_fname, path) == nullptr) return "";
  return path;
}

#if defined(__x86_64__)
// The processor's name, and every feature by which kernels could be chosen.
inline std::string processor() {
  unsigned name[13] = {}, a = 0, b = 0, c = 0, d = 0;
  for (unsigned i = 0; i < 3; i++) __get_cpuid(0x80000002 + i, name + 4 * i, name + 4 * i + 1, name + 4 * i + 2, name + 4 * i + 3);
  std::string text = reinterpret_cast<const char*>(name);
  const auto add = [&text](unsigned x) {
    char hex[16];
    std::snprintf(hex, sizeof hex, " %08x", x);
    text += hex;
  };
  if (__get_cpuid(1, &a, &b, &c, &d)) {
    for (unsigned x : {a, c, d}) add(x);  // b has the number of the core
    if (c & bit_OSXSAVE) {
      unsigned low, high;
      __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
      add(low);  // which registers the operating system saves
    }
  }
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d))
    for (unsigned x : {b, c, d}) add(x);
  return text;
}
#else
inline std::string processor() { return ""; }
#endif

// An OpenBLAS that is loaded in this process.
struct Library {
  void* handle = nullptr;
  std::string path;

  const char* core() const {
    const auto name = symbol<char* (*)()>(handle, "openblas_get_corename");
    return name == nullptr ? "" : name();
  }
  // Whether OpenBLAS did not know the processor: these are the kernels that it falls back to.
  bool fell_back() const { return std::strcmp(core(), "Prescott") == 0 || std::strcmp(core(), "Nehalem") == 0; }

  // The lines for which a Choice is valid. They have the kernels in use, so that they differ after use().
  std::string identity() const {
    const auto config = symbol<char* (*)()>(handle, "openblas_get_config");
    struct stat file = {};
    stat(path.c_str(), &file);
    return "processor: " + processor() + "\nopenblas: " + path + " " + std::to_string(file.st_size) + " " +
           std::to_string(file.st_mtime) + " " + (config == nullptr ? "" : config()) + "\n";
  }
};

// The OpenBLAS that a program reaches through a library that it has loaded. Its handle is null if there is none.
inline Library find(void* library) {
  const void* const function = dlsym(library, "openblas_get_corename");
  if (function == nullptr) return {};
  Library found;
  found.path = file_of(function);
  found.handle = dlopen(found.path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  return found;
}

// The kernels of one kind of processor: a struct that begins with numbers and goes on with pointers to functions. OpenBLAS
// exports each as gotoblas_SKYLAKEX or the like, and the pointer gotoblas to the one in use.
struct Table {
  void** slots = nullptr;
  size_t size = 0;  // the number of slots
};

inline Table table(const Library& blas, const std::string& kernels) {
  std::string name = "gotoblas_";
  for (const char c : kernels) name += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  void* const start = dlsym(blas.handle, name.c_str());
  Dl_info found;
  void* entry = nullptr;
  if (start == nullptr || dladdr1(start, &found, &entry, RTLD_DL_SYMENT) == 0 || entry == nullptr) return {};
  return {static_cast<void**>(start), static_cast<const ElfW(Sym)*>(entry)->st_size / sizeof(void*)};
}

// What gorl-blas-check found out.
struct Choice {
  std::string kernels;  // empty: those that OpenBLAS took
  size_t init = 0;      // the slot of a table with the function that sets its block sizes
  std::string remark;

  std::string text(const std::string& identity) const {
    return identity + "kernels: " + kernels + "\ninit: " + std::to_string(init) + "\nremark: " + remark + "\n";
  }
};

// Reads the text of a Choice. Reports whether the text is complete and was written for this identity.
inline bool parse(const std::string& text, const std::string& identity, Choice* out) {
  if (text.compare(0, identity.size(), identity) != 0) return false;
  size_t at = identity.size();
  const auto line = [&](const char* key, std::string* value) {
    const size_t end = text.find('\n', at), begin = at + std::strlen(key);
    if (end == std::string::npos || text.compare(at, std::strlen(key), key) != 0) return false;
    *value = text.substr(begin, end - begin);
    at = end + 1;
    return true;
  };
  std::string init;
  if (!line("kernels: ", &out->kernels) || !line("init: ", &init) || !line("remark: ", &out->remark)) return false;
  out->init = std::strtoul(init.c_str(), nullptr, 10);
  return at == text.size();
}

// Lets OpenBLAS multiply with other kernels from the next call on. OpenBLAS does the same when it is loaded: it calls the
// table's function init, then it sets the pointer gotoblas. The pointer is never null meanwhile, and no environment variable
// is touched. Returns false, and changes nothing, if this OpenBLAS does not have what it takes.
inline bool use(const Library& blas, const Choice& choice) {
  const auto current = symbol<void**>(blas.handle, "gotoblas");
  const Table kernels = table(blas, choice.kernels);
  if (current == nullptr || choice.init >= kernels.size || file_of(kernels.slots[choice.init]) != blas.path) return false;
  reinterpret_cast<void (*)()>(kernels.slots[choice.init])();
  __atomic_store_n(current, static_cast<void*>(kernels.slots), __ATOMIC_RELEASE);
  return true;
}

}  // namespace gorl::openblas
