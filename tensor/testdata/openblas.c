// What TestWrongKernels puts before the real OpenBLAS: a library that does not know the processor, whose kernels named
// in WRONG multiply wrongly beyond 32 rows, and those named in CRASH do not run on the processor at all. Kernels that are
// taken into use without a call of their init crash, too. Compiled with FIXED, the library does not export the tables of its
// kernels.
#include <stdlib.h>
#include <string.h>

typedef struct {
	long sizes;          // set by init, as OpenBLAS sets the sizes of blocks
	void (*multiply)(void);
	void (*init)(void);
	const char* name;
} table;

static void multiply(void) {}

#ifdef FIXED
#define TABLE static table
#else
#define TABLE table
#endif
#define KERNELS(symbol, name)                                     \
	TABLE symbol;                                             \
	static void init_##symbol(void);                          \
	TABLE symbol = {0, multiply, init_##symbol, name};        \
	static void init_##symbol(void) { symbol.sizes = 64; }
KERNELS(gotoblas_PRESCOTT, "Prescott")
KERNELS(gotoblas_HASWELL, "Haswell")
KERNELS(gotoblas_SKYLAKEX, "SkylakeX")

table* gotoblas = NULL;

char* openblas_get_corename(void) { return (char*)gotoblas->name; }
char* openblas_get_config(void) { return "a library of the test"; }
void gotoblas_dynamic_quit(void) { gotoblas = NULL; }
__attribute__((constructor)) void gotoblas_dynamic_init(void) {
	const char* chosen = getenv("OPENBLAS_CORETYPE");
	if (gotoblas != NULL) return;
	gotoblas = &gotoblas_PRESCOTT;
	if (chosen != NULL && strcmp(chosen, "Haswell") == 0) gotoblas = &gotoblas_HASWELL;
	if (chosen != NULL && strcmp(chosen, "SkylakeX") == 0) gotoblas = &gotoblas_SKYLAKEX;
	gotoblas->init();
}

static int named(const char* variable) {
	const char* list = getenv(variable);
	return list != NULL && strstr(list, gotoblas->name) != NULL;
}

static float wrong(int rows) {
	if (named("CRASH") || gotoblas->sizes == 0) __builtin_trap();
	return rows > 32 && named("WRONG") ? 0.5f : 0;
}

void sgemm_(const char* ta, const char* tb, const int* m, const int* n, const int* k, const float* alpha, const float* a, const int* lda,
            const float* b, const int* ldb, const float* beta, float* c, const int* ldc) {
	for (int j = 0; j < *n; j++)
		for (int i = 0; i < *m; i++) {
			float sum = wrong(*m);
			for (int l = 0; l < *k; l++)
				sum += (*ta == 'N' ? a[i + l * *lda] : a[l + i * *lda]) * (*tb == 'N' ? b[l + j * *ldb] : b[j + l * *ldb]);
			c[i + j * *ldc] = *alpha * sum + (*beta == 0 ? 0 : *beta * c[i + j * *ldc]);
		}
}

void sgemv_(const char* t, const int* m, const int* n, const float* alpha, const float* a, const int* lda, const float* x,
            const int* incx, const float* beta, float* y, const int* incy) {
	for (int i = 0; i < (*t == 'N' ? *m : *n); i++) {
		float sum = wrong(*m);
		for (int l = 0; l < (*t == 'N' ? *n : *m); l++) sum += (*t == 'N' ? a[i + l * *lda] : a[l + i * *lda]) * x[l * *incx];
		y[i * *incy] = *alpha * sum + (*beta == 0 ? 0 : *beta * y[i * *incy]);
	}
}
