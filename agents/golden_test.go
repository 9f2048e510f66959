package agents_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"reflect"
	"strings"
	"testing"
	"unsafe"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/golden"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/tensor"
)

// TestGolden replays rollouts that skrl 2.0.0 and 2.1.1 collected, for AMP with the minibatches of motion that it
// drew, and compares everything that it computed.
func TestGolden(t *testing.T) {
	for algorithm, run := range map[string]func(*testing.T, *goldenCase){"ppo": goldenPPO, "ppo_rnn": goldenPPO,
		"amp": goldenAMP} {
		t.Run(algorithm, func(t *testing.T) { each(t, algorithm, run) })
	}
}

// each runs f in one subtest for every case of the algorithm, named after its file. That there is none is a failure.
func each(t *testing.T, algorithm string, f func(t *testing.T, c *goldenCase)) {
	t.Helper()
	list := check.Get(golden.Sources(os.DirFS("testdata")))(t)
	found := 0
	for _, src := range list {
		for _, kind := range []struct {
			folder string
			load   func(t *testing.T, fsys fs.FS, file string) *goldenCase
		}{{"skrl", loadOne}, {"skrl_rnn", loadOne}, {"skrl_two_updates", loadSeveral}, {"skrl_2_1", loadOne}} {
			files := check.Get(fs.Glob(src.FS, kind.folder+"/*.json"))(t)
			for _, file := range files {
				c := kind.load(t, src.FS, file)
				if c.Algorithm != algorithm {
					continue
				}
				found++
				t.Run(path.Join(src.Name, kind.folder, strings.TrimSuffix(path.Base(file), ".json")),
					func(t *testing.T) { f(t, c) })
			}
		}
	}
	check.Not(t, found == 0, "golden: there is no case of %s", algorithm)
}

// TestGoldenRanks replays updates of two processes that skrl 2.0.0 made together, on two ranks at once: gradients are
// the mean of both ranks', the divergence that the schedule follows, too; scalers, advantages and losses are each
// rank's own.
func TestGoldenRanks(t *testing.T) {
	list := check.Get(golden.Sources(os.DirFS("testdata")))(t)
	for _, src := range list {
		files := check.Get(fs.Glob(src.FS, "skrl_distributed/*_rank0.json"))(t)
		check.Not(t, len(files) == 0 && src.Name != golden.Environment, "%s has no case of several ranks", src.Name)
		for _, file := range files {
			group := strings.TrimSuffix(file, "0.json")
			t.Run(path.Join(src.Name, path.Base(group)), func(t *testing.T) {
				groups := check.Get(distributed.Local(2, distributed.DefaultConfig()))(t)
				for r, g := range groups {
					c := loadOne(t, src.FS, fmt.Sprintf("%s%d.json", group, r))
					check.Is(t, c.Ranks, len(groups), "ranks of %s", file)
					c.Group = g
					t.Run(fmt.Sprint(r), func(t *testing.T) {
						t.Parallel() // the ranks wait for each other
						defer g.Close()
						defer func() {
							if t.Failed() {
								g.Leave(errors.New("its test has failed"))
							}
						}()
						if c.Algorithm == "amp" {
							goldenAMP(t, c)
						} else {
							goldenPPO(t, c)
						}
					})
				}
			})
		}
	}
}

func goldenPPO(t *testing.T, c *goldenCase) {
	policy, value := c.policy(t), c.network(t, "value")
	a := check.Get(ppo.New(ppo.Options{Spaces: c.spaces, NumEnvs: c.envs, Dict: c.Config, Group: c.Group,
		Models: ppo.Models{Policy: policy, Value: value}}))(t)
	defer a.Close()
	x := &replay{c, a, inside(a, "Parts").Interface().(onpolicy.Parts), policy}
	x.core.RepeatMemories = !c.Repaired
	x.run(t, nil, nil)
}

// goldenAMP compares, beside what every agent computes, the replay buffer.
func goldenAMP(t *testing.T, c *goldenCase) {
	policy, value, discriminator := c.policy(t), c.network(t, "value"), c.network(t, "discriminator")
	a := check.Get(amp.New(amp.Options{Spaces: c.spaces, NumEnvs: c.envs, Dict: c.Config, Group: c.Group,
		Motions: stillness(c.spaces.AMPObservation.Width()),
		Models:  amp.Models{Policy: policy, Value: value, Discriminator: discriminator}}))(t)
	defer a.Close()
	rows := &recorded{t: t, c: c}
	inside(a, "Draw").Set(reflect.ValueOf(rows))
	x := &replay{c, a, inside(a, "Parts").Interface().(onpolicy.Parts), policy}
	x.core.NoReplays = true
	x.run(t, func(i int) { rows.update = &c.Updates[i] },
		func(compare *golden.Comparison, i int) { x.compareMemory(t, compare, c.Updates[:i+1]) })
}

// inside returns an exported field of an agent's learner, by name.
func inside(agent onpolicy.Algorithm, field string) reflect.Value {
	x := reflect.ValueOf(agent).Elem().FieldByName("learner").Elem().FieldByName(field)
	return reflect.NewAt(x.Type(), unsafe.Pointer(x.UnsafeAddr())).Elem()
}

// recorded hands out the rows that skrl drew, in the place of amp's own samplers.
type recorded struct {
	t      *testing.T
	c      *goldenCase
	update *goldenUpdate
	first  int // the number of the epoch's first minibatch, where the case counts them through all epochs
}

func (r *recorded) Begin(_ *tensor.Scope, epoch int) {
	if n := len(r.update.numbered("minibatch_rows")); n > 0 {
		r.first = n / r.c.Config["learning_epochs"].(int) * epoch
	}
}

func (r *recorded) Rows(s *tensor.Scope, index int, _ int64) (motion, replay tensor.Tensor) {
	if r.update.numbered("replay_batches") != nil {
		replay = r.rows(s, "replay_batches", index)
	}
	return r.rows(s, "motion_batches", index), replay
}

func (r *recorded) rows(s *tensor.Scope, kind string, index int) tensor.Tensor {
	x, ok := r.update.arrays[fmt.Sprintf("%s/%d", kind, r.first+index)]
	if !ok {
		r.t.Errorf("%s: the case has no minibatch %d", kind, r.first+index)
		return tensor.Tensor{}
	}
	return tensor.From(s, x.Float32s(), int64(x.Shape[0]), int64(x.Shape[1]))
}

// stillness is a source of reference motion that the recorded minibatches make unimportant.
type stillness int

func (w stillness) CollectReferenceMotions(n int, _ *rand.Rand) ([]float32, error) {
	return make([]float32, n*int(w)), nil
}

// compareMemory compares the replay buffer with the AMP observations of all rollouts so far.
func (x *replay) compareMemory(t *testing.T, compare *golden.Comparison, updates []goldenUpdate) {
	t.Helper()
	var want golden.Tensor
	for _, u := range updates {
		want.Data = append(want.Data, u.arrays["rollout/amp_observations"].Data...)
	}
	const memory = "reply_buffer"
	snap := agenttest.Snapshot(t, x.agent)
	length := check.Get(snap.Int(layout.Memories, memory, "length"))(t)
	rows := check.Get(snap.Arrays[layout.MemoryRows(memory)].Float32s())(t)
	filled := int(length) * x.c.spaces.AMPObservation.Width()
	golden.Compare(compare, "replay buffer", rows[:filled], want)
}
