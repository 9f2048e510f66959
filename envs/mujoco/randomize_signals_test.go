package mujoco

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// TestRandomizeSignals: delays, offsets and noise reach the policy's observation and the targets, and nothing else.
func TestRandomizeSignals(t *testing.T) {
	const hinges, n = 12, 40
	pos := rootFeatures
	e := dog(t, CharacterConfig{NumEnvs: n, History: 1, Task: Command, EpisodeLength: 12, Randomize: RandomizeConfig{
		ActionDelay: [2]int{1, 3}, ObservationDelay: [2]int{0, 2}, JointOffset: 0.03,
		ObservationNoise: NoiseConfig{JointVel: 1.5}, Curriculum: 0}})
	width := e.Spaces().Observation.Width()
	var shown, truth [][]float32 // of every step: the observations, and the rows without disturbance
	look := func(step *envs.Step) {
		shown = append(shown, slices.Clone(step.Observations))
		all := make([]float32, n*width)
		for i := range n {
			s := e.State(i)
			e.task.writeFeatures(s.QPos, s.QVel, s.XPos, all[i*width:(i+1)*width])
		}
		truth = append(truth, all)
	}
	look(envtest.Reset(t, e, 1))
	var noise, offsets []float64
	for k := range 10 {
		actions := slices.Repeat([]float32{[10]float32{1}[k]}, hinges*n) // 1 in the first step alone
		step := envtest.Step(t, e, actions)
		look(step)
		for i := range n {
			mem := e.random.memoryOf(i)
			lag, late := int(mem[e.random.lags]), int(mem[e.random.lags+1])
			for j := range hinges {
				want := e.task.middle[j] - mem[e.random.offsets+j]
				if k == lag {
					want += e.task.scale[j]
				}
				must.Near(t, e.State(i).Ctrl[j], want, 1e-12, "step %d with a delay of %d: the target %d", k, lag, j)
				source := truth[max(0, k+1-late)][i*width:]
				o := shown[k+1][i*width:]
				if got, want := o[pos+j], source[pos+j]+float32(mem[e.random.offsets+j]); got != want {
					t.Fatalf("step %d with a delay of %d: the angle %d is shown as %g, want %g", k, late, j, got, want)
				}
				if late == 0 {
					noise = append(noise, float64(o[pos+hinges+j]-source[pos+hinges+j]))
				}
				offsets = append(offsets, mem[e.random.offsets+j])
			}
			for j, v := range step.AMPObservations[i*(width-3) : (i+1)*(width-3)] {
				must.Is(t, v, truth[k+1][i*width+j], "the AMP observation %d", j)
			}
			must.Near(t, float64(shown[k+1][(i+1)*width-1]), e.task.memory(e.State(i))[memorySpeed], 1e-6, "command")
		}
	}
	drawn(t, "noise", noise, -1.5, 1.5)
	drawn(t, "offsets", offsets, -0.03, 0.03)
}

// TestRandomizePushes: pushes come at their times and with their size, and the simulation goes on from them.
func TestRandomizePushes(t *testing.T) {
	const n = 200
	e := dog(t, CharacterConfig{NumEnvs: n, Randomize: RandomizeConfig{Push: PushConfig{Velocity: 0.5, Seconds: 0.1}}})
	var first, changes []float64
	for i := range n {
		s := e.State(i)
		at := 0
		for k := range 9 {
			before := slices.Clone(s.QVel)
			if !e.random.disturb(s, e.rng[i]) {
				must.Same(t, before, s.QVel, "a velocity changes without a push")
				continue
			}
			if at == 0 {
				first = append(first, float64(k+1))
			} else if k+1-at != 3 {
				t.Fatalf("pushes in the steps %d and %d; 0.1 s are 3 steps", at, k+1)
			}
			at = k + 1
			changes = append(changes, s.QVel[0]-before[0], s.QVel[1]-before[1])
			must.Same(t, before[2:], s.QVel[2:], "a push changes another velocity than the horizontal ones")
		}
	}
	drawn(t, "first pushes", first, 1, 3)
	drawn(t, "changes", changes, -0.5, 0.5)
}

