package mujoco

import (
	"fmt"
	"math"
)

// Commanded is a command of the task [Command] or [Velocity]: the direction and speed in which a character should move.
type Commanded struct {
	// Direction is an angle in radians about the vertical, in the world: 0 is along x, π/2 along y.
	Direction float64
	// Speed is the commanded speed in m/s. MinSpeed and MaxSpeed bound the speeds that the task draws, and therefore
	// those that a policy was trained on; of the task [Velocity] the speeds forwards.
	Speed, MinSpeed, MaxSpeed float64
}

// Commanded returns the command of environment i. ok is false if the task has no commands.
func (e *Env) Commanded(i int) (c Commanded, ok bool) {
	if e.cfg.character == nil || e.has(i) != nil {
		return Commanded{}, false
	}
	return e.cfg.character.commanded(&e.states[i])
}

// SetCommand sets the command of environment i until its episode ends. The task draws no other command until then.
// Direction is in radians and speed in m/s, as in [Commanded]. The observation of the next step shows the command.
// SetCommand fails if the task has no commands, a number is not finite or the speed is negative.
func (e *Env) SetCommand(i int, direction, speed float64) error {
	if err := e.has(i); err != nil {
		return err
	}
	if _, ok := e.Commanded(i); !ok {
		return fmt.Errorf("mujoco: the task %q has no commands; of characters those are %q and %q", e.spec.Name,
			Command, Velocity)
	}
	if direction-direction != 0 || !(speed >= 0) || math.IsInf(speed, 0) {
		return fmt.Errorf("mujoco: a command of %g m/s in direction %g; both must be finite, the speed not negative",
			speed, direction)
	}
	// An infinite number of steps is left, so that Observe draws no other command.
	mem := e.cfg.character.memory(&e.states[i])
	mem[memoryDirection], mem[memorySpeed], mem[memoryLeft] = direction, speed, math.Inf(1)
	return nil
}

// commanded returns the command in force. It returns false if the task has no commands.
func (c *characterTask) commanded(s *State) (Commanded, bool) {
	mem, d := c.memory(s), &c.cfg.Command
	if c.cfg.Task == Velocity {
		x := c.cfg.Velocity.LinearX
		out := Commanded{mem[memoryDirection], mem[memorySpeed], max(0, x[0]), max(0, x[1])}
		if !math.IsInf(mem[memoryLeft], 1) { // drawn by the task: a velocity in the heading frame
			forward, left := mem[memoryForward], mem[memoryLeftward]
			out.Direction, out.Speed = heading(s.QPos)+math.Atan2(left, forward), math.Hypot(forward, left)
		}
		return out, true
	}
	return Commanded{mem[memoryDirection], mem[memorySpeed], d.MinSpeed, d.MaxSpeed}, c.cfg.Task == Command
}

// draw draws a command into mem: a direction, which turns from the last one by at most Turn, and a speed. dt is the
// duration of a control step in seconds. Reset calls it, and Observe when Seconds have passed.
func (d *CommandConfig) draw(mem []float64, dt float64) {
	mem[memoryDirection] += d.Turn * (2*uniform(&mem[memoryRandom]) - 1)
	mem[memorySpeed] = d.MinSpeed + (d.MaxSpeed-d.MinSpeed)*uniform(&mem[memoryRandom])
	mem[memoryLeft] = math.Round(d.Seconds / dt)
}

// uniform draws from [0, 1) by the linear congruential generator of Numerical Recipes, modulo 2³². Observe is given no
// generator, so commands need one that fits into State.Memory. A float64 holds its state exactly, and saved states
// include it. The low bits of such a generator are poor, so the result uses the upper 24.
func uniform(state *float64) float64 {
	x := uint32(*state)*1664525 + 1013904223
	*state = float64(x)
	return float64(x>>8) / (1 << 24)
}
