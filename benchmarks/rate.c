// The peak of fused multiplications and additions of float32 numbers: chains in registers that do not wait for each
// other, in the widest vectors that the processor has. Twelve chains keep two units busy and leave registers for their
// operands.

#define CHAINS 12

// LOOP runs the chains in vectors of some bytes. The numbers stay finite, and the sum keeps the compiler from leaving
// them out.
#define LOOP(bytes)                                                           \
  typedef float vector __attribute__((vector_size(bytes)));                   \
  vector chain[CHAINS], factor, term;                                         \
  for (unsigned i = 0; i < bytes / 4; i++) factor[i] = 0.5f, term[i] = 1.0f;  \
  for (int c = 0; c < CHAINS; c++) chain[c] = term + (float)c;                \
  for (long r = 0; r < rounds; r++) {                                         \
    _Pragma("GCC unroll 16") for (int c = 0; c < CHAINS; c++) chain[c] = chain[c] * factor + term; \
  }                                                                           \
  vector sum = chain[0];                                                      \
  for (int c = 1; c < CHAINS; c++) sum += chain[c];                           \
  *sink = sum[0];                                                             \
  return 2.0 * CHAINS * (bytes / 4) * (double)rounds;

#if defined(__x86_64__)
__attribute__((target("avx512f"))) static double wide(long rounds, volatile float* sink) { LOOP(64) }
__attribute__((target("avx2,fma"))) static double middle(long rounds, volatile float* sink) { LOOP(32) }
#endif
static double narrow(long rounds, volatile float* sink) { LOOP(16) }

double fma_operations(long rounds) {
  volatile float sink;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f")) return wide(rounds, &sink);
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return middle(rounds, &sink);
#endif
  return narrow(rounds, &sink);
}
