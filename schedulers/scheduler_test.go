package schedulers_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/schedulers"
)

func newSchedule(t *testing.T, name string, base float64, kwargs map[string]any) schedulers.Scheduler {
	t.Helper()
	s, err := schedulers.New(name, base, kwargs)
	must(t, err)
	return s
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

func wantRates(t *testing.T, got, want []float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if !near(got[i], want[i]) {
			t.Errorf("epoch %d: got %g, want %g", i, got[i], want[i])
		}
	}
}

// The numbers were produced by skrl 2.0.0.
func TestGoldenKLAdaptive(t *testing.T) {
	data, err := os.ReadFile("testdata/kl_adaptive.json")
	must(t, err)
	var golden struct {
		KL           []float64 `json:"kl"`
		LearningRate []float64 `json:"learning_rate"`
	}
	must(t, json.Unmarshal(data, &golden))
	if len(golden.KL) != 40 || len(golden.LearningRate) != 40 {
		t.Fatalf("the golden file has %d and %d numbers, want 40", len(golden.KL), len(golden.LearningRate))
	}
	s := newSchedule(t, "KLAdaptiveLR", 1e-3, nil)
	for i, kl := range golden.KL {
		s.Step(kl)
		if got := s.LearningRate(); got != golden.LearningRate[i] {
			t.Fatalf("step %d, KL %g: learning rate %v, want %v", i, kl, got, golden.LearningRate[i])
		}
	}
}

func TestKLAdaptive(t *testing.T) {
	s := newSchedule(t, "KLAdaptiveRL", 1e-3, nil)
	if !s.UsesKL() || s.Name() != "KLAdaptiveLR" {
		t.Errorf("UsesKL %v, Name %q", s.UsesKL(), s.Name())
	}
	for _, step := range []struct{ kl, want float64 }{
		{0.02, 1e-3 / 1.5},
		{0.016, 1e-3 / 1.5}, // the tolerance's ends belong to it
		{0.004, 1e-3 / 1.5},
		{math.NaN(), 1e-3 / 1.5},
		{0.0039, 1e-3},
		{math.Inf(1), 1e-3 / 1.5},
		{-1, 1e-3},
	} {
		s.Step(step.kl)
		if !near(s.LearningRate(), step.want) {
			t.Fatalf("after KL %g: %g, want %g", step.kl, s.LearningRate(), step.want)
		}
	}
	for range 100 {
		s.Step(0)
	}
	if s.LearningRate() != 1e-2 {
		t.Errorf("the ceiling is 1e-2, got %g", s.LearningRate())
	}
	for range 100 {
		s.Step(1)
	}
	if s.LearningRate() != 1e-6 {
		t.Errorf("the floor is 1e-6, got %g", s.LearningRate())
	}
}

func TestKLAdaptiveSetBase(t *testing.T) {
	s := newSchedule(t, "kl_adaptive", 1e-3, nil)
	s.Step(1)
	s.Step(1)
	must(t, s.SetBase(2e-3))
	if want := 2e-3 / 1.5 / 1.5; !near(s.LearningRate(), want) || s.Base() != 2e-3 {
		t.Errorf("learning rate %g on base %g, want %g on 2e-3", s.LearningRate(), s.Base(), want)
	}
	for range 20 {
		s.Step(0)
	}
	must(t, s.SetBase(4e-3))
	if s.LearningRate() != 1e-2 {
		t.Errorf("scaled beyond max_lr: %g", s.LearningRate())
	}
	for _, bad := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if err := s.SetBase(bad); err == nil || s.Base() != 4e-3 {
			t.Errorf("SetBase(%g): error %v, base %g", bad, err, s.Base())
		}
	}
}

