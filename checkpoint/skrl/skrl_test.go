package skrl_test

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/skrl"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
)

// trained is an agent of a kind with moments and statistics, by way of a rollout of testdata.
func trained(t testing.TB, k kind) agent {
	t.Helper()
	a := k.build(t, 3)
	if k.Camera {
		agenttest.Learn(t, a.Agent, agenttest.NewWorld(k.spaces(), agenttest.Seeds(1, envs)...), 1)
		return a
	}
	r := readRollout(t, "testdata/amp_separately/rollout.npz")
	if k.Discrete {
		x := make([]float32, envs)
		for i := range x {
			x[i] = float32(i % actions)
		}
		a.told.next = x
	}
	r.learn(a)
	return a
}

// Names of networks with pictures are the instantiators', those of networks with memory those of skrl's examples.
func TestNamesOfNetworks(t *testing.T) {
	all := kinds(t)
	for name, want := range map[string][]string{
		"ppo_camera": {"log_std_parameter", "cnn_container.0.weight", "cnn_container.0.bias", "cnn_container.2.weight", "cnn_container.2.bias",
			"net_container.0.weight", "net_container.0.bias", "net_container.2.weight", "net_container.2.bias"},
		"ppo_gru": {"log_std_parameter", "gru.weight_ih_l0", "gru.weight_hh_l0", "gru.bias_ih_l0", "gru.bias_hh_l0",
			"net.0.weight", "net.0.bias", "net.2.weight", "net.2.bias"},
	} {
		c, err := skrl.New(snapshot(t, trained(t, all[name])), skrl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for key := range c.Module("policy").All() {
			got = append(got, key.(string))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// carried are the arrays of a snapshot that checkpoints of skrl carry.
func carried(s *checkpoint.Snapshot) map[string]checkpoint.Array {
	out := map[string]checkpoint.Array{}
	for name, a := range s.Arrays {
		if !strings.HasPrefix(name, "random/") && !strings.HasPrefix(name, "rollout/") {
			out[name] = a
		}
	}
	return out
}

func equal(t testing.TB, got, want map[string]checkpoint.Array) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d arrays, want %d", len(got), len(want))
	}
	for name, w := range want {
		g := got[name]
		if g.DType != w.DType || !slices.Equal(g.Shape, w.Shape) || !bytes.Equal(g.Data, w.Data) {
			t.Errorf("%s is not what it was", name)
		}
	}
}

// What gorl writes for skrl it reads back bit for bit, whatever the names.
func TestRoundTrip(t *testing.T) {
	all := kinds(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		k := all[name]
		if k.Discrete {
			continue // the rollout at hand has actions of a Box
		}
		for version, opt := range map[string]skrl.Options{"2.0": {}, "1.4": {Version: "1.4"}, "plain names": {PlainNames: true}} {
			t.Run(name+" "+version, func(t *testing.T) {
				a := trained(t, k)
				want := snapshot(t, a)
				path := filepath.Join(t.TempDir(), "agent_1.pt")
				if err := skrl.Write(path, want, opt); err != nil {
					t.Fatal(err)
				}
				c, err := skrl.Read(path)
				if err != nil {
					t.Fatal(err)
				}
				got, err := c.Snapshot(snapshot(t, k.build(t, 4)))
				if err != nil {
					t.Fatal(err)
				}
				equal(t, carried(got), carried(want))
				if g, w := fmt.Sprint(got.Values["optimizer_steps"]), fmt.Sprint(want.Values["optimizer_steps"]); g != w {
					t.Errorf("steps %s, want %s", g, w)
				}
				adam, err := c.Adam()
				if err != nil || adam.LearningRate != a.rate() {
					t.Errorf("learning rate %v, want %g", adam, a.rate())
				}
				old := c.Module("state_preprocessor") != nil
				if old != (version == "1.4" && c.Module("observation_preprocessor") == nil && k.Config["observation_preprocessor"] != nil) {
					t.Errorf("modules of version %s: %v", version, c.Modules)
				}
				again := filepath.Join(t.TempDir(), "again.pt")
				if err := skrl.Write(again, want, opt); err != nil {
					t.Fatal(err)
				}
				one, _ := os.ReadFile(path)
				two, err := os.ReadFile(again)
				if err != nil || !bytes.Equal(one, two) {
					t.Errorf("the same snapshot gave different bytes (%v)", err)
				}
			})
		}
	}
}

// A file of skrl's written anew with its own names is the same in all that skrl reads.
func TestLike(t *testing.T) {
	k := kinds(t)["ppo"]
	like, err := skrl.Read("testdata/ppo/first.pt")
	if err != nil {
		t.Fatal(err)
	}
	snap, err := like.Snapshot(snapshot(t, k.build(t, 1)))
	if err != nil {
		t.Fatal(err)
	}
	c, err := skrl.New(snap, skrl.Options{Like: like})
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range like.Modules {
		if c.Modules[i].Name != m.Name {
			t.Fatalf("module %d is %s, want %s", i, c.Modules[i].Name, m.Name)
		}
		if m.Name == "optimizer" {
			continue
		}
		var got, want []string
		for key, v := range c.Modules[i].State.All() {
			got = append(got, fmt.Sprintf("%v %x", key, v.(*torchfile.Tensor).Array().Data))
		}
		for key, v := range m.State.All() {
			want = append(want, fmt.Sprintf("%v %x", key, v.(*torchfile.Tensor).Array().Data))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nwant\n%s", m.Name, got, want)
		}
	}
	got, err := c.Snapshot(snap)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, got.Arrays, snap.Arrays)
}

// Modules may be stored each in a file of its own, and read from any of them.
func TestSeparately(t *testing.T) {
	k := kinds(t)["amp_separately"]
	want, err := skrl.Read("testdata/amp_separately/optimizer_1.pt")
	if err != nil {
		t.Fatal(err)
	}
	if len(want.Modules) != 5 {
		t.Fatalf("%d modules, want 5", len(want.Modules))
	}
	dir := t.TempDir()
	if err := want.WriteModules(dir, "77"); err != nil {
		t.Fatal(err)
	}
	like := snapshot(t, k.build(t, 1))
	a, err := want.Snapshot(like)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"policy_77.pt", "observation_preprocessor_77.pt"} {
		c, err := skrl.Read(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		b, err := c.Snapshot(like)
		if err != nil {
			t.Fatal(err)
		}
		equal(t, b.Arrays, a.Arrays)
	}
	alone := filepath.Join(dir, "model.pt")
	if err := os.Rename(filepath.Join(dir, "policy_77.pt"), alone); err != nil {
		t.Fatal(err)
	}
	if _, err := skrl.Read(alone); err == nil || !strings.Contains(err.Error(), "ReadModules") {
		t.Error(err)
	}
	if _, err := skrl.ReadModules(map[string]string{"actor": alone}); err == nil || !strings.Contains(err.Error(), `"actor"`) {
		t.Error(err)
	}
	c, err := skrl.ReadModules(map[string]string{"policy": alone})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Snapshot(like); err == nil || !strings.Contains(err.Error(), "value, discriminator, optimizer, observation_preprocessor") {
		t.Error(err)
	}
	b, left, err := c.Merge(like)
	if err != nil || len(left.Unused) != 0 || !slices.Equal(left.Missing, []string{"value", "discriminator", "optimizer", "observation_preprocessor"}) {
		t.Fatalf("%v, %v", left, err)
	}
	for name, x := range b.Arrays {
		want := like.Arrays[name]
		if strings.HasPrefix(name, "policy/") {
			want = a.Arrays[name]
		}
		if !bytes.Equal(x.Data, want.Data) {
			t.Errorf("%s is of neither where it belongs", name)
		}
	}
}

// A discriminator's own optimizer is part of skrl's one, and comes out of it again.
func TestOwnOptimizerOfDiscriminator(t *testing.T) {
	k := kinds(t)["amp"]
	k.Config = maps.Clone(k.Config)
	k.Config["discriminator_optimizer"] = "separate"
	k.Config["time_limit_bootstrap"] = false
	k.release = "none"
	a := trained(t, k)
	want := snapshot(t, a)
	c, err := skrl.New(want, skrl.Options{})
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Snapshot(snapshot(t, k.build(t, 4)))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, carried(got), carried(want))
}

