// The C face of gorl's libtorch shim. Plain C: Go includes this and needs no C++ and no torch headers.
//
// A gorl_t is a pointer to a heap-allocated at::Tensor, the same thing that gotorch calls a Tensor. Functions that can
// fail return NULL, or a message that the caller frees with gorl_free_string. Results are written through out pointers.
// The argument grad says whether autograd records the operation; nothing depends on the calling thread's own mode. The
// argument lower is -1, or the type in which a layer computes instead of float32 (mixed precision): its inputs and
// parameters are converted, and its result is float32 again. A device is -1 for the CPU, from 0 on the index of a CUDA device,
// and from -2 down that of a PrivateUse1 device.
#pragma once
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

typedef void* gorl_t;
typedef char* gorl_err;

// Handles.
int64_t gorl_live(void);            // tensors made by this library and not yet released
gorl_t gorl_poison(void);           // what the handle of a released tensor points to: an undefined tensor
void gorl_free(gorl_t* handles, int64_t n);
void gorl_free_string(char* s);
void gorl_set_threads(int32_t n);   // compute threads of every thread that calls in from now on
void gorl_tune_allocator(void);     // lets the C library keep the memory of large tensors
int32_t gorl_threads(void);
const char* gorl_torch_version(void);
const char* gorl_header(void);      // the SHA-256 of this file when the library was built, in hexadecimal digits
const char* gorl_blas_kernels(void); // the kernels that OpenBLAS uses here, and how gorl came to them (blas.cc); "" with another library
int32_t gorl_cuda_devices(void);
int32_t gorl_privateuse1_devices(void);
int32_t gorl_cuda_built(void); // whether this library was linked with a libtorch that has CUDA
gorl_err gorl_cuda_synchronize(void);
gorl_err gorl_can_lower(int32_t dtype, int32_t device); // NULL where layers can compute in dtype on the device

// Streams (stream.cc).
gorl_err gorl_stream_new(int32_t device, void** out); // NULL where the device is not of CUDA
void gorl_stream_free(void* stream);
gorl_err gorl_stream_enter(void* stream, void** guard); // what the calling thread asks of the device goes to the stream
gorl_err gorl_stream_leave(void* guard);                // until it calls this

// Graphs (graph.cc).
gorl_err gorl_graph_new(int32_t device, void** out);
void gorl_graph_free(void* graph);
gorl_err gorl_graph_begin(void* graph, void** generators, int32_t n); // what the calling thread asks of the device is recorded,
gorl_err gorl_graph_end(void* graph, int keep, int* whole);           // not done (on the CPU: and done), until it calls this; kept, or
                                                                      // forgotten. whole: whether all could be recorded
gorl_err gorl_graph_replay(void* graph);
gorl_err gorl_graph_drop(void* graph); // forgets what is recorded

// GPUs of several processes that add up tensors by NCCL (group.cc). The first all_reduce connects the GPUs. While the
// call runs on any process, each process takes the keys that it has set and puts the keys of the others.
gorl_err gorl_nccl_new(int32_t rank, int32_t size, int64_t timeout_ms, void** out);
int32_t gorl_nccl_built(void); // whether the library was built with NCCL
void gorl_nccl_free(void* ranks);
gorl_err gorl_nccl_put(void* ranks, const char* key, const void* value, int64_t n);
// key is NULL if there is none; free key and value by gorl_free_string.
gorl_err gorl_nccl_take(void* ranks, char** key, char** value, int64_t* n);
gorl_err gorl_nccl_all_reduce(void* ranks, gorl_t t);
gorl_err gorl_nccl_broadcast(void* ranks, gorl_t t, int32_t root);
gorl_err gorl_group_pack_(gorl_t buffer, int64_t gradients, double rows, const gorl_t* figures, int32_t n, int32_t rank);
gorl_err gorl_group_unpack_(gorl_t buffer, int64_t gradients, int32_t n);

// Facts. Of an undefined tensor (gotorch makes them) they are 0 or NULL; they never fail.
int32_t gorl_dim(gorl_t a);
void gorl_shape(gorl_t a, int64_t* out);
int32_t gorl_dtype(gorl_t a);
int32_t gorl_device(gorl_t a);
int64_t gorl_numel(gorl_t a);
int32_t gorl_requires_grad(gorl_t a);
int32_t gorl_is_leaf(gorl_t a);     // whether gradients are accumulated for it
void* gorl_identity(gorl_t a);      // the same for every handle of one tensor
void* gorl_data(gorl_t a);          // NULL unless contiguous and on the CPU
gorl_err gorl_item(gorl_t a, double* out);
gorl_err gorl_read(gorl_t a, int32_t dtype, void* out, int64_t numel);       // converts and copies to host memory
gorl_err gorl_write(gorl_t a, int32_t dtype, const void* in, int64_t numel); // the other way, in place; does not wait for the device

