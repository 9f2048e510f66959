// The engine's inner loops for one instruction set: scripts/shim.sh compiles this file once for each, with GORL_SIMD naming it
// and the compiler's flags for it. Vectors are the compiler's own (vector_size), so that one text serves all widths.
#include <math.h>
#include <stdlib.h>
#include <string.h>
#if defined(__AVX2__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // in the header's reductions
#pragma GCC diagnostic ignored "-Wuninitialized"
#include <immintrin.h>
#endif

#include "../gorl.h"
#include "simd.h"

#define GORL_JOIN_(a, b) a##b
#define GORL_JOIN(a, b) GORL_JOIN_(a, b)
#define GORL_TEXT_(a) #a
#define GORL_TEXT(a) GORL_TEXT_(a)

namespace gorl {
namespace GORL_JOIN(simd_, GORL_SIMD) {
namespace {

// W floats a vector; a tile of a product is kept in registers: at most MR rows of NV vectors.
#if defined(__AVX512F__)
constexpr int W = 16, MR = 14, NV = 2;
#elif defined(__AVX2__)
constexpr int W = 8, MR = 6, NV = 2;
#elif defined(__aarch64__)
constexpr int W = 4, MR = 8, NV = 3;
#else
constexpr int W = 4, MR = 6, NV = 2;
#endif
constexpr int NR = NV * W;
// Blocks of a large product: MR rows of A, KC long, stay in the first-level cache, while B comes past them from a block of KC by
// NC. MC rows of a transposed A are copied at once, so that its memory is read in order.
constexpr int64_t KC = 512, NC = 2048, MC = 40 * MR;
// So many rows of a matrix are copied into panels at once: few enough for their lines to stay in the cache until the next panel.
constexpr int64_t STEP = 8;
// A matrix of so many elements need not be copied into blocks.
constexpr int64_t SMALL = 16384;

typedef float V __attribute__((vector_size(4 * W), may_alias));
typedef float U __attribute__((vector_size(4 * W), aligned(4), may_alias));  // the same anywhere in memory
typedef int32_t I __attribute__((vector_size(4 * W), may_alias));

inline V load(const float* p) { return *reinterpret_cast<const U*>(p); }
inline void store(float* p, V x) { *reinterpret_cast<U*>(p) = x; }
inline V all(float x) { return x - V{}; }
inline V choose(I mask, V yes, V no) { return mask ? yes : no; }
inline V smaller(V a, V b) { return choose(a < b, a, b); }
inline V larger(V a, V b) { return choose(a > b, a, b); }
inline float sum(V x) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps(x);
#else
  float s[W];
  store(s, x);
  for (int step = W / 2; step > 0; step /= 2)
    for (int i = 0; i < step; i++) s[i] += s[i + step];
  return s[0];
#endif
}

// e^x, within two units in the last place, by the remainder of a division by ln 2 and a polynomial; NaN stays NaN.
inline V exponential(V x) {
  const V bounded = smaller(larger(x, all(-87.3f)), all(88.7f));
  const V shifted = bounded * all(1.44269504f) + all(12582912.f);  // rounds to an integer, in the low bits
  const V n = shifted - all(12582912.f);
  const V r = (bounded - n * all(0.693359375f)) + n * all(2.12194440e-4f);
  V p = all(1.9875691500e-4f);
  p = p * r + all(1.3981999507e-3f);
  p = p * r + all(8.3334519073e-3f);
  p = p * r + all(4.1665795894e-2f);
  p = p * r + all(1.6666665459e-1f);
  p = p * r + all(5.0000001201e-1f);
  p = p * (r * r) + r + all(1.f);
  const I power = (reinterpret_cast<I>(shifted) << 23) + 0x3f800000;  // 2^n; the shift drops the rest of the sum
  V y = p * reinterpret_cast<V>(power);
  y = choose(x > all(88.7f), all(__builtin_inff()), y);
  y = choose(x < all(-87.3f), V{}, y);
  return choose(x == x, y, x);
}

// tanh x: an odd rational function where |x| is small, and by e^2x elsewhere.
inline V tangent(V x) {
  const V magnitude = larger(x, -x), near = smaller(magnitude, all(0.625f)), s = near * near;
  V p = all(-5.70498872745e-3f);
  p = p * s + all(2.06390887954e-2f);
  p = p * s + all(-5.37397155531e-2f);
  p = p * s + all(1.33314422036e-1f);
  p = p * s + all(-3.33332819422e-1f);
  p = p * s * near + near;
  const V far = all(1.f) - all(2.f) / (exponential(magnitude + magnitude) + all(1.f));
  const V y = choose(magnitude < all(0.625f), p, far);
  return choose(x == x, choose(x < V{}, -y, y), x);
}

template <int OP>
inline V activated(V z) {
  if (OP == GORL_RELU) return choose(z > V{}, z, choose(z == z, V{}, z));
  if (OP == GORL_TANH) return tangent(z);
  if (OP == GORL_SIGMOID) return all(1.f) / (all(1.f) + exponential(-z));
  if (OP == GORL_ELU) return choose(z > V{}, z, exponential(z) - all(1.f));
  return z;
}

// f'(z) times g, given h = f(z).
template <int OP>
inline V derived(V g, V h) {
  if (OP == GORL_RELU) return choose(h > V{}, g, V{});
  if (OP == GORL_TANH) return g * (all(1.f) - h * h);
  if (OP == GORL_SIGMOID) return g * (h * (all(1.f) - h));
  if (OP == GORL_ELU) return choose(h > V{}, g, g * (h + all(1.f)));
  return g;
}

// f''(z) times g and v, given h = f(z).
template <int OP>
inline V curved(V g, V h, V v) {
  if (OP == GORL_TANH) return g * (all(-2.f) * h * (all(1.f) - h * h) * v);
  if (OP == GORL_SIGMOID) return g * (h * (all(1.f) - h) * (all(1.f) - all(2.f) * h) * v);
  if (OP == GORL_ELU) return choose(h > V{}, V{}, g * ((h + all(1.f)) * v));
  return V{};
}

// Calls f with op as a constant.
#define GORL_BY_ACTIVATION(op, f)                          \
  switch (op) {                                            \
    case GORL_RELU: f(GORL_RELU); break;                   \
    case GORL_TANH: f(GORL_TANH); break;                   \
    case GORL_SIGMOID: f(GORL_SIGMOID); break;             \
    case GORL_ELU: f(GORL_ELU); break;                     \
    default: f(GORL_IDENTITY); break;                      \
  }

// A vector of the first `left` elements of p, and 0 for those that are not there; and the way back.
inline V load_part(const float* p, int64_t left) {
#if defined(__AVX512F__) && !GORL_EXACT_MEMORY
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << left) - 1), p);
#elif defined(__AVX2__) && !GORL_EXACT_MEMORY
  return _mm256_maskload_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(left)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)));
