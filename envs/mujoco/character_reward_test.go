package mujoco

import (
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// TestTracking: the reward is the sum of its weights in the clip, and falls, at last to the end of the episode, with
// the distance from it.
func TestTracking(t *testing.T) {
	e := begun(t, CharacterConfig{Body: HumanoidBody(), Task: Track})
	s, task := e.State(0), e.task
	r, mem := &task.refs[0], task.memory(s)
	mem[memoryTime], mem[memoryX], mem[memoryY] = r.time(40), 0, 0
	r.at(mem[memoryTime], task.scratch[0])
	place := func(change func(q, v []float64)) (float64, bool) {
		r.at(mem[memoryTime], moment{s.QPos, s.QVel})
		change(s.QPos, s.QVel)
		must.Do(t, e.batch.forward(0, 0, 1))
		return task.tracking(s, &task.terms[0], task.cfg.Deviation)
	}
	best, lost := place(func(q, v []float64) {})
	must.Not(t, math.Abs(best-1) > 1e-5 || lost, "in the clip the reward is %g, lost: %t", best, lost)
	for name, change := range map[string]func(q, v []float64){
		"pose":          func(q, v []float64) { q[7+3] += 0.5 },
		"velocity":      func(q, v []float64) { v[6] += 10 },
		"root":          func(q, v []float64) { q[0] += 0.3 },
		"root_velocity": func(q, v []float64) { v[1] += 1 },
		"keys":          func(q, v []float64) { q[7+6] -= 0.4 },
	} {
		got, lost := place(change)
		only := characterTerms{}
		*only.fields()[name+".weight"] = 1
		terms := task.terms[0]
		task.terms[0] = only
		*task.terms[0].fields()[name+".sharpness"] = *terms.fields()[name+".sharpness"]
		alone, _ := place(change)
		task.terms[0] = terms
		must.Not(t, got > 0.97 || lost || alone > 0.9, "%s: reward %g, own term %g, lost %t", name, got, alone, lost)
	}
	_, lost = place(func(q, v []float64) { q[2] += 0.51 })
	must.Is(t, lost, true, "half a metre above the clip, lost")
}

// TestCommand: commands lie in their bounds, change when they should, and are what is rewarded.
func TestCommand(t *testing.T) {
	e := characterOf(t, CharacterConfig{Body: QuadrupedBody(), NumEnvs: 40, Task: Command,
		Command: CommandConfig{MinSpeed: 0.3, MaxSpeed: 0.9, Turn: 0.5, Seconds: 0.2}})
	envtest.Reset(t, e, 2)
	low, high, changes := math.Inf(1), math.Inf(-1), 0
	before := make([]float64, 40)
	for i := range before {
		before[i] = e.task.memory(e.State(i))[memorySpeed]
	}
	for k := range 12 {
		s := envtest.Step(t, e, make([]float32, 40*12))
		for i := range before {
			mem := e.task.memory(e.State(i))
			must.Near(t, float64(s.Observations[52*i+51]), mem[memorySpeed], 1e-6, "observed")
			if mem[memorySpeed] != before[i] && !s.Terminated[i] {
				changes++
				must.Not(t, (k+1)%6 != 0 && e.State(i).Steps == k+1, "the command changed in step %d", k+1)
			}
			before[i] = mem[memorySpeed]
			low, high = min(low, mem[memorySpeed]), max(high, mem[memorySpeed])
		}
	}
	must.Not(t, low < 0.3 || high > 0.9 || high-low < 0.5 || changes < 60, "%g to %g, %d changes", low, high, changes)
	s, mem := e.State(0), e.task.memory(e.State(0))
	sin, cos := math.Sincos(mem[memoryDirection])
	s.QVel[0], s.QVel[1] = mem[memorySpeed]*cos, mem[memorySpeed]*sin
	half := mem[memoryDirection] / 2
	s.QPos[3], s.QPos[4], s.QPos[5], s.QPos[6] = math.Cos(half), 0, 0, math.Sin(half)
	for range 2 {
		r, _ := e.task.Reward(s)
		must.Near(t, r, 1, 1e-9, "as commanded, towards %g: reward", mem[memoryDirection])
		mem[memoryDirection] += 2 * math.Pi // the same direction
	}
	height := s.QPos[2]
	s.QPos[2] = e.task.cfg.Body.MinHeight - 0.01
	_, fallen := e.task.Reward(s)
	must.Is(t, fallen, true, "upright and too low, fallen")
	s.QPos[2], s.QPos[4], s.QPos[6] = height, 1, 0
	_, fallen = e.task.Reward(s)
	must.Is(t, fallen, true, "upside down in the air, fallen")
	s.QPos[4], s.QPos[6] = 0, math.Sin(half)
	s.QVel[0] += 0.5
	r, _ := e.task.Reward(s)
	must.Near(t, r, 0.25+0.75*math.Exp(-4*0.25), 1e-9, "half a metre a second beside the command: reward")
}

func TestCharacterShaping(t *testing.T) {
	e := characterOf(t, CharacterConfig{Body: QuadrupedBody(), NumEnvs: 2, Task: Command})
	must.Do(t, e.SetRewardShaping(e.RewardShaping(), nil))
	must.Do(t, e.SetRewardShaping(map[string]any{"command": map[string]any{"weight": 2.0}, "alive": 1}, []int{1}))
	must.Not(t, e.task.terms[0].command.weight != 0.75 || e.task.terms[1].command.weight != 2 ||
		e.task.terms[1].alive != 1, "%+v", e.task.terms)
	must.Refuse(t, e.SetRewardShaping(map[string]any{"facing": map[string]any{"sharpness": -1.0}}, nil), "")
}
