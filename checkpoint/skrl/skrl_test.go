package skrl_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/skrl"
	"github.com/gorl-dev/gorl/internal/npz"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// trained returns an agent with moments and statistics, which it got from a rollout of testdata.
func trained(t testing.TB, k kind) agent {
	t.Helper()
	a := k.build(t, 3)
	if k.Camera {
		agenttest.Learn(t, a.Agent, agenttest.NewWorld(k.spaces(), agenttest.Seeds(1, envs)...), 1)
		return a
	}
	r := rollout{t, must.Get(npz.Open("testdata/amp_separately/rollout.npz"))(t)}
	r.learn(a)
	return a
}

// with returns the kind "ppo" with other settings, without skrl's compatibility.
func with(t testing.TB, settings map[string]any) kind {
	k := kinds(t)["ppo"]
	k.release = "none"
	k.Config = maps.Clone(k.Config)
	k.Config["time_limit_bootstrap"] = false
	maps.Copy(k.Config, settings)
	return k
}

// reread writes a snapshot for skrl and reads the file.
func reread(t testing.TB, s *checkpoint.Snapshot, opt skrl.Options) (c *skrl.Checkpoint, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "agent_1.pt")
	must.Do(t, skrl.Write(path, s, opt))
	return must.Get(skrl.Read(path))(t), path
}

// Names of networks with pictures are those of the instantiators, names of recurrent networks those of skrl's examples,
// and names of a shared network those of a file that skrl wrote.
func TestNamesOfNetworks(t *testing.T) {
	names := func(c *skrl.Checkpoint) string {
		var list []string
		for key := range c.Module("policy").All() {
			list = append(list, key.(string))
		}
		return strings.Join(list, " ")
	}
	all := kinds(t)
	for name, want := range map[string]string{
		"ppo_camera": "log_std_parameter cnn_container.0.weight cnn_container.0.bias cnn_container.2.weight " +
			"cnn_container.2.bias net_container.0.weight net_container.0.bias net_container.2.weight " +
			"net_container.2.bias",
		"ppo_gru": "log_std_parameter gru.weight_ih_l0 gru.weight_hh_l0 gru.bias_ih_l0 gru.bias_hh_l0 " +
			"net.0.weight net.0.bias net.2.weight net.2.bias",
		"ppo_shared": names(must.Get(skrl.Read("testdata/ppo_shared/first.pt"))(t)),
	} {
		c := must.Get(skrl.New(snapshot(t, trained(t, all[name])), skrl.Options{}))(t)
		must.Is(t, names(c), want, "%s", name)
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

// gorl reads its own files for skrl back bit for bit. A discriminator's own optimizer becomes part of skrl's optimizer,
// and is restored from it.
func TestRoundTrip(t *testing.T) {
	all := kinds(t)
	own := all["amp"]
	own.Config, own.release = maps.Clone(own.Config), "none"
	maps.Copy(own.Config, map[string]any{"discriminator_optimizer": "separate", "time_limit_bootstrap": false})
	all["amp_own_optimizer"] = own
	for name, k := range all {
		if k.Discrete {
			continue // the rollout of testdata has actions of a Box
		}
		t.Run(name, func(t *testing.T) {
			a := trained(t, k)
			want := snapshot(t, a)
			c, path := reread(t, want, skrl.Options{})
			got := must.Get(c.Snapshot(snapshot(t, k.build(t, 4))))(t)
			must.Match(t, carried(want), carried(got), "arrays")
			must.Is(t, fmt.Sprint(got.Values["optimizer_steps"]), fmt.Sprint(want.Values["optimizer_steps"]), "steps")
			must.Is(t, must.Get(c.Adam())(t).LearningRate, a.rate(), "learning rate")
			_, again := reread(t, want, skrl.Options{})
			must.Is(t, string(must.Read(t, again)), string(must.Read(t, path)), "bytes of equal snapshots")
		})
	}
}

// Modules may be stored separately. They are read by the name of any of them. Merge takes those that are there.
func TestSeparately(t *testing.T) {
	const folder = "testdata/amp_separately"
	like := snapshot(t, kinds(t)["amp_separately"].build(t, 1))
	var all *checkpoint.Snapshot
	for _, file := range []string{"optimizer_1.pt", "policy_1.pt", "observation_preprocessor_1.pt"} {
		c := must.Get(skrl.Read(filepath.Join(folder, file)))(t)
		s := must.Get(c.Snapshot(like))(t)
		if all != nil {
			must.Match(t, all.Arrays, s.Arrays, "arrays")
		}
		all = s
	}
	dir := t.TempDir()
	policy := must.Read(t, filepath.Join(folder, "policy_1.pt"))
	for _, name := range []string{"policy.pt", "model.pt"} {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), policy, 0o644))
	}
	must.Refused(skrl.Read(filepath.Join(dir, "model.pt")))(t, "does not say which")
	c := must.Get(skrl.Read(filepath.Join(dir, "policy.pt")))(t)
	must.Refused(c.Snapshot(like))(t, "value, discriminator, optimizer, observation_preprocessor")
	b, left, err := c.Merge(like)
	must.Not(t, err != nil || len(left.Unused) != 0 || len(left.Missing) != 4, "%v, %v", left, err)
	for name, x := range b.Arrays {
		want := like.Arrays[name]
		if strings.HasPrefix(name, "policy/") {
			want = all.Arrays[name]
		}
		must.Same(t, x.Data, want.Data, "%s of the file or the agent", name)
	}
}

