package preset

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/gorl-dev/gorl/pbt/journal"
)

type values = map[string]float64

// journal is that of three members over three intervals: 2 copies 0, then 1 copies 2 (as it was) while 2 copies 0 again.
func recorded() []journal.Event {
	start := func(member int, rate float64) journal.Event {
		return journal.Event{Kind: journal.Start, Member: member, Parent: -1, After: values{"learning_rate": rate, "custom": 3, "env.bonus": 1}}
	}
	return []journal.Event{
		{Kind: journal.Population, Member: -1, Parent: -1, Run: &journal.RunInfo{Members: 3}},
		start(0, 0.1), start(1, 0.2), start(2, 0.3),
		{Kind: journal.Keep, Iteration: 1, Member: 0, Parent: -1, Before: values{"learning_rate": 0.1, "custom": 3, "env.bonus": 1}},
		{Kind: journal.SelfMutate, Iteration: 1, Member: 1, Parent: -1, Before: values{"learning_rate": 0.2, "custom": 3, "env.bonus": 1}, After: values{"learning_rate": 0.25, "custom": 3, "env.bonus": 1}},
		{Kind: journal.Replace, Iteration: 1, Member: 2, Parent: 0, Before: values{"learning_rate": 0.3, "custom": 3, "env.bonus": 1}, After: values{"learning_rate": 0.15, "custom": 3, "env.bonus": 2}},
		{Kind: journal.Keep, Iteration: 2, Member: 0, Parent: -1, Before: values{"learning_rate": 0.1, "custom": 3, "env.bonus": 1}},
		{Kind: journal.Replace, Iteration: 2, Member: 1, Parent: 2, Before: values{"learning_rate": 0.25, "custom": 3, "env.bonus": 1}, After: values{"learning_rate": 0.18, "custom": 3, "env.bonus": 2}},
		{Kind: journal.Replace, Iteration: 2, Member: 2, Parent: 0, Before: values{"learning_rate": 0.15, "custom": 3, "env.bonus": 2}, After: values{"learning_rate": 0.05, "custom": 3, "env.bonus": 0.5}},
		{Kind: journal.Final, Iteration: 3, Member: 0, Parent: -1, Before: values{"learning_rate": 0.1, "custom": 3, "env.bonus": 1}},
	}
}

