package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
)

type experiment struct {
	Directory     string `yaml:"directory"`
	WriteInterval every  `yaml:"write_interval"`
}

type shared struct {
	Epochs int `yaml:"learning_epochs" config:"min=1"`
}

type sampler struct {
	Weight float64 `yaml:"weight" config:"min=0"`
	Name   string  `yaml:"name"`
}

// every is a number of steps or "auto".
type every struct{ Steps int }

func (e *every) SetConfig(value any) error {
	switch v := value.(type) {
	case int:
		e.Steps = v
		return nil
	case string:
		if v == "auto" {
			e.Steps = -1
			return nil
		}
	}
	return errors.New(`want a number of steps or "auto"`)
}

type sample struct {
	LearningRate []float64               `yaml:"learning_rate" config:"gt=0,minlen=1,maxlen=3"`
	MiniBatches  int                     `yaml:"mini_batches" config:"min=1"`
	Lambda       float64                 `yaml:"gae_lambda" config:"min=0,max=1"`
	ValueClip    float64                 `yaml:"value_clip"`
	StyleScale   float64                 `yaml:"style_reward_scale"`
	Limit        float64                 `yaml:"limit" config:"inf"`
	Loss         string                  `yaml:"loss" config:"oneof=bce|lsgan|wasserstein"`
	Mixed        bool                    `yaml:"mixed_precision"`
	Seed         *int64                  `yaml:"seed"`
	Capacity     uint32                  `yaml:"capacity"`
	Small        int8                    `yaml:"small"`
	Layers       []int                   `yaml:"layers" config:"min=1"`
	Names        []string                `yaml:"names"`
	Range        [2]float64              `yaml:"range"`
	Kwargs       map[string]any          `yaml:"kwargs"`
	Rules        map[string]string       `yaml:"rules" config:"oneof=a|b"`
	Every        time.Duration           `yaml:"every"`
	Shaper       func(r float64) float64 `yaml:"rewards_shaper"`
	Printer      fmt.Stringer            `yaml:"printer"`
	Experiment   experiment              `yaml:"experiment"`
	Sampler      sampler                 `yaml:"sampler"`
	Hidden       int                     `yaml:"-"`
	shared       `yaml:",inline"`
	Terms        []sampler `yaml:"terms"`
	private      int
}

func defaults() sample {
	return sample{LearningRate: []float64{5e-5}, MiniBatches: 2, Lambda: .95, ValueClip: .2, StyleScale: 2, Loss: "bce",
		Layers: []int{1024, 512}, Kwargs: map[string]any{"old": 1},
		Experiment: experiment{Directory: "runs", WriteInterval: every{-1}},
		Sampler:    sampler{Weight: 1, Name: "s"}, Hidden: 7, shared: shared{Epochs: 6}, private: 3}
}

var compare = cmp.Options{cmp.AllowUnexported(sample{}), cmp.FilterPath(func(p cmp.Path) bool {
	return strings.HasSuffix(p.String(), "Shaper")
}, cmp.Comparer(func(a, b func(float64) float64) bool { return (a == nil) == (b == nil) }))}

var aliases = map[string]Alias{
	"lambda":                     {Key: "gae_lambda", Note: "skrl 1.x"},
	"gae":                        {Key: "gae_lambda"},
	"style_reward_weight":        {Key: "style_reward_scale", Factor: 1},
	"discriminator_reward_scale": {Key: "style_reward_scale", Factor: 2},
	"sampler.w":                  {Key: "sampler.weight"},
}

