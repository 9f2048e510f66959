// Recurrent layers over whole sequences as one node of the autograd graph.
#include <cstring>

#include <cmath>

#include "node.h"

namespace gorl {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::Function;

// e^r - 1 for |r| <= ln(2)/2 by its series, and 2^n * that + (2^n - 1) for every other x: accurate near 0, and loops of it
// become vector instructions. NaN stays NaN.
inline float expm1_fast(float x) {
  x = x > 88.f ? 88.f : (x < -88.f ? -88.f : x);
  constexpr float magic = 12582912.f;  // 1.5 * 2^23: adding it rounds to a whole number, which is then in the low bits
  const float shifted = x * 1.44269504088896341f + magic, n = shifted - magic;
  const float r = (x - n * 0.693359375f) + n * 2.12194440e-4f;  // ln 2 in two parts, the first exact in few bits
  float p = 1.f / 5040;
  p = p * r + 1.f / 720;
  p = p * r + 1.f / 120;
  p = p * r + 1.f / 24;
  p = p * r + 1.f / 6;
  p = p * r + 0.5f;
  p = p * r * r + r;
  uint32_t bits;
  std::memcpy(&bits, &shifted, sizeof bits);
  bits = (bits + 127) << 23;
  float scale;  // 2^n
  std::memcpy(&scale, &bits, sizeof scale);
  return scale * p + (scale - 1.f);
}
inline float sigmoid_fast(float x) { return 1.f / (2.f + expm1_fast(-x)); }
inline float tanh_fast(float x) {
  const float e = expm1_fast(x > 15.f ? 30.f : 2.f * x);
  return e / (e + 2.f);
}

// A stack of layers and what it is applied to: L steps of B sequences, row t*B + b is step t of sequence b. The state of a
// sequence is one row: the layers' h side by side, then for an LSTM their c.
struct Sequence {
  int32_t kind = 0;
  std::vector<at::Tensor> w;  // of each layer: weight_ih, weight_hh, bias_ih, bias_hh
  at::Tensor state, ended;    // (B, S) and (L*B, 1); undefined for zeros
  int64_t length = 1, rows = 0;

