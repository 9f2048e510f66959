package mujoco

// #include "engine.h"
import "C"

import (
	"math/rand/v2"
	"unsafe"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// Task is what is to be done in a model. Its methods but Init are called for different environments from several
// goroutines at once: what belongs to one environment lives in its [State], what the task itself holds is only read.
// They allocate nothing if they are to be fast.
//
// A step is Act, the simulation, Reward, Observe; an episode that ends is followed by Reset and another Observe.
type Task interface {
	// Init checks that the model is one that the task can be done in, and describes the task. It is called once.
	Init(m *Model) (Spec, error)
	// Reset writes the first state of an episode into s.QPos, s.QVel and s.Memory. They hold the model's initial
	// positions and zeros when it is called. Derived quantities are not valid yet.
	Reset(s *State, rng *rand.Rand)
	// Act turns one row of actions, all finite, into s.Ctrl.
	Act(s *State, action []float32)
	// Reward returns the reward of the step that led to s, and whether the task ends in s.
	Reward(s *State) (reward float64, terminated bool)
	// Observe writes the observation (and, if the task has one, the state of the value network) of s into out. Where
	// out.AMPObservation is not nil, s came about by a step whose AMP observation is wanted; where it is nil, an
	// episode begins in s.
	Observe(s *State, out envs.Row)
}

// MetricTask is implemented by tasks that have figures of their own. Their means over an episode go
// into [envs.Episode.Metrics], their means over the batch, as "name/metric", into [envs.Step.Metrics].
type MetricTask interface {
	// MetricNames returns the names, always the same.
	MetricNames() []string
	// Metrics writes the figures of the step that led to s, one a name.
	Metrics(s *State, out []float64)
}

// EpisodeTask is implemented by tasks that have figures of whole episodes, which go into [envs.Episode.Metrics] beside
// the means of a [MetricTask]. An episode in which a restored state was set has none.
type EpisodeTask interface {
	// EpisodeMetricNames returns the names, always the same. Where there are none, the other methods are not called.
	EpisodeMetricNames() []string
	// Follow sees the state that every step led to; s.Steps is 1 in an episode's first.
	Follow(s *State)
	// EpisodeMetrics writes the figures of the episode that ends in s, one a name. One that is NaN is left out.
	EpisodeMetrics(s *State, terminated bool, out []float64)
}

// ReferenceTask is implemented by tasks whose characters are compared with a motion: pictures show it beside them.
type ReferenceTask interface {
	// ReferencePose writes the positions (NQ) of the motion at the moment of s, and reports whether there is one.
	ReferencePose(s *State, qpos []float64) bool
}

// sharedTask is a task that keeps numbers for all environments together, which change between steps only.
type sharedTask interface {
	// shared returns them, always as many. A seeded Reset makes them 0, and they are saved.
	shared() []float64
	// stepped brings them up to date when all environments have made a step.
	stepped()
}

// Spec describes a task.
type Spec struct {
	// Name is a short word, the prefix of batch metrics.
	Name string
	// Spaces of one environment.
	Spaces spaces.Set
	// Memory is how many numbers the task keeps for each environment from step to step, in [State.Memory].
	Memory int
}

// State is one environment as its task sees it. The slices are the simulation's own memory.
type State struct {
	// Env is the environment's index in the batch.
	Env int
	// Steps is the number of control steps in the running episode.
	Steps int
	// Diverged: the simulation broke down in this step and stands where it was before. The episode is
	// terminated, whatever Reward says.
	Diverged bool
	// QPos (NQ), QVel (NV) and Ctrl (NU) are positions, velocities and controls.
	QPos, QVel, Ctrl []float64
	// Act (NA) holds the activations of actuators that have any.
	Act []float64
	// Memory holds what the task wants to remember, [Spec.Memory] numbers.
	Memory []float64
	// XPos (NumBodies, 3) and XMat (NumBodies, 9) are the bodies' positions in metres and row-major
	// orientations, SubtreeCOM (NumBodies, 3) the centres of mass of the trees below them; SiteXPos (sites, 3). They
	// belong to QPos.
	XPos, XMat, SubtreeCOM, SiteXPos []float64
	// SensorData holds the sensors' values; those of positions and velocities belong to QPos and QVel, those of
	// accelerations and forces to the last substep.
	SensorData []float64
	// Touch (NumBodies) is 1 for a body that touches another one, the world among them, and 0 for the others.
	Touch []byte
	// ActuatorForce (NU, or one per force output of the actuators) and QAcc (NV) are from the last substep.
	ActuatorForce, QAcc []float64
	// TimeStep is the duration of a control step in seconds.
	TimeStep float64
}

// newStates makes views of every simulation.
func newStates(b *Batch, memory []float64, width int, dt float64) []State {
	m := b.model
	nb, nsite := m.NumBodies(), int(m.m.nsite)
	out := make([]State, b.n)
	for i, d := range b.data {
		out[i] = State{
			Env: i, QPos: b.QPos(i), QVel: b.QVel(i), Ctrl: b.Ctrl(i), Act: floats(d.act, m.NA()),
			Memory: row(memory, i, width),
			XPos:   floats(d.xpos, 3*nb), XMat: floats(d.xmat, 9*nb),
			SubtreeCOM: floats(d.subtree_com, 3*nb), SiteXPos: floats(d.site_xpos, 3*nsite),
			SensorData: floats(d.sensordata, m.NumSensorValues()), ActuatorForce: floats(d.actuator_force, m.forces()),
			Touch: row(unsafe.Slice((*byte)(unsafe.Pointer(b.c.touch)), b.n*nb), i, nb), QAcc: floats(d.qacc, m.NV()),
			TimeStep: dt,
		}
	}
	return out
}
