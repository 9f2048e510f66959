#include "capture.h"

#include <c10/util/ThreadLocalDebugInfo.h>

namespace gtd {
namespace {
// libtorch hands it on to the threads on which it differentiates.
struct Mark : c10::DebugInfoBase {
  explicit Mark(Capture* c) : of(c) {}
  Capture* of;
};
c10::DebugInfoKind kind() { return c10::DebugInfoKind::TEST_INFO; }
}  // namespace

Capture* capture() {
  auto* mark = static_cast<Mark*>(c10::ThreadLocalDebugInfo::get(kind()));
  return mark == nullptr ? nullptr : mark->of;
}

Capture::~Capture() { drop(); }

Capture::Range Capture::range_of(const at::Tensor& t) {
  size_t last = 0;  // the index of the last element
  for (int64_t i = 0; i < t.dim(); i++) last += static_cast<size_t>((t.size(i) - 1) * t.stride(i));
  return {t.unsafeGetTensorImpl()->data(), (last + 1) * t.dtype().itemsize()};
}

void Capture::begin(const std::vector<at::Generator>& generators) {
  TORCH_CHECK(capture() == nullptr && !open_, "test device: a capture within a capture");
  drop();
  refused_.clear();
  for (auto& g : generators) {
    TORCH_CHECK(g.device() == device_at(device_), "test device: a generator on ", g.device(), " for a capture on ", device_at(device_));
    generators_.emplace_back(g, g.get_state().clone());
  }
  open_ = true;
  c10::ThreadLocalDebugInfo::_push(kind(), std::make_shared<Mark>(this));
}

void Capture::end(bool keep) {
  TORCH_CHECK(open_ && capture() == this, "test device: a capture is ended by the thread that has begun it");
  c10::ThreadLocalDebugInfo::_pop(kind());
  open_ = false;
  for (auto was = before_.rbegin(); was != before_.rend(); ++was)
    std::memcpy(memory().shadow_of(was->first.at, was->first.bytes), was->second.data(), was->first.bytes);
  before_.clear();
  memory().forget(this);
  for (auto& [g, state] : generators_) g.set_state(state);
  ready_ = keep && refused_.empty();
  if (!ready_) drop();
  TORCH_CHECK(!keep || refused_.empty(), "test device: the capture has failed: ", refused_);
}

void Capture::replay() {
  TORCH_CHECK(ready_, "test device: there is nothing to replay");
  outside_captures("the replay of a graph");
  memory().counts[GTD_LAUNCHES]++;
  memory().counts[GTD_REPLAYS]++;
  at::AutoDispatchBelowADInplaceOrView quiet;
  for (auto& [run, touched] : launches_) {
    for (auto& r : touched) memory().shadow_of(r.at, r.bytes, this);
    run();
  }
}

void Capture::drop() {
  launches_.clear();
  generators_.clear();
  before_.clear();
  ready_ = false;
  memory().disown(this);
}

void Capture::refuse(const std::string& what) {
  if (refused_.empty()) refused_ = what;
  TORCH_CHECK(false, "test device: ", what, " in a capture");
}

void Capture::add(std::function<void()> run, const std::vector<at::Tensor>& touched) {
  std::vector<Range> ranges;
  for (auto& t : touched) {
    if (!here(t) || t.numel() == 0) continue;
    if (t.device().index() != device_) refuse("a launch on another device");
    ranges.push_back(range_of(t));
  }
  launches_.emplace_back(std::move(run), std::move(ranges));
  memory().counts[GTD_CAPTURED]++;
}

void Capture::writes(const at::Tensor& t) {
  if (!here(t) || t.numel() == 0) return;
  if (t.device().index() != device_) refuse("a launch on another device");
  const Range r = range_of(t);
  if (memory().owned(r.at, this)) return;
  before_.emplace_back(r, std::string(memory().shadow_of(r.at, r.bytes), r.bytes));
}

void Capture::draws(const at::Generator& g) {
  for (auto& known : generators_)
    if (known.first == g) return;
  refuse("random numbers from a generator that it does not know");
}

}  // namespace gtd

using namespace gtd;

// gorl's shim finds these by name: see tensor/csrc/graph.cc.
extern "C" void* gorl_privateuse1_graph_new(int32_t device) { return new Capture(device); }
extern "C" void gorl_privateuse1_graph_free(void* graph) { delete static_cast<Capture*>(graph); }
extern "C" void gorl_privateuse1_graph_begin(void* graph, at::Generator* const* generators, int32_t n) {
  std::vector<at::Generator> all;
  for (int32_t i = 0; i < n; i++) all.push_back(*generators[i]);
  static_cast<Capture*>(graph)->begin(all);
}
extern "C" void gorl_privateuse1_graph_end(void* graph, int32_t keep) { static_cast<Capture*>(graph)->end(keep != 0); }
extern "C" void gorl_privateuse1_graph_replay(void* graph) { static_cast<Capture*>(graph)->replay(); }
extern "C" void gorl_privateuse1_graph_drop(void* graph) { static_cast<Capture*>(graph)->drop(); }
