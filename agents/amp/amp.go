// Package amp is AMP, adversarial motion priors (Peng et al. 2021): PPO on a task reward plus a style reward, which a
// discriminator gives for motion that it cannot tell from reference clips.
//
// Make an agent with [New] from an environment's spaces, models (see [MLPs]), a source of reference motion and
// settings; a trainer drives it. The algorithm is in update.go, the discriminator's loss in discriminator.go.
//
// With discriminator_mode "differential" it is ADD (Zhang et al. 2025), see differential.go; with latent_size it is ASE
// (Peng et al. 2022), see skills.go, or with latent_mode "calm" CALM (Tessler et al. 2023), see calm.go.
package amp

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/preprocessors"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// MotionSource provides reference motion. Environments with reference motion and clip libraries implement it.
type MotionSource interface {
	// CollectReferenceMotions returns n rows of AMP observations, n × M values, drawn with rng.
	CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error)
}

// Options is what an agent is made of.
type Options struct {
	// Spaces describes one environment. NumEnvs is the number of environments that act together; 0 leaves it to the
	// trainer.
	Spaces  spaces.Set
	NumEnvs int
	// Models are the networks, for instance from [MLPs].
	Models Models
	// Motions is the source of reference motion, often the environment. discriminator_mode "differential" does not
	// use it.
	Motions MotionSource
	// Dict holds settings by the keys of skrl's documentation, see [FromDict]. nil keeps all defaults.
	Dict map[string]any
	// Seed starts every random sequence of the agent. Equal seeds reproduce a run bit for bit on the same machine.
	Seed int64
	// Group is this process's part if several train the agent (distributed.Join). All give the same settings, models
	// and seed; parameters are then rank 0's everywhere, and each rank draws its own random numbers and has its own
	// memories of motion. nil is one process.
	Group *distributed.Group
}

// learner is the inside of an [Agent]: what all on-policy agents share, and what AMP adds.
type learner struct {
	onpolicy.Parts
	cfg            *Config
	styleValue     models.Network    // nil with one critic
	styleEstimator *onpolicy.Critic  // styleValue with the fields of its estimates
	termination    *termination      // of episodes with a poor style; nil if the setting is off
	separate       *tensor.Optimizer // the discriminator's own; nil if it shares the policy's

	discriminator models.Network
	scaler        preprocessors.Scaler // of AMP observations; nil for none
	mask          tensor.Tensor        // (M), 0 for features that it does not see; a zero Tensor for none

	encoder       models.Network // nil without latents
	middle, half  tensor.Tensor  // (A), centre and half width of the action bounds; zero Tensors if not needed
	windows       *windows       // the motion that each latent encodes; nil unless latent_mode is "calm"
	motionLatents []float32      // what Latents returned last; nil if it must be computed again

	source    MotionSource
	motionSet *memory.Replay  // the reference motion that minibatches draw from; nil with differences
	replay    *memory.Replay  // the policy's earlier motion
	rows      *memory.Packing // how both, and the rollout, keep rows
	resident  *tensor.Scope   // owns mask, middle and half

	// Draw is exported because tests of package agents set it, by reflection, to replay recorded rows.
	Draw sampler
}

