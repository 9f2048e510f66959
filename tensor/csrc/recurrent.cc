// Recurrent layers over whole sequences as one node of the autograd graph.
#include "net.h"

namespace gorl {
namespace {

// A stack of layers and its input: L steps of B sequences. Row t*B + b is step t of sequence b. The state of a sequence is
// one row: the h of all layers, followed for an LSTM by their c.
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
  int64_t inputs() const { return w[0].size(1); }
  // The number of multiplications of a forward pass.
  int64_t multiplications() const {
    int64_t weights = 0;
    for (const auto& t : w) weights += t.dim() == 2 ? t.numel() : 0;
    return rows * length * weights;
  }
  const at::Tensor& weight(int64_t layer, int i) const { return w[static_cast<size_t>(4 * layer + i)]; }
  // ends()[i] is not 0 if an episode ended with row i. It is null if there are no ends.
  const float* ends() const { return ended.defined() ? ended.data_ptr<float>() : nullptr; }
};

// What a pass keeps of one layer and one part of the sequences. Row t*n + b is step t of the part's sequence b.
struct Layer {
  float* in;      // (L*n, inputs)
  float* gates;   // (L*n, G*H), after their functions
  float* before;  // ((L+1)*n, H), the state before each step, then the last one
  float* out;     // (L*n, H)
  float* extra;   // (L*n, H): W_hn h + b_hn of a GRU, tanh c of an LSTM
  float* cells;   // ((L+1)*n, H), the c of an LSTM, in the order of the states
};

// The n sequences from index first on, which one thread computes. Parts share no memory, and no part waits for another.
struct Part {
  int64_t first, n;
  std::vector<Layer> layers;