// Creation.
gorl_err gorl_full(const int64_t* sizes, int32_t n, double value, int32_t dtype, int32_t device, gorl_t* out);
gorl_err gorl_arange(int64_t n, int32_t device, gorl_t* out);
gorl_err gorl_from_host(const void* data, const int64_t* sizes, int32_t n, int32_t dtype, int32_t device, gorl_t* out);
gorl_err gorl_to(gorl_t a, int32_t dtype, int32_t device, int grad, gorl_t* out);

// Transfers (transfer.cc).
gorl_err gorl_transfer_new(int64_t bytes, int32_t device, gorl_t* host, gorl_t* there);
gorl_err gorl_transfer_send(gorl_t host, gorl_t there, int64_t bytes);
// Copies a part into dst without making a tensor of the part.
gorl_err gorl_transfer_copy_(gorl_t memory, int64_t offset, int64_t numel, int32_t dtype, gorl_t dst);
gorl_err gorl_transfer_part(gorl_t memory, int64_t offset, const int64_t* sizes, int32_t n, int32_t dtype, gorl_t* out);

// Operations by code; the codes are the enums below.
gorl_err gorl_unary(int32_t op, gorl_t a, int grad, gorl_t* out);
gorl_err gorl_binary(int32_t op, gorl_t a, gorl_t b, int grad, gorl_t* out);
gorl_err gorl_scalar(int32_t op, gorl_t a, double x, int grad, gorl_t* out);
gorl_err gorl_clamp(gorl_t a, double lo, double hi, int grad, gorl_t* out); // an infinite limit is none
gorl_err gorl_reduce(int32_t op, gorl_t a, const int64_t* dims, int32_t n, int keep, int grad, gorl_t* out);
gorl_err gorl_along(int32_t op, gorl_t a, int64_t dim, int grad, gorl_t* out);
gorl_err gorl_where(gorl_t c, gorl_t a, gorl_t b, int grad, gorl_t* out);
gorl_err gorl_join(int32_t op, const gorl_t* list, int32_t n, int64_t dim, int grad, gorl_t* out);
gorl_err gorl_narrow(gorl_t a, int64_t dim, int64_t start, int64_t length, int grad, gorl_t* out);
gorl_err gorl_select(gorl_t a, int64_t dim, int64_t index, int grad, gorl_t* out);
gorl_err gorl_index_select(gorl_t a, int64_t dim, gorl_t index, int grad, gorl_t* out);
gorl_err gorl_gather(gorl_t a, int64_t dim, gorl_t index, int grad, gorl_t* out);
gorl_err gorl_reshape(gorl_t a, const int64_t* sizes, int32_t n, int grad, gorl_t* out);
gorl_err gorl_expand(gorl_t a, const int64_t* sizes, int32_t n, int grad, gorl_t* out);
gorl_err gorl_transpose(gorl_t a, int64_t d0, int64_t d1, int grad, gorl_t* out);
gorl_err gorl_bitcast(gorl_t a, int32_t dtype, int grad, gorl_t* out); // the same bytes as another type
gorl_err gorl_permute(gorl_t a, const int64_t* dims, int32_t n, int grad, gorl_t* out);
// geometry: stride (2), padding at the top, left, bottom and right, dilation (2), groups
gorl_err gorl_conv2d(gorl_t x, gorl_t w, gorl_t b, const int64_t* geometry, int32_t lower, int grad, gorl_t* out);
gorl_err gorl_linear(gorl_t x, gorl_t w, gorl_t b, int32_t lower, int grad, gorl_t* out);
gorl_err gorl_mlp(gorl_t x, const gorl_t* weights, const gorl_t* biases, const int32_t* activations, int32_t layers, int32_t lower, int grad, gorl_t* out);
gorl_err gorl_gaussian_log_prob(gorl_t action, gorl_t mean, gorl_t log_std, int grad, gorl_t* out);

// Recurrent layers over sequences of length steps (recurrent.cc); state and ended may be NULL. Four weights a layer.
gorl_err gorl_recurrent(int32_t kind, gorl_t x, gorl_t state, gorl_t ended, const gorl_t* weights, int32_t layers, int64_t length, int grad, gorl_t* out, gorl_t* last);

// Fused operations (perceptron.cc, losses.cc, categorical.cc, tally.cc).
gorl_err gorl_critic(gorl_t x, const gorl_t* weights, const gorl_t* biases, const int32_t* activations, int32_t layers, int32_t lower, gorl_t* out, gorl_t* penalty);
gorl_err gorl_gaussian_log_prob_sum(gorl_t action, gorl_t mean, gorl_t log_std, int grad, gorl_t* out);
gorl_err gorl_categorical(gorl_t logits, gorl_t choices, const int64_t* counts, int32_t n, int grad, gorl_t* chosen, gorl_t* entropy);
gorl_err gorl_surrogate(gorl_t now, gorl_t old, gorl_t advantage, double clip, gorl_t* loss, gorl_t* divergence, gorl_t* fraction);
gorl_err gorl_value_loss(gorl_t predicted, gorl_t old, gorl_t returns, double clip, int32_t kind, gorl_t* out);
gorl_err gorl_cross_entropy(gorl_t fake, gorl_t real, gorl_t* out);
gorl_err gorl_decay(const gorl_t* weights, const double* scales, int32_t n, gorl_t* out);
gorl_err gorl_positive_share(gorl_t x, gorl_t* share, gorl_t* mean);
gorl_err gorl_tally_(gorl_t sums, const gorl_t* scalars, int32_t n);