func TestCurves(t *testing.T) {
	cos := func(part float64) float64 { return (1 + math.Cos(math.Pi*part)) / 2 }
	tests := []struct {
		name   string
		kwargs map[string]any
		want   []float64
	}{
		{"", nil, []float64{1, 1, 1}},
		{"constant", map[string]any{"factor": 0.5, "total_iters": 2}, []float64{0.5, 0.5, 1, 1}},
		{"LinearLR", nil, []float64{1. / 3, 1./3 + 2./15, 1./3 + 4./15, 1./3 + 6./15, 1./3 + 8./15, 1, 1}},
		{"linear", map[string]any{"start_factor": 1, "end_factor": 0, "total_iters": 4}, []float64{1, 0.75, 0.5, 0.25,
			0, 0}},
		{"linear", map[string]any{"start_factor": 1, "end_factor": 0, "total_iters": 4, "start_epoch": 1},
			[]float64{0.75, 0.5, 0.25, 0, 0}},
		{"linear", map[string]any{"start_factor": 1, "end_factor": 0, "total_iters": 4, "min_lr": 0.3}, []float64{1,
			0.75, 0.5, 0.3, 0.3, 0.3}},
		{"CosineAnnealingLR", map[string]any{"T_max": 4, "eta_min": 0.1}, []float64{1, 0.1 + 0.9*cos(0.25), 0.55,
			0.1 + 0.9*cos(0.75), 0.1, 0.1}},
		{"cosinelr", map[string]any{"t_max": 2}, []float64{1, 0.5, 0, 0}},
		{"StepLR", map[string]any{"step_size": 2}, []float64{1, 1, 0.1, 0.1, 0.01}},
		{"StepLR", map[string]any{"step_size": 1, "gamma": 0.5, "min_lr": 0.2}, []float64{1, 0.5, 0.25, 0.2, 0.2}},
		{"ExponentialLR", map[string]any{"gamma": 0.5}, []float64{1, 0.5, 0.25, 0.125}},
		{"ExponentialLR", map[string]any{"gamma": 0.5, "warmup_steps": 2, "warmup_factor": 0.5}, []float64{0.5, 0.75,
			1, 0.5, 0.25}},
		{"ConstantLR", map[string]any{"warmup_steps": 3}, []float64{0.1, 0.4, 0.7, 1, 1}},
		{"ConstantLR", map[string]any{"warmup_steps": 2, "min_lr": 0.2}, []float64{0.2, 0.55, 1}},
	}
	for _, test := range tests {
		// The curve does not depend on the base rate, nor on when it is set.
		for _, base := range []float64{1, 3e-4} {
			kwargs := map[string]any{}
			for k, v := range test.kwargs {
				if f, ok := v.(float64); ok && (k == "min_lr" || k == "eta_min") {
					v = f * base
				}
				kwargs[k] = v
			}
			s := newSchedule(t, test.name, base, kwargs)
			if s.UsesKL() {
				t.Errorf("%s uses the KL divergence", s.Name())
			}
			got := rates(s, len(test.want))
			for i := range got {
				got[i] /= base
			}
			t.Run(s.Name(), func(t *testing.T) { wantRates(t, got, test.want) })
		}
	}
}

func TestCurveSetBase(t *testing.T) {
	s := newSchedule(t, "linear", 1, map[string]any{"start_factor": 1, "end_factor": 0, "total_iters": 4})
	rates(s, 3)
	must(t, s.SetBase(10))
	wantRates(t, rates(s, 3), []float64{5, 2.5, 0})
	if err := s.SetBase(math.NaN()); err == nil || s.Base() != 10 {
		t.Errorf("SetBase(NaN): %v, base %g", err, s.Base())
	}
}

func TestKLAdaptiveWarmup(t *testing.T) {
	s := newSchedule(t, "KLAdaptiveLR", 1e-3, map[string]any{"warmup_steps": 2, "warmup_factor": 0})
	wantRates(t, rates(s, 5), []float64{0, 5e-4, 1e-3, 1.5e-3, 2.25e-3})
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
		must(t, s.SetBase(2e-3))
		s.Step(kl[3])
		data, err := json.Marshal(s.State())
		must(t, err)
		var state map[string]float64
		must(t, json.Unmarshal(data, &state))
		resumed := newSchedule(t, name, 5e-4, kwargs[name])
		must(t, resumed.Restore(state))
		for _, x := range kl[4:] {
			s.Step(x)
			resumed.Step(x)
			if s.LearningRate() != resumed.LearningRate() || s.Base() != resumed.Base() {
				t.Errorf("%s: resumed at %g, the original at %g", name, resumed.LearningRate(), s.LearningRate())
			}
		}
	}
}

