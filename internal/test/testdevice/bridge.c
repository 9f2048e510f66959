// Finds the functions of the library, which is loaded at run time and only by tests that ask for it.
#include "bridge.h"

#include <dlfcn.h>
#include <stddef.h>

static void* library = NULL;

const char* bridge_load(const char* name) {
  if (library == NULL) library = dlopen(name, RTLD_NOW | RTLD_GLOBAL);
  return library == NULL ? dlerror() : NULL;
}
void bridge_counts(int32_t device, int64_t* out) { ((void (*)(int32_t, int64_t*))dlsym(library, "gtd_counts"))(device, out); }
void bridge_log(int32_t on) { ((void (*)(int32_t))dlsym(library, "gtd_log"))(on); }
char* bridge_events(void) { return ((char* (*)(void))dlsym(library, "gtd_events"))(); }
float bridge_touch(void* tensor) { return ((float (*)(void*))dlsym(library, "gtd_touch"))(tensor); }
void* bridge_alias(void* tensor) { return ((void* (*)(void*))dlsym(library, "gtd_alias"))(tensor); }
void* bridge_fresh(int32_t device, int64_t n) { return ((void* (*)(int32_t, int64_t))dlsym(library, "gtd_fresh"))(device, n); }