#else
  float t[W] = {0};
  memcpy(t, p, static_cast<size_t>(left) * 4);
  return load(t);
#endif
}
inline void store_part(float* p, V x, int64_t left) {
#if defined(__AVX512F__) && !GORL_EXACT_MEMORY
  _mm512_mask_storeu_ps(p, static_cast<__mmask16>((1u << left) - 1), x);
#elif defined(__AVX2__) && !GORL_EXACT_MEMORY
  _mm256_maskstore_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(left)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7)), x);
#else
  float t[W];
  store(t, x);
  memcpy(p, t, static_cast<size_t>(left) * 4);
#endif
}

// Calls f(vector position, elements in it) over n elements, the last one with fewer than W.
template <class F>
inline void walk(int64_t n, F f) {
  int64_t i = 0;
  for (; i + W <= n; i += W) f(i, static_cast<int64_t>(W));
  if (i < n) f(i, n - i);
}
#if defined(__AVX512F__)  // a mask costs nothing
inline V some(const float* p, int64_t left) { return load_part(p, left); }
inline void put(float* p, V x, int64_t left) { store_part(p, x, left); }
#else
inline V some(const float* p, int64_t left) { return left == W ? load(p) : load_part(p, left); }
inline void put(float* p, V x, int64_t left) { left == W ? store(p, x) : store_part(p, x, left); }
#endif