func TestRestoreRefuses(t *testing.T) {
	constant, kl := newSchedule(t, "ConstantLR", 1, nil), newSchedule(t, "KLAdaptiveLR", 1, nil)
	for _, state := range []map[string]float64{
		nil,
		{"base": 1},
		{"base": 1, "step": 1.5},
		{"base": 1, "step": -1},
		{"base": 1, "step": 1e300},
		{"base": 0, "step": 1},
		{"base": math.NaN(), "step": 1},
		{"base": math.Inf(1), "step": 1},
		kl.State(),
	} {
		before := constant.State()
		if err := constant.Restore(state); err == nil || !strings.HasPrefix(err.Error(), "schedulers: ConstantLR: ") {
			t.Errorf("Restore(%v): error %v", state, err)
		}
		if diff := cmp.Diff(before, constant.State()); diff != "" {
			t.Errorf("Restore(%v) failed and changed the schedule: %s", state, diff)
		}
	}
	if err := kl.Restore(constant.State()); err == nil {
		t.Error("a KL-adaptive schedule takes the state of a constant one")
	}
	if err := kl.Restore(map[string]float64{"base": 1, "step": 1, "learning_rate": 0}); err == nil {
		t.Error("a learning rate of 0 is accepted")
	}
}

func TestNewRefuses(t *testing.T) {
	tests := []struct {
		name   string
		base   float64
		kwargs map[string]any
		want   []string // parts of the message
	}{
		{"KLAdaptivLR", 1, nil, []string{"learning_rate_scheduler", `"KLAdaptivLR"`, "CosineLR",
			`did you mean "KLAdaptiveLR"`}},
		{"KLAdaptiveLR", 1, map[string]any{"kl_treshold": 1}, []string{`unknown key "kl_treshold"`,
			`did you mean "kl_threshold"`}},
		{"KLAdaptiveLR", 1, map[string]any{"kl_threshold": 0}, []string{`"kl_threshold" is 0`, "> 0"}},
		{"KLAdaptiveLR", 1, map[string]any{"kl_threshold": "small"}, []string{`"kl_threshold" is "small"`, "number"}},
		{"KLAdaptiveLR", 1, map[string]any{"lr_factor": 0.5}, []string{`"lr_factor" is 0.5`, "≥ 1"}},
		{"KLAdaptiveLR", 1, map[string]any{"min_lr": 1e-2, "max_lr": 1e-3}, []string{"min_lr 0.01", "max_lr 0.001"}},
		{"ConstantLR", 1, map[string]any{"min_lr": math.NaN()}, []string{`"min_lr" is NaN`}},
		{"ConstantLR", 1, map[string]any{"min_lr": 2}, []string{"min_lr 2", "base learning rate 1"}},
		{"ConstantLR", 1, map[string]any{"warmup_steps": -1}, []string{`"warmup_steps" is -1`}},
		{"ConstantLR", 1, map[string]any{"warmup_steps": 2.5}, []string{`"warmup_steps" is 2.5`, "integer"}},
		{"ConstantLR", 1, map[string]any{"warmup_factor": 1.5}, []string{`"warmup_factor" is 1.5`, "[0, 1]"}},
		{"CosineLR", 1, nil, []string{`"T_max" is 0`, "≥ 1"}},
		{"CosineLR", 1, map[string]any{"T_max": 3, "eta_min": -1}, []string{`"eta_min" is -1`}},
		{"StepLR", 1, nil, []string{`"step_size" is 0`}},
		{"ExponentialLR", 1, nil, []string{`"gamma" is 0`}},
		{"LinearLR", 1, map[string]any{"start_factor": 0}, []string{`"start_factor" is 0`}},
		{"ConstantLR", 0, nil, []string{"base learning rate is 0"}},
		{"KLAdaptiveLR", math.NaN(), nil, []string{"base learning rate is NaN"}},
		{"ConstantLR", math.Inf(1), nil, []string{"base learning rate is +Inf"}},
	}
	for _, test := range tests {
		s, err := schedulers.New(test.name, test.base, test.kwargs)
		if err == nil || s != nil {
			t.Errorf("New(%q, %g, %v) = %v, %v; want an error", test.name, test.base, test.kwargs, s, err)
			continue
		}
		for _, part := range append(test.want, "schedulers: ") {
			if !strings.Contains(err.Error(), part) {
				t.Errorf("New(%q, %g, %v): %q does not mention %q", test.name, test.base, test.kwargs, err, part)
			}
		}
	}
	_, err := schedulers.New("StepLR", 1, map[string]any{"gama": 1})
	var problem *config.Error
	if !errors.As(err, &problem) || problem.Nearest != "gamma" {
		t.Errorf("error %v is no *config.Error that knows gamma", err)
	}
}