// New makes an agent. It returns an error, before anything changes, if spaces, models, motions or settings are wrong,
// and closes the models then. A network that belongs to another agent is also an error, and stays open.
func New(o Options) (agent *Agent, err error) {
	config, err := FromDict(o.Dict, o.Spaces)
	cfg := &config
	if err == nil {
		err = o.check(cfg)
	}
	remake := o.Models.Make
	switch made := remake != nil && o.Models.none(); {
	case err != nil:
	case made:
		o.Models, err = remake(o.Seed)
	case cfg.Overlap:
		err = onpolicy.NeedsMake("amp")
	}
	if err == nil {
		err = o.Models.check(cfg)
	}
	if err != nil {
		o.Models.close()
		return nil, err
	}
	a := &learner{cfg: cfg, discriminator: o.Models.Discriminator, source: o.Motions,
		rows: memory.NewPacking(o.Spaces.AMPObservation), resident: tensor.NoGrad()}
	options := onpolicy.Options{Name: "AMP", Spaces: o.Spaces, NumEnvs: o.NumEnvs, Config: &cfg.OnPolicy, Settings: cfg,
		Policy: o.Models.Policy, Value: o.Models.Value, Seed: o.Seed, Group: o.Group, RawObservations: a.cfg.latents()}
	options.Fields = []onpolicy.Field{{Field: a.rows.Field("amp_observations"), Minibatch: true},
		{Field: memory.Field{Name: "next_values", Width: 1}, Computed: !cfg.Skrl20()},
		{Field: memory.Field{Name: "style_rewards", Width: 1}, Computed: true}}
	if a.cfg.calm() {
		width := o.Spaces.AMPObservation.Width()
		options.Fields = append(options.Fields, onpolicy.Field{Field: memory.Field{Name: "windows", Width: width},
			Minibatch: true})
	}
	if cfg.SeparateCritics {
		a.styleValue = o.Models.StyleValue
		options.Extra = append(options.Extra, onpolicy.NamedNetwork{Name: layout.StyleValue, Network: a.styleValue})
		a.styleEstimator = &onpolicy.Critic{Name: layout.StyleValue, Network: a.styleValue, Values: "style_values",
			Final: "style_final_values"}
		options.Critics = []*onpolicy.Critic{a.styleEstimator}
		options.Fields = append(options.Fields, onpolicy.Field{Field: memory.Field{Name: "style_values", Width: 1},
			Minibatch: true}, onpolicy.Field{Field: memory.Field{Name: "style_final_values", Width: 1}},
			onpolicy.Field{Field: memory.Field{Name: "style_returns", Width: 1}, Computed: true, Minibatch: true})
	} else {
		onpolicy.CloseFree(o.Models.StyleValue)
	}
	switch {
	case cfg.LatentSize > 0:
		a.encoder = o.Models.Encoder
		options.Extra = append(options.Extra, onpolicy.NamedNetwork{Name: layout.Encoder, Network: a.encoder})
	default:
		onpolicy.CloseFree(o.Models.Encoder)
	}
	options.Extra = append(options.Extra, onpolicy.NamedNetwork{Name: layout.Discriminator, Network: a.discriminator})
	if cfg.DiscriminatorOptimizer == "separate" {
		options.SeparateFrom = 1 + len(options.Extra)
	}
	if a.Parts, err = onpolicy.New(options); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = a.Close()
		}
	}()
	a.resident.On(a.Device)
	a.StageRecord, a.AfterRecord = recording(a.Collector, a.styleEstimator)
	if a.cfg.calm() {
		a.followWindows()
	}
	if cfg.TerminationStyleReward > 0 {
		a.countPoorSteps()
	}
	a.Draw = random{a}
	if cfg.Skrl() {
		a.Draw = &ahead{a: a}
	}
	if err = a.prepare(); err != nil {
		return nil, err
	}
	var actor onpolicy.Algorithm = a // or, with overlap, the agent that acts while a learns
	if cfg.Overlap {
		if actor, err = a.overlapped(options, remake); err != nil {
			return nil, err
		}
	}
	return &Agent{onpolicy.NewSerial(actor, o.Seed, cfg.clone), a}, nil
}

// overlapped returns an agent that acts while a learns. It makes a second set of networks to act with: policy and
// critics. Acting needs neither a discriminator nor an encoder, so those of the second set are closed.
func (a *learner) overlapped(options onpolicy.Options, remake func(seed int64) (Models, error)) (onpolicy.Algorithm,
	error) {
	m, err := remake(options.Seed)
	if err == nil {
		err = m.check(a.cfg)
	}
	if err != nil {
		m.close()
		return nil, err
	}
	onpolicy.CloseFree(m.Discriminator)
	onpolicy.CloseFree(m.Encoder)
	options.Policy, options.Value, options.Extra, options.Critics, options.SeparateFrom = m.Policy, m.Value, nil, nil, 0
	var style *onpolicy.Critic
	switch {
	case a.styleValue != nil:
		critic := *a.styleEstimator
		critic.Network, style = m.StyleValue, &critic
		options.Extra = []onpolicy.NamedNetwork{{Name: layout.StyleValue, Network: m.StyleValue}}
		options.Critics = []*onpolicy.Critic{style}
	default:
		onpolicy.CloseFree(m.StyleValue)
	}
	both, err := onpolicy.NewOverlap(a, a.Parts, options)
	if err != nil {
		return nil, err
	}
	both.Actor().StageRecord, both.Actor().AfterRecord = recording(both.Actor(), style)
	if !a.cfg.differential() {
		both.Fetch = func() ([]float32, error) { return a.reference(a.cfg.AMPBatchSize) }
	}
	return both, nil
}

