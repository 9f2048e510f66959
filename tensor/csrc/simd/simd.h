// The inner loops of the engine for float32 on the CPU (see ../engine.h), compiled once for each instruction set
// (kernels.cc) and chosen at run time. Plain C++: no libtorch.
#pragma once
#include <stdint.h>

namespace gorl {

// For AddressSanitizer memory ends exactly where its last element does, is not kept for other results, and is never read or
// written by a masked instruction, which the sanitizer does not check.
#if defined(__SANITIZE_ADDRESS__)
#define GORL_EXACT_MEMORY 1
#else
#define GORL_EXACT_MEMORY 0
#endif

// C = A·B, or C += A·B, and what follows where an element of C is stored: the bias of its column, then an activation f(C),
// or a derivative, C·f'(z) given h = f(z) in a matrix laid out as C. Activations are GORL_IDENTITY, RELU, TANH, SIGMOID and ELU.
struct Product {
  int64_t m, n, k;                              // C is (m, n), A (m, k), B (k, n)
  const float* a; int64_t a_row, a_col;         // element (i, p) is a[i * a_row + p * a_col]
  const float* b; int64_t b_row, b_col;         // element (p, j) is b[p * b_row + j * b_col]; one of the two strides is 1
  float* c; int64_t c_row;                      // element (i, j) is c[i * c_row + j]
  bool add;                                     // C += instead of C =
  const float* bias;                            // (n), or null
  int32_t activation;                           // f, applied to C
  const float* derive_of; int32_t derivative;   // h and f where C is multiplied by f'(z); null: it is not
};

struct Adam {
  float beta1, rest1, beta2, rest2, eps, root2, size, l2, shrink;
};

struct Kernels {
  const char* name;
  void (*multiply)(const Product&);
  void (*activate)(int32_t op, float* z, int64_t n);                                       // z = f(z)
  void (*derive)(int32_t op, float* g, const float* h, int64_t n);                         // g *= f'(z), h = f(z)
  void (*curve)(int32_t op, float* g, const float* h, const float* v, int64_t n);          // g *= f''(z) v, h = f(z)
  void (*add_columns)(float* sums, const float* rows, int64_t n, int64_t width);           // sums += the column sums of rows
  void (*axpy)(float* y, float alpha, const float* x, int64_t n);                          // y += alpha x
  // The same for each row, with an alpha of its own.
  void (*axpy_rows)(float* y, const float* alpha, const float* x, int64_t n, int64_t width);
  void (*scale)(float* y, float alpha, int64_t n);                                         // y *= alpha
  double (*squares)(const float* x, int64_t n);                                            // sum of x^2, in float64
  double (*softplus)(float sign, const float* x, int64_t n);                               // sum of ln(1 + e^(sign x))
  void (*adam)(const Adam&, float* p, const float* g, float* m, float* v, int64_t n);
  // Transposes p, n rows of width elements, `from` apart, to q, whose rows are `to` apart and padded with zeros to whole
  // vectors.
  void (*transpose)(const float* p, int64_t from, int64_t n, int64_t width, float* q, int64_t to);
  // A step of n sequences through h units, and back; see recurrent.cc. Rows of gates hold the units of each gate side by side.
  // gates: before their functions, and after them. from: W_hn h + b_hn and so on of a GRU. beside: what backward needs too.
  void (*gru)(int64_t n, int64_t h, float* gates, const float* from, const float* before, float* beside, float* out);
  void (*lstm)(int64_t n, int64_t h, float* gates, const float* cells, float* next, float* beside, float* out);
  // The gradients di of the gates by what came before their functions (of a GRU also ds, by what comes from the state), given dh of
  // the result. carry becomes the gradient of the state before, as far as it does not come through the gates, and dc of the cells.
  void (*gru_back)(int64_t n, int64_t h, const float* gates, const float* before, const float* beside, const float* dh, float* di,
                   float* ds, float* carry);
  void (*lstm_back)(int64_t n, int64_t h, const float* gates, const float* cells, const float* beside, const float* dh, float* dc,
                    float* di);
};

// The kernels of the best instruction set that this processor has.
const Kernels& kernels();

}  // namespace gorl