// Weight decay and the kind of Adam are carried over, or are an error: neither side goes on with other settings than were trained
// with.
func TestWeightDecay(t *testing.T) {
	with := func(settings map[string]any) kind {
		k := kinds(t)["ppo"]
		k.release = "none"
		k.Config = maps.Clone(k.Config)
		k.Config["time_limit_bootstrap"] = false
		maps.Copy(k.Config, settings)
		return k
	}
	plain, decaying := with(nil), with(map[string]any{"weight_decay": 0.01})
	adamw, sgd := with(map[string]any{"weight_decay": 0.01, "optimizer": "adamw"}), with(map[string]any{"optimizer": "sgd"})

	want := snapshot(t, trained(t, decaying))
	path := filepath.Join(t.TempDir(), "agent.pt")
	if err := skrl.Write(path, want, skrl.Options{}); err != nil {
		t.Fatal(err)
	}
	c, err := skrl.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := c.Adam(); err != nil || a.WeightDecay != 0.01 {
		t.Errorf("%+v, %v", a, err)
	}
	got, err := c.Snapshot(snapshot(t, decaying.build(t, 4)))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, carried(got), carried(want))
	for words, k := range map[string]kind{"give the agent weight_decay: 0.01": plain, "give the agent optimizer: adam": adamw, "the agent's sgd": sgd} {
		if _, err := c.Snapshot(snapshot(t, k.build(t, 4))); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want it to say %q", err, words)
		}
	}
	for words, k := range map[string]kind{"optimizer is adamw with weight_decay 0.01": adamw, "optimizer is sgd": sgd} {
		if _, err := skrl.New(snapshot(t, k.build(t, 4)), skrl.Options{}); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want it to say %q", err, words)
		}
	}

	// PyTorch's AdamW says so in its state.
	group, _ := c.Module("optimizer").Get("param_groups")
	group.(*torchfile.List).Items[0].(*torchfile.Dict).Set("decoupled_weight_decay", true)
	if _, err := c.Snapshot(snapshot(t, decaying.build(t, 4))); err == nil || !strings.Contains(err.Error(), "optimizer: adamw") {
		t.Error(err)
	}
	if _, err := c.Snapshot(snapshot(t, adamw.build(t, 4))); err != nil {
		t.Error(err)
	}
}

