package mujoco

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/motions"
	"github.com/gorl-dev/gorl/spaces"
)

const (
	// walkerDOF is the number of degrees of freedom: x, z, pitch and six joints.
	walkerDOF = 9
	// walkerPositions is the number of observed positions: all except x, on which the gait does not depend.
	walkerPositions   = walkerDOF - 1
	walkerObservation = walkerPositions + walkerDOF
	walkerActions     = 6
	// walkerSubsteps is the number of simulation steps of 0.004 s in a control step of walkerControlStep seconds.
	walkerSubsteps    = 5
	walkerControlStep = 0.02
	// walkerLift is the height in metres by which Reset lifts the clip's pose, so that no foot starts in the floor.
	walkerLift = 0.005
)

var (
	// walkerMid is the target in radians of hip, knee and ankle for an action of 0, walkerRange its change for an
	// action of 1.
	walkerMid   = [3]float64{0.2, 0.5, -0.05}
	walkerRange = [3]float64{0.6, 0.7, 0.4}
	// walkerScale are the factors of the nine velocities in observations.
	walkerScale = [walkerDOF]float64{1, 1, 0.5, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2}
)

// walkerTask is the [Task] of [Walker]. Workers share it and only read it. Its terms change between steps alone.
type walkerTask struct {
	clip *motions.Clip
	// speed is the target speed in m/s.
	speed float64
	// hide leaves velocities out of observations.
	hide bool
	// terms (N) are the parameters of the reward.
	terms []walkerTerms
	// pos and vel are the clip's positions and velocities, one row per control step. x is 0 in every row.
	pos, vel [][walkerDOF]float64
	// joints are the joint angles of pos, in radians.
	joints [][walkerActions]float64
	// pairs are the clip's AMP observations: row k is the observations of steps k and k+1.
	pairs [][2 * walkerObservation]float32
}

// newWalkerTask tabulates the clip at control steps. speed is the target speed in m/s.
func newWalkerTask(clip *motions.Clip, speed float64, numEnvs int) *walkerTask {
	n := max(2, int(math.Round(clip.Duration()/walkerControlStep)))
	w := &walkerTask{clip: clip, speed: speed, terms: slices.Repeat([]walkerTerms{defaultWalkerTerms}, numEnvs),
		pos: make([][walkerDOF]float64, n), vel: make([][walkerDOF]float64, n),
		joints: make([][walkerActions]float64, n), pairs: make([][2 * walkerObservation]float32, n)}
	for k := range n {
		t := float64(k) * walkerControlStep
		if n == clip.NumFrames() {
			t = clip.FrameTime(k) // the frame itself: rounding would make it a mix of two frames
		}
		clip.At(t, w.pos[k][:], w.vel[k][:])
		w.pos[k][0] = 0
		copy(w.joints[k][:], w.pos[k][3:])
	}
	var pos, vel [walkerDOF]float64
	for k := range n {
		clip.At(float64(k+1)*walkerControlStep, pos[:], vel[:])
		walkerFeatures(w.pos[k][:], w.vel[k][:], w.pairs[k][:walkerObservation])
		walkerFeatures(pos[:], vel[:], w.pairs[k][walkerObservation:])
	}
	return w
}

// walkerFeatures writes the full observation (17) of positions (9) and velocities (9).
func walkerFeatures(pos, vel []float64, out []float32) {
	out = convert(out, pos[1:walkerDOF])
	for i, s := range walkerScale {
		out[i] = float32(vel[i] * s)
	}
}

// Init implements [Task].
func (w *walkerTask) Init(m *Model) (Spec, error) {
	if m.NQ() != walkerDOF || m.NU() != walkerActions {
		return Spec{}, fmt.Errorf("the walker has %d coordinates and %d actuators, the model %d and %d", walkerDOF,
			walkerActions, m.NQ(), m.NU())
	}
	set := spaces.Set{
		Observation:    spaces.Unbounded(walkerObservation),
		Action:         spaces.NewBox(-1.5, 1.5, walkerActions),
		AMPObservation: spaces.Unbounded(2 * walkerObservation),
	}
	if w.hide {
		set.Observation, set.State = spaces.Unbounded(walkerPositions), spaces.Unbounded(walkerObservation)
	}
	// The memory holds the last observation, the first half of the next AMP observation.
	return Spec{Name: "walker", Spaces: set, Memory: walkerObservation}, nil
}