void activate(int32_t op, float* z, int64_t n);
void derive(int32_t op, float* g, const float* h, int64_t n);

// One tile: rows `ROWS` by `VECTORS`, of which the last has `last` columns, over k.
struct Tile {
  const float* a; int64_t a_row, a_col;
  const float* b; int64_t b_row;
  float* c; int64_t c_row;
  const float *bias, *h;
  int64_t k, last;
  bool add, finish;  // finish: bias, activation and derivative follow
  int32_t activation, derivative;
};

// Calls f(i, v, place, n) for every vector of a tile, n elements at its place in a matrix. The loops are gone when this is compiled,
// so that a tile stays in registers; the compiler must not compute all places in advance, for which there are too few.
template <int ROWS, int VECTORS, class P, class F>
inline void each_vector(P* p, int64_t row, int64_t last, F f) {
#pragma GCC unroll 16
  for (int i = 0; i < ROWS; i++) {
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; v++) f(i, v, p + v * W, v + 1 == VECTORS ? last : W);
    p += row;
    __asm__("" : "+r"(p));
  }
}

template <int ROWS, int VECTORS>
void tile(const Tile& t) {
  V acc[ROWS][VECTORS];
#pragma GCC unroll 16
  for (int i = 0; i < ROWS; i++)
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; v++) acc[i][v] = V{};
  const float *a = t.a, *b = t.b;
  if (t.add) each_vector<ROWS, VECTORS>(t.c, t.c_row, t.last, [](int, int, float* c, int64_t) { __builtin_prefetch(c, 1); });
  for (int64_t p = 0; p < t.k; p++, a += t.a_col, b += t.b_row) {
    V bv[VECTORS];
#pragma GCC unroll 4
    for (int v = 0; v < VECTORS; v++) bv[v] = load(b + v * W);
#pragma GCC unroll 16
    for (int i = 0; i < ROWS; i++) {
      const V x = all(a[i * t.a_row]);
#pragma GCC unroll 4
      for (int v = 0; v < VECTORS; v++) acc[i][v] += x * bv[v];
    }
  }
  if (t.add) each_vector<ROWS, VECTORS>(t.c, t.c_row, t.last, [&](int i, int v, float* c, int64_t n) { acc[i][v] += some(c, n); });
  if (t.finish) {
    if (t.bias != nullptr)
      each_vector<ROWS, VECTORS>(t.bias, 0, t.last, [&](int i, int v, const float* bias, int64_t n) { acc[i][v] += some(bias, n); });
    if (t.activation == GORL_RELU)
      each_vector<ROWS, VECTORS>(t.c, 0, t.last, [&](int i, int v, float*, int64_t) { acc[i][v] = activated<GORL_RELU>(acc[i][v]); });
    if (t.h != nullptr && t.derivative == GORL_RELU)
      each_vector<ROWS, VECTORS>(t.h, t.c_row, t.last,
                                 [&](int i, int v, const float* h, int64_t n) { acc[i][v] = derived<GORL_RELU>(acc[i][v], some(h, n)); });
  }
  each_vector<ROWS, VECTORS>(t.c, t.c_row, t.last, [&](int i, int v, float* c, int64_t n) { put(c, acc[i][v], n); });
  // Other functions find too few registers beside the tile.
  const bool bends = t.finish && t.activation != GORL_RELU && t.activation != GORL_IDENTITY;
  const bool slopes = t.finish && t.h != nullptr && t.derivative != GORL_RELU && t.derivative != GORL_IDENTITY;
  for (int i = 0; i < ROWS && (bends || slopes); i++) {
    const int64_t n = (VECTORS - 1) * W + t.last;
    if (bends) activate(t.activation, t.c + i * t.c_row, n);
    if (slopes) derive(t.derivative, t.c + i * t.c_row, t.h + i * t.c_row, n);
  }
}