func TestMerge(t *testing.T) {
	type dict = map[string]any
	tests := []struct {
		name string
		dict dict
		want func(*sample)
	}{
		{"scalar for list", dict{"learning_rate": 1e-3}, func(s *sample) { s.LearningRate = []float64{1e-3} }},
		{"list of any", dict{"learning_rate": []any{1, 0.5, "1e-4"}},
			func(s *sample) { s.LearningRate = []float64{1, .5, 1e-4} }},
		{"array", dict{"range": []any{1, 2.5}}, func(s *sample) { s.Range = [2]float64{1, 2.5} }},
		{"empty array", dict{"range": []any{}}, func(s *sample) { s.Range = [2]float64{} }},
		{"decimals in quotes", dict{"gae_lambda": "0.9", "mini_batches": "32", "small": "-5", "capacity": "4000000000",
			"value_clip":    "3",
			"learning_rate": []any{"1e-4", "2"}}, func(s *sample) {
			s.Lambda, s.MiniBatches, s.Small, s.Capacity, s.ValueClip, s.LearningRate = .9, 32, -5, 4e9, 3,
				[]float64{1e-4, 2}
		}},
		{"whole float for integer", dict{"mini_batches": 3.0, "capacity": 4e9},
			func(s *sample) { s.MiniBatches = 3; s.Capacity = 4e9 }},
		{"infinity where allowed", dict{"limit": math.Inf(1)}, func(s *sample) { s.Limit = math.Inf(1) }},
		{"yes", dict{"mixed_precision": "Yes"}, func(s *sample) { s.Mixed = true }},
		{"null", dict{"seed": nil, "kwargs": nil, "value_clip": nil, "sampler": nil, "experiment": nil},
			func(s *sample) {
				s.Kwargs, s.ValueClip, s.Sampler, s.Experiment = nil, 0, sampler{}, experiment{}
			}},
		{"map replaces", dict{"kwargs": dict{"new": []any{1, dict{"x": 2}}}}, func(s *sample) {
			s.Kwargs = dict{"new": []any{1, dict{"x": 2}}}
		}},
		{"duration", dict{"every": "1m30s"}, func(s *sample) { s.Every = 90 * time.Second }},
		{"function", dict{"rewards_shaper": func(r float64) float64 { return r / 2 }}, func(s *sample) {
			s.Shaper = func(r float64) float64 { return r }
		}},
		{"section", dict{"experiment": dict{"write_interval": 10}},
			func(s *sample) { s.Experiment.WriteInterval.Steps = 10 }},
		{"section as struct", dict{"experiment": experiment{Directory: "y"}},
			func(s *sample) { s.Experiment = experiment{Directory: "y"} }},
		{"list of sections", dict{"terms": []any{dict{"name": "a"}, dict{"weight": 2}}}, func(s *sample) {
			s.Terms = []sampler{{Name: "a"}, {Weight: 2}}
		}},
		{"alias, same value twice", dict{"lambda": 1, "gae_lambda": 1.0}, func(s *sample) { s.Lambda = 1 }},
		{"alias, weight and scale", dict{"style_reward_weight": 0.5, "discriminator_reward_scale": 8},
			func(s *sample) { s.StyleScale = 4 }},
		{"alias in a section", dict{"sampler": dict{"w": 4}}, func(s *sample) { s.Sampler = sampler{4, "s"} }},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, want := defaults(), defaults()
			test.want(&want)
			must.Do(t, Merge(&got, test.dict, Options{Aliases: aliases}))
			must.Equal(t, "the settings", want, got, compare)
		})
	}
}

func TestMergeErrors(t *testing.T) {
	type dict = map[string]any
	tests := []struct {
		name string
		dict dict
		want string
	}{
		{"unknown", dict{"mini_batchs": 4}, `amp: unknown key "mini_batchs" (given 4): did you mean "mini_batches"?`},
		{"nothing near", dict{"wandb_project": nil}, `amp: unknown key "wandb_project" (given null)`},
		{"unknown in section", dict{"experiment": dict{"dir": "x", "directry": "y"}},
			"amp: unknown key \"experiment.dir\" (given \"x\")\n" +
				"amp: unknown key \"experiment.directry\" (given \"y\"): did you mean \"experiment.directory\"?"},
		{"alias suggested", dict{"lamda": 1}, `amp: unknown key "lamda" (given 1): did you mean "lambda"?`},
		{"string for integer", dict{"mini_batches": "two"},
			`amp: "mini_batches" is "two" (string): want an integer ≥ 1`},
		{"NaN in quotes", dict{"gae_lambda": "nan"}, `amp: "gae_lambda" is "nan" (string): want a number in [0, 1]`},
		{"range", dict{"gae_lambda": 1.5}, `amp: "gae_lambda" is 1.5: want a number in [0, 1]`},
		{"infinity", dict{"value_clip": math.Inf(1)}, `amp: "value_clip" is +Inf: want a finite number`},
		{"element", dict{"learning_rate": []any{1e-3, 0}}, `amp: "learning_rate[1]" is 0: want a number > 0`},
		{"scalar element", dict{"learning_rate": -1},
			`amp: "learning_rate" is -1: want a number > 0, or a list of 1 to 3`},
		{"array length", dict{"range": []any{1}}, `amp: "range" is [1]: want a list of 2, each a number`},
		{"choice", dict{"loss": "lsgam"},
			`amp: "loss" is "lsgam": want one of "bce", "lsgan", "wasserstein"; did you mean "lsgan"?`},
		{"setter", dict{"experiment": dict{"write_interval": "often"}},
			`amp: "experiment.write_interval" is "often": want a number of steps or "auto"`},
		{"function", dict{"rewards_shaper": "half"},
			`amp: "rewards_shaper" is "half" (string): want a Go value of type func(float64) float64`},
		{"all at once", dict{"mini_batches": 0, "gae_lambda": 2, "loss": "bce"},
			"amp: \"gae_lambda\" is 2: want a number in [0, 1]\namp: \"mini_batches\" is 0: want an integer ≥ 1"},
		{"alias, different", dict{"lambda": 0.9, "gae_lambda": 0.8},
			`amp: "lambda" is 0.9: it means the same as "gae_lambda", which is 0.8; give one of them (skrl 1.x)`},
		{"alias excluded", dict{"style_reward_weight": 0.5}, `amp: "style_reward_weight" is 0.5: it cannot be given ` +
			`together with "style_reward_scale" (9); give one of them`},
		{"section struct out of range", dict{"sampler": sampler{Weight: -1}},
			`amp: "sampler.weight" is -1: want a number ≥ 0`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := defaults()
			// Everything else in the dictionary is good, and must not arrive either.
			dict := dict{"style_reward_scale": 9.0, "sampler": map[string]any{"name": "changed"}, "layers": []int{1}}
			maps.Copy(dict, test.dict)
			err := Merge(&got, dict, Options{Prefix: "amp", Aliases: aliases})
			must.Equal(t, "error", test.want, fmt.Sprint(err))
			var typed *Error
			if !errors.As(err, &typed) || typed.Prefix != "amp" || typed.Path == "" {
				t.Errorf("not a complete *Error: %#v", typed)
			}
			must.Equal(t, "changed on error", defaults(), got, compare)
		})
	}
}