// The settings of Adam are carried over. If the other side cannot continue with them, that is an error.
func TestAdamSettings(t *testing.T) {
	own := map[string]any{"adam_epsilon": 1e-5, "adam_betas": []float64{0, 0.95}}
	decaying := map[string]any{"weight_decay": 0.01}
	adamw := with(t, map[string]any{"weight_decay": 0.01, "optimizer": "adamw"})
	sgd := with(t, map[string]any{"optimizer": "sgd"})
	var c *skrl.Checkpoint
	for _, test := range []struct {
		settings map[string]any
		want     skrl.Adam
		refused  map[string]kind
	}{
		{own, skrl.Adam{Beta2: 0.95, Eps: 1e-5}, map[string]kind{"give the agent adam_epsilon: 1e-05": with(t, nil),
			"give the agent adam_betas: [0, 0.95]": with(t, map[string]any{"adam_epsilon": 1e-5})}},
		{decaying, skrl.Adam{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8, WeightDecay: 0.01}, map[string]kind{
			"give the agent weight_decay: 0.01": with(t,
				nil), "give the agent optimizer: adam": adamw, "the agent's sgd": sgd}},
	} {
		want := snapshot(t, trained(t, with(t, test.settings)))
		c, _ = reread(t, want, skrl.Options{})
		a := must.Get(c.Adam())(t)
		test.want.LearningRate = a.LearningRate
		must.Equal(t, "settings", &test.want, a, cmpopts.IgnoreUnexported(skrl.Adam{}))
		got := must.Get(c.Snapshot(snapshot(t, with(t, test.settings).build(t, 4))))(t)
		must.Match(t, carried(want), carried(got), "arrays")
		for words, k := range test.refused {
			must.Refused(c.Snapshot(snapshot(t, k.build(t, 4))))(t, words)
		}
	}
	for words, k := range map[string]kind{"is adamw with weight_decay 0.01": adamw, "optimizer is sgd": sgd} {
		must.Refused(skrl.New(snapshot(t, k.build(t, 4)), skrl.Options{}))(t, words)
	}
	// PyTorch's AdamW sets a flag in its state.
	set("optimizer", true, "param_groups", "decoupled_weight_decay")(c)
	must.Refused(c.Snapshot(snapshot(t, with(t, decaying).build(t, 4))))(t, "optimizer: adamw")
	must.Get(c.Snapshot(snapshot(t, adamw.build(t, 4))))(t)
}

func TestNewRefuses(t *testing.T) {
	all := kinds(t)
	one := checkpoint.ArrayFloat32([]int64{1}, []float32{0})
	for want, test := range map[string]struct {
		kind  string
		spoil func(s *checkpoint.Snapshot)
		opt   skrl.Options
	}{
		"not of a PPO or AMP agent": {"ppo", func(s *checkpoint.Snapshot) { clear(s.Arrays) }, skrl.Options{}},
		"exp_avg_sq/value/net.0.bias": {"ppo", func(s *checkpoint.Snapshot) {
			delete(s.Arrays, "optimizer/exp_avg_sq/value/net.0.bias")
		}, skrl.Options{}},
		"value/net.0.bias": {"ppo_own_names", func(s *checkpoint.Snapshot) { s.Arrays["value/net.0.bias"] = one },
			skrl.Options{Like: must.Get(skrl.Read("testdata/ppo/first.pt"))(t)}},
		"not Adam": {"ppo", func(s *checkpoint.Snapshot) {
			s.Arrays["optimizer/exp_avg/value/net.4.bias"] = checkpoint.ArrayFloat32([]int64{1}, []float32{1})
		}, skrl.Options{}},
		"WithoutRest": {"amp", func(s *checkpoint.Snapshot) {
			s.Arrays["style_value/w"], s.Arrays["optimizer/exp_avg/style_value/w"] = one, one
			s.Values["parameters"] = append(s.Values["parameters"].([]any), "style_value/w")
		}, skrl.Options{}},
	} {
		s := snapshot(t, all[test.kind].build(t, 1))
		test.spoil(s)
		path := filepath.Join(t.TempDir(), "x.pt")
		must.Refuse(t, skrl.Write(path, s, test.opt), want)
		_, err := os.Stat(path)
		must.Not(t, err == nil, "a file was written in spite of %s", want)
	}
}

// WithoutRest omits a scaler and a second critic, which skrl does not have. By default they are refused.
func TestWithoutRest(t *testing.T) {
	k := kinds(t)["amp"]
	for words, config := range map[string]map[string]any{"RunningMeanAbsScaler": {"discriminator_mode": "differential"},
		"two critics": {"separate_critics": true, "motion_dataset_size": 64}} {
		a := must.Open(amp.New(amp.Options{Spaces: k.spaces(), Models: amp.MLPs(k.spaces(), k.Hidden, "elu"),
			Motions: motion{}, Dict: config}))(t)
		s := snapshot(t, a)
		must.Refused(skrl.New(s, skrl.Options{}))(t, words)
		c := must.Get(skrl.New(s, skrl.Options{WithoutRest: true}))(t)
		_, left, err := c.Merge(s)
		must.Do(t, err)
		want := []string{"style_value", "optimizer"}
		if words != "two critics" {
			want = []string{"amp_observation_preprocessor"}
		}
		must.Same(t, left.Missing, want, "%s: missing", words)
	}
}
