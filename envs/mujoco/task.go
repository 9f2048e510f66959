package mujoco

// #include "engine.h"
import "C"

import (
	"math/rand/v2"
	"unsafe"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// Task defines actions, rewards and observations for a model. All methods except Init are called for different
// environments from several goroutines at once. Data of one environment therefore belongs in its [State], and the
// methods only read the task's own fields. They should not allocate, because they run in every step.
//
// A step calls Act, simulates, then calls Reward and Observe. If the episode ends, Reset and another Observe follow.
type Task interface {
	// Init checks that the task fits the model and describes the task. It is called once.
	Init(m *Model) (Spec, error)
	// Reset writes the first state of an episode into s.QPos, s.QVel and s.Memory. They hold the model's initial
	// positions and zeros when it is called. Derived quantities are not valid yet.
	Reset(s *State, rng *rand.Rand)
	// Act turns one row of actions, all finite, into s.Ctrl.
	Act(s *State, action []float32)
	// Reward returns the reward of the step that led to s, and whether the task ends in s.
	Reward(s *State) (reward float64, terminated bool)
	// Observe writes the observation of s into out, and the state of the value network if the task has one. If
	// out.AMPObservation is nil, an episode begins in s. Otherwise a step led to s, and Observe writes its AMP
	// observation.
	Observe(s *State, out envs.Row)
}

// MetricTask is implemented by tasks that report metrics of each step. Means over an episode go into
// [envs.Episode.Metrics]. Means over the batch go into [envs.Step.Metrics] as "name/metric".
type MetricTask interface {
	// MetricNames returns the names. They must not change.
	MetricNames() []string
	// Metrics writes the values of the step that led to s, one for each name.
	Metrics(s *State, out []float64)
}

// EpisodeTask is implemented by tasks that report metrics of whole episodes. They go into [envs.Episode.Metrics], with
// the means of a [MetricTask]. An episode that was running when a state was restored has none.
type EpisodeTask interface {
	// EpisodeMetricNames returns the names. They must not change. If there are none, the other methods are not called.
	EpisodeMetricNames() []string
	// Follow is called after every step with the state that the step led to. s.Steps is 1 after an episode's first.
	Follow(s *State)
	// EpisodeMetrics writes the metrics of the episode that ends in s, one for each name. A NaN is left out.
	EpisodeMetrics(s *State, terminated bool, out []float64)
}

// ReferenceTask is implemented by tasks that compare their character with a motion. Perspective pictures show the
// motion next to the character.
type ReferenceTask interface {
	// ReferencePose writes the positions (NQ) of the motion at the moment of s. It reports whether there is a motion.
	ReferencePose(s *State, qpos []float64) bool
}

// Spec describes a task.
type Spec struct {
	// Name is a short word, the prefix of batch metrics.
	Name string
	// Spaces are the spaces of one environment.
	Spaces spaces.Set
	// Memory is the width of [State.Memory], the numbers that the task keeps per environment between steps.
	Memory int
}

// State is one environment as its task sees it. The slices are views that every step updates. The simulation reads Ctrl
// before every step. It reads QPos and QVel only when an episode begins, so writing them later has no effect.
type State struct {
	// Env is the environment's index in the batch.
	Env int
	// Steps is the number of control steps in the running episode.
	Steps int
	// Diverged is true if the simulation diverged in this step. The state is then the one before the step, and the
	// episode is terminated whatever Reward returns.
	Diverged bool
	// QPos (NQ), QVel (NV) and Ctrl (NU) are positions, velocities and controls.
	QPos, QVel, Ctrl []float64
	// Act (NA) holds the activations of actuators that have any.
	Act []float64
	// Memory holds the task's own numbers, [Spec.Memory] of them. It is cleared when an episode begins, and saved with
	// the state.
	Memory []float64
	// XPos (NumBodies, 3) are the bodies' positions in metres and XMat (NumBodies, 9) their orientations, row-major.
	// SubtreeCOM (NumBodies, 3) are the centres of mass of the bodies' subtrees, SiteXPos (sites, 3) the positions of
	// sites. All of them are computed from QPos.
	XPos, XMat, SubtreeCOM, SiteXPos []float64
	// SensorData holds the sensors' values. Position and velocity sensors match QPos and QVel. Acceleration and force
	// sensors are from the last substep.
	SensorData []float64
	// Touch (NumBodies) is 2 for a body in contact with the world, 1 for one in contact with other bodies only,
	// otherwise 0.
	Touch []byte
	// ActuatorForce (NU, or one per force output of the actuators) and QAcc (NV) are from the last substep.
	ActuatorForce, QAcc []float64
	// TimeStep is the duration of a control step in seconds.
	TimeStep float64
}

// newStates returns the views of every simulation of b. memory (N, width) is the tasks' memory, dt the duration of a
// control step in seconds. The views share C memory with b and are invalid after it is closed.
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