  int64_t gates() const { return kind == GORL_LSTM ? 4 : kind == GORL_GRU ? 3 : 1; }
  int64_t parts() const { return kind == GORL_LSTM ? 2 : 1; }
  int64_t layers() const { return static_cast<int64_t>(w.size() / 4); }
  int64_t hidden() const { return w[1].size(1); }
  int64_t width() const { return parts() * layers() * hidden(); }
  const at::Tensor& weight(int64_t layer, int i) const { return w[static_cast<size_t>(4 * layer + i)]; }
  // Whether row i ended its episode.
  const float* ends() const { return ended.defined() ? ended.data_ptr<float>() : nullptr; }
};

// What the forward pass of one layer keeps: the gates after their functions (L*B, G*H), the state before each step, with the
// last one behind them ((L+1)*B, H), the results (L*B, H), and beside them for a GRU W_hn h + b_hn, for an LSTM tanh c (L*B, H)
// and the cells like the states.
struct Layer {
  at::Tensor gates, before, out, beside, cells;
  static constexpr size_t count = 5;
  void keep(variable_list& list) const { list.insert(list.end(), {gates, before, out, beside, cells}); }
  static Layer of(const variable_list& list, size_t at) { return {list[at], list[at + 1], list[at + 2], list[at + 3], list[at + 4]}; }
};

// Copies columns [from, from + h) of the states (B, S) to the first rows of to (·, h), or zeros.
void begin(const at::Tensor& state, int64_t from, at::Tensor& to, int64_t rows) {
  const int64_t h = to.size(1);
  float* out = to.data_ptr<float>();
  if (!state.defined()) {
    std::fill(out, out + rows * h, 0.f);
    return;
  }
  const int64_t width = state.size(1);
  const float* in = state.data_ptr<float>() + from;
  for (int64_t b = 0; b < rows; b++) std::copy(in + b * width, in + b * width + h, out + b * h);
}

// Copies the last rows of states to columns [from, from + h) of last (B, S).
void finish(const at::Tensor& states, at::Tensor& last, int64_t from) {
  const int64_t h = states.size(1), width = last.size(1), rows = last.size(0);
  const float* in = states.data_ptr<float>() + states.numel() - rows * h;
  float* out = last.data_ptr<float>() + from;
  for (int64_t b = 0; b < rows; b++) std::copy(in + b * h, in + (b + 1) * h, out + b * width);
}

void step_rnn(int64_t h, const float* __restrict gates, float* __restrict out) {
  for (int64_t j = 0; j < h; j++) out[j] = tanh_fast(gates[j]);
}

void step_gru(int64_t h, float* __restrict gates, const float* __restrict from, const float* __restrict before, float* __restrict beside,
              float* __restrict out) {
  for (int64_t j = 0; j < 2 * h; j++) gates[j] = sigmoid_fast(gates[j] + from[j]);
  const float *r = gates, *z = gates + h;
  float* n = gates + 2 * h;
  for (int64_t j = 0; j < h; j++) {
    const float candidate = tanh_fast(n[j] + r[j] * from[2 * h + j]);
    beside[j] = from[2 * h + j];
    out[j] = (1.f - z[j]) * candidate + z[j] * before[j];
    n[j] = candidate;
  }
}

void step_lstm(int64_t h, float* __restrict gates, const float* __restrict cell, float* __restrict next, float* __restrict beside,
               float* __restrict out) {
  for (int64_t j = 0; j < 2 * h; j++) gates[j] = sigmoid_fast(gates[j]);
  for (int64_t j = 2 * h; j < 3 * h; j++) gates[j] = tanh_fast(gates[j]);
  for (int64_t j = 3 * h; j < 4 * h; j++) gates[j] = sigmoid_fast(gates[j]);
  const float *i = gates, *f = gates + h, *g = gates + 2 * h, *o = gates + 3 * h;
  for (int64_t j = 0; j < h; j++) {
    next[j] = f[j] * cell[j] + i[j] * g[j];
    beside[j] = tanh_fast(next[j]);
    out[j] = o[j] * beside[j];
  }
}

// Runs one layer over all steps: one product for the input of all rows, and one for the state of each step.
Layer run(const Sequence& q, int64_t layer, const at::Tensor& x) {
  const int64_t h = q.hidden(), n = q.rows, g = q.gates() * h, steps = q.length;
  const auto w = q.weight(layer, 1).t();
  const auto &bi = q.weight(layer, 2), &bh = q.weight(layer, 3);
  const bool gru = q.kind == GORL_GRU, lstm = q.kind == GORL_LSTM;
  Layer y;
  // b_hn stands inside r ⊙ (...) of a GRU; elsewhere the two biases are one.
  y.gates = at::addmm(gru ? bi : bi + bh, x, q.weight(layer, 0).t());
  y.before = at::empty({(steps + 1) * n, h}, x.options());
  y.out = at::empty({steps * n, h}, x.options());
  at::Tensor from;  // W_hh h + b_hh of a step
  if (gru) from = at::empty({n, g}, x.options());
  if (gru || lstm) y.beside = at::empty({steps * n, h}, x.options());
  if (lstm) y.cells = at::empty({(steps + 1) * n, h}, x.options());
  begin(q.state, layer * h, y.before, n);
  if (lstm) begin(q.state, (q.layers() + layer) * h, y.cells, n);
  const float* ends = q.ends();
  float *gates = y.gates.data_ptr<float>(), *before = y.before.data_ptr<float>(), *out = y.out.data_ptr<float>();
  float *beside = gru || lstm ? y.beside.data_ptr<float>() : nullptr, *cells = lstm ? y.cells.data_ptr<float>() : nullptr;
  for (int64_t t = 0; t < steps; t++) {
    const auto state = y.before.narrow(0, t * n, n);
    if (gru) {
      at::addmm_out(from, bh, state, w);
    } else {
      auto now = y.gates.narrow(0, t * n, n);
      now.addmm_(state, w);
    }
    for (int64_t b = 0; b < n; b++) {
      const int64_t i = t * n + b, next = i + n;
      if (gru) {
        step_gru(h, gates + i * g, from.data_ptr<float>() + b * g, before + i * h, beside + i * h, out + i * h);
      } else if (lstm) {
        step_lstm(h, gates + i * g, cells + i * h, cells + next * h, beside + i * h, out + i * h);
      } else {
        step_rnn(h, gates + i * g, out + i * h);
      }
      if (ends != nullptr && ends[i] != 0.f) {
        std::fill(before + next * h, before + (next + 1) * h, 0.f);
        if (lstm) std::fill(cells + next * h, cells + (next + 1) * h, 0.f);
      } else {
        std::copy(out + i * h, out + (i + 1) * h, before + next * h);
      }
    }
  }
  return y;
}

// The whole stack. kept receives what backward needs.
at::Tensor run_all(const Sequence& q, at::Tensor x, at::Tensor& last, variable_list* kept) {
  last = at::empty({q.rows, q.width()}, x.options());
  for (int64_t k = 0; k < q.layers(); k++) {
    Layer y = run(q, k, x);
    finish(y.before, last, k * q.hidden());
    if (q.kind == GORL_LSTM) finish(y.cells, last, (q.layers() + k) * q.hidden());
    x = y.out;
    if (kept != nullptr) y.keep(*kept);
  }
  return x;
}

// The gradients of one step's gates by what came before their functions, of one row: dh is the gradient of the result, and
// carry receives that of the state before, as far as it does not come through the gates.
void back_gru(int64_t h, const float* __restrict gates, const float* __restrict before, const float* __restrict beside,
              const float* __restrict dh, float* __restrict di, float* __restrict ds, float* __restrict carry) {
  const float *r = gates, *z = gates + h, *n = gates + 2 * h;
  for (int64_t j = 0; j < h; j++) {
    const float dn = dh[j] * (1.f - z[j]) * (1.f - n[j] * n[j]);
    const float dr = dn * beside[j] * r[j] * (1.f - r[j]);
    const float dz = dh[j] * (before[j] - n[j]) * z[j] * (1.f - z[j]);
    di[j] = dr;
    ds[j] = dr;
    di[h + j] = dz;
    ds[h + j] = dz;
    di[2 * h + j] = dn;
    ds[2 * h + j] = dn * r[j];
    carry[j] = dh[j] * z[j];
  }
}

void back_lstm(int64_t h, const float* __restrict gates, const float* __restrict cell, const float* __restrict beside,
               const float* __restrict dh, float* __restrict dc, float* __restrict di) {
  const float *i = gates, *f = gates + h, *g = gates + 2 * h, *o = gates + 3 * h;
  for (int64_t j = 0; j < h; j++) {
    const float d = dc[j] + dh[j] * o[j] * (1.f - beside[j] * beside[j]);
    di[j] = d * g[j] * i[j] * (1.f - i[j]);
    di[h + j] = d * cell[j] * f[j] * (1.f - f[j]);
    di[2 * h + j] = d * i[j] * (1.f - g[j] * g[j]);
    di[3 * h + j] = dh[j] * beside[j] * o[j] * (1.f - o[j]);
    dc[j] = d * f[j];
  }
}

void back_rnn(int64_t h, const float* __restrict out, const float* __restrict dh, float* __restrict di) {
  for (int64_t j = 0; j < h; j++) di[j] = dh[j] * (1.f - out[j] * out[j]);
}

// Goes back through one layer: adds the gradients of its parameters, given that of its results, and returns that of its
// input, which is undefined where nothing asks for it.
at::Tensor back(const Sequence& q, int64_t layer, const Layer& y, const at::Tensor& x, const at::Tensor& dout, bool wants_input) {
  const int64_t h = q.hidden(), n = q.rows, g = q.gates() * h, steps = q.length;
  const auto& w = q.weight(layer, 1);
  const bool gru = q.kind == GORL_GRU, lstm = q.kind == GORL_LSTM;
  const float* ends = q.ends();
  auto di = at::empty({steps * n, g}, x.options());
  auto ds = gru ? at::empty_like(di) : di;
  auto carry = at::zeros({n, h}, x.options()), dh = at::empty({n, h}, x.options());  // of the state before the step after this one
  at::Tensor dc;
  if (lstm) dc = at::zeros({n, h}, x.options());
  float *pc = carry.data_ptr<float>(), *pd = dh.data_ptr<float>(), *pi = di.data_ptr<float>(), *ps = ds.data_ptr<float>();
  const float *gates = y.gates.data_ptr<float>(), *before = y.before.data_ptr<float>(), *out = y.out.data_ptr<float>(), *given = dout.data_ptr<float>();
  const float *beside = gru || lstm ? y.beside.data_ptr<float>() : nullptr, *cells = lstm ? y.cells.data_ptr<float>() : nullptr;
  for (int64_t t = steps - 1; t >= 0; t--) {
    for (int64_t b = 0; b < n; b++) {
      const int64_t i = t * n + b;
      float* __restrict d = pd + b * h;
      const float* __restrict p = given + i * h;
      const float* __restrict c = pc + b * h;
      if (ends != nullptr && ends[i] != 0.f) {  // the next step began from zeros
        std::copy(p, p + h, d);
        if (lstm) std::fill(dc.data_ptr<float>() + b * h, dc.data_ptr<float>() + (b + 1) * h, 0.f);
      } else {
        for (int64_t j = 0; j < h; j++) d[j] = p[j] + c[j];
      }
      if (gru) {
        back_gru(h, gates + i * g, before + i * h, beside + i * h, d, pi + i * g, ps + i * g, pc + b * h);
      } else if (lstm) {
        back_lstm(h, gates + i * g, cells + i * h, beside + i * h, d, dc.data_ptr<float>() + b * h, pi + i * g);
      } else {
        back_rnn(h, out + i * h, d, pi + i * g);
      }
    }
    if (t == 0) break;  // no gradient flows into stored states
    const auto now = ds.narrow(0, t * n, n);
    if (gru) {
      carry.addmm_(now, w);
    } else {
      at::mm_out(carry, now, w);
    }
  }
  if (w.requires_grad()) {
    at::Tensor gi = q.weight(layer, 0).grad(), gh = w.grad(), bi = q.weight(layer, 2).grad(), bh = q.weight(layer, 3).grad();
    gi.addmm_(di.t(), x);
    gh.addmm_(ds.t(), y.before.narrow(0, 0, steps * n));
    kernels().add_columns(data(bi), data(di), di.size(0), di.size(1));
    kernels().add_columns(data(bh), data(ds), ds.size(0), ds.size(1));
  }
  return wants_input ? at::mm(di, q.weight(layer, 0)) : at::Tensor();
}

// The same of separate operations, which autograd can differentiate as often as it likes.
at::Tensor compose(const Sequence& q, at::Tensor x, at::Tensor& last) {
  const int64_t h = q.hidden(), n = q.rows;
  const bool lstm = q.kind == GORL_LSTM;
  const auto zeros = at::zeros({n, h}, x.options());
  std::vector<at::Tensor> states, cells, alive;
  for (int64_t t = 0; q.ended.defined() && t < q.length; t++) alive.push_back((q.ended.narrow(0, t * n, n) == 0).to(x.scalar_type()));
  for (int64_t k = 0; k < q.layers(); k++) {
    auto state = q.state.defined() ? q.state.narrow(1, k * h, h).to(x.scalar_type()) : zeros, cell = zeros;
    if (lstm && q.state.defined()) cell = q.state.narrow(1, (q.layers() + k) * h, h).to(x.scalar_type());
    auto inputs = at::linear(x, q.weight(k, 0), q.weight(k, 2));
    std::vector<at::Tensor> outs;
    for (int64_t t = 0; t < q.length; t++) {
      auto in = inputs.narrow(0, t * n, n), from = at::linear(state, q.weight(k, 1), q.weight(k, 3));
      auto part = [&](const at::Tensor& a, int64_t i) { return a.narrow(1, i * h, h); };
      at::Tensor out;
      if (q.kind == GORL_GRU) {
        auto rz = at::sigmoid(in.narrow(1, 0, 2 * h) + from.narrow(1, 0, 2 * h));
        auto candidate = at::tanh(part(in, 2) + part(rz, 0) * part(from, 2)), z = part(rz, 1);
        out = (1 - z) * candidate + z * state;
      } else if (lstm) {
        auto all = in + from;
        cell = at::sigmoid(part(all, 1)) * cell + at::sigmoid(part(all, 0)) * at::tanh(part(all, 2));
        out = at::sigmoid(part(all, 3)) * at::tanh(cell);
      } else {
        out = at::tanh(in + from);
      }
      outs.push_back(out);
      state = out;
      if (!alive.empty()) {
        state = state * alive[static_cast<size_t>(t)];
        if (lstm) cell = cell * alive[static_cast<size_t>(t)];
      }
    }
    states.push_back(state);
    if (lstm) cells.push_back(cell);
    x = at::cat(outs, 0);
  }
  states.insert(states.end(), cells.begin(), cells.end());
  last = at::cat(states, 1).detach();
  return x;
}

// A recurrent stack as one node. The anchor is one of its parameters: it makes the result require a gradient. Gradients of
// the parameters are added straight to where they are kept, except where a graph of the gradient is asked for: then only the
// gradient of the input is made, of separate operations.
struct Recurrent : Function<Recurrent> {
  static variable_list forward(AutogradContext* ctx, at::Tensor x, at::Tensor /*anchor*/, const Sequence* q) {
    variable_list kept{x, q->state, q->ended};
    at::Tensor last;
    auto out = run_all(*q, x, last, &kept);
    ctx->save_for_backward(kept);
    ctx->saved_data["w"] = q->w;
    ctx->saved_data["kind"] = static_cast<int64_t>(q->kind);
    ctx->saved_data["length"] = q->length;
    ctx->mark_non_differentiable({last});
    return {out, last};
  }
  static variable_list backward(AutogradContext* ctx, variable_list grads) {
    auto kept = ctx->get_saved_variables();
    Sequence q;
    q.kind = static_cast<int32_t>(ctx->saved_data["kind"].toInt());
    q.w = ctx->saved_data["w"].toTensorVector();
    q.length = ctx->saved_data["length"].toInt();
    const at::Tensor& x = kept[0];
    q.state = kept[1];
    q.ended = kept[2];
    q.rows = x.size(0) / q.length;
    variable_list result(3);
    if (at::GradMode::is_enabled() && x.requires_grad()) {
      at::Tensor last;
      auto out = compose(q, x, last);
      result[0] = torch::autograd::grad({out}, {x}, {grads[0]}, /*retain_graph=*/true, /*create_graph=*/true)[0];
      return result;
    }
    at::AutoGradMode off(false);
    at::Tensor g = grads[0].contiguous();
    for (int64_t k = q.layers() - 1; k >= 0; k--) {
      const auto y = Layer::of(kept, 3 + static_cast<size_t>(k) * Layer::count);
      const auto& input = k == 0 ? x : kept[3 + static_cast<size_t>(k - 1) * Layer::count + 2];
      g = back(q, k, y, input, g, k > 0 || x.requires_grad());
    }
    result[0] = g;
    return result;
  }
};

// Refuses what the loops would misread.
void check(const Sequence& q, const at::Tensor& x) {
  TORCH_CHECK(x.dim() == 2, "the input has the shape ", x.sizes(), ", want rows");
  TORCH_CHECK(q.length > 0 && x.size(0) % q.length == 0, x.size(0), " rows are not sequences of ", q.length, " steps");
  TORCH_CHECK(!q.w.empty(), "there are no layers");
  const int64_t h = q.hidden(), g = q.gates() * h;
  int64_t in = x.size(1);
  for (int64_t k = 0; k < q.layers(); k++, in = h) {
    TORCH_CHECK(q.weight(k, 0).sizes() == at::IntArrayRef({g, in}), "the input weight of layer ", k, " has the shape ", q.weight(k, 0).sizes(), ", want [", g, ", ", in, "]");
    TORCH_CHECK(q.weight(k, 1).sizes() == at::IntArrayRef({g, h}), "the state's weight of layer ", k, " has the shape ", q.weight(k, 1).sizes(), ", want [", g, ", ", h, "]");
    for (int i : {2, 3}) TORCH_CHECK(q.weight(k, i).sizes() == at::IntArrayRef({g}), "a bias of layer ", k, " has the shape ", q.weight(k, i).sizes(), ", want [", g, "]");
  }
  TORCH_CHECK(!q.state.defined() || q.state.sizes() == at::IntArrayRef({q.rows, q.width()}), "the state has the shape ", q.state.sizes(), ", want [", q.rows, ", ", q.width(), "]");
  TORCH_CHECK(!q.ended.defined() || q.ended.sizes() == at::IntArrayRef({x.size(0), 1}), "the ends have the shape ", q.ended.sizes(), ", want [", x.size(0), ", 1]");
}

// Whether the loops can run: plain memory everywhere, parameters that all learn, into the flat gradients, or none do.
bool fast(const Sequence& q, const at::Tensor& x, bool grad) {
  bool all = plain(x) && (!q.state.defined() || plain(q.state)) && (!q.ended.defined() || plain(q.ended));
  for (const auto& w : q.w) all = all && plain(w) && (!grad || (ready(w) && w.requires_grad() == q.w.front().requires_grad()));
  return all;
}

}  // namespace
}  // namespace gorl

using namespace gorl;

gorl_err gorl_recurrent(int32_t kind, gorl_t x, gorl_t state, gorl_t ended, const gorl_t* weights, int32_t layers, int64_t length, int grad, gorl_t* out, gorl_t* last) {
  GORL_BEGIN(grad)
  Sequence q;
  q.kind = kind;
  for (int32_t i = 0; i < 4 * layers; i++) q.w.push_back(T(weights[i]));
  at::Tensor in = T(x).contiguous(), final;
  q.length = length;
  q.rows = length > 0 && in.dim() > 0 ? in.size(0) / length : 0;
  if (state != nullptr) q.state = T(state).detach().contiguous();
  if (ended != nullptr) q.ended = T(ended).detach().contiguous();
  check(q, in);
  if (in.size(0) == 0) q.length = 1;  // no sequence has a step to go through
  if (!fast(q, in, grad != 0)) {
    *out = wrap(compose(q, in, final));
  } else if (grad && (in.requires_grad() || q.w.front().requires_grad())) {
    auto result = Recurrent::apply(in, q.w.front(), &q);
    *out = wrap(result[0]);
    final = result[1];
  } else {
    *out = wrap(run_all(q, in, final, nullptr));
  }
  *last = wrap(final);
  GORL_END
}
