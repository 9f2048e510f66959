package agents_test

import (
	"fmt"
	"io/fs"
	"math"
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
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/golden"
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
	list, err := golden.Sources(os.DirFS("testdata"))
	must(t, err)
	found := 0
	for _, src := range list {
		for _, kind := range []struct {
			folder string
			load   func(fsys fs.FS, file string) (*goldenCase, error)
		}{{"skrl", loadOne}, {"skrl_rnn", loadOne}, {"skrl_two_updates", loadSeveral}, {"skrl_2_1", loadOne}} {
			files, err := fs.Glob(src.FS, kind.folder+"/*.json")
			must(t, err)
			for _, file := range files {
				c, err := kind.load(src.FS, file)
				if err == nil && c.Algorithm != algorithm {
					continue
				}
				found++
				t.Run(path.Join(src.Name, kind.folder, strings.TrimSuffix(path.Base(file), ".json")),
					func(t *testing.T) {
						if err != nil {
							t.Fatalf("golden: %s: %v", file, err)
						}
						f(t, c)
					})
			}
		}
	}
	if found == 0 {
		t.Fatalf("golden: there is no case of %s", algorithm)
	}
}

// goldenPPO compares, beside what every agent computes, the values from which the advantages start, and where networks
// have memory their states and minibatches.
func goldenPPO(t *testing.T, c *goldenCase) {
	policy, value := c.policy(t), c.network(t, "value")
	a, err := ppo.New(ppo.Options{
		Spaces: c.spaces(), NumEnvs: c.Envs, Dict: c.Config, Models: ppo.Models{Policy: policy, Value: value},
		Group: c.Group,
	})
	must(t, err)
	defer a.Close()
	core := inside(a, "Parts").Interface().(onpolicy.Parts)
	core.RepeatMemories = !c.Repaired
	x := &replay{c, a, core, policy, value}
	x.run(t, func(compare *golden.Comparison, i int) {
		compareLastValues(t, compare, core, &c.Updates[i])
		x.compareMinibatches(t, &c.Updates[i])
	}, func(*golden.Comparison, int) {})
}

// goldenAMP compares, beside what every agent computes, the discriminator's losses and the replay buffer.
func goldenAMP(t *testing.T, c *goldenCase) {
	policy, value, discriminator := c.policy(t), c.network(t, "value"), c.network(t, "discriminator")
	a, err := amp.New(amp.Options{
		Spaces: c.spaces(), NumEnvs: c.Envs, Dict: c.Config, Motions: stillness(c.AMPObservationSize),
		Models: amp.Models{Policy: policy, Value: value, Discriminator: discriminator}, Group: c.Group,
	})
	must(t, err)
	defer a.Close()
	rows := &recorded{t: t}
	inside(a, "Draw").Set(reflect.ValueOf(rows))
	x := &replay{c, a, inside(a, "Parts").Interface().(onpolicy.Parts), policy, value}
	x.core.NoReplays = true
	discriminator.watch(t)
	x.run(t, func(compare *golden.Comparison, i int) {
		compareLastValues(t, compare, x.core, &c.Updates[i])
		rows.update = &c.Updates[i]
		discriminator.Outputs = nil
	}, func(compare *golden.Comparison, i int) {
		compareEntropies(compare, discriminator, &c.Updates[i])
		x.compareMemory(t, compare, c.Updates[:i+1])
	})
}

// inside returns an exported field of an agent's learner, by name.
func inside(agent onpolicy.Algorithm, field string) reflect.Value {
	x := reflect.ValueOf(agent).Elem().FieldByName("learner").Elem().FieldByName(field)
	return reflect.NewAt(x.Type(), unsafe.Pointer(x.UnsafeAddr())).Elem()
}