// check refuses spaces without an AMP observation, and missing reference motion.
func (o Options) check(cfg *Config) error {
	if err := onpolicy.CheckSpaces("amp", o.Spaces); err != nil {
		return err
	}
	if err := cmp.Or(cfg.checkLatents(o.Spaces), o.checkCALM(cfg)); err != nil {
		return err
	}
	isBox := func(e spaces.Entry) bool { return e.Space.Kind == spaces.Box }
	if !slices.ContainsFunc(o.Spaces.AMPObservation.Leaves(), isBox) {
		return fmt.Errorf("amp: the AMP observation space is %v; the environment must show the discriminator a Box, "+
			"alone or within a Dict or Tuple", o.Spaces.AMPObservation)
	}
	if cfg.DiscriminatorMode == differential {
		if memory.NewPacking(o.Spaces.AMPObservation).Packed() {
			return fmt.Errorf("amp: \"discriminator_mode\" is \"differential\", but the AMP observation space %v has "+
				"pictures, which are no differences", o.Spaces.AMPObservation)
		}
	} else if o.Motions == nil {
		return errors.New("amp: Options.Motions is missing: AMP needs reference motion to imitate")
	}
	return nil
}

// prepare makes the discriminator's scaler, memories and optimizer, and fills the motion dataset. It runs the
// discriminator, second critic and encoder once, so that New returns an error if a width does not fit.
func (a *learner) prepare() error {
	if err := cmp.Or(a.makeScaler(), a.makeMask(), a.measureActions()); err != nil {
		return err
	}
	var err error
	if !a.cfg.differential() {
		if a.motionSet, err = a.newMemory(a.cfg.MotionDatasetSize, a.Spaces().AMPObservation.Width()); err != nil {
			return err
		}
		a.AddReplay("motion_dataset", a.motionSet)
	}
	if a.replay, err = a.newMemory(a.cfg.ReplayBufferSize, a.Spaces().AMPObservation.Width()); err != nil {
		return err
	}
	a.AddReplay("reply_buffer", a.replay)
	if a.cfg.DiscriminatorOptimizer == "separate" {
		begin, end, err := a.Flat.Segment(layout.Parameter(layout.Discriminator, ""))
		if err != nil {
			return err
		}
		g := tensor.Group{Name: layout.Discriminator, Begin: begin, End: end,
			LearningRate: a.cfg.DiscriminatorLearningRate}
		clip := tensor.Clip{Begin: begin, End: end, MaxNorm: a.cfg.DiscriminatorGradNormClip}
		rule := a.OptimizerConfig()
		rule.WeightDecay = 0 // the discriminator has its own penalty on weights
		if a.separate, err = tensor.NewOptimizer(a.Flat, rule, []tensor.Group{g}, []tensor.Clip{clip}); err != nil {
			return err
		}
		a.AddOptimizer(layout.DiscriminatorOptimizer, a.separate)
	}
	s := tensor.NoGrad().On(a.Device).Layers(a.Precision)
	defer s.Close()
	if err := a.collect(s, a.cfg.MotionDatasetSize); err != nil {
		return err
	}
	rows := fmt.Sprintf("AMP observations %v", a.Spaces().AMPObservation)
	judged := models.Inputs{Observations: s.Zeros(1, int64(a.judgedWidth()))}
	if a.cfg.calm() {
		rows += fmt.Sprintf(" with %d values of a latent behind them, which amp.WithConditionalDiscriminator makes "+
			"it for", a.cfg.LatentSize)
	}
	err = a.probe(s, "the discriminator", rows, a.discriminator, judged, 1, "")
	if err == nil && a.styleValue != nil {
		err = a.probe(s, "the second critic (StyleValue)", "the observations", a.styleValue, a.ZeroInputs(s), 1, "")
	}
	if err == nil && a.cfg.latents() {
		err = a.probeEncoder(s)
	}
	return err
}

