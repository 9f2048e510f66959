package agents_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/gorl-dev/gorl/internal/test/golden"
)

// TestFurtherCases reads a folder that GORL_FIXTURES names, here with a copy of the cases of one kind.
func TestFurtherCases(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"ppo_plain.json", "ppo_plain.npz"} {
		data, err := os.ReadFile(filepath.Join("testdata", "skrl", name))
		must(t, err)
		must(t, os.MkdirAll(filepath.Join(dir, "skrl"), 0o755))
		must(t, os.WriteFile(filepath.Join(dir, "skrl", "further_"+name), data, 0o644))
	}
	t.Setenv(golden.Environment, dir)
	var names []string
	each(t, "ppo", func(t *testing.T, c *goldenCase) { names = append(names, t.Name()) })
	if want := "TestFurtherCases/GORL_FIXTURES/skrl/further_ppo_plain"; !slices.Contains(names, want) {
		t.Errorf("subtests %q: want %q among them", names, want)
	}
	t.Setenv(golden.Environment, t.TempDir())
	if _, err := golden.Sources(os.DirFS("testdata")); err == nil {
		t.Error("a folder without cases is no error")
	}
}

// TestBadCases spoils a case in ways that must be noticed.
func TestBadCases(t *testing.T) {
	read := func(path ...string) *fstest.MapFile {
		data, err := os.ReadFile(filepath.Join(path...))
		must(t, err)
		return &fstest.MapFile{Data: data}
	}
	description, arrays := read("testdata", "skrl", "amp_plain.json"), read("testdata", "skrl", "amp_plain.npz")
	if _, err := loadOne(fstest.MapFS{"skrl/a.json": description, "skrl/a.npz": arrays}, "skrl/a.json"); err != nil {
		t.Fatal(err)
	}
	for name, files := range map[string]fstest.MapFS{
		"no arrays":      {"skrl/a.json": description},
		"damaged arrays": {"skrl/a.json": description, "skrl/a.npz": {Data: arrays.Data[:1000]}},
		"other arrays":   {"skrl/a.json": description, "skrl/a.npz": read("testdata", "skrl", "ppo_full.npz")},
		"parts":          {"skrl/a.json": description, "skrl/a.npz": read("..", "internal", "test", "golden", "testdata", "skrl", "parts.npz")},
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

// TestReadState finds parameters and the statistics of scalers in every layout.
func TestReadState(t *testing.T) {
	const one = `{"shape": [1], "data": [7]}`
	for document, want := range map[string]string{
		`{"init": {"policy": {"net_container.0.bias": ` + one + `}}}`:                 "policy/net.0.bias",
		`{"init": {"observation_preprocessor": {"running_mean": [7]}}}`:               "observation_preprocessor/running_mean",
		`{"scalers": {"amp_observation": {"running_variance": ` + one + `}}}`:         "amp_observation_preprocessor/running_variance",
		`{"state": {"value_preprocessor.current_count": 7}, "updates": [{"data":0}]}`: "value_preprocessor/current_count",
	} {
		got, err := readState([]byte(document), "init/")
		if err != nil || len(got) != 1 || !slices.Equal(got[want].Data, []float64{7}) {
			t.Errorf("%s gave %v, %v; want 7 at %s", document, got, err, want)
		}
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