// The tiles by height and width in vectors.
using TileFn = void (*)(const Tile&);
struct Tiles {
  TileFn fn[MR + 1][NV + 1];
  template <int ROWS, int VECTORS>
  void fill() {
    fn[ROWS][VECTORS] = tile<ROWS, VECTORS>;
    if constexpr (VECTORS > 1) fill<ROWS, VECTORS - 1>();
    else if constexpr (ROWS > 1) fill<ROWS - 1, NV>();
  }
  Tiles() { fill<MR, NV>(); }
};

// Which elements of two rows, `step` apart, the first and the second of them have after a step of a transposition.
template <int STEP>
struct Order {
  alignas(64) int32_t first[W] = {}, second[W] = {};
  constexpr Order() {
    for (int c = 0; c < W; c++) {
      first[c] = c & STEP ? W + c - STEP : c;
      second[c] = c & STEP ? W + c : c + STEP;
    }
  }
};
template <int STEP>
inline void transpose_step(V* r) {
  static constexpr Order<STEP> order;
  const I first = *reinterpret_cast<const I*>(order.first), second = *reinterpret_cast<const I*>(order.second);
#pragma GCC unroll 16
  for (int i = 0; i < W; i++) {
    if (i & STEP) continue;
    const V x = r[i], y = r[i + STEP];
    r[i] = __builtin_shuffle(x, y, first);
    r[i + STEP] = __builtin_shuffle(x, y, second);
  }
  if constexpr (STEP > 1) transpose_step<STEP / 2>(r);
}

// Turns n rows of at most W elements, `from` apart, into width columns, `to` apart, filled up with zeros to W.
template <bool WHOLE>
inline void transpose_block(const float* p, int64_t from, float* q, int64_t to, int64_t n = W, int64_t width = W) {
  V r[W];
#pragma GCC unroll 16
  for (int i = 0; i < W; i++) r[i] = WHOLE ? load(p + i * from) : i < n ? some(p + i * from, width) : V{};
  transpose_step<W / 2>(r);
#pragma GCC unroll 16
  for (int i = 0; i < W; i++)
    if (WHOLE || i < width) store(q + i * to, r[i]);
}

inline int64_t at_most(int64_t n, int64_t limit) { return n < limit ? n : limit; }

void transpose(const float* p, int64_t from, int64_t n, int64_t width, float* q, int64_t to) {
  for (int64_t i = 0; i < n; i += W)
    for (int64_t j = 0; j < width; j += W) {
      const float* block = p + i * from + j;
      if (i + W <= n && j + W <= width) transpose_block<true>(block, from, q + j * to + i, to);
      else transpose_block<false>(block, from, q + j * to + i, to, at_most(n - i, W), at_most(width - j, W));
    }
}

// Copies a block of B, k by n, into panels of NR columns, filled up with zeros to whole vectors.
void pack(const float* b, int64_t b_row, int64_t b_col, int64_t k, int64_t n, float* out) {
  if (b_col != 1) {
    for (int64_t j = 0; j < n; j += NR, out += k * NR) {
      const int64_t width = at_most(n - j, NR);
      transpose(b + j * b_col, b_col, width, k, out, NR);
    }
    return;
  }
  for (int64_t first = 0; first < k; first += STEP)
    for (int64_t j = 0; j < n; j += NR) {
      const int64_t width = at_most(n - j, NR);
      const float* from = b + first * b_row + j;
      float* to = out + j * k + first * NR;
      for (int64_t p = at_most(k - first, STEP); p > 0; p--, from += b_row, to += NR)
        for (int64_t i = 0; i < width; i += W) store(to + i, some(from + i, at_most(width - i, W)));
    }
}

// Memory of a thread that grows to what it needs.
struct Scratch {
  float* p = nullptr;
  int64_t size = 0;
  float* of(int64_t n) {
    if (n > size || GORL_EXACT_MEMORY) {
      __builtin_free(p);
      size = n;
#if GORL_EXACT_MEMORY
      void* q = nullptr;
      if (posix_memalign(&q, 64, static_cast<size_t>(n) * 4) != 0) abort();
      p = static_cast<float*>(q);
#else
      p = static_cast<float*>(__builtin_malloc(static_cast<size_t>(n) * 4 + 64));
#endif
    }
    return reinterpret_cast<float*>((reinterpret_cast<uintptr_t>(p) + 63) & ~static_cast<uintptr_t>(63));
  }
  ~Scratch() { __builtin_free(p); }
};
thread_local Scratch panels, rows, turned;

