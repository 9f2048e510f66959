// Put before the C library, it writes a line into the file GUEST_LOG for every call of a function that changes the process
// or starts another: the function's name, and the library that called it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <pthread.h>
#include <unistd.h>

static void count(const char* function, const void* caller) {
	const char* const path = getenv("GUEST_LOG");
	Dl_info found;
	char line[512];
	if (path == NULL) return;
	const char* name = dladdr(caller, &found) != 0 ? found.dli_fname : "unknown";
	if (strrchr(name, '/') != NULL) name = strrchr(name, '/') + 1;
	const int n = snprintf(line, sizeof line, "%s %s\n", function, name);
	const int log = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (log < 0 || write(log, line, n) != n) abort();
	close(log);
}

#define COUNT(result, function, parameters, arguments, when)                          \
	result function parameters {                                                  \
		static result(*real) parameters;                                      \
		if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, #function);       \
		if (when) count(#function, __builtin_return_address(0));              \
		return real arguments;                                                \
	}

COUNT(pid_t, fork, (void), (), 1)
COUNT(pid_t, _Fork, (void), (), 1)
COUNT(int, posix_spawn, (pid_t* p, const char* s, const posix_spawn_file_actions_t* f, const posix_spawnattr_t* a, char* const v[], char* const e[]), (p, s, f, a, v, e), 1)
COUNT(int, posix_spawnp, (pid_t* p, const char* s, const posix_spawn_file_actions_t* f, const posix_spawnattr_t* a, char* const v[], char* const e[]), (p, s, f, a, v, e), 1)
COUNT(int, system, (const char* c), (c), 1)
COUNT(FILE*, popen, (const char* c, const char* m), (c, m), 1)
COUNT(int, pthread_create, (pthread_t* t, const pthread_attr_t* a, void* (*f)(void*), void* x), (t, a, f, x), 1)
COUNT(int, sigaction, (int s, const struct sigaction* a, struct sigaction* o), (s, a, o), a != NULL)
COUNT(sighandler_t, signal, (int s, sighandler_t h), (s, h), 1)
COUNT(int, mallopt, (int p, int v), (p, v), 1)
COUNT(int, setenv, (const char* n, const char* v, int o), (n, v, o), 1)
COUNT(int, unsetenv, (const char* n), (n), 1)
COUNT(int, putenv, (char* s), (s), 1)
COUNT(int, clearenv, (void), (), 1)
COUNT(int, chdir, (const char* p), (p), 1)
COUNT(mode_t, umask, (mode_t m), (m), 1)
COUNT(int, nice, (int n), (n), 1)

// Nothing may run between vfork and what its child does, so that vfork is counted as fork and made one.
pid_t vfork(void) {
	count("vfork", __builtin_return_address(0));
	return _Fork();
}

int clone(int (*f)(void*), void* stack, int flags, void* x, ...) {
	static int (*real)(int (*)(void*), void*, int, void*, ...);
	va_list rest;
	if (real == NULL) *(void**)&real = dlsym(RTLD_NEXT, "clone");
	count("clone", __builtin_return_address(0));
	va_start(rest, x);
	pid_t* const parent = va_arg(rest, pid_t*);
	void* const tls = va_arg(rest, void*);
	pid_t* const child = va_arg(rest, pid_t*);
	va_end(rest);
	return real(f, stack, flags, x, parent, tls, child);
}
