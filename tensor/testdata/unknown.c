// Lets the real OpenBLAS believe that it does not know the processor: put before the C library, it answers OpenBLAS that
// OPENBLAS_CORETYPE is Prescott. Everybody else, gorl among them, sees the environment as it is.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

char* getenv(const char* name) {
	static char* (*real)(const char*);
	Dl_info caller;
	if (real == NULL) real = (char* (*)(const char*))dlsym(RTLD_NEXT, "getenv");
	char* value = real(name);
	if (value == NULL && strcmp(name, "OPENBLAS_CORETYPE") == 0 && dladdr(__builtin_return_address(0), &caller) != 0 &&
	    strstr(caller.dli_fname, "openblas") != NULL)
		return "Prescott";
	return value;
}