func TestNames(t *testing.T) {
	required := map[string]any{"CosineLR": "T_max", "StepLR": "step_size", "ExponentialLR": "gamma"}
	for _, name := range schedulers.Names() {
		kwargs := map[string]any{}
		if key, ok := required[name]; ok {
			kwargs[key.(string)] = 1
		}
		if got := newSchedule(t, strings.ToUpper(name), 1, kwargs).Name(); got != name {
			t.Errorf("New(%q).Name() = %q", name, got)
		}
	}
}

// A curve whose length is auto ends with the run that Plan tells of, and may be told again.
func TestPlan(t *testing.T) {
	for name, key := range map[string]string{"LinearLR": "total_iters", "CosineLR": "T_max"} {
		kwargs := map[string]any{key: "auto", "warmup_steps": 2}
		fixed := map[string]any{key: 6, "warmup_steps": 2}
		if name == "LinearLR" {
			kwargs["start_factor"], kwargs["end_factor"] = 1, 0
			fixed["start_factor"], fixed["end_factor"] = 1, 0
		}
		s, err := schedulers.New(name, 1e-3, kwargs)
		must(t, err)
		want, err := schedulers.New(name, 1e-3, fixed)
		must(t, err)
		c := s.(*schedulers.Curve)
		if c.Planned() || !want.(*schedulers.Curve).Planned() {
			t.Errorf("%s: planned before Plan", name)
		}
		c.Plan(100)
		c.Plan(8)
		for epoch := range 10 {
			if !c.Planned() || c.LearningRate() != want.LearningRate() {
				t.Errorf("%s: %g at epoch %d, want %g", name, c.LearningRate(), epoch, want.LearningRate())
			}
			c.Step(0)
			want.Step(0)
		}
		if from, ok := c.Vanishes(); ok {
			t.Errorf("%s: 0 from epoch %d on", name, from)
		}
		c = want.(*schedulers.Curve)
		c.Plan(9)
		if from, ok := c.Vanishes(); !ok || from != 8 {
			t.Errorf("%s: 0 from epoch %d on, %v", name, from, ok)
		}
		for _, bad := range []any{"aut", 0, -1, 1.5, nil} {
			kwargs[key] = bad
			if _, err := schedulers.New(name, 1e-3, kwargs); err == nil || !strings.Contains(err.Error(), key) {
				t.Errorf("%s %v: %v", key, bad, err)
			}
		}
	}
}

// Settings have a length that is auto as New reads it, and every other setting of the schedule.
func TestSettingsReadBack(t *testing.T) {
	for name, kwargs := range map[string]map[string]any{
		"LinearLR": {"total_iters": "auto", "end_factor": 0.0}, "CosineLR": {"T_max": "auto"},
		"StepLR":       {"step_size": 3},
		"KLAdaptiveLR": nil,
	} {
		full, err := schedulers.Settings(name, kwargs)
		must(t, err)
		again, err := schedulers.Settings(name, full)
		if err != nil {
			t.Errorf("%s: %v of %v", name, err, full)
		}
		if d := cmp.Diff(full, again); d != "" {
			t.Errorf("%s: (-written +read)\n%s", name, d)
		}
		for key, value := range kwargs {
			if fmt.Sprint(full[key]) != fmt.Sprint(value) {
				t.Errorf("%s: %s is %v, want %v", name, key, full[key], value)
			}
		}
	}
}

// Names that are taken and schedules with other names are refused; nearest names include registered ones.
func TestRegister(t *testing.T) {
	type none struct{}
	build := func(base float64, _ none) (schedulers.Scheduler, error) {
		return schedulers.NewConstant(base, schedulers.ConstantConfig{})
	}
	for _, name := range []string{"", "cosine", "linearlr", "Sawtooth", "SAWTOOTH"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%q was registered", name)
				}
			}()
			schedulers.Register(name, none{}, build)
		}()
	}
	schedulers.Register("Misnamed", none{}, build)
	for name, want := range map[string]string{
		"Misnamed": `returns a schedule with the Name "ConstantLR"; Name must return "Misnamed"`,
		"Sawtoth":  `"ExponentialLR", "Misnamed", "Sawtooth"; did you mean "Sawtooth"?`,
	} {
		if _, err := schedulers.New(name, 1, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	full, err := schedulers.Settings("sawtooth", map[string]any{"period": 7})
	if diff := cmp.Diff(map[string]any{"period": 7, "factor": 0.5}, full); err != nil || diff != "" {
		t.Error(err, diff)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
