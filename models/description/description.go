// Package description says in plain data what a policy computes: which arrays of a checkpoint pass through which
// operations, and how the result becomes actions. Checkpoints hold it, so that a policy can act or be exported without
// the program that trained it and without libtorch. The package needs no cgo.
//
// Everything that makes a network makes a [Network]: the constructors of models, YAML files, and an [Architecture], the
// shape of a network that evolution edits. Everything that runs, stores, exports or draws a network reads one.
//
// Reading order: network.go (steps), arrays.go (their parameters), description.go (a policy), architecture.go and
// module.go.
package description

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/spaces"
)

// Format is the version of what [Policy.Values] writes.
const Format = 1

// ErrUndescribed is wrapped by the errors of checkpoints that have no description.
var ErrUndescribed = errors.New("the policy is not described")

// Policy describes how a row of observations becomes a row of actions. Arrays are named as in the checkpoint.
type Policy struct {
	// Observation is the space of the rows that the policy reads. Action is the space of the rows that it returns.
	Observation, Action spaces.Space
	// ActionMask reports whether the policy needs an action mask with every observation, see [MaskedLogit].
	ActionMask bool
	// Transforms change observations first, one after the other, as the wrappers of the training environment did.
	Transforms []Transform
	// Normalizer standardises observations after the transforms. It is nil if nothing does.
	Normalizer *Normalizer
	// Network computes the distribution's parameters.
	Network Network
	// Distribution turns the network's result into actions.
	Distribution Distribution
}

// Transform computes (x − mean) / √(variance + Epsilon) for every column if it names arrays. If Low is below High, it
// then limits the result to these. The wrappers normalize_observation and clip_observation become transforms.
type Transform struct {
	// Mean and Variance name F64 arrays with one value for each column. Both are empty if nothing is normalised.
	Mean     string `json:"mean,omitempty"`
	Variance string `json:"variance,omitempty"`
	// Epsilon is added to the variance.
	Epsilon float64 `json:"epsilon,omitempty"`
	// Low and High limit the result; both are 0 if nothing is limited.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
}

// Normalizes reports whether the transform has a mean and a variance.
func (t Transform) Normalizes() bool { return t.Mean != "" }

// Clips reports whether the transform has limits.
func (t Transform) Clips() bool { return t.Low < t.High }

// validate returns an error unless the transform does something, with finite numbers.
func (t Transform) validate() error {
	// x − x is 0 unless x is infinite or NaN, and !(x >= 0) also catches NaN.
	bad := (t.Mean == "") != (t.Variance == "") || !(t.Epsilon >= 0) || math.IsInf(t.Epsilon, 0) ||
		t.Low-t.Low != 0 || t.High-t.High != 0 || t.Low > t.High || !t.Normalizes() && !t.Clips()
	if bad {
		return fmt.Errorf("description: the transform %+v: want names of its mean and variance with an epsilon of at "+
			"least 0, or finite limits, low below high", t)
	}
	return nil
}

// Normalizer computes clamp((x − mean) / (√variance + Epsilon), ±Clip) for every column
// (preprocessors.RunningStandardScaler).
type Normalizer struct {
	// Mean and Variance name F64 arrays with one value for each column.
	Mean     string `json:"mean"`
	Variance string `json:"variance"`
	// Epsilon is added to the standard deviation.
	Epsilon float64 `json:"epsilon"`
	// Clip limits the result.
	Clip float64 `json:"clip"`
}

// MaskedLogit replaces the logits of choices that an action mask forbids (spaces.NewActionMask), as in sb3-contrib's
// MaskablePPO. Their probability underflows to exactly 0 in float32. An infinity would make entropies NaN.
const MaskedLogit = -1e8

// The kinds of distributions.
const (
	// Gaussian is a normal distribution for each dimension. The network gives the means, and LogStd the deviations.
	Gaussian = "gaussian"
	// Categorical chooses one of the choices of each index of the action space; the network gives the logits.
	Categorical = "categorical"
	// Deterministic takes the network's result for the action.
	Deterministic = "deterministic"
)

