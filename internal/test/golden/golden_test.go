package golden

import (
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"
)

// TestFurtherCases reads a folder that GORL_FIXTURES names, here with a copy of the cases of one kind.
func TestFurtherCases(t *testing.T) {
	own, err := fs.Sub(embedded, "testdata")
	must(t, err)
	dir := t.TempDir()
	for _, name := range []string{"ppo_plain.json", "ppo_plain.npz"} {
		data, err := fs.ReadFile(own, "skrl/"+name)
		must(t, err)
		must(t, os.MkdirAll(filepath.Join(dir, "skrl"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "skrl", "further_"+name), data, 0o644))
	}
	t.Setenv(Environment, dir)
	var names []string
	Each(t, "ppo", func(t *testing.T, c *Case) { names = append(names, t.Name()) })
	if want := "TestFurtherCases/GORL_FIXTURES/skrl/further_ppo_plain"; !slices.Contains(names, want) {
		t.Errorf("subtests %q: want %q among them", names, want)
	}
	t.Setenv(Environment, t.TempDir())
	if _, err := sources(); err == nil {
		t.Error("a folder without cases is no error")
	}
}

// TestBadCases spoils a case in ways that must be noticed.
func TestBadCases(t *testing.T) {
	own, err := fs.Sub(embedded, "testdata")
	must(t, err)
	read := func(name string) *fstest.MapFile {
		data, err := fs.ReadFile(own, name)
		must(t, err)
		return &fstest.MapFile{Data: data}
	}
	description, arrays := read("skrl/amp_plain.json"), read("skrl/amp_plain.npz")
	if _, err := loadOne(fstest.MapFS{"skrl/a.json": description, "skrl/a.npz": arrays}, "skrl/a.json"); err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string]fstest.MapFS{
		"no arrays":      {"skrl/a.json": description},
		"damaged arrays": {"skrl/a.json": description, "skrl/a.npz": {Data: arrays.Data[:1000]}},
		"other arrays":   {"skrl/a.json": description, "skrl/a.npz": read("skrl/ppo_full.npz")},
		"parts":          {"skrl/a.json": description, "skrl/a.npz": read("skrl/parts.npz")},
		"no JSON":        {"skrl/a.json": arrays, "skrl/a.npz": arrays},
		"empty":          {"skrl/a.json": {Data: []byte("{}")}, "skrl/a.npz": arrays},
	} {
		if _, err := loadOne(files, "skrl/a.json"); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := loadSeveral(fstest.MapFS{"a.json": {Data: []byte(`{"kind": "ppo", "cfg": {}, "updates": []}`)}}, "a.json"); err == nil {
		t.Error("a case without updates: no error")
	}
}

// TestPythonConfig reads classes and dictionaries as Python prints them.
func TestPythonConfig(t *testing.T) {
	got, err := pythonConfig(map[string]any{
		"learning_rate_scheduler":         "<class 'skrl.resources.schedulers.torch.kl_adaptive.KLAdaptiveLR'>",
		"learning_rate_scheduler_kwargs":  "{'kl_threshold': 0.008, 'lr_factor': 2}",
		"observation_preprocessor_kwargs": "{'size': 3, 'clip_threshold': 4.5, 'device': device(type='cpu')}",
		"mini_batches":                    2.0, "value_clip": 0.5, "time_limit_bootstrap": true, "rewards_shaper": nil,
	})
	must(t, err)
	kl := got["learning_rate_scheduler_kwargs"].(map[string]any)
	scaler := got["observation_preprocessor_kwargs"].(map[string]any)
	if got["learning_rate_scheduler"] != "KLAdaptiveLR" || kl["kl_threshold"] != 0.008 || kl["lr_factor"] != 2.0 || len(kl) != 2 ||
		scaler["clip_threshold"] != 4.5 || len(scaler) != 1 || got["mini_batches"] != 2 || got["value_clip"] != 0.5 || got["time_limit_bootstrap"] != true {
		t.Errorf("got %v", got)
	}
	if _, err := pythonConfig(map[string]any{"x": "what?"}); err == nil {
		t.Error("no error")
	}
}

// TestError compares vectors by hand.
func TestError(t *testing.T) {
	for _, c := range []struct {
		got, want []float64
		error     float64
	}{
		{[]float64{3, 4}, []float64{3, 4}, 0},
		{[]float64{3, 4.5}, []float64{3, 4}, 0.1},
		{[]float64{0, 2}, []float64{0, 0}, 2},
	} {
		if e := Error(c.got, c.want); math.Abs(e-c.error) > 1e-15 {
			t.Errorf("Error(%v, %v) = %g, want %g", c.got, c.want, e, c.error)
		}
	}
	if e := Error([]float64{math.NaN()}, []float64{1}); e <= Tolerance {
		t.Errorf("NaN is within tolerance: %g", e)
	}
}
