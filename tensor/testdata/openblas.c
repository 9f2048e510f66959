// What TestWrongKernels puts before the real OpenBLAS: a library that does not know the processor, whose kernels named
// in WRONG multiply wrongly beyond 32 rows, and those named in CRASH do not run on the processor at all.
#include <stdlib.h>
#include <string.h>

static char kernels[32] = "Prescott";

char* openblas_get_corename(void) { return kernels; }
void gotoblas_dynamic_quit(void) {}
void gotoblas_dynamic_init(void) {
	const char* chosen = getenv("OPENBLAS_CORETYPE");
	strcpy(kernels, chosen != NULL ? chosen : "Prescott");
}

static int named(const char* variable) {
	const char* list = getenv(variable);
	return list != NULL && strstr(list, kernels) != NULL;
}

static float wrong(int rows) {
	if (named("CRASH")) __builtin_trap();
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
