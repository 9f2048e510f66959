package amp

import (
	"math"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/preprocessors"
	"github.com/gorl-dev/gorl/tensor"
)

// makeScaler makes the scaler of AMP observations that the settings ask for, whose settings they then have with all
// defaults.
func (a *learner) makeScaler() (err error) {
	c, width := a.cfg, a.Spaces().AMPObservation.Width()
	standard, absolute := preprocessors.DefaultScalerConfig(), preprocessors.DefaultMeanAbsConfig()
	standard.Unbiased = c.Skrl()
	const prefix = "amp: amp_observation_preprocessor_kwargs"
	switch kwargs := &c.AMPObservationPreprocessorKwargs; c.AMPObservationPreprocessor {
	case agents.RunningStandardScaler:
		if err = onpolicy.MergeScaler(prefix, kwargs, width, &standard); err == nil {
			a.scaler, err = preprocessors.NewRunningStandardScaler(width, standard, a.Device)
		}
	case agents.RunningMeanAbsScaler:
		if err = onpolicy.MergeScaler(prefix, kwargs, width, &absolute); err == nil {
			a.scaler, err = preprocessors.NewRunningMeanAbsScaler(width, absolute, a.Device)
		}
	}
	if err == nil {
		a.AddScaler(layout.AMPObservationScaler, a.scaler)
	}
	return err
}

// standardise lets the discriminator's scaler learn from the rollout and as much reference motion, once an update, so
// that the reward and all minibatches see the same statistics. (skrl's learns three times in every minibatch of
// every epoch, and rewards by the statistics of the update before.)
func (a *learner) standardise(s *tensor.Scope) {
	if a.scaler == nil || a.cfg.Skrl() {
		return
	}
	rows := a.ValidRows(s, "amp_observations")
	if !a.cfg.differential() {
		motion := a.motionSet.Sample(s, a.Gen, tensor.Size(rows, 0))
		if a.cfg.calm() {
			motion, _ = a.splitRows(s, motion)
		}
		rows = s.Cat(0, rows, motion)
	}
	a.LearnScale(s, a.scaler, a.rows, rows)
}

// scaled returns rows (n, M), which are numbers, as the discriminator sees them.
func (a *learner) scaled(s *tensor.Scope, rows tensor.Tensor) tensor.Tensor {
	if a.scaler == nil {
		return rows
	}
	return a.scaler.Forward(s, rows)
}

// sampler draws the rows of reference motion and of the policy's earlier motion that a minibatch compares, (n, M), not
// standardised. There are two: random, and ahead as in skrl. Its methods are exported because tests of package
// agents replay recorded rows through it.
type sampler interface {
	// Begin starts an epoch of an update, which ends before s does.
	Begin(s *tensor.Scope, epoch int)
	// Rows returns n rows of each kind for minibatch index. replay is a zero Tensor while there are none.
	Rows(s *tensor.Scope, index int, n int64) (motion, replay tensor.Tensor)
}

// samples returns what the discriminator compares in a minibatch, standardised, (n, M) each: the policy's motion now,
// its earlier motion (the present one while there is none), and the reference. That of differences is one row of zeros.
func (a *learner) samples(s *tensor.Scope, b onpolicy.Batch, n int64) (policy, replay, motion tensor.Tensor) {
	policy = b.Fields["amp_observations"]
	if motion, replay = a.Draw.Rows(s, b.Index, n); replay.T == nil {
		replay = policy
	}
	first := func(t tensor.Tensor) tensor.Tensor {
		if limit := int64(a.cfg.DiscriminatorBatchSize); limit > 0 && s.Err() == nil && tensor.Size(t, 0) > limit {
			t = s.Narrow(t, 0, 0, limit)
		}
		t = a.rows.Float32(s, t)
		if a.cfg.Skrl() && a.scaler != nil {
			a.scaler.Learn(s, t)
		}
		return a.scaled(s, t)
	}
	policy, replay, motion = first(policy), first(replay), first(motion)
	if a.scaler == nil { // not the rows of a memory themselves: a gradient is asked for them
		motion = s.Detach(motion)
	}
	return policy, replay, motion
}

// random draws new rows for every minibatch.
type random struct{ a *learner }

// Begin implements sampler.
func (r random) Begin(*tensor.Scope, int) {}

// Rows implements sampler.
func (r random) Rows(s *tensor.Scope, _ int, n int64) (motion, replay tensor.Tensor) {
	if r.a.cfg.differential() {
		motion = s.Zeros(1, int64(r.a.Spaces().AMPObservation.Width()))
	} else {
		motion = r.a.motionSet.Sample(s, r.a.Gen, n)
	}
	if r.a.replay.Len() > 0 {
		replay = r.a.replay.Sample(s, r.a.Gen, n)
	}
	return motion, replay
}

// ahead draws the rows of all minibatches at once, as skrl does: 2.0 at the beginning of an update, with repetition,
// 2.1 at the beginning of every epoch, without; a memory with fewer rows than a rollout has then gives fewer.
type ahead struct {
	a              *learner
	motion, replay []tensor.Tensor
}

// Begin implements sampler.
func (d *ahead) Begin(s *tensor.Scope, epoch int) {
	if epoch > 0 && d.a.cfg.Skrl20() {
		return
	}
	d.motion, d.replay = d.batches(s, d.a.motionSet), nil
	if d.a.replay.Len() > 0 {
		d.replay = d.batches(s, d.a.replay)
	}
}

func (d *ahead) batches(s *tensor.Scope, m *memory.Replay) []tensor.Tensor {
	n := int64(d.a.Rollout.Steps() * d.a.Rollout.Envs())
	var all tensor.Tensor
	if d.a.cfg.Skrl20() {
		all = m.Sample(s, d.a.Gen, n)
	} else {
		n = min(n, m.Len())
		all = s.IndexSelect(m.Data(), 0, s.Narrow(s.RandPerm(d.a.Gen, m.Len()), 0, 0, n))
	}
	var parts []tensor.Tensor
	for _, span := range memory.Split(n, int64(d.a.MiniBatches())) {
		parts = append(parts, s.Narrow(all, 0, span.Start, span.Len))
	}
	return parts
}

// Rows implements sampler. Where a memory has fewer rows than there are minibatches, the parts begin again.
func (d *ahead) Rows(_ *tensor.Scope, index int, _ int64) (motion, replay tensor.Tensor) {
	if d.replay != nil {
		replay = d.replay[index%len(d.replay)]
	}
	return d.motion[index%len(d.motion)], replay
}

// fillReplay adds the rollout's AMP observations to the replay buffer: all of them until it is full, later a random
// share, replay_admission_probability.
func (a *learner) fillReplay(s *tensor.Scope) {
	rows := a.ValidRows(s, "amp_observations")
	if a.cfg.calm() { // with the motion behind the latents that the policy was given
		rows = concatLatents(s, rows, a.ValidRows(s, "windows"))
	}
	if p := a.cfg.ReplayAdmissionProbability; p < 1 && a.replay.Len() == a.replay.Capacity() {
		n := tensor.Size(rows, 0)
		admitted := int64(math.Round(p * float64(n)))
		if admitted == 0 {
			return
		}
		rows = s.IndexSelect(rows, 0, s.Narrow(s.RandPerm(a.Gen, n), 0, 0, admitted))
	}
	a.replay.Add(s, rows)
}
