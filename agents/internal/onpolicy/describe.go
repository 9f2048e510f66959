package onpolicy

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// Architectures returns the architectures of the networks that have one, by network.
func (c *State) Architectures() map[string]description.Architecture {
	out := map[string]description.Architecture{}
	for _, n := range c.networks {
		if a, ok := models.ArchitectureOf(n.Network); ok {
			out[n.Name] = a
		}
	}
	return out
}

// checkChoices refuses a scaler in front of a network that reads indices: choices that are encoded one-hot must not be
// scaled.
func (c *State) checkChoices() error {
	for _, n := range c.networks {
		var net description.Network
		var err error
		switch x := n.Network.(type) {
		case models.DescribedPolicy:
			var d description.Policy
			d, err = x.Describe()
			net = d.Network
		case models.Described:
			net, err = x.Describe()
		}
		key, scaler := "observation_preprocessor", c.ObservationScaler
		if err != nil { // it reads states, alone or beside observations
			key, scaler = "state_preprocessor", c.StateScaler
		}
		critic := n.Name == layout.Value || n.Name == layout.StyleValue
		if scaler != nil && (critic || n.Name == layout.Policy) && net.States == 0 && readsChoices(net) {
			return c.errorf("%q scales the choices that the %s network reads one-hot; leave it empty", key, n.Name)
		}
	}
	return nil
}

// readsChoices reports whether a network encodes columns of its input rows one-hot, by following what its steps read.
func readsChoices(n description.Network) bool {
	// Result 0 is the input; a result is of the rows if its step only cuts columns out of them or joins such columns.
	rows := map[int]bool{0: true}
	for i, s := range n.Steps {
		read := slices.ContainsFunc(n.Sources(i), func(j int) bool { return rows[j] })
		switch {
		case read && s.Op == description.OneHot:
			return true
		case s.Op == description.Columns || s.Op == description.Concatenate:
			rows[i+1] = read
		}
	}
	return false
}

// policyValues returns the policy's description as snapshots hold it (package infer acts by it without libtorch), or
// the reason why there is none. The first description is checked against what the policy computes, because a model that
// embeds another inherits its Describe and may compute something else.
func (c *State) policyValues(snap *checkpoint.Snapshot) map[string]any {
	if c.described == nil {
		d, err := c.describe()
		if err == nil {
			err = c.checkDescription(d, snap)
		}
		if err != nil { // ask again next time: the parameters may have diverged, and come back
			return description.Undescribed(err)
		}
		c.described = &d
	}
	return c.described.Values()
}

// describe returns the policy's own description with what the agent adds: spaces and the scaler of observations.
func (c *State) describe() (description.Policy, error) {
	p, ok := c.Policy.(models.DescribedPolicy)
	if !ok {
		return description.Policy{},
			fmt.Errorf("the policy %T does not say what it computes; give it the method Describe of "+
				"models.DescribedPolicy", c.Policy)
	}
	d, err := p.Describe()
	if err != nil {
		return d, err
	}
	d = d.Named("policy/")
	d.Observation, d.Action = c.spaces.Observation, c.spaces.Action
	d.ActionMask = c.spaces.ActionMask.Kind != spaces.None
	if s := c.ObservationScaler; s != nil {
		cfg := s.Config()
		d.Normalizer = &description.Normalizer{
			Mean: "observation_preprocessor/running_mean", Variance: "observation_preprocessor/running_variance",
			Epsilon: cfg.Epsilon, Clip: min(cfg.ClipThreshold, math.MaxFloat64),
		}
	}
	return d, d.Validate()
}

// checkDescription compares the actions of the described policy with the agent's on a few random observations, which
// are the steps of one episode to policies with memory.
func (c *State) checkDescription(d description.Policy, snap *checkpoint.Snapshot) error {
	p, err := infer.New(d, snap)
	if err != nil {
		return err
	}
	const rows = 8
	rng := rand.New(rand.NewPCG(1, pcgStream)) // none of the agent's sequences
	w, a := c.spaces.Observation.Width(), c.spaces.Action.Width()
	observations, actions, outputs := make([]float32, rows*w), make([]float32, rows*a), make([]float32,
		d.Action.Outputs())
	c.spaces.Observation.Sample(rng, observations)
	s := tensor.NoGrad().On(c.Device)
	defer s.Close()
	mode := c.Policy.Mode(s, models.Inputs{Hidden: models.Hidden{Length: rows},
		Observations: c.ObservationScaler.Forward(s, tensor.From(s, observations, rows, int64(w)))})
	if s.Err() != nil {
		return s.Err()
	}
	if err := tensor.Read(mode, actions); err != nil {
		return err
	}
	action, mask := make([]float32, a), c.spaces.ActionMask.Rows(1)
	for i := range mask {
		mask[i] = 1
	}
	for i := range rows {
		o := observations[i*w : (i+1)*w]
		if err := errors.Join(p.Outputs(o, outputs), p.ActMasked(o, mask, nil, action)); err != nil {
			return err
		}
		if !same(d, action, actions[i*a:(i+1)*a], outputs) {
			return fmt.Errorf("the policy does not compute what it says of itself: %v where it says %v; give %T a "+
				"method Describe of its own", actions[i*a:(i+1)*a], action, c.Policy)
		}
	}
	return nil
}

// same compares two actions with a tolerance, because devices round differently and two choices may be equally
// probable.
func same(d description.Policy, x, y, outputs []float32) bool {
	const tolerance = 2e-3
	far := func(a, b float32) bool { return math.Abs(float64(a-b)) > tolerance*(1+math.Abs(float64(b))) }
	categorical, first := d.Distribution.Kind == description.Categorical, 0
	for i := range x {
		switch k := int(y[i]); {
		case !categorical && far(x[i], y[i]):
			return false
		case categorical && (k < 0 || k >= d.Action.NVec[i] || far(outputs[first+int(x[i])], outputs[first+k])):
			return false
		case categorical:
			first += d.Action.NVec[i]
		}
	}
	return true
}