func TestMergeCopies(t *testing.T) {
	got := defaults()
	kwargs := map[string]any{"inner": map[string]any{"a": 1}}
	layers := []int{1, 2}
	must.Do(t, Merge(&got, map[string]any{"kwargs": kwargs, "layers": layers}, Options{}))
	kwargs["inner"].(map[string]any)["a"], layers[0] = 2, 9
	if got.Kwargs["inner"].(map[string]any)["a"] != 1 || got.Layers[0] != 1 {
		t.Error("the configuration shares memory with the dictionary")
	}
}

func TestCheck(t *testing.T) {
	bad := defaults()
	must.Do(t, Check(bad, "amp"))
	bad.LearningRate, bad.Loss, bad.Epochs, bad.Sampler.Weight = []float64{math.NaN()}, "hinge", 0, -1
	bad.Kwargs = map[string]any{"x": math.Inf(-1)}
	want := `amp: "kwargs.x" is -Inf: want a finite number
amp: "learning_epochs" is 0: want an integer ≥ 1
amp: "learning_rate[0]" is NaN: want a number > 0
amp: "loss" is "hinge": want one of "bce", "lsgan", "wasserstein"
amp: "sampler.weight" is -1: want a number ≥ 0`
	must.Equal(t, "error", want, fmt.Sprint(Check(&bad, "amp")))
}

// What Dict returns, Merge reads back.
func TestDict(t *testing.T) {
	d, got := defaults(), defaults()
	d.LearningRate, d.Seed = []float64{1e-2, 1e-3}, new(int64)
	dict := Dict(d)
	delete(dict["experiment"].(map[string]any), "write_interval") // a Setter reads what it likes
	must.Do(t, Merge(&got, dict, Options{}))
	d.Names, d.Rules, d.Terms = []string{}, map[string]string{}, []sampler{}
	must.Equal(t, "what Dict gives", d, got, compare)
}

func TestSlip(t *testing.T) {
	known := []string{"episode.return", "episode.length", "Loss / Policy loss", "loss/a", "episode.x"}
	for name, want := range map[string]bool{"episode.retrun": true, "Loss / Polcy loss": true, "episodereturn": true,
		"loss/b": false, "episode.y": false, "episode.success": false, "return": false} {
		if Slip(name, known) != want {
			t.Errorf("%q is a slip: %t, want %t", name, !want, want)
		}
	}
}

func TestNearest(t *testing.T) {
	known := []string{"learning_rate", "learning_epochs", "learning_starts", "lambda"}
	for name, want := range map[string]string{
		"learning_rat": "learning_rate", "Learning-Epoch": "learning_epochs", "learning_start": "learning_starts",
		"lamda": "lambda", "gamma": "", "": "",
	} {
		if got := Nearest(name, known); got != want {
			t.Errorf("the nearest to %q is %q, want %q", name, got, want)
		}
	}
}