// A product with one column: a dot product a row.
void dots(const Product& x) {
  for (int64_t i = 0; i < x.m; i++) {
    const float *a = x.a + i * x.a_row, *b = x.b;
    V s[2] = {V{}, V{}};
    int64_t p = 0;
    for (; p + 2 * W <= x.k; p += 2 * W) {
      s[0] += load(a + p) * load(b + p);
      s[1] += load(a + p + W) * load(b + p + W);
    }
    float y = sum(s[0] + s[1]);
    for (; p < x.k; p++) y += a[p] * b[p];
    float* c = x.c + i * x.c_row;
    V z = all(x.add ? *c + y : y);
    if (x.bias != nullptr) z += all(*x.bias);
#define GORL_ACTIVATE_Z(OP) z = activated<OP>(z)
    GORL_BY_ACTIVATION(x.activation, GORL_ACTIVATE_Z)
    if (x.derive_of != nullptr) {
      const V h = all(x.derive_of[i * x.c_row]);
#define GORL_DERIVE_Z(OP) z = derived<OP>(z, h)
      GORL_BY_ACTIVATION(x.derivative, GORL_DERIVE_Z)
    }
    *c = z[0];
  }
}

// How far apart the panels of MR rows are that pack_columns makes of k columns: not by a power of two, of which the lines of all
// panels would fall into the same place in the cache.
inline int64_t panel(int64_t k) { return k * MR + W; }

// Copies columns i to i + n of A, k of them p by p, into panels of MR: A is (m, k) with a_row 1.
void pack_columns(const float* a, int64_t a_col, int64_t k, int64_t n, float* out) {
  for (int64_t first = 0; first < k; first += STEP)
    for (int64_t i = 0; i < n; i += MR) {
      const int64_t width = at_most(n - i, MR);
      const float* from = a + first * a_col + i;
      float* to = out + i / MR * panel(k) + first * MR;
      for (int64_t p = at_most(k - first, STEP); p > 0; p--, from += a_col, to += MR)
        for (int64_t y = 0; y < width; y += W) store(to + y, some(from + y, at_most(width - y, W)));
    }
}

void multiply(const Product& x);

// A narrow product of a transposed A, such as the gradient of the weights of few inputs, the other way round: vectors then run
// along the columns of A, and few of their elements are empty.
bool turn(const Product& x) {
  const auto vectors = [](int64_t n) { return (n + W - 1) / W; };
  if (x.a_row != 1 || x.b_col != 1 || x.bias != nullptr || x.activation != GORL_IDENTITY || x.derive_of != nullptr || x.m * x.n > SMALL ||
      10 * x.n * vectors(x.m) > 8 * x.m * vectors(x.n))
    return false;
  Product y{};
  y.m = x.n, y.n = x.m, y.k = x.k;
  y.a = x.b, y.a_row = 1, y.a_col = x.b_row;
  y.b = x.a, y.b_row = x.a_col, y.b_col = 1;
  y.c = turned.of(x.m * x.n), y.c_row = x.m;
  y.activation = GORL_IDENTITY;
  multiply(y);
  float block[W * W];
  for (int64_t i = 0; i < x.m; i += W)
    for (int64_t j = 0; j < x.n; j += W) {
      const int64_t height = at_most(x.m - i, W), width = at_most(x.n - j, W);
      transpose_block<false>(y.c + j * x.m + i, x.m, block, W, width, height);
      for (int64_t r = 0; r < height; r++) {
        float* c = x.c + (i + r) * x.c_row + j;
        put(c, x.add ? some(c, width) + load(block + r * W) : load(block + r * W), width);
      }
    }
  return true;
}