// Adam's epsilon and betas are carried over, or an agent with others is told what to set.
func TestAdamSettings(t *testing.T) {
	with := func(settings map[string]any) kind {
		k := kinds(t)["ppo"]
		k.release = "none"
		k.Config = maps.Clone(k.Config)
		k.Config["time_limit_bootstrap"] = false
		maps.Copy(k.Config, settings)
		return k
	}
	own := with(map[string]any{"adam_epsilon": 1e-5, "adam_betas": []float64{0, 0.95}})
	want := snapshot(t, trained(t, own))
	path := filepath.Join(t.TempDir(), "agent.pt")
	if err := skrl.Write(path, want, skrl.Options{}); err != nil {
		t.Fatal(err)
	}
	c, err := skrl.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if a, err := c.Adam(); err != nil || a.Eps != 1e-5 || a.Beta1 != 0 || a.Beta2 != 0.95 {
		t.Errorf("%+v, %v", a, err)
	}
	got, err := c.Snapshot(snapshot(t, own.build(t, 4)))
	if err != nil {
		t.Fatal(err)
	}
	equal(t, carried(got), carried(want))
	for words, settings := range map[string]map[string]any{
		"give the agent adam_epsilon: 1e-05":   nil,
		"give the agent adam_betas: [0, 0.95]": {"adam_epsilon": 1e-5},
	} {
		if _, err := c.Snapshot(snapshot(t, with(settings).build(t, 4))); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%v, want it to say %q", err, words)
		}
	}
}

