package schedulers_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/schedulers"
)

func newSchedule(t *testing.T, name string, base float64, kwargs map[string]any) schedulers.Scheduler {
	t.Helper()
	return must.Get(schedulers.New(name, base, kwargs))(t)
}

// rates steps n−1 times and returns the n rates seen.
func rates(s schedulers.Scheduler, n int) []float64 {
	out := []float64{s.LearningRate()}
	for len(out) < n {
		s.Step(0)
		out = append(out, s.LearningRate())
	}
	return out
}

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-12*math.Max(math.Abs(a), math.Abs(b)) }

// The numbers were produced by skrl 2.0.0.
func TestGoldenKLAdaptive(t *testing.T) {
	data := must.Get(os.ReadFile("testdata/kl_adaptive.json"))(t)
	var golden struct {
		KL           []float64 `json:"kl"`
		LearningRate []float64 `json:"learning_rate"`
	}
	must.Do(t, json.Unmarshal(data, &golden))
	must.Is(t, [2]int{len(golden.KL), len(golden.LearningRate)}, [2]int{40, 40}, "numbers in the golden file")
	s := newSchedule(t, "KLAdaptiveLR", 1e-3, nil)
	for i, kl := range golden.KL {
		s.Step(kl)
		must.Is(t, s.LearningRate(), golden.LearningRate[i], "step %d, KL %g", i, kl)
	}
}

func TestRestore(t *testing.T) {
	kwargs := map[string]map[string]any{
		"KLAdaptiveLR": nil, "ConstantLR": nil, "LinearLR": nil, "CosineLR": {"T_max": 9}, "StepLR": {"step_size": 3},
		"ExponentialLR": {"gamma": 0.9},
	}
	kl := []float64{0.1, 0.001, 0.008, 0.1, 0.1, 0.0001, 0.1}
	for _, name := range schedulers.Names() {
		s := newSchedule(t, name, 1e-3, kwargs[name])
		for _, x := range kl[:3] {
			s.Step(x)
		}
		must.Do(t, s.SetBase(2e-3))
		s.Step(kl[3])
		data := must.Get(json.Marshal(s.State()))(t)
		var state map[string]float64
		must.Do(t, json.Unmarshal(data, &state))
		resumed := newSchedule(t, name, 5e-4, kwargs[name])
		must.Do(t, resumed.Restore(state))
		for _, x := range kl[4:] {
			s.Step(x)
			resumed.Step(x)
			if s.LearningRate() != resumed.LearningRate() || s.Base() != resumed.Base() {
				t.Errorf("%s: resumed at %g, the original at %g", name, resumed.LearningRate(), s.LearningRate())
			}
		}
	}
}

func TestKLAdaptive(t *testing.T) {
	s := newSchedule(t, "KLAdaptiveRL", 1e-3, nil)
	for _, step := range []struct{ kl, want float64 }{
		{0.02, 1e-3 / 1.5},
		{0.016, 1e-3 / 1.5}, // the tolerance's ends belong to it
		{0.004, 1e-3 / 1.5},
		{math.NaN(), 1e-3 / 1.5},
		{0.0039, 1e-3},
		{math.Inf(1), 1e-3 / 1.5},
		{-1, 1e-3},
	} {
		if s.Step(step.kl); !near(s.LearningRate(), step.want) {
			t.Fatalf("after KL %g: %g, want %g", step.kl, s.LearningRate(), step.want)
		}
	}
	for kl, limit := range map[float64]float64{0: 1e-2, 1: 1e-6} {
		for range 100 {
			s.Step(kl)
		}
		must.Is(t, s.LearningRate(), limit, "a KL of %g", kl)
	}
	warm := newSchedule(t, "KLAdaptiveLR", 1, map[string]any{"warmup_steps": 2, "warmup_factor": 0, "max_lr": 9})
	wantRates(t, rates(warm, 5), []float64{0, 0.5, 1, 1.5, 2.25})
}