void multiply(const Product& x) {
  static const Tiles tiles;
  if (turn(x)) return;
  if (x.n == 1 && x.a_col == 1 && (x.b_row == 1 || x.k == 1)) return dots(x);
  const bool whole = x.k * x.n <= SMALL;  // B need not be cut into blocks
  const int64_t nc = whole ? x.n : NC, kc = whole ? x.k : KC;
  const bool packed = x.b_col != 1 || (!whole && x.b_row > 256);
  // Rows of A that are a large power of two apart fall into the same lines of the cache: they are copied beside each other.
  const bool far_columns = x.a_row == 1 && x.a_col >= 128 && x.m > 1, far_rows = !far_columns && x.a_col == 1 && x.a_row >= 256 && x.m > 1;
  for (int64_t jc = 0; jc < x.n; jc += nc) {
    const int64_t n = x.n - jc < nc ? x.n - jc : nc;
    for (int64_t pc = 0; pc < x.k || pc == 0; pc += kc) {
      const int64_t k = x.k - pc < kc ? x.k - pc : kc;
      const float* b = x.b + pc * x.b_row + jc * x.b_col;
      // Panels of B: copied ones, or B itself but for the last columns, which would be read past their end.
      const int64_t full = packed ? 0 : n / NR * NR;
      float* copy = full < n ? panels.of((n - full + NR) * k) : nullptr;
      if (full < n) pack(b + full * x.b_col, x.b_row, x.b_col, k, n - full, copy);
      const int64_t mc = far_columns ? MC : x.m;
      for (int64_t ic = 0; ic < x.m; ic += mc) {
        const int64_t m = x.m - ic < mc ? x.m - ic : mc;
        float* q = far_columns || far_rows ? rows.of(far_columns ? (m / MR + 1) * panel(k) : MR * (k + 16)) : nullptr;
        if (far_columns) pack_columns(x.a + ic + pc * x.a_col, x.a_col, k, m, q);
        // Tiles of about the same height, but for panels that are copied.
        const int64_t count = (m + MR - 1) / MR;
        for (int64_t r = 0, i = 0; r < count; r++) {
          const int64_t height = far_columns ? (m - i < MR ? m - i : MR) : (m - i + (count - r) - 1) / (count - r);
          Tile t;
          t.a = x.a + (ic + i) * x.a_row + pc * x.a_col;
          t.a_row = x.a_row;
          t.a_col = x.a_col;
          if (far_columns) {
            t.a = q + i / MR * panel(k);
            t.a_col = MR;
          } else if (far_rows) {
            for (int64_t y = 0; y < height; y++) memcpy(q + y * (k + 16), t.a + y * x.a_row, static_cast<size_t>(k) * 4);
            t.a = q;
            t.a_row = k + 16;
          }
          t.k = k;
          t.add = x.add || pc > 0;
          t.finish = pc + k >= x.k;
          t.c_row = x.c_row;
          t.activation = x.activation;
          t.derivative = x.derivative;
          for (int64_t j = 0; j < n; j += NR) {
            const int64_t width = n - j < NR ? n - j : NR;
            t.b = j < full ? b + j : copy + (j - full) * k;
            t.b_row = j < full ? x.b_row : NR;
            t.c = x.c + (ic + i) * x.c_row + jc + j;
            t.bias = x.bias == nullptr ? nullptr : x.bias + jc + j;
            t.h = x.derive_of == nullptr ? nullptr : x.derive_of + (ic + i) * x.c_row + jc + j;
            const int64_t vectors = (width + W - 1) / W;
            t.last = width - (vectors - 1) * W;
            tiles.fn[height][vectors](t);
          }
          i += height;
        }
      }
      if (x.k == 0) break;
    }
  }
}