// probe runs a network on one row, so that New returns an error if a width does not fit. what names the network, of its
// inputs, and hint ends the error about its output.
func (a *learner) probe(s *tensor.Scope, what, of string, n models.Network, in models.Inputs, width int,
	hint string) error {
	out := n.Forward(s, in)
	if err := s.Err(); err != nil {
		return fmt.Errorf("amp: %s does not fit %s: %w", what, of, err)
	}
	return a.CheckOutput("the output of "+what+" has", out, width, hint)
}

// recording returns two functions that add AMP observations (N, M) to a collector's rollout. stage puts them into the
// transfer. record writes them to the rollout, and for a second critic, style, also the values of the last
// observations of truncated episodes. In skrl 2.0's mode record writes the value of what follows each step instead.
func recording(c *onpolicy.Collector, style *onpolicy.Critic) (stage func(t agents.Transition) error,
	record func(s *tensor.Scope)) {
	space := c.Spaces().AMPObservation
	packing, width := memory.NewPacking(space), space.Width()
	var shown tensor.Part
	stage = func(t agents.Transition) (err error) {
		if slices.Contains(t.Idle, true) {
			return errors.New("amp: Transition.Idle marks rows without a turn, which AMP cannot learn from: every " +
				"environment must act in every step")
		}
		if got, want := len(t.AMPObservations), c.NumEnvs()*width; got != want {
			return fmt.Errorf("amp: AMP observations have %d values, want %d (%d environments × %d); the "+
				"environment must give them after every step", got, want, c.NumEnvs(), width)
		}
		rows, err := finiteRows(c, t, width)
		if err != nil {
			return err
		}
		if shown, err = packing.Stage(c.Transfer, rows); err != nil {
			return fmt.Errorf("amp: AMP observations: %w", err)
		}
		return nil
	}
	record = func(s *tensor.Scope) {
		shown.CopyTo(s, c.Rollout.Row("amp_observations"))
		switch {
		case c.Config.Skrl20():
			s.Copy(c.Rollout.Row("next_values"), s.Mul(c.NextValue(s), s.ScalarSub(1, c.Rollout.Row("terminated"))))
		case style != nil && !c.Config.Skrl():
			c.FinalValues(s, style)
		}
	}
	return stage, record
}

// finiteRows returns a transition's AMP observations. It returns an error if a row that is learned from holds NaN or
// an infinity. In the other rows NaN and infinities become 0: the product of NaN and a mask's 0 is NaN, and would
// spread to the rows that are learned from.
func finiteRows(c *onpolicy.Collector, t agents.Transition, width int) ([]float32, error) {
	rows, unused := t.AMPObservations, c.Unused(t)
	if err := c.CheckFinite("Record", "AMP observations", rows, width, unused); err != nil || unused == nil {
		return rows, err
	}
	if number.FirstNonFinite(rows) >= 0 {
		rows = slices.Clone(rows)
		for i := number.FirstNonFinite(rows); i >= 0; i = number.FirstNonFinite(rows) {
			rows[i] = 0
		}
	}
	return rows, nil
}

// Close releases what the agent holds. It may be called twice.
func (a *learner) Close() error {
	a.resident.Close()
	return a.Parts.Close()
}

// Hyperparameters returns the settings that may change while training, by their keys.
func (a *learner) Hyperparameters() map[string]float64 { return onpolicy.ReadTunable(a.cfg.Tunable()) }

// SetHyperparameters changes some of them, all or none.
func (a *learner) SetHyperparameters(values map[string]float64) error {
	next := a.cfg.clone()
	if err := a.Assign(&next.OnPolicy, next.Tunable(), values, next.Validate); err != nil {
		return err
	}
	*a.cfg = next
	if a.separate != nil {
		a.separate.Groups[0].LearningRate = next.DiscriminatorLearningRate
		a.separate.Clips[0].MaxNorm = next.DiscriminatorGradNormClip
	}
	return a.ApplySettings()
}