// In place.
gorl_err gorl_copy_(gorl_t dst, gorl_t src);
gorl_err gorl_add_(gorl_t dst, gorl_t src, double alpha);
gorl_err gorl_mul_(gorl_t dst, double x);
gorl_err gorl_fill_(gorl_t dst, double x);
gorl_err gorl_index_copy_(gorl_t dst, gorl_t index, gorl_t src);

// Autograd.
gorl_err gorl_backward(gorl_t loss);
gorl_err gorl_grad(const gorl_t* outputs, int32_t no, const gorl_t* inputs, int32_t ni, int create_graph, gorl_t* out);
gorl_err gorl_requires_grad_(gorl_t a, int on);
gorl_err gorl_bind(gorl_t parameter, gorl_t flat, gorl_t flat_grad, int64_t offset);
gorl_err gorl_grad_of(gorl_t a, gorl_t* out);

// Random numbers from generators with their own state.
gorl_err gorl_generator_new(uint64_t seed, int32_t device, void** out);
void gorl_generator_free(void* g);
gorl_err gorl_generator_seed(void* g, uint64_t seed);
gorl_err gorl_generator_get(void* g, gorl_t* out);
gorl_err gorl_generator_set(void* g, gorl_t state);
gorl_err gorl_random(int32_t op, const int64_t* sizes, int32_t n, double a, double b, void* g, int32_t device, gorl_t* out);
gorl_err gorl_multinomial(gorl_t probabilities, int64_t samples, void* g, gorl_t* out);

// Optimizer over flat parameters. Segments [begin[i], end[i]) have their own learning rate lr[i]. What depends on rates and
// step is read in factors, on the parameters' device, where that is not NULL: of adam the 2n + 1 numbers of gorl_adam_factors, of
// sgd the n rates.
gorl_err gorl_clip_norm_(gorl_t grad, const int64_t* begin, const int64_t* end, const double* max_norm, int32_t n, gorl_t norms);
gorl_err gorl_adam_(gorl_t param, gorl_t grad, gorl_t exp_avg, gorl_t exp_avg_sq, const int64_t* begin, const int64_t* end,
                    const double* lr, int32_t n, int64_t step, double beta1, double beta2, double eps, double weight_decay, int decoupled, gorl_t factors);
void gorl_adam_factors(const double* lr, int32_t n, int64_t step, double beta1, double beta2, double eps, double weight_decay, int32_t device, float* out);
gorl_err gorl_sgd_(gorl_t param, gorl_t grad, gorl_t momentum_buffer, const int64_t* begin, const int64_t* end,
                   const double* lr, int32_t n, int64_t step, double momentum, double weight_decay, int nesterov, gorl_t factors);

// Recurrences and scalers.
gorl_err gorl_gae(gorl_t rewards, gorl_t values, gorl_t next_values, gorl_t bootstrap, gorl_t chain, double gamma, double lambda, gorl_t* out);
gorl_err gorl_scaler_update_(gorl_t x, gorl_t mean, gorl_t variance, gorl_t count, int bessel, double freeze_after);
gorl_err gorl_scaler_forward(gorl_t x, gorl_t mean, gorl_t variance, double eps, double clip, gorl_t* out);
gorl_err gorl_scaler_inverse(gorl_t x, gorl_t mean, gorl_t variance, double clip, gorl_t* out);

enum gorl_unary_op {
  GORL_NEG, GORL_EXP, GORL_LOG, GORL_SQRT, GORL_SQUARE, GORL_ABS,
  GORL_TANH, GORL_SIGMOID, GORL_RELU, GORL_ELU, GORL_SOFTPLUS, GORL_SILU, GORL_GELU, GORL_LEAKY_RELU, GORL_SOFTSIGN, GORL_SELU,
  GORL_DETACH, GORL_CLONE, GORL_CONTIGUOUS, GORL_COS, GORL_SIN, GORL_IDENTITY
};
enum gorl_binary_op {
  GORL_ADD, GORL_SUB, GORL_MUL, GORL_DIV, GORL_MINIMUM, GORL_MAXIMUM, GORL_MATMUL, GORL_EQ
};
enum gorl_scalar_op { GORL_ADD_S, GORL_MUL_S, GORL_RSUB_S, GORL_EQ_S, GORL_GT_S };
enum gorl_reduce_op { GORL_SUM, GORL_MEAN, GORL_STD, GORL_AMAX };
enum gorl_along_op { GORL_LOG_SOFTMAX, GORL_SOFTMAX, GORL_ARGMAX, GORL_UNSQUEEZE };
enum gorl_join_op { GORL_CAT, GORL_STACK };
enum gorl_recurrent_kind { GORL_RNN, GORL_GRU, GORL_LSTM };
enum gorl_random_op { GORL_RANDN, GORL_RAND, GORL_RANDINT, GORL_RANDPERM };

#ifdef __cplusplus
}
#endif