// The learning rate in a file is the one that the schedule has arrived at, whatever schedule it is.
func TestRateOfSchedule(t *testing.T) {
	k := kinds(t)["ppo"]
	k.release = "none"
	k.Config = maps.Clone(k.Config)
	maps.Copy(k.Config, map[string]any{"time_limit_bootstrap": false, "learning_rate": 1e-3, "learning_rate_scheduler": "LinearLR",
		"learning_rate_scheduler_kwargs": map[string]any{"start_factor": 0.5, "end_factor": 0.25, "total_iters": 4}})
	for name, a := range map[string]agent{"new": k.build(t, 1), "trained": trained(t, k)} {
		c, err := skrl.New(snapshot(t, a), skrl.Options{})
		if err != nil {
			t.Fatal(err)
		}
		adam, err := c.Adam()
		if err != nil {
			t.Fatal(err)
		}
		if name == "new" && adam.LearningRate != 5e-4 || name == "trained" && !(adam.LearningRate < 5e-4) {
			t.Errorf("%s: the rate is %g", name, adam.LearningRate)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	all := kinds(t)
	first, err := skrl.Read("testdata/ppo/first.pt")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		kind  string
		spoil func(s *checkpoint.Snapshot)
		opt   skrl.Options
		want  string
	}{
		"no agent":  {"ppo", func(s *checkpoint.Snapshot) { clear(s.Arrays) }, skrl.Options{}, "not one of a PPO or AMP agent"},
		"a version": {"ppo", nil, skrl.Options{Version: "3"}, `version "3"`},
		"no rate": {"ppo", func(s *checkpoint.Snapshot) {
			for _, key := range []string{"hyperparameters", "scheduler_state", "learning_rate"} {
				delete(s.Values, key)
			}
		}, skrl.Options{}, "LearningRate"},
		"no steps":      {"ppo", func(s *checkpoint.Snapshot) { delete(s.Values, "optimizer_steps") }, skrl.Options{}, "optimizer_steps"},
		"half a scaler": {"ppo", func(s *checkpoint.Snapshot) { delete(s.Arrays, "value_preprocessor/current_count") }, skrl.Options{}, "current_count"},
		"no moment":     {"ppo", func(s *checkpoint.Snapshot) { delete(s.Arrays, "optimizer/exp_avg_sq/value/net.0.bias") }, skrl.Options{}, "exp_avg_sq/value/net.0.bias"},
		"other networks": {"ppo_own_names", func(s *checkpoint.Snapshot) {
			s.Arrays["value/net.0.bias"] = checkpoint.ArrayFloat32([]int64{1}, []float32{0})
		}, skrl.Options{Like: first}, "value/net.0.bias"},
		"no such module": {"amp", nil, skrl.Options{Like: &skrl.Checkpoint{}}, "no policy"},
		"not Adam": {"ppo", func(s *checkpoint.Snapshot) {
			s.Arrays["optimizer/exp_avg/value/net.4.bias"] = checkpoint.ArrayFloat32([]int64{1}, []float32{1})
		}, skrl.Options{}, "not Adam"},
		"a critic more": {"amp", func(s *checkpoint.Snapshot) {
			a := checkpoint.ArrayFloat32([]int64{1}, []float32{0})
			s.Arrays["style_value/net.0.bias"], s.Arrays["optimizer/exp_avg/style_value/net.0.bias"] = a, a
			s.Values["parameters"] = append(s.Values["parameters"].([]any), "style_value/net.0.bias")
		}, skrl.Options{}, "WithoutRest"},
		"a network more": {"amp", func(s *checkpoint.Snapshot) {
			a := checkpoint.ArrayFloat32([]int64{1}, []float32{0})
			s.Arrays["world/net.0.bias"], s.Arrays["optimizer/exp_avg/world/net.0.bias"] = a, a
			s.Values["parameters"] = append(s.Values["parameters"].([]any), "world/net.0.bias")
		}, skrl.Options{}, "belongs to no network"},
	} {
		t.Run(name, func(t *testing.T) {
			s := snapshot(t, all[test.kind].build(t, 1))
			if test.spoil != nil {
				test.spoil(s)
			}
			path := filepath.Join(t.TempDir(), "x.pt")
			if err := skrl.Write(path, s, test.opt); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want it to say %q", err, test.want)
			}
			if _, err := os.Stat(path); err == nil {
				t.Error("a file was written")
			}
		})
	}
}