// compareLastValues compares the values of what followed the rollout, from which the advantages start.
func compareLastValues(t *testing.T, compare *golden.Comparison, core onpolicy.Parts, u *goldenUpdate) {
	t.Helper()
	want, ok := u.Targets["last_values"]
	if !ok {
		want, ok = u.Targets["gae_next_values"]
	}
	next := u.Rollout["next_observations"]
	if !ok || want.Shape[0] != next.Shape[1] { // skrl 2.0's AMP: the values of all steps, compared in the rollout
		return
	}
	s := tensor.NoGrad().On(core.Device)
	defer s.Close()
	last := next.Row(next.Shape[0] - 1)
	observations := tensor.From(s, last.Float32s(), int64(last.Shape[0]), int64(last.Shape[1]))
	got, err := tensor.Float32s(core.ValuesOf(s, core.Estimator, observations, tensor.Tensor{}))
	must(t, err)
	golden.Compare(compare, "last values", got, want)
}

// recorded hands out the rows that skrl drew, in the place of amp's own samplers.
type recorded struct {
	t      *testing.T
	update *goldenUpdate
	first  int // the number of the epoch's first minibatch, where the case counts them through all epochs
}

func (r *recorded) Begin(_ *tensor.Scope, epoch int) {
	if n := len(r.update.MinibatchRows); n > 0 {
		r.first = n / r.update.Epochs * epoch
	}
}

func (r *recorded) MotionRows(s *tensor.Scope, index int, _ int64) tensor.Tensor {
	return r.rows(s, r.update.MotionBatches, r.first+index)
}

func (r *recorded) ReplayRows(s *tensor.Scope, index int, _ int64) tensor.Tensor {
	if r.update.ReplayBatches == nil {
		return tensor.Tensor{}
	}
	return r.rows(s, r.update.ReplayBatches, r.first+index)
}

func (r *recorded) rows(s *tensor.Scope, batches []golden.Tensor, index int) tensor.Tensor {
	if index >= len(batches) {
		r.t.Errorf("minibatch %d is asked for, the case has %d", index, len(batches))
		return tensor.Tensor{}
	}
	x := batches[index]
	return tensor.From(s, x.Float32s(), int64(x.Shape[0]), int64(x.Shape[1]))
}

// stillness is a source of reference motion that the recorded minibatches make unimportant.
type stillness int

func (w stillness) CollectReferenceMotions(n int, _ *rand.Rand) ([]float32, error) {
	return make([]float32, n*int(w)), nil
}

// compareEntropies compares, step by step, the binary cross-entropy of the discriminator's two passes: policy and
// replay, and motion.
func compareEntropies(compare *golden.Comparison, discriminator *watched, u *goldenUpdate) {
	for i, step := range u.Trace {
		for pass, want := range step.BCE {
			sum, logits := 0.0, discriminator.Outputs[2*i+pass]
			for _, l := range logits {
				if pass == 1 {
					l = -l
				}
				sum += math.Log1p(math.Exp(float64(l)))
			}
			compare.Scalar(fmt.Sprintf("cross-entropy %d of step %d", pass, i), sum/float64(len(logits)), want)
		}
	}
}

// compareMemory compares the replay buffer with the AMP observations of all rollouts so far.
func (x *replay) compareMemory(t *testing.T, compare *golden.Comparison, updates []goldenUpdate) {
	t.Helper()
	var want golden.Tensor
	for _, u := range updates {
		want.Data = append(want.Data, u.Rollout["amp_observations"].Data...)
	}
	const memory = "reply_buffer"
	snap := agenttest.Snapshot(t, x.agent)
	length, err := snap.Int(layout.Memories, memory, "length")
	must(t, err)
	rows, err := snap.Arrays[layout.MemoryRows(memory)].Float32s()
	must(t, err)
	filled := int(length) * x.c.AMPObservationSize
	if filled != len(want.Data) {
		t.Errorf("the replay buffer holds %d values, want %d", filled, len(want.Data))
		return
	}
	golden.Compare(compare, "replay buffer", rows[:filled], want)
}