  Part(const Sequence& q, float* memory, int64_t first_, int64_t count) : first(first_), n(count) {
    float* p = memory + first * kept(q);
    const auto next = [&](int64_t steps, int64_t width) { return std::exchange(p, p + steps * n * width); };
    const int64_t h = q.hidden(), steps = q.length;
    float* in = next(steps, q.inputs());
    for (int64_t k = 0; k < q.layers(); k++) {
      Layer y{};
      y.in = in;
      y.gates = next(steps, q.gates() * h);
      y.before = next(steps + 1, h);
      y.out = in = q.kind == GORL_RNN ? y.gates : next(steps, h);
      if (q.kind != GORL_RNN) y.extra = next(steps, h);
      if (q.kind == GORL_LSTM) y.cells = next(steps + 1, h);
      layers.push_back(y);
    }
  }
  // The number of floats that a pass keeps of one sequence.
  static int64_t kept(const Sequence& q) {
    const int64_t per_step = q.gates() + q.parts() + (q.kind == GORL_RNN ? 0 : 2);
    return q.length * q.inputs() + q.layers() * q.hidden() * (q.length * per_step + q.parts());
  }
  // Copies the part's rows out of those of all sequences, and back.
  void take(const Sequence& q, const float* all, int64_t width, float* own) const {
    for (int64_t t = 0; t < q.length; t++)
      copy_bytes(own + t * n * width, all + (t * q.rows + first) * width, static_cast<size_t>(n * width) * 4);
  }
  void give(const Sequence& q, const float* own, int64_t width, float* all) const {
    for (int64_t t = 0; t < q.length; t++)
      copy_bytes(all + (t * q.rows + first) * width, own + t * n * width, static_cast<size_t>(n * width) * 4);
  }
  // Copies H columns of the part's states, from column `from` on, or zeros if there are no states; and the way back.
  void begin(const Sequence& q, int64_t from, float* own) const {
    const int64_t h = q.hidden();
    if (!q.state.defined()) std::fill_n(own, n * h, 0.f);
    else for (int64_t b = 0; b < n; b++) copy_bytes(own + b * h, data(q.state) + (first + b) * q.width() + from, static_cast<size_t>(h) * 4);
  }
  void end(const Sequence& q, int64_t from, const float* own, float* last) const {
    const int64_t h = q.hidden();
    for (int64_t b = 0; b < n; b++) copy_bytes(last + (first + b) * q.width() + from, own + b * h, static_cast<size_t>(h) * 4);
  }
};

// C (m, n) = A·B of row-major matrices. A and B may be stored transposed.
Product product(int64_t m, int64_t n, int64_t k, const float* a, bool a_transposed, const float* b, bool b_transposed,
                float* c) {
  Product p{};
  p.m = m; p.n = n; p.k = k;
  p.a = a; p.a_row = a_transposed ? 1 : k; p.a_col = a_transposed ? m : 1;
  p.b = b; p.b_row = b_transposed ? 1 : n; p.b_col = b_transposed ? k : 1;
  p.c = c; p.c_row = n;
  p.activation = GORL_IDENTITY;
  return p;
}

// Takes a part through all layers and steps: one product for the input of all rows, and one for the state of each step.
void forward(const Sequence& q, const Part& s, const float* x, float* out, float* last) {
  const int64_t h = q.hidden(), n = s.n, g = q.gates() * h;
  const bool gru = q.kind == GORL_GRU, lstm = q.kind == GORL_LSTM;
  const float* ends = q.ends();
  s.take(q, x, q.inputs(), s.layers[0].in);
  float* from = gru ? space(0, n * g) : nullptr;  // W_hh h + b_hh of a step
  for (int64_t k = 0; k < q.layers(); k++) {
    const Layer& y = s.layers[static_cast<size_t>(k)];
    s.begin(q, k * h, y.before);
    if (lstm) s.begin(q, (q.layers() + k) * h, y.cells);
    // The two products of a GRU stay apart, because r multiplies W_hn h + b_hn alone.
    Product p = product(q.length * n, g, q.weight(k, 0).size(1), y.in, false, data(q.weight(k, 0)), true, y.gates);
    p.bias = data(q.weight(k, 2));
    kernels().multiply(p);
    p = product(n, g, h, nullptr, false, data(q.weight(k, 1)), true, from);
    p.bias = data(q.weight(k, 3));
    p.add = !gru;
    p.activation = gru || lstm ? GORL_IDENTITY : GORL_TANH;
    if (q.length > 1) {  // the weights are transposed once, not at every step
      const int64_t apart = (g + 15) / 16 * 16 + 16;
      float* columns = space(1, h * apart);
      kernels().transpose(p.b, h, g, h, columns, apart);
      p.b = columns; p.b_row = apart; p.b_col = 1;
    }
    for (int64_t t = 0; t < q.length; t++) {
      float *gates = y.gates + t * n * g, *before = y.before + t * n * h, *result = y.out + t * n * h;
      p.a = before;
      if (!gru) p.c = gates;
      kernels().multiply(p);
      float *next = before + n * h, *cells = lstm ? y.cells + t * n * h : nullptr;
      if (gru) kernels().gru(n, h, gates, from, before, y.extra + t * n * h, result);
      if (lstm) kernels().lstm(n, h, gates, cells, cells + n * h, y.extra + t * n * h, result);
      copy_bytes(next, result, static_cast<size_t>(n * h) * 4);
      for (int64_t b = 0; b < n && ends != nullptr; b++) {
        if (ends[t * q.rows + s.first + b] == 0.f) continue;
        std::fill_n(next + b * h, h, 0.f);
        if (lstm) std::fill_n(cells + (n + b) * h, h, 0.f);
      }
    }
    s.end(q, k * h, y.before + q.length * n * h, last);
    if (lstm) s.end(q, (q.layers() + k) * h, y.cells + q.length * n * h, last);
  }
  s.give(q, s.layers.back().out, h, out);
}

// The backward pass of a part: adds the gradients of the parameters, given that of the results, and writes the input's to
// dx unless dx is null.
void back(const Sequence& q, const Part& s, const float* dy, float* dx, const Gradients::Place& to) {
  const int64_t h = q.hidden(), n = s.n, g = q.gates() * h, rows = q.length * n;
  const bool gru = q.kind == GORL_GRU, lstm = q.kind == GORL_LSTM;
  const float* ends = q.ends();
  float* dout = space(0, rows * h);
  s.take(q, dy, h, dout);
  float *di = space(1, rows * g), *ds = gru ? space(2, rows * g) : di;
  // The gradients of the state and of the cells after a step that come from later steps.
  float *carry = space(3, n * h), *dc = lstm ? space(4, n * h) : nullptr;
  for (int64_t k = q.layers() - 1; k >= 0; k--) {
    const Layer& y = s.layers[static_cast<size_t>(k)];
    const float* w = data(q.weight(k, 1));
    std::fill_n(carry, n * h, 0.f);
    if (lstm) std::fill_n(dc, n * h, 0.f);
    for (int64_t t = q.length - 1; t >= 0; t--) {
      for (int64_t b = 0; b < n && ends != nullptr; b++) {
        if (ends[t * q.rows + s.first + b] == 0.f) continue;  // otherwise the next step began from zeros
        std::fill_n(carry + b * h, h, 0.f);
        if (lstm) std::fill_n(dc + b * h, h, 0.f);
      }
      float *d = dout + t * n * h, *i = di + t * n * g;
      const float *gates = y.gates + t * n * g, *extra = y.extra == nullptr ? nullptr : y.extra + t * n * h;
      kernels().axpy(d, 1, carry, n * h);
      if (gru) {
        kernels().gru_back(n, h, gates, y.before + t * n * h, extra, d, i, ds + t * n * g, carry);
      } else if (lstm) {
        kernels().lstm_back(n, h, gates, y.cells + t * n * h, extra, d, dc, i);
      } else {
        copy_bytes(i, d, static_cast<size_t>(n * h) * 4);
        kernels().derive(GORL_TANH, i, gates, n * h);
      }
      if (t == 0) break;  // no gradient flows into stored states
      Product p = product(n, h, g, ds + t * n * g, false, w, false, carry);
      p.add = gru;
      kernels().multiply(p);
    }
    const int64_t width = q.weight(k, 0).size(1);
    const auto add = [&](size_t i, const float* dz, const float* z, int64_t columns) {
      Product p = product(g, columns, rows, dz, true, z, false, to.w[i]);
      p.add = true;
      kernels().multiply(p);
      kernels().add_columns(to.b[i], dz, rows, g);
    };
    add(static_cast<size_t>(2 * k), di, y.in, width);
    add(static_cast<size_t>(2 * k + 1), ds, y.before, h);
    if (k == 0 && dx == nullptr) break;
    dout = space(5 + static_cast<size_t>(k % 2), rows * width);
    kernels().multiply(product(rows, width, g, di, false, data(q.weight(k, 0)), false, dout));
  }
  if (dx != nullptr) s.give(q, dout, q.inputs(), dx);
  trim_space();
}

// The same by operations of libtorch, which autograd can differentiate as often as it likes.
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

// The sequences of a pass with so many multiplications in all.
Rows rows_of(const Sequence& q, int64_t multiplications) {
  return {q.rows, multiplications / std::max<int64_t>(1, q.rows), -1, {}};
}

// A recurrent stack as one node, whose second output, the last states, has no gradient.
struct Recurrent : NetworkOp {
  Recurrent(Sequence q_, at::Tensor x_)
      : NetworkOp(torch::autograd::collect_next_edges(x_)), q(std::move(q_)),
        shares({rows_of(q, 2 * q.multiplications())}), input(std::move(x_)), x(bare_of(input)) {
    again_ = !ours(input);
    for (int64_t k = 0; k < q.layers(); k++)  // a recurrent layer counts as two layers of a perceptron
      for (int i : {0, 1}) net.w.push_back(q.weight(k, i)), net.b.push_back(q.weight(k, i + 2));
  }
  void forward(const at::Tensor& out, const at::Tensor& last) {
    memory = make({q.rows * Part::kept(q)});
    perform([this, out = data(out), last = data(last)] {
      shares.each([&](size_t, int64_t, int64_t first, int64_t n) {
        gorl::forward(q, Part(q, data(memory), first, n), data(x), out, last);
      });
    }, out, last);
  }
  variable_list backward(const variable_list& grads) override {
    dy = contiguous(grads[0]);
    if (next_edge(0).function == nullptr) {
      leave();
      return {at::Tensor()};
    }
    dx = make(x.sizes());
    run_back({this});
    return {dx};
  }
  // Makes the gradient of the input only, not those of the parameters.
  variable_list backward_again(const variable_list& grads) override {
    at::Tensor last;
    const auto out = compose(q, input, last);
    return torch::autograd::grad({out}, {input}, {grads[0]}, /*retain_graph=*/true, /*create_graph=*/true);
  }
  Rows rows() const override {
    Rows r = rows_of(q, 2 * q.multiplications());
    r.cuts = shares.cuts[0];  // back finds what forward has kept of a part
    return r;
  }
  void back(int64_t first, int64_t count, const Gradients::Place& to) override {
    gorl::back(q, Part(q, data(memory), first, count), data(dy), dx.defined() ? data(dx) : nullptr, to);
  }
  void release() override { input.reset(), x.reset(), memory.reset(), dy.reset(), dx.reset(), q = Sequence(); }