func TestRayTuneFiles(t *testing.T) {
	first := `["2","0",1,1,{"custom":3,"env_config":{"bonus":1},"lr":0.1},{"custom":3,"env_config":{"bonus":2},"lr":0.15}]` + "\n"
	second := `["1","2",2,2,{"custom":3,"env_config":{"bonus":2},"lr":0.15},{"custom":3,"env_config":{"bonus":2},"lr":0.18}]` + "\n"
	third := `["2","0",2,2,{"custom":3,"env_config":{"bonus":1},"lr":0.1},{"custom":3,"env_config":{"bonus":0.5},"lr":0.05}]` + "\n"
	want := map[string]string{
		"pbt_global.txt":   first + second + third,
		"pbt_policy_1.txt": first + second, // its source's history first, then its own
		"pbt_policy_2.txt": first + third,
	}
	got := make(map[string]string)
	for name, data := range RayTuneFiles(recorded()) {
		got[name] = string(data)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	rows, err := ReadPolicy(strings.NewReader(got["pbt_policy_1.txt"]))
	if err != nil {
		t.Fatal(err)
	}
	initial, changes := Schedule(rows)
	if diff := cmp.Diff(values{"learning_rate": 0.1, "custom": 3, "env.bonus": 1}, initial); diff != "" {
		t.Errorf("initial: -want +got:\n%s", diff)
	}
	wantChanges := []Change{
		{1, values{"learning_rate": 0.15, "custom": 3, "env.bonus": 2}},
		{2, values{"learning_rate": 0.18, "custom": 3, "env.bonus": 2}},
	}
	if diff := cmp.Diff(wantChanges, changes); diff != "" {
		t.Errorf("changes: -want +got:\n%s", diff)
	}
	// Of member 2 the first row was overwritten by the second, whose source has no history.
	rows, err = ReadPolicy(strings.NewReader(got["pbt_policy_2.txt"]))
	if err != nil {
		t.Fatal(err)
	}
	if _, changes := Schedule(rows); len(changes) != 1 || changes[0].Hyperparameters["learning_rate"] != 0.05 {
		t.Errorf("changes of member 2 are %v", changes)
	}
}

func TestFilesWithoutEvents(t *testing.T) {
	if files := RayTuneFiles(nil); len(files) != 0 {
		t.Errorf("files are %v", files)
	}
	if files := SampleFactoryFiles(nil); len(files) != 0 {
		t.Errorf("files are %v", files)
	}
	for name, want := range map[string]int{IsaacLab: 0, IsaacGymEnvs: 0, SampleFactory: 6, RayTune: 3} {
		if n := len((&Settings{Name: name, LogConfig: true}).Files(recorded())); n != want {
			t.Errorf("%s writes %d files, want %d", name, n, want)
		}
	}
	if n := len((&Settings{Name: RayTune}).Files(recorded())); n != 0 {
		t.Errorf("without log_config there are %d files", n)
	}
	if initial, changes := Schedule(nil); initial != nil || changes != nil {
		t.Errorf("the schedule of nothing is %v, %v", initial, changes)
	}
}

func TestSampleFactoryFiles(t *testing.T) {
	events := append(recorded(), journal.Event{Kind: journal.Start, Member: 12, Parent: -1, After: values{
		"entropy_loss_scale": 0.003, "discount_factor": math.NaN(), "env.delta.0": 1, "env.delta.1": 2, "env.deep.a.0": 5, "env.deep.b": 6, "env.gap.1": 7,
	}}, journal.Event{Kind: journal.Start, Member: 3, Parent: -1, After: values{"grad_norm_clip": 4}})
	files := SampleFactoryFiles(events)
	for name, want := range map[string]string{
		"policy_00_cfg.json":            `{"custom":3,"learning_rate":0.1}`,
		"policy_01_cfg.json":            `{"custom":3,"learning_rate":0.18}`,
		"policy_02_cfg.json":            `{"custom":3,"learning_rate":0.05}`,
		"policy_02_reward_shaping.json": `{"bonus":0.5}`,
		"policy_12_cfg.json":            `{"exploration_loss_coeff":0.003,"gamma":"NaN"}`,
		"policy_12_reward_shaping.json": `{"deep":{"a":[5],"b":6},"delta":[1,2],"gap":{"1":7}}`,
		"policy_03_cfg.json":            `{"max_grad_norm":4}`,
		"policy_03_reward_shaping.json": `null`,
	} {
		if got := string(files[name]); got != want+"\n" {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if len(files) != 10 {
		t.Errorf("there are %d files", len(files))
	}
}

func TestReadPolicyOfRay(t *testing.T) {
	// As Ray writes them: configurations hold all sorts of things, numbers have no type, and there may be no iteration yet.
	rows, err := ReadPolicy(strings.NewReader(`["0_lr=0.1", "1_lr=0.2", 0, 10, {"lr": 0.1, "lambda": 0.9, "env": "CartPole", "model": {"fcnet_hiddens": [64, 64], "free_log_std": true}, "callbacks": null}, {"lr": 1}]

["2", "0", 3.0, 4, {}, {"clip_param": 0.2}]
["cut`))
	if err != nil {
		t.Fatal(err)
	}
	want := []PolicyRow{
		{"0_lr=0.1", "1_lr=0.2", 0, 10, values{"learning_rate": 0.1, "gae_lambda": 0.9, "model.fcnet_hiddens.0": 64, "model.fcnet_hiddens.1": 64, "model.free_log_std": 1}, values{"learning_rate": 1}},
		{"2", "0", 3, 4, values{}, values{"ratio_clip": 0.2}},
	}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for text, want := range map[string]string{
		"[]\n":                               "line 1: want [target tag",
		"\n{}\n":                             "line 2: want [target tag",
		"[1,\"a\",1,1,{},{}]\n":              "field 1",
		"[\"a\",\"b\",-1,1,{},{}]\n":         "iteration -1",
		"[\"a\",\"b\",1,0.5,{},{}]\n":        "iteration 0.5",
		"[\"a\",\"b\",1,1,3,{}]\n":           "field 5",
		"cut\n[\"a\",\"b\",1,1,{},{}]\n":     "line 1",
		strings.Repeat("x", maxPolicyLine+9): "longer than",
	} {
		if _, err := ReadPolicy(strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: the error is %v, want %q", text, err, want)
		}
	}
}

func FuzzReadPolicy(f *testing.F) {
	for _, data := range RayTuneFiles(recorded()) {
		f.Add(data)
	}
	f.Add([]byte(`["a", "b", 1, 2, {"env_config": {"x": [1, {"y": true}], "z": "NaN"}, "a": 1, "a.b": 2}, {"lr": "-Inf", "": 1, ".": 2, "lambda_": 3}]` + "\n"))
	f.Add([]byte(`["a", "b", 1, 2, {"lambda": 1, "lambda_": 2, "a": {"b": 3}, "a.b": 4}, {}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		rows, err := ReadPolicy(bytes.NewReader(data))
		if err != nil {
			return
		}
		Schedule(rows)
		var written []byte
		for _, r := range rows {
			written = append(written, r.line()...)
		}
		again, err := ReadPolicy(bytes.NewReader(written))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, written)
		}
		if diff := cmp.Diff(rows, again, cmpopts.EquateNaNs(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("-read +read again:\n%s\n%s", diff, written)
		}
	})
}
