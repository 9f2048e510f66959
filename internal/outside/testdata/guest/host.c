// host GOTORCH GORL: a program that loads the two libraries, gotorch's (with libtorch and OpenBLAS) first. It prints the
// state of its process after each step, and what gorl says: "step: threads 2, caught 0, ...".
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gorl.h"

extern char** environ;

static int entries(const char* folder) {
	DIR* const d = opendir(folder);
	int n = 0;
	for (struct dirent* e; (e = readdir(d)) != NULL;) n += e->d_name[0] != '.';
	closedir(d);
	return n;
}

static void show(const char* step) {
	char line[256];
	const char* const log = getenv("GUEST_LOG");
	printf("%s: threads %d, files %d", step, entries("/proc/self/task"), entries("/proc/self/fd"));
	FILE* const status = fopen("/proc/self/status", "r");
	while (fgets(line, sizeof line, status) != NULL)
		if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0 || strncmp(line, "SigCgt", 6) == 0)
			printf(", %.6s %.16s", line, line + 8);
	fclose(status);
	uint32_t hash = 0;
	for (char** v = environ; *v != NULL; v++)
		for (const char* c = *v; *c != '\0'; c++) hash = hash * 31 + (unsigned char)*c;
	printf(", environment %08x", hash);
	struct rusage children;
	getrusage(RUSAGE_CHILDREN, &children);
	printf(", children %s", children.ru_maxrss == 0 && waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD ? "none" : "some");
	putchar('\n');
	fflush(stdout);
	if (log == NULL) return;
	FILE* const f = fopen(log, "a");
	fprintf(f, "= %s\n", step);
	fclose(f);
}

// Whether the C library maps a block of its own for so many bytes. glibc does so for fewer blocks after each that was released:
// ask for more bytes each time, and for fewer than 32 MB.
static void show_allocator(size_t bytes) {
	const size_t before = mallinfo2().hblks;
	void* volatile block = malloc(bytes);
	printf("allocator %s\n", mallinfo2().hblks > before ? "maps" : "keeps");
	free(block);
}

static void* load(const char* path) {
	void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL) {
		printf("%s\n", dlerror());
		exit(1);
	}
	return library;
}

int main(int argc, char** argv) {
	if (argc != 3) return 2;
	show("start");
	load(argv[1]);
	show("libtorch");
	void* const gorl = load(argv[2]);
	show("gorl");

	// a matrix of 64 × 64 ones, times itself
	char* (*full)(const int64_t*, int32_t, double, int32_t, int32_t, void**) = dlsym(gorl, "gorl_full");
	char* (*binary)(int32_t, void*, void*, int, void**) = dlsym(gorl, "gorl_binary");
	char* (*reduce)(int32_t, void*, const int64_t*, int32_t, int, int, void**) = dlsym(gorl, "gorl_reduce");
	char* (*item)(void*, double*) = dlsym(gorl, "gorl_item");
	const char* (*kernels)(void) = dlsym(gorl, "gorl_blas_kernels");
	void (*tune)(void) = dlsym(gorl, "gorl_tune_allocator");
	const int64_t sizes[] = {64, 64};
	void *ones, *product, *sum;
	double value;
	if (full(sizes, 2, 1, 6, -1, &ones) != NULL || binary(GORL_MATMUL, ones, ones, 0, &product) != NULL ||
	    reduce(GORL_SUM, product, NULL, 0, 0, 0, &sum) != NULL || item(sum, &value) != NULL)
		return 3;
	show("use");
	printf("sum %.0f\n", value);
	printf("kernels %s\n", kernels());
	Dl_info found;
	dladdr(*(void**)&full, &found);
	printf("library %s\n", found.dli_fname);
	show_allocator(30 << 20);
	if (tune != NULL) tune();
	show("tuned");
	show_allocator(31 << 20);
	return 0;
}