 private:
  Sequence q;
  const Shares shares;
  at::Tensor input, x, memory;
  at::Tensor dy, dx;  // of a pass
};

// Refuses shapes by which the loops would read out of bounds.
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

// Whether the loops can run: all memory is plain float32 on the CPU and, to learn, every parameter has its gradient in the
// flat gradients.
bool fast(const Sequence& q, const at::Tensor& x, bool learns) {
  bool all = engine() && plain(x) && (!q.state.defined() || plain(q.state)) && (!q.ended.defined() || plain(q.ended));
  for (const auto& w : q.w) all = all && plain(w) && (!learns || (ready(w) && w.requires_grad()));
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
  at::Tensor in = contiguous(T(x)), final;
  q.length = length;
  q.rows = length > 0 && in.dim() > 0 ? in.size(0) / length : 0;
  if (state != nullptr) q.state = contiguous(T(state).detach());
  if (ended != nullptr) q.ended = contiguous(T(ended).detach());
  check(q, in);
  if (in.size(0) == 0) q.length = 1;  // no sequence has a step to go through
  bool learns = in.requires_grad();
  for (const auto& w : q.w) learns = learns || w.requires_grad();
  learns = learns && grad;
  if (!fast(q, in, learns)) {
    *out = wrap(compose(q, in, final));
    *last = wrap(final);
    return nullptr;
  }
  auto y = make({in.size(0), q.hidden()});
  final = make({q.rows, q.width()});
  if (learns) {
    auto recurrent = node<Recurrent>(std::move(q), in);
    recurrent->forward(y, final);
    track(y, recurrent);
    if (recorder != nullptr) recorder->keep(y);  // and the node, whose memory the recording reads
  } else {
    const auto memory = make({q.rows * Part::kept(q)});
    const Rows rows = rows_of(q, q.multiplications() / without_backward);
    perform([q, in, memory, rows, out = data(y), last = data(final)] {
      each_rows(rows, [&](int64_t first, int64_t n) {
        forward(q, Part(q, data(memory), first, n), data(in), out, last);
      });
    }, y, final);
  }
  Call::recorded();
  *out = wrap(std::move(y));
  *last = wrap(std::move(final));
  GORL_END
}