// Reset implements [Task]. The episode starts in a random frame of the clip, at x = 0.
func (w *walkerTask) Reset(s *State, rng *rand.Rand) {
	k := rng.IntN(len(w.pos))
	copy(s.QPos, w.pos[k][:])
	copy(s.QVel, w.vel[k][:])
	s.QPos[1] += walkerLift
}

// Act implements [Task].
func (w *walkerTask) Act(s *State, action []float32) {
	for i, a := range action {
		s.Ctrl[i] = walkerMid[i%3] + walkerRange[i%3]*max(-1.5, min(1.5, float64(a)))
	}
}

// Reward implements [Task]. QPos[1] is the pelvis' height relative to its initial 0.92 m, QPos[2] the pitch.
func (w *walkerTask) Reward(s *State) (reward float64, terminated bool) {
	d, t := s.QVel[0]-w.speed, &w.terms[s.Env]
	return t.weight*math.Exp(-t.sharpness*d*d) + t.alive, s.QPos[1] < -0.25 || math.Abs(s.QPos[2]) > 1
}

// Observe implements [Task].
func (w *walkerTask) Observe(s *State, out envs.Row) {
	// all receives the 17 numbers: the observation, or the state if observations are the first eight alone.
	all := out.Observation
	if w.hide {
		all = out.State
	}
	walkerFeatures(s.QPos, s.QVel, all)
	if w.hide {
		copy(out.Observation, all)
	}
	if out.AMPObservation != nil {
		copy(convert(out.AMPObservation, s.Memory), all)
	}
	convert(s.Memory, all)
}

// MetricNames implements [MetricTask].
func (w *walkerTask) MetricNames() []string { return []string{"speed", "joint_error"} }

// Metrics implements [MetricTask].
func (w *walkerTask) Metrics(s *State, out []float64) {
	out[0], out[1] = s.QVel[0], w.jointError(s.QPos[3:])
}

// jointError returns the mean absolute difference in radians between six joint angles and the clip's nearest frame. It
// runs in every step of every environment: a frame that is worse after one leg is not looked at further.
func (w *walkerTask) jointError(joints []float64) float64 {
	q := (*[walkerActions]float64)(joints)
	best := math.Inf(1)
	for k := range w.joints {
		f := &w.joints[k]
		sum := math.Abs(q[0]-f[0]) + math.Abs(q[1]-f[1]) + math.Abs(q[2]-f[2])
		if sum >= best {
			continue
		}
		if sum += math.Abs(q[3]-f[3]) + math.Abs(q[4]-f[4]) + math.Abs(q[5]-f[5]); sum < best {
			best = sum
		}
	}
	return best / walkerActions
}

// CollectReferenceMotions implements [envs.MotionSource]. It draws n pairs of consecutive observations of the clip, all
// with equal probability.
func (w *walkerTask) CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error) {
	return w.collect(n, 1, rng)
}

// CollectOverlappingMotions implements [envs.OverlappingMotionSource]. The second pair of observations begins with the
// last observation of the first pair.
func (w *walkerTask) CollectOverlappingMotions(n int, rng *rand.Rand) ([]float32, error) {
	return w.collect(n, 2, rng)
}

// collect draws n times so many pairs of observations, one after the other.
func (w *walkerTask) collect(n, pairs int, rng *rand.Rand) ([]float32, error) {
	if n <= 0 {
		return nil, fmt.Errorf("mujoco: walker: %d reference motions; ask for at least one", n)
	}
	out := make([]float32, 0, n*pairs*2*walkerObservation)
	for range n {
		k := rng.IntN(len(w.pairs))
		for i := range pairs {
			out = append(out, w.pairs[(k+i)%len(w.pairs)][:]...)
		}
	}
	return out, nil
}