// Distribution describes how the network's result becomes actions.
type Distribution struct {
	// Kind is [Gaussian], [Categorical] or [Deterministic].
	Kind string `json:"kind"`
	// LogStd names the F32 array of a Gaussian's log standard deviation, one value for each dimension. With
	// StateDependentLogStd it is empty: the network gives the log standard deviations after the means of all
	// dimensions.
	LogStd               string `json:"log_std,omitempty"`
	StateDependentLogStd bool   `json:"state_dependent_log_std,omitempty"`
	// ClipMean limits a Gaussian's mean to the action space. ClipActions limits the action. Both require finite limits
	// in every dimension.
	ClipMean    bool `json:"clip_mean_actions,omitempty"`
	ClipActions bool `json:"clip_actions,omitempty"`
	// ClipLogStd limits the log standard deviation to [MinLogStd, MaxLogStd]. Both limits must be finite in any case,
	// because JSON has no infinities.
	ClipLogStd bool    `json:"clip_log_std,omitempty"`
	MinLogStd  float64 `json:"min_log_std,omitempty"`
	MaxLogStd  float64 `json:"max_log_std,omitempty"`
}

// Validate returns an error that names what in the description makes no sense. It does not look at arrays.
func (p Policy) Validate() error {
	if err := p.Spaces().Validate(); err != nil {
		return fmt.Errorf("description: %w", err)
	}
	widths, err := p.Network.Widths()
	if err != nil {
		return err
	}
	if n := p.Network.Inputs; n != p.Observation.Width() {
		return fmt.Errorf("description: the network reads rows of %d values, the observation space %v has %d", n,
			p.Observation, p.Observation.Width())
	}
	// A Gaussian computes a mean for each dimension, and with StateDependentLogStd a deviation as well.
	want := p.Action.Outputs()
	if p.Distribution.StateDependentLogStd {
		want *= 2
	}
	if n := widths[len(widths)-1]; n != want {
		return fmt.Errorf("description: the network computes %d values, the action space %v needs %d", n, p.Action,
			want)
	}
	if n := p.Normalizer; n != nil && (n.Mean == "" || n.Variance == "" || !(n.Epsilon >= 0) || !(n.Clip > 0) ||
		math.IsInf(n.Epsilon, 0) || math.IsInf(n.Clip, 0)) {
		return fmt.Errorf("description: the normalizer %+v: want names of its mean and variance, an epsilon of at "+
			"least 0 and a positive clip", *n)
	}
	for _, t := range p.Transforms {
		if err := t.validate(); err != nil {
			return err
		}
	}
	return p.Distribution.validate(p.Action)
}

// Spaces returns the spaces that an environment must have for the policy to act in it.
func (p Policy) Spaces() spaces.Set {
	set := spaces.Set{Observation: p.Observation, Action: p.Action}
	if p.ActionMask {
		set.ActionMask = spaces.NewActionMask(p.Action)
	}
	return set
}

// validate checks the distribution against the action space.
func (d Distribution) validate(action spaces.Space) error {
	box := action.Kind == spaces.Box
	switch d.Kind {
	case Gaussian, Deterministic:
		if !box {
			return fmt.Errorf("description: a %s policy needs a Box action space, got %v", d.Kind, action)
		}
	case Categorical:
		if action.Kind != spaces.Discrete && action.Kind != spaces.MultiDiscrete {
			return fmt.Errorf("description: a categorical policy needs a Discrete or MultiDiscrete action space, got "+
				"%v", action)
		}
	default:
		return fmt.Errorf("description: distribution %q: want %s, %s or %s", d.Kind, Gaussian, Categorical,
			Deterministic)
	}
	if (d.ClipActions || d.ClipMean) && !action.Bounded() {
		return fmt.Errorf("description: clip_actions and clip_mean_actions need limits in every dimension; the action "+
			"space %v has none somewhere", action)
	}
	if d.Kind == Gaussian && d.LogStd == "" && !d.StateDependentLogStd {
		return fmt.Errorf("description: a gaussian policy needs the name of its log_std, or state_dependent_log_std")
	}
	if d.StateDependentLogStd && (d.Kind != Gaussian || d.LogStd != "") {
		return fmt.Errorf("description: state_dependent_log_std is for a gaussian policy without the name of a "+
			"log_std; this is a %s one with %q", d.Kind, d.LogStd)
	}
	if math.IsInf(d.MinLogStd, 0) || math.IsInf(d.MaxLogStd, 0) || !(d.MinLogStd <= d.MaxLogStd) {
		return fmt.Errorf("description: min_log_std %g and max_log_std %g: want two finite numbers, the first no "+
			"greater than the second", d.MinLogStd, d.MaxLogStd)
	}
	return nil
}