void activate(int32_t op, float* z, int64_t n) {
#define GORL_ACTIVATE_ALL(OP) walk(n, [&](int64_t i, int64_t left) { put(z + i, activated<OP>(some(z + i, left)), left); })
  GORL_BY_ACTIVATION(op, GORL_ACTIVATE_ALL)
}
void derive(int32_t op, float* g, const float* h, int64_t n) {
#define GORL_DERIVE_ALL(OP) walk(n, [&](int64_t i, int64_t left) { put(g + i, derived<OP>(some(g + i, left), some(h + i, left)), left); })
  GORL_BY_ACTIVATION(op, GORL_DERIVE_ALL)
}
void curve(int32_t op, float* g, const float* h, const float* v, int64_t n) {
#define GORL_CURVE_ALL(OP) \
  walk(n, [&](int64_t i, int64_t left) { put(g + i, curved<OP>(some(g + i, left), some(h + i, left), some(v + i, left)), left); })
  GORL_BY_ACTIVATION(op, GORL_CURVE_ALL)
}
void add_columns(float* sums, const float* rows, int64_t n, int64_t width) {
  // Four rows at a time: memory is read in order, and the sums, which stay in the first-level cache, a quarter as often.
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    const float* r = rows + i * width;
    walk(width, [&](int64_t j, int64_t left) {
      const V s = (some(r + j, left) + some(r + width + j, left)) + (some(r + 2 * width + j, left) + some(r + 3 * width + j, left));
      put(sums + j, some(sums + j, left) + s, left);
    });
  }
  for (; i < n; i++)
    walk(width, [&](int64_t j, int64_t left) { put(sums + j, some(sums + j, left) + some(rows + i * width + j, left), left); });
}
void axpy(float* y, float alpha, const float* x, int64_t n) {
  walk(n, [&](int64_t i, int64_t left) { put(y + i, some(y + i, left) + all(alpha) * some(x + i, left), left); });
}
void axpy_rows(float* y, const float* alpha, const float* x, int64_t n, int64_t width) {
  for (; n > 0; n--, y += width, x += width, alpha++)
    axpy(y, *alpha, x, width);
}
void scale(float* y, float alpha, int64_t n) {
  walk(n, [&](int64_t i, int64_t left) { put(y + i, all(alpha) * some(y + i, left), left); });
}
double squares(const float* x, int64_t n) {
  double part[W] = {0};
  int64_t i = 0;
  for (; i + W <= n; i += W)
    for (int j = 0; j < W; j++) part[j] += static_cast<double>(x[i + j]) * x[i + j];
  double s = 0;
  for (; i < n; i++) s += static_cast<double>(x[i]) * x[i];
  for (double y : part) s += y;
  return s;
}
// ln(1 + e^z) = max(z, 0) + ln(1 + t) with t = e^-|z|. ln(1 + t) = 2 artanh s with s = t / (2 + t) <= 1/3, by the
// series of artanh.
double softplus(float sign, const float* x, int64_t n) {
  double total = 0;
  walk(n, [&](int64_t i, int64_t left) {
    const V z = all(sign) * some(x + i, left), t = exponential(smaller(z, -z)), s = t / (all(2.f) + t), q = s * s;
    V p = all(1.f / 17);
    for (int k = 15; k > 0; k -= 2) p = p * q + all(1.f / static_cast<float>(k));
    float y[W];
    store(y, larger(z, V{}) + all(2.f) * s * p);
    for (int64_t j = 0; j < left; j++) total += static_cast<double>(y[j]);
  });
  return total;
}
// Calls f with every unit's place in a row of h and of gates, row by row.
template <class F>
inline void each_unit(int64_t n, int64_t h, int64_t gates, F f) {
  for (int64_t b = 0; b < n; b++)
    walk(h, [&](int64_t j, int64_t left) { f(b * h + j, b * gates * h + j, left); });
}
void gru(int64_t n, int64_t h, float* gates, const float* from, const float* before, float* beside, float* out) {
  each_unit(n, h, 3, [=](int64_t i, int64_t g, int64_t left) {
    const V r = activated<GORL_SIGMOID>(some(gates + g, left) + some(from + g, left));
    const V z = activated<GORL_SIGMOID>(some(gates + g + h, left) + some(from + g + h, left));
    const V s = some(from + g + 2 * h, left), c = activated<GORL_TANH>(some(gates + g + 2 * h, left) + r * s);
    put(gates + g, r, left);
    put(gates + g + h, z, left);
    put(gates + g + 2 * h, c, left);
    put(beside + i, s, left);
    put(out + i, (all(1.f) - z) * c + z * some(before + i, left), left);
  });
}
void gru_back(int64_t n, int64_t h, const float* gates, const float* before, const float* beside, const float* dh, float* di,
              float* ds, float* carry) {
  each_unit(n, h, 3, [=](int64_t i, int64_t g, int64_t left) {
    const V r = some(gates + g, left), z = some(gates + g + h, left), c = some(gates + g + 2 * h, left), d = some(dh + i, left);
    const V dn = d * (all(1.f) - z) * (all(1.f) - c * c);
    const V dr = dn * some(beside + i, left) * r * (all(1.f) - r);
    const V dz = d * (some(before + i, left) - c) * z * (all(1.f) - z);
    put(di + g, dr, left);
    put(ds + g, dr, left);
    put(di + g + h, dz, left);
    put(ds + g + h, dz, left);
    put(di + g + 2 * h, dn, left);
    put(ds + g + 2 * h, dn * r, left);
    put(carry + i, d * z, left);
  });
}
void lstm(int64_t n, int64_t h, float* gates, const float* cells, float* next, float* beside, float* out) {
  each_unit(n, h, 4, [=](int64_t i, int64_t g, int64_t left) {
    const V in = activated<GORL_SIGMOID>(some(gates + g, left)), forget = activated<GORL_SIGMOID>(some(gates + g + h, left));
    const V c = activated<GORL_TANH>(some(gates + g + 2 * h, left)), o = activated<GORL_SIGMOID>(some(gates + g + 3 * h, left));
    const V cell = forget * some(cells + i, left) + in * c, t = activated<GORL_TANH>(cell);
    put(gates + g, in, left);
    put(gates + g + h, forget, left);
    put(gates + g + 2 * h, c, left);
    put(gates + g + 3 * h, o, left);
    put(next + i, cell, left);
    put(beside + i, t, left);
    put(out + i, o * t, left);
  });
}
void lstm_back(int64_t n, int64_t h, const float* gates, const float* cells, const float* beside, const float* dh, float* dc,
               float* di) {
  each_unit(n, h, 4, [=](int64_t i, int64_t g, int64_t left) {
    const V in = some(gates + g, left), forget = some(gates + g + h, left), c = some(gates + g + 2 * h, left);
    const V o = some(gates + g + 3 * h, left), t = some(beside + i, left), given = some(dh + i, left);
    const V d = some(dc + i, left) + given * o * (all(1.f) - t * t);
    put(di + g, d * c * in * (all(1.f) - in), left);
    put(di + g + h, d * some(cells + i, left) * forget * (all(1.f) - forget), left);
    put(di + g + 2 * h, d * in * (all(1.f) - c * c), left);
    put(di + g + 3 * h, given * t * o * (all(1.f) - o), left);
    put(dc + i, d * forget, left);
  });
}
// a·b + c, fused if the instruction set can. Where two products are added the compiler may fuse either of them: g++ 16 fuses one
// in vectors and the other in the elements left over, and a parameter's bits then depend on its place.
inline float fused(float a, float b, float c) {
#if defined(__FMA__) || defined(__aarch64__)
  return __builtin_fmaf(a, b, c);
#else
  return a * b + c;
#endif
}
void adam(const Adam& c, float* __restrict p, const float* __restrict g, float* __restrict m, float* __restrict v, int64_t n) {
  const float size = c.size * c.root2, eps = c.eps * c.root2;  // one division instead of two
  for (int64_t i = 0; i < n; i++) {
    const float gi = g[i] + c.l2 * p[i];
    m[i] = fused(gi, c.rest1, m[i] * c.beta1);
    v[i] = fused(gi * gi, c.rest2, v[i] * c.beta2);
    p[i] = fused(-size, m[i] / (sqrtf(v[i]) + eps), p[i] * c.shrink);
  }
}

}  // namespace

extern const Kernels kernels;
const Kernels kernels = {GORL_TEXT(GORL_SIMD), multiply, activate, derive, curve, add_columns, axpy, axpy_rows, scale,
                         squares, softplus, adam, transpose, gru, lstm, gru_back, lstm_back};

}  // namespace
}  // namespace gorl