// TestRandomizeCurriculum: the strength grows with the steps, and the curriculum's state keeps them.
func TestRandomizeCurriculum(t *testing.T) {
	make := func() *Character {
		return dog(t, CharacterConfig{NumEnvs: 50, EpisodeLength: 1, Randomize: RandomizeConfig{
			Friction: [2]float64{0.2, 0.2}, JointOffset: 0.1, ActionDelay: [2]int{4, 4}, Curriculum: 4}})
	}
	e := make()
	envtest.Reset(t, e, 1)
	check := func(e *Character, share float64) {
		t.Helper()
		mem := e.random.memoryOf(0)
		must.Near(t, e.random.variant(0)[e.random.at["pairs"]], 1-0.8*share, 1e-9, "the friction")
		must.Near(t, mem[e.random.lags], math.Round(4*share), 1e-9, "the delay")
		for i := range 50 {
			for _, v := range e.random.memoryOf(i)[e.random.offsets:] {
				must.Not(t, math.Abs(v) > 0.1*share+1e-12, "at a strength of %g an offset is %g", share, v)
			}
		}
	}
	check(e, 0)
	for k := range 6 {
		step := envtest.Step(t, e, slices.Repeat([]float32{0}, 50*12)) // episodes last one step
		check(e, min(1, float64(k)/4))
		must.Near(t, step.Metrics["quadruped/randomization"], min(1, max(0, float64(k-1)/4)), 1e-9, "metric")
	}
	state := must.Get(e.CurriculumState())(t)
	other := make()
	must.Do(t, other.SetCurriculumState(state))
	envtest.Reset(t, other, 1)
	check(other, 1)
	must.Not(t, !other.Supports((*envs.Curriculum)(nil)) || dog(t, CharacterConfig{}).Supports((*envs.Curriculum)(nil)),
		"Supports is wrong about the curriculum")
}

// TestRandomizeTerms: noise and delays act on the terms of an observation and not on the value network's state, and the
// observed actions are those that the policy has sent.
func TestRandomizeTerms(t *testing.T) {
	terms := []string{"command", "joint_vel", "actions", "projected_gravity"}
	e := dog(t, CharacterConfig{Task: Velocity, Velocity: VelocityConfig{LinearX: [2]float64{0.1, 1}},
		Observations: terms, NumEnvs: 20, Randomize: RandomizeConfig{ActionDelay: [2]int{2, 2},
			ObservationDelay: [2]int{1, 1}, ObservationNoise: NoiseConfig{ProjectedGravity: 0.05}}})
	step := envtest.Reset(t, e, 1)
	rng := rand.New(rand.NewPCG(1, 2))
	w, all := e.Spaces().Observation.Width(), e.Spaces().State.Width()
	var lengths []float64
	for range 30 {
		state := slices.Clone(step.States)
		actions := e.Spaces().Action.Rows(20)
		noise(actions, 1, rng)
		step = envtest.Step(t, e, actions)
		for i := range 20 {
			o, now := step.Observations[i*w:(i+1)*w], step.States[i*all:(i+1)*all]
			must.Not(t, !slices.Equal(o[:3], now[all-3:]) || !slices.Equal(o[15:27], actions[12*i:12*i+12]),
				"the command or the last action is not the newest")
			before := state[i*all:]
			must.Same(t, o[3:15], before[rootFeatures+12:rootFeatures+24], "the joints' velocities of the last step")
			length := 0.0
			for _, v := range o[27:30] {
				length += float64(v * v)
			}
			lengths = append(lengths, length-1)
		}
	}
	least, most := slices.Min(lengths), slices.Max(lengths)
	must.Not(t, least > -0.03 || most < 0.03 || least < -0.2 || most > 0.2,
		"the squared length of gravity's direction differs from 1 by %g to %g", least, most)
}