// A new base rate scales the present one, within the limits, and keeps the progress.
func TestSetBase(t *testing.T) {
	s := newSchedule(t, "kl_adaptive", 1e-3, nil)
	s.Step(1)
	must.Do(t, s.SetBase(2e-3))
	if want := 2e-3 / 1.5; !near(s.LearningRate(), want) || s.Base() != 2e-3 {
		t.Errorf("learning rate %g on base %g, want %g on 2e-3", s.LearningRate(), s.Base(), want)
	}
	rates(s, 20) // to the limit
	must.Do(t, s.SetBase(4e-3))
	must.Is(t, s.LearningRate(), 1e-2, "scaled to max_lr")
	line := newSchedule(t, "linear", 1, map[string]any{"start_factor": 1, "end_factor": 0, "total_iters": 4})
	rates(line, 3)
	must.Do(t, line.SetBase(10))
	wantRates(t, rates(line, 3), []float64{5, 2.5, 0})
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if s.SetBase(bad) == nil || line.SetBase(bad) == nil || s.Base() != 4e-3 || line.Base() != 10 {
			t.Errorf("SetBase(%g) is accepted", bad)
		}
	}
}

func TestCurves(t *testing.T) {
	cos := func(part float64) float64 { return (1 + math.Cos(math.Pi*part)) / 2 }
	type kwargs = map[string]any
	decay := func(more kwargs) kwargs {
		k := kwargs{"start_factor": 1, "end_factor": 0, "total_iters": 4}
		maps.Copy(k, more)
		return k
	}
	for i, test := range []struct {
		name   string
		kwargs kwargs
		want   []float64
	}{
		{"constant", kwargs{"factor": 0.5, "total_iters": 2}, []float64{0.5, 0.5, 1, 1}},
		{"LinearLR", nil, []float64{1. / 3, 1./3 + 2./15, 1./3 + 4./15, 1./3 + 6./15, 1./3 + 8./15, 1, 1}},
		{"linear", decay(nil), []float64{1, 0.75, 0.5, 0.25, 0, 0}},
		{"linear", decay(kwargs{"min_lr": 0.3}), []float64{1, 0.75, 0.5, 0.3, 0.3, 0.3}},
		{"CosineAnnealingLR", kwargs{"T_max": 4, "eta_min": 0.1}, []float64{1, 0.1 + 0.9*cos(0.25), 0.55,
			0.1 + 0.9*cos(0.75), 0.1, 0.1}},
		{"cosinelr", kwargs{"t_max": 2}, []float64{1, 0.5, 0, 0}},
		{"STEPLR", kwargs{"step_size": 1, "gamma": 0.5, "min_lr": 0.2}, []float64{1, 0.5, 0.25, 0.2, 0.2}},
		{"exponential", kwargs{"gamma": 0.5, "warmup_steps": 2, "warmup_factor": 0.5}, []float64{0.5, 0.75, 1, 0.5}},
		{"ConstantLR", kwargs{"warmup_steps": 2, "min_lr": 0.2}, []float64{0.2, 0.55, 1}},
	} {
		s := newSchedule(t, test.name, 1, test.kwargs)
		t.Run(fmt.Sprint(i, s.Name()), func(t *testing.T) { wantRates(t, rates(s, len(test.want)), test.want) })
	}
}

// An impossible state, or one of another kind, is refused, and nothing changes.
func TestRestoreRefuses(t *testing.T) {
	constant, kl := newSchedule(t, "ConstantLR", 1, nil), newSchedule(t, "KLAdaptiveLR", 1, nil)
	for _, state := range []map[string]float64{
		nil,
		{"base": 1, "step": 1.5},
		{"base": 1, "step": 1e300},
		{"base": math.NaN(), "step": 1},
		{"base": 1, "step": 1, "learning_rate": 0},
		{"base": 3, "step": 3, "other": 3},
	} {
		for _, s := range []schedulers.Scheduler{constant, kl} {
			before := s.State()
			must.RefuseAs(t, state, s.Restore(state), "schedulers: "+s.Name()+": ")
			must.Equal(t, "the schedule after a failed Restore", before, s.State())
		}
	}
}