// A scaler that skrl does not have is refused, or left out where that is asked for.
func TestOtherScaler(t *testing.T) {
	k := kinds(t)["amp"]
	a, err := amp.New(amp.Options{Spaces: k.spaces(), Models: amp.MLPs(k.spaces(), k.Hidden, "elu"),
		Dict: map[string]any{"discriminator_mode": "differential"}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	s := snapshot(t, a)
	if _, err := skrl.New(s, skrl.Options{}); err == nil || !strings.Contains(err.Error(), "RunningMeanAbsScaler") {
		t.Error(err)
	}
	c, err := skrl.New(s, skrl.Options{WithoutRest: true})
	if err != nil {
		t.Fatal(err)
	}
	if c.Module("amp_observation_preprocessor") != nil {
		t.Error("the scaler is in the file")
	}
}

// Two critics: the second is left out where that is asked for, and everything else is there.
func TestWithoutRest(t *testing.T) {
	k := kinds(t)["amp"]
	a, err := amp.New(amp.Options{Spaces: k.spaces(), Models: amp.MLPs(k.spaces(), k.Hidden, "elu"), Motions: motion{},
		Dict: map[string]any{"separate_critics": true, "motion_dataset_size": 64}})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	s := snapshot(t, a)
	if _, err := skrl.New(s, skrl.Options{}); err == nil || !strings.Contains(err.Error(), "two critics") {
		t.Error(err)
	}
	c, err := skrl.New(s, skrl.Options{WithoutRest: true})
	if err != nil {
		t.Fatal(err)
	}
	_, left, err := c.Merge(s)
	if err != nil || !slices.Equal(left.Missing, []string{"style_value", "optimizer"}) {
		t.Errorf("%v, %v", left, err)
	}
}

// entry finds a value in a checkpoint by module and keys.
func entry(c *skrl.Checkpoint, module string, keys ...any) (*torchfile.Dict, any) {
	d := c.Module(module)
	for _, k := range keys[:len(keys)-1] {
		v, _ := d.Get(k)
		if list, ok := v.(*torchfile.List); ok {
			v = list.Items[0]
		}
		d = v.(*torchfile.Dict)
	}
	return d, keys[len(keys)-1]
}

func set(module string, value any, keys ...any) func(c *skrl.Checkpoint) {
	return func(c *skrl.Checkpoint) {
		d, key := entry(c, module, keys...)
		d.Set(key, value)
	}
}

func rename(from, to string) func(c *skrl.Checkpoint) {
	return func(c *skrl.Checkpoint) {
		for i := range c.Modules {
			if c.Modules[i].Name == from {
				c.Modules[i].Name = to
			}
		}
	}
}

func f32s(shape []int64, x ...float32) *torchfile.Tensor {
	return torchfile.NewTensor(checkpoint.ArrayFloat32(shape, x))
}

// Every way in which a checkpoint and an agent do not fit is an error that says where, and the agent's snapshot is left alone.
func TestSnapshotRefuses(t *testing.T) {
	all := kinds(t)
	nan := float32(math.NaN())
	for name, test := range map[string]struct {
		kind  string
		spoil func(c *skrl.Checkpoint)
		want  string
	}{
		"other hidden layers":     {"ppo_fixed", nil, "net_container.2.weight has shape [4 5], the agent's policy/net.2.weight [2 5]"},
		"another policy":          {"ppo_discrete", nil, "policy: the file's log_std_parameter has shape [2]"},
		"shared layers":           {"ppo_shared", nil, "do not (models.separate: true)"},
		"no value":                {"ppo", rename("value", "critic"), "no value"},
		"a module more":           {"ppo", rename("value_preprocessor", "extra"), "no value_preprocessor"},
		"a scaler more":           {"ppo_own_names", nil, "observation_preprocessor, value_preprocessor, for which the agent has no place"},
		"no optimizer":            {"ppo", rename("optimizer", "adam"), "no optimizer"},
		"a parameter more":        {"ppo", set("policy", f32s([]int64{1}, 1), "zzz"), "policy: the file has zzz [1]"},
		"no tensor":               {"ppo", set("policy", "text", "net_container.0.bias"), "no tensor"},
		"half precision":          {"ppo", set("policy", &torchfile.Tensor{DType: "F16", Shape: []int64{5}, Strides: []int64{1}, Storage: &torchfile.Storage{Data: make([]byte, 10)}}, "net_container.0.bias"), "F16"},
		"not finite":              {"ppo", set("policy", f32s([]int64{5}, 0, nan, 0, 0, 0), "net_container.0.bias"), `not finite: "policy/net.0.bias"`},
		"a scaler's width":        {"ppo", set("observation_preprocessor", torchfile.NewTensor(checkpoint.ArrayFloat64([]int64{4}, make([]float64, 4))), "running_mean"), "running_mean has shape [4]"},
		"a scaler's precision":    {"ppo", set("observation_preprocessor", f32s([]int64{3}, 0, 0, 0), "running_mean"), "float64"},
		"a scaler's entries":      {"ppo", set("observation_preprocessor", f32s([]int64{3}, 0, 0, 0), "momentum"), "4 entries"},
		"other betas":             {"ppo", set("optimizer", torchfile.Tuple{0.9, 0.99}, "param_groups", "betas"), "adam_betas: [0.9, 0.99]"},
		"other eps":               {"ppo", set("optimizer", 1e-5, "param_groups", "eps"), "adam_epsilon: 1e-05"},
		"amsgrad":                 {"ppo", set("optimizer", true, "param_groups", "amsgrad"), "amsgrad"},
		"maximize":                {"ppo", set("optimizer", true, "param_groups", "maximize"), "maximize"},
		"no betas":                {"ppo", set("optimizer", nil, "param_groups", "betas"), "not Adam"},
		"betas of text":           {"ppo", set("optimizer", torchfile.Tuple{"a", "b"}, "param_groups", "betas"), "no numbers"},
		"no rate":                 {"ppo", set("optimizer", "fast", "param_groups", "lr"), "lr is no number"},
		"a rate of nothing":       {"ppo", set("optimizer", 0.0, "param_groups", "lr"), "learning rate is 0"},
		"an infinite rate":        {"ppo", set("optimizer", math.Inf(1), "param_groups", "lr"), "lr is no number"},
		"two groups":              {"ppo", set("optimizer", &torchfile.List{Items: []any{torchfile.NewDict(), torchfile.NewDict()}}, "param_groups"), "2 parameter groups"},
		"a group of text":         {"ppo", set("optimizer", &torchfile.List{Items: []any{"x"}}, "param_groups"), "no dictionary"},
		"an empty group":          {"ppo", set("optimizer", &torchfile.List{}, "param_groups", "params"), "empty"},
		"a group of fewer":        {"ppo", set("optimizer", &torchfile.List{Items: []any{int64(0)}}, "param_groups", "params"), "state of 13 parameters"},
		"parameters by text":      {"ppo", set("optimizer", &torchfile.List{Items: []any{"0"}}, "param_groups", "params"), "no number"},
		"no state":                {"ppo", set("optimizer", nil, "state"), "state is no dictionary"},
		"a state of text":         {"ppo", set("optimizer", "x", "state", 3), "parameter 3: its state is no dictionary"},
		"no step":                 {"ppo", set("optimizer", nil, "state", 3, "step"), "parameter 3: its step is no number"},
		"half a step":             {"ppo", set("optimizer", 1.5, "state", 3, "step"), "step is 1.5"},
		"steps backwards":         {"ppo", set("optimizer", int64(-1), "state", 3, "step"), "step is -1"},
		"steps of others":         {"ppo", set("optimizer", int64(9), "state", 3, "step"), "parameter 3 was stepped 9 times, others 4 times"},
		"no moment":               {"ppo", set("optimizer", nil, "state", 3, "exp_avg"), "exp_avg is no tensor"},
		"a moment's shape":        {"ppo", set("optimizer", f32s([]int64{1}, 1), "state", 3, "exp_avg"), "parameter 3 has moments of shape [1]"},
		"parameters of another":   {"ppo", set("policy", f32s([]int64{2}, 0, 0), "log_std_parameter"), ""},
		"a moment is not finite":  {"ppo", set("optimizer", f32s([]int64{5}, 0, 0, nan, 0, 0), "state", 2, "exp_avg"), "not finite"},
		"the privileged scaler":   {"ppo", rename("observation_preprocessor", "amp_observation_preprocessor"), "no observation_preprocessor"},
		"1.4's name of the first": {"ppo", rename("observation_preprocessor", "state_preprocessor"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			like := snapshot(t, all[test.kind].build(t, 1))
			before := maps.Clone(like.Arrays)
			c, err := skrl.Read("testdata/ppo/first.pt")
			if err != nil {
				t.Fatal(err)
			}
			if test.spoil != nil {
				test.spoil(c)
			}
			s, err := c.Snapshot(like)
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
			} else if err == nil || s != nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want it to say %q", err, test.want)
			}
			equal(t, like.Arrays, before)
		})
	}
	c, err := skrl.Read("testdata/ppo_shared/first.pt")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Snapshot(snapshot(t, all["ppo"].build(t, 1))); err == nil || !strings.Contains(err.Error(), "models.BuildShared") {
		t.Error(err)
	}
}

func TestReadRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, test := range map[string]struct {
		value any
		want  string
	}{
		"list":  {&torchfile.List{}, "no dictionary"},
		"empty": {torchfile.NewDict(), "no dictionary"},
		"text":  {torchfile.NewDict("a", "b"), "single module"},
		"keys":  {torchfile.NewDict(1, torchfile.NewDict()), "module 1"},
	} {
		path := filepath.Join(dir, name+".pt")
		if err := torchfile.WriteFile(path, test.value); err != nil {
			t.Fatal(err)
		}
		if _, err := skrl.Read(path); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want it to say %q", name, err, test.want)
		}
	}
}

// repacked is a file of PyTorch's with another pickle.
func repacked(t testing.TB, file, pickle []byte) []byte {
	t.Helper()
	from, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	to := zip.NewWriter(&b)
	for _, e := range from.File {
		if !strings.HasSuffix(e.Name, "/data.pkl") {
			if err := to.Copy(e); err != nil {
				t.Fatal(err)
			}
			continue
		}
		w, err := to.CreateHeader(&zip.FileHeader{Name: e.Name, Method: zip.Store})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(pickle); err != nil {
			t.Fatal(err)
		}
	}
	if err := to.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Whatever modules a checkpoint holds, fitting it to an agent ends with a snapshot of the agent's arrays or with an error.
func FuzzSnapshot(f *testing.F) {
	all := kinds(f)
	likes := []*checkpoint.Snapshot{}
	for _, name := range []string{"ppo", "ppo_shared", "amp_separately"} {
		likes = append(likes, snapshot(f, all[name].build(f, 1)))
	}
	var files [][]byte
	for i, path := range []string{"testdata/ppo/first.pt", "testdata/ppo_shared/first.pt", "testdata/amp_separately/second.pt"} {
		file, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		files = append(files, file)
		z, err := zip.NewReader(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			f.Fatal(err)
		}
		r, err := z.File[0].Open()
		if err != nil {
			f.Fatal(err)
		}
		pickle, err := io.ReadAll(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(pickle, uint8(i))
	}
	f.Fuzz(func(t *testing.T, pickle []byte, which uint8) {
		file := repacked(t, files[int(which)%len(files)], pickle)
		v, err := torchfile.Read(bytes.NewReader(file), int64(len(file)))
		d, ok := v.(*torchfile.Dict)
		if err != nil || !ok {
			return
		}
		c := &skrl.Checkpoint{}
		for k, v := range d.All() {
			if state, ok := v.(*torchfile.Dict); ok {
				c.Modules = append(c.Modules, skrl.Module{Name: fmt.Sprint(k), State: state})
			}
		}
		for _, like := range likes {
			s, _, err := c.Merge(like)
			if err != nil {
				continue
			}
			for name, a := range like.Arrays {
				got := s.Arrays[name]
				if got.DType != a.DType || !slices.Equal(got.Shape, a.Shape) {
					t.Errorf("%s became %s %v", name, got.DType, got.Shape)
				}
			}
			if err := checkpoint.EncodeSafetensors(io.Discard, s); err != nil {
				t.Error(err)
			}
		}
	})
}
