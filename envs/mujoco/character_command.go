package mujoco

import (
	"fmt"
	"math"
)

// Commanded is the direction and speed that a character shall move in, see the task [Command].
type Commanded struct {
	// Direction is an angle in radians about the vertical, in the world: 0 is along x, π/2 along y.
	Direction float64
	// Speed is in m/s. MinSpeed and MaxSpeed bound those that the task draws, which a policy has learned.
	Speed, MinSpeed, MaxSpeed float64
}

// commander is a task that is commanded.
type commander interface {
	commanded(s *State) (Commanded, bool)
	setCommand(s *State, direction, speed float64)
}

// Commanded returns what environment i is told to do; ok is false where the task has no commands.
func (e *Env) Commanded(i int) (c Commanded, ok bool) {
	t, ok := e.task.(commander)
	if !ok || e.has(i) != nil {
		return Commanded{}, false
	}
	return t.commanded(&e.states[i])
}

// SetCommand tells environment i what to do until its episode ends, instead of what the task draws. The direction and
// the speed are those of [Commanded]; the next observation after a step shows them. A task without commands, and
// numbers that are not finite or a negative speed, are errors.
func (e *Env) SetCommand(i int, direction, speed float64) error {
	if err := e.has(i); err != nil {
		return err
	}
	if _, ok := e.Commanded(i); !ok {
		return fmt.Errorf("mujoco: the task %q has no commands; of characters that is the task %q", e.spec.Name,
			Command)
	}
	if direction-direction != 0 || !(speed >= 0) || math.IsInf(speed, 0) {
		return fmt.Errorf("mujoco: a command of %g m/s in direction %g; both must be finite, the speed not negative",
			speed,
			direction)
	}
	e.task.(commander).setCommand(&e.states[i], direction, speed)
	return nil
}

func (c *characterTask) commanded(s *State) (Commanded, bool) {
	mem, d := c.memory(s), &c.cfg.Command
	return Commanded{mem[memoryDirection], mem[memorySpeed], d.MinSpeed, d.MaxSpeed}, c.cfg.Task == Command
}

func (c *characterTask) setCommand(s *State, direction, speed float64) {
	mem := c.memory(s)
	mem[memoryDirection], mem[memorySpeed], mem[memoryLeft] = direction, speed, math.Inf(1)
}

// draw draws a direction, which turns from the last one, and a speed. dt is the duration of a control step in seconds.
func (d *CommandConfig) draw(mem []float64, dt float64) {
	mem[memoryDirection] += d.Turn * (2*uniform(&mem[memoryRandom]) - 1)
	mem[memorySpeed] = d.MinSpeed + (d.MaxSpeed-d.MinSpeed)*uniform(&mem[memoryRandom])
	mem[memoryLeft] = math.Round(d.Seconds / dt)
}

// uniform draws from [0, 1) by a linear congruential generator of 32 bits, whose state a float64 holds exactly.
func uniform(state *float64) float64 {
	x := uint32(*state)*1664525 + 1013904223
	*state = float64(x)
	return float64(x>>8) / (1 << 24)
}