// A mistake is an error that names the key and what is allowed.
func TestNewRefuses(t *testing.T) {
	type kwargs = map[string]any
	for want, test := range map[string]struct {
		name   string
		base   float64
		kwargs kwargs
	}{
		`learning_rate_scheduler|"KLAdaptivLR"|CosineLR|did you mean "KLAdaptiveLR"`: {"KLAdaptivLR", 1, nil},
		"min_lr 0.01|max_lr 0.001":         {"KLAdaptiveLR", 1, kwargs{"min_lr": 1e-2, "max_lr": 1e-3}},
		"base learning rate is NaN":        {"KLAdaptiveLR", math.NaN(), nil},
		`"warmup_factor" is 1.5|[0, 1]`:    {"ConstantLR", 1, kwargs{"warmup_factor": 1.5}},
		`"T_max" is 0|≥ 1`:                 {"CosineLR", 1, nil},
		`"total_iters" is 0|≥ 1`:           {"LinearLR", 1, kwargs{"total_iters": nil}},
		`"step_size" is 0`:                 {"StepLR", 1, nil},
		`"T_max" is "aut"|"auto"`:          {"CosineLR", 1, kwargs{"T_max": "aut"}},
		`"total_iters" is 1.5|integer ≥ 1`: {"LinearLR", 1, kwargs{"total_iters": 1.5}},
	} {
		must.RefusedAs(schedulers.New(test.name, test.base, test.kwargs))(t, want,
			strings.Split(want+"|schedulers: ", "|")...)
	}
}

// A curve whose length is auto ends with the run. Plan may be called again for a longer run.
func TestPlan(t *testing.T) {
	for name, key := range map[string]string{"LinearLR": "total_iters", "CosineLR": "T_max"} {
		curve := func(length any) *schedulers.Curve {
			kwargs := map[string]any{key: length, "warmup_steps": 2}
			if name == "LinearLR" {
				kwargs["start_factor"], kwargs["end_factor"] = 1, 0
			}
			return newSchedule(t, name, 1e-3, kwargs).(*schedulers.Curve)
		}
		auto, fixed := curve("auto"), curve(6)
		if auto.Planned() || !fixed.Planned() {
			t.Errorf("%s: planned before Plan", name)
		}
		auto.Plan(100)
		auto.Plan(8)
		wantRates(t, rates(auto, 10), rates(fixed, 10))
		if from, ok := auto.Vanishes(); ok {
			t.Errorf("%s: 0 from epoch %d on", name, from)
		}
		fixed.Plan(9)
		if from, ok := fixed.Vanishes(); !ok || from != 8 {
			t.Errorf("%s: 0 from epoch %d on, %v", name, from, ok)
		}
		settings := must.Get(schedulers.Settings(name, map[string]any{key: "auto"}))(t)
		must.Get(schedulers.Settings(name, settings))(t) // a resolved configuration is read again
	}
}

// Schedules with other names are refused; nearest names include registered ones.
func TestRegister(t *testing.T) {
	type none struct{}
	build := func(base float64, _ none) (schedulers.Scheduler, error) {
		return schedulers.NewCurve("Sawtooth", base, func(int64) float64 { return 1 })
	}
	schedulers.Register("Misnamed", none{}, build)
	for name, want := range map[string]string{
		"Misnamed": `returns a schedule with the Name "Sawtooth"; Name must return "Misnamed"`,
		"Sawtoth":  `"ExponentialLR", "Misnamed", "Sawtooth"; did you mean "Sawtooth"?`,
	} {
		must.RefusedAs(schedulers.New(name, 1, nil))(t, name, want)
	}
}

func wantRates(t *testing.T, got, want []float64) {
	t.Helper()
	if !slices.EqualFunc(got, want, near) {
		t.Errorf("rates %v, want %v", got, want)
	}
}