// Named returns the policy with a prefix before the names of the network's and the distribution's arrays.
func (p Policy) Named(prefix string) Policy {
	p.Network = p.Network.Named(prefix)
	if p.Distribution.LogStd != "" {
		p.Distribution.LogStd = prefix + p.Distribution.LogStd
	}
	return p
}

// policyJSON is the JSON form of a policy. Format is checked before the other keys are read, so that a file of a newer
// version gets an error about the version, not about an unknown key.
type policyJSON struct {
	Format int `json:"format"`
	// Undescribed is why there is no description. Nothing but Format is then set.
	Undescribed string `json:"undescribed,omitempty"`
	// Observation and Action are nil with Undescribed. The fields below are those of [Policy].
	Observation *spaceJSON  `json:"observation_space,omitempty"`
	Action      *spaceJSON  `json:"action_space,omitempty"`
	ActionMask  bool        `json:"action_mask,omitempty"`
	Transforms  []Transform `json:"transforms,omitempty"`
	Normalizer  *Normalizer `json:"normalizer,omitempty"`
	// Inputs and Network are the fields of [Network]. States is missing: a described policy reads no states.
	Inputs       int          `json:"inputs,omitempty"`
	Network      []Step       `json:"network,omitempty"`
	Distribution Distribution `json:"distribution,omitzero"`
}

// Values returns the policy as a tree of plain values, which snapshots store under "policy". The policy must be valid.
func (p Policy) Values() map[string]any {
	return tree(policyJSON{
		Format: Format, Observation: encodeSpace(p.Observation), Action: encodeSpace(p.Action),
		ActionMask: p.ActionMask,
		Transforms: p.Transforms, Normalizer: p.Normalizer,
		Inputs: p.Network.Inputs, Network: p.Network.Steps, Distribution: p.Distribution,
	})
}

// Undescribed returns what snapshots store instead of a description: the reason why there is none.
func Undescribed(reason error) map[string]any {
	return tree(policyJSON{Format: Format, Undescribed: reason.Error()})
}

// Of reads what [Policy.Values] returned, also after a round trip through a file, and validates it. The error wraps
// [ErrUndescribed] and gives the reason if [Undescribed] made v.
func Of(v any) (Policy, error) {
	// Read the version alone first, without refusing other keys.
	var version struct {
		Format int `json:"format"`
	}
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &version)
	}
	if err == nil && version.Format != Format {
		return Policy{}, fmt.Errorf("description: its format is %d, this version of gorl reads %d; use a newer gorl",
			version.Format, Format)
	}
	var j policyJSON
	if err == nil {
		err = decode(v, &j)
	}
	if err != nil {
		return Policy{}, fmt.Errorf("description: %w", err)
	}
	if j.Undescribed != "" {
		return Policy{}, fmt.Errorf("%w: %s", ErrUndescribed, j.Undescribed)
	}
	p := Policy{ActionMask: j.ActionMask, Transforms: j.Transforms, Normalizer: j.Normalizer,
		Network: Network{Inputs: j.Inputs, Steps: j.Network}, Distribution: j.Distribution}
	if p.Observation, err = j.Observation.space(); err == nil {
		p.Action, err = j.Action.space()
	}
	if err != nil {
		return Policy{}, err
	}
	return p, p.Validate()
}

// decode reads what tree returned, also after a round trip through a file. A key that into does not have is an error:
// misspelt, it would leave a field at zero.
func decode(v, into any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// tree turns a value of texts and finite numbers into maps, lists, texts, int64 and float64, with the names of its JSON
// form. It leaves out keys whose value is null. It panics if JSON cannot hold the value, which validation rules out.
func tree(v any) map[string]any {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	// Numbers keep their text until plain has decided whether they are whole: a float64 cannot hold every int64.
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		panic(err)
	}
	return plain(m).(map[string]any)
}

// plain converts decoded JSON in place: numbers to int64 or float64, and keys with null are deleted.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if v[k] = plain(x); x == nil {
				delete(v, k)
			}
		}
	case []any:
		for i, x := range v {
			v[i] = plain(x)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		x, err := v.Float64()
		if err != nil {
			panic(err)
		}
		return x
	}
	return v
}
