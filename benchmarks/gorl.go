package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/spaces"
)

// mixed, graphs and device are settings of all agents; soakUpdates is how long the size soak trains.
var (
	mixed       bool
	graphs      bool
	device      string
	soakUpdates int
)

// shape is a benchmark without an environment: random observations, the settings of skrl_update.py.
type shape struct {
	envs, observations, actions, ampObservations int
	hidden                                       []int
	rollouts, epochs, miniBatches, repeats       int
}

var shapes = map[string]shape{
	"small":  {16, 17, 6, 34, []int{64, 64}, 32, 8, 8, 20},
	"medium": {256, 17, 6, 34, []int{64, 64}, 32, 8, 8, 5}, // 1024 rows a minibatch
	"large":  {256, 105, 28, 210, []int{1024, 512}, 16, 6, 2, 5},
}

// flops is how many floating-point operations the matrix products of an update take, a multiplication and an addition
// for two. A layer of i inputs and o units costs i·o multiplications a row in the forward pass, as much for the
// gradient of its weights, and, but in the first layer, as much for that of its inputs. A minibatch of n rows takes n
// each through the policy and the value network and three times n through the discriminator (of the policy, the replay
// buffer and the motion); the gradient penalty on n of them goes back once and forth twice through all layers but the
// last. The values and the style rewards of the rollout are computed once.
func (sh shape) flops() float64 {
	net := func(in, out int) (forward, learn, penalty float64) {
		first := float64(in * sh.hidden[0])
		for i := range sh.hidden {
			if i > 0 {
				penalty += float64(sh.hidden[i-1] * sh.hidden[i])
			}
		}
		penalty += first
		forward = penalty + float64(sh.hidden[len(sh.hidden)-1]*out)
		return forward, 3*forward - first, 3 * penalty
	}
	_, policy, _ := net(sh.observations, sh.actions)
	value, valueLearn, _ := net(sh.observations, 1)
	reward, discriminator, penalty := net(sh.ampObservations, 1)
	rows := float64(sh.envs * sh.rollouts)
	return 2 * rows * (float64(sh.epochs)*(policy+valueLearn+3*discriminator+penalty) + value + reward)
}

// gorl measures one size; stepping is the number of threads that step MuJoCo.
func gorl(size string, stepping int) []measure {
	switch size {
	case "walker", "walker-overlap":
		return walker(stepping, size == "walker-overlap")
	case "humanoid":
		return humanoid(stepping)
	case "population":
		return population()
	case "rate":
		return rates()
	case "soak":
		return soak()
	}
	if n, ok := networks[size]; ok {
		return n.update()
	}
	sh, ok := shapes[size]
	if !ok {
		compare.Check(fmt.Errorf("benchmarks: unknown size %q: want rate, small, medium, large, gru, camera, walker, "+
			"walker-overlap, humanoid, population or soak", size))
	}
	return update(sh, nil)
}

// noise is reference motion of random numbers.
type noise int

// CollectReferenceMotions implements [amp.MotionSource].
func (w noise) CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error) {
	return normal(rng, n*int(w)), nil
}

func normal(rng *rand.Rand, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(rng.NormFloat64())
	}
	return out
}

// update times one update and one rollout step (act and record).
func update(sh shape, group *distributed.Group) []measure {
	sp := spaces.Set{Observation: spaces.Unbounded(sh.observations), Action: spaces.NewBox(-1, 1, sh.actions),
		AMPObservation: spaces.Unbounded(sh.ampObservations)}
	agent := compare.Must(amp.New(amp.Options{
		Spaces: sp, NumEnvs: sh.envs, Models: amp.MLPs(sp, sh.hidden, "relu"), Motions: noise(sh.ampObservations),
		Seed: 1, Group: group,
		Dict: map[string]any{
			"rollouts": sh.rollouts, "learning_epochs": sh.epochs, "mini_batches": sh.miniBatches,
			"grad_norm_clip": 1.0, "value_clip": 0.2,
			"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler",
			"amp_observation_preprocessor": "RunningStandardScaler",
			"mixed_precision":              mixed, "cuda_graphs": graphs, "device": device,
			"discriminator_batch_size": 0,
			"amp_batch_size":           512, "motion_dataset_size": 20_000, "reply_buffer_size": 100_000,
		},
	}))
	defer agent.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	observations := normal(rng, sh.envs*sh.observations)
	t := agents.Transition{Rewards: normal(rng, sh.envs), AMPObservations: normal(rng, sh.envs*sh.ampObservations)}
	return rounds(agent, observations, t, noEnds(sh.rollouts, sh.envs), sh.repeats)
}

// soak trains two agents of the size small one after the other, the second ten times as long, and measures by how many
// MiB the process is larger in memory after the second.
func soak() []measure {
	sh := shapes["small"]
	sh.repeats = max(1, soakUpdates/10)
	update(sh, nil)
	before := resident()
	sh.repeats = soakUpdates
	timed := update(sh, nil)
	return append(timed, measure{"resident_growth", resident() - before})
}

// resident is how many MiB of the process are in memory.
func resident() float64 {
	var size, pages float64
	compare.Must(fmt.Sscan(string(compare.Must(os.ReadFile("/proc/self/statm"))), &size, &pages))
	return pages * float64(os.Getpagesize()) / (1 << 20)
}

// noEnds are steps in which no episode ends.
func noEnds(steps, envs int) [][]bool { return slices.Repeat([][]bool{make([]bool, envs)}, steps) }

// rounds times rollouts, whose steps all show the same observations and in whose step i the episodes that ends[i] names
// terminate, and the update after each.
func rounds(agent agents.Agent, observations []float32, t agents.Transition, ends [][]bool, repeats int) []measure {
	t.NextObservations, t.Truncated = observations, make([]bool, len(t.Rewards))
	var steps, updates []float64
	for round := range repeats + 1 {
		begin := time.Now()
		for _, t.Terminated = range ends {
			compare.Must(agent.Act(agents.Observation{Observations: observations}))
			compare.Check(agent.Record(t))
		}
		middle := time.Now()
		compare.Check(agent.Update(context.Background()))
		if round > 0 { // the first round warms up
			steps = append(steps, ms(middle.Sub(begin))/float64(len(ends)))
			updates = append(updates, ms(time.Since(middle)))
		}
	}
	return []measure{{"update", compare.Median(updates)}, {"rollout_step", compare.Median(steps)}}
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
