package onpolicy

import (
	"slices"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/memory"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tensor"
)

// Bootstrapping: what follows an episode's or a rollout's last step has a value that no reward shows, and the value
// network estimates it. Record stores the values of truncated episodes' last observations (FinalValues); an update
// computes those of all observations (FillValues), joins both to what followed each step (NextValues), and makes
// targets of the estimate (StoreTargets). Where a simulator keeps no last observation, the one before it stands in.

// Critic is a network that estimates values, and where the rollout keeps its estimates.
type Critic struct {
	// Name is the network's, and Network itself.
	Name    string
	Network models.Network
	// Values and Final are fields (N, 1): the values of the observations, and of truncated episodes' last ones.
	Values, Final string
}

// Values asks the critics for values of observations.
type Values struct {
	*Core
	// Estimator is Value with the fields of its estimates.
	Estimator *Critic

	critics []*Critic // Estimator and Options.Critics
}

// computed lists the fields of the rollout that every update computes. Among them are the values of critics that are
// computed for the whole rollout at once.
func (c *Values) computed() []string {
	list := []string{"returns", "advantages", "log_prob_before", "importance"}
	for _, k := range c.critics {
		if !c.stepwise(k) {
			list = append(list, k.Values)
		}
	}
	return list
}

// unscale turns a critic's outputs into units of reward. The value network itself predicts standardised returns, and
// the value scaler turns them back; other critics are not scaled.
func (c *Values) unscale(s *tensor.Scope, k *Critic, out tensor.Tensor) tensor.Tensor {
	if k != c.Estimator {
		return out
	}
	return c.VScaler.Inverse(s, out)
}

// estimateValues returns a critic's values (n, 1), in units of reward, for raw observations (n, O) and states (n, S).
// hidden (n, H) is the state of the critic's memory before them, if it has one. The memory does not change.
func (c *Values) estimateValues(s *tensor.Scope, k *Critic, obs, state, hidden tensor.Tensor) tensor.Tensor {
	in := c.Inputs(s, obs, state)
	in.Hidden.State = hidden
	return c.unscale(s, k, k.Network.Forward(s, in))
}

// ValuesOf returns a critic's values (N, 1), in units of reward, for raw observations (N, O) and states (N, S) that
// come next in all environments.
func (c *Values) ValuesOf(s *tensor.Scope, k *Critic, obs, state tensor.Tensor) tensor.Tensor {
	var now tensor.Tensor
	if h := c.hiddenOf(k.Name); h != nil {
		now = h.now
	}
	return c.estimateValues(s, k, obs, state, now)
}

// stepwise reports whether a critic's values are recorded step by step: the critic has memory, or skrl 2.0 does so.
// Otherwise FillValues computes all values of a complete rollout at once.
func (c *Values) stepwise(k *Critic) bool {
	return c.hiddenOf(k.Name) != nil || c.Config.Skrl() && k == c.Estimator
}

// recordStep stores the values of the present observations of critics whose values are recorded step by step.
func (c *Values) recordStep(s *tensor.Scope, in models.Inputs) {
	for _, k := range c.critics {
		if !c.stepwise(k) {
			continue
		}
		h := c.hiddenOf(k.Name)
		if h != nil {
			in = h.addState(in, h.now)
		}
		out, next := models.ForwardHidden(s, k.Network, in)
		s.Copy(c.Rollout.Row(k.Values), c.unscale(s, k, out))
		if h != nil && h.name == k.Name { // the policy has moved a memory that they share
			s.Copy(h.after, next)
		}
	}
}

// estimatesAs21 reports whether advantages are estimated as in skrl 2.1, whose recurrent agents do so as in 2.0.
func (c *Values) estimatesAs21() bool { return c.Config.Skrl21() && len(c.hiddens) == 0 }

// bootstrapValues stores the value of the last observation of each episode that this step truncated, because the
// episode would have continued. skrl adds γ·V to the reward instead. In 2.0 V is the value of the observation before
// the cut, in 2.1 of the next observation.
func (c *Collector) bootstrapValues(s *tensor.Scope, t agents.Transition) {
	if !c.Config.Skrl() {
		c.FinalValues(s, c.values.Estimator)
		return
	}
	if !c.Config.TimeLimitBootstrap || !slices.Contains(t.Truncated, true) {
		return
	}
	r := c.Rollout
	v := r.Row("values")
	if c.values.estimatesAs21() {
		v = c.NextValue(s)
	}
	s.AddTo(r.Row("rewards"), s.Mul(v, r.Row("truncated")), c.Config.DiscountFactor)
}

// FinalValues writes a critic's value of the last observation of each truncated episode into the field Final of the
// present step, and 0 elsewhere. It reads Transition.FinalObservations, because NextObservations already belong to
// the next episode. If FinalUnknown is set, the observation that the action was chosen for replaces the last one (as
// in rl_games' value_bootstrap and rsl_rl). Episodes that terminated as well get 0, and all do without
// time_limit_bootstrap. A critic with memory uses its state of the finished episode.
func (c *Collector) FinalValues(s *tensor.Scope, k *Critic) {
	s.Fill(c.Rollout.Row(k.Final), 0)
	if c.delivery.unknown.Valid() {
		rows := c.delivery.unknown.Tensor(s)
		s.IndexCopy(c.Rollout.Row(k.Final), rows, c.values.valuesOfStep(s, k, c.Rollout.Len(), rows))
	}
	if c.delivery.cut.Valid() {
		rows := c.delivery.cut.Tensor(s)
		var remembered tensor.Tensor
		if h := c.hiddenOf(k.Name); h != nil {
			remembered = s.IndexSelect(h.after, 0, rows)
		}
		obs, state := c.delivery.final.tensors(s)
		s.IndexCopy(c.Rollout.Row(k.Final), rows, c.values.estimateValues(s, k, obs, state, remembered))
	}
}

// valuesOfStep returns a critic's values (n, 1) of the observations for which the actions of step t were chosen. rows
// are the environments; a zero Tensor stands for all.
func (c *Values) valuesOfStep(s *tensor.Scope, k *Critic, t int, rows tensor.Tensor) tensor.Tensor {
	at := func(field string) tensor.Tensor { return pickRows(s, c.Rollout.At(field, t), rows) }
	if c.stepwise(k) {
		return at(k.Values)
	}
	return c.estimateValues(s, k, at("observations"), c.ifAny("states", at), tensor.Tensor{})
}

// NextValue returns the values (N, 1) of the next observations of the step being recorded, as skrl computes them:
// whatever episode they belong to.
func (c *Collector) NextValue(s *tensor.Scope) tensor.Tensor {
	var remembered tensor.Tensor
	if h := c.hiddenOf(layout.Value); h != nil {
		remembered = s.Mul(h.after, s.ScalarSub(1, s.Max(c.Rollout.Row("terminated"), c.Rollout.Row("truncated"))))
	}
	obs, state := c.delivery.next.tensors(s)
	return c.values.estimateValues(s, c.values.Estimator, obs, state, remembered)
}

// FillValues computes a critic's values of every observation of the rollout, in units of reward, into its field
// Values (T, N, 1). It does nothing if the values are recorded step by step. Parameters and scalers are still those
// that collected the rollout, so the values equal those computed step by step.
func (c *Values) FillValues(s *tensor.Scope, k *Critic) {
	if c.stepwise(k) {
		return
	}
	c.Portions(s, c.packed(), c.rows(), func(s *tensor.Scope, rows memory.Span) {
		cut := func(field string) tensor.Tensor { return s.Narrow(c.Rollout.Rows(field), 0, rows.Start, rows.Len) }
		s.Copy(cut(k.Values), c.estimateValues(s, k, cut("observations"), c.ifAny("states", cut), tensor.Tensor{}))
	})
}

// Masks says how generalised advantage estimation treats the ends of episodes. Everything is (T, N, 1).
type Masks struct {
	Next      tensor.Tensor // V', the value of what followed each step
	Bootstrap tensor.Tensor // how much of V' counts: 0 after a termination, else 1
	Chain     tensor.Tensor // 1 where the next step belongs to the same episode, else 0
}

// NextValues computes what followed each step of the rollout, for a critic whose values of the rollout, and of
// truncated episodes' last observations, are in its fields:
//
//   - within an episode it is the next step's value, and after the rollout's last step that of the next observation;
//   - after a termination it is worth nothing (Bootstrap 0);
//   - after a truncation it is the value of the episode's last observation, or, without time_limit_bootstrap, nothing.
//
// The estimate of one episode never runs on into the next one (Chain 0 at both kinds of ends). In skrl it does so at
// truncations: always in 2.0, without time_limit_bootstrap in 2.1, which has added their value to the reward otherwise.
func (c *Values) NextValues(s *tensor.Scope, k *Critic) Masks {
	t, n := int64(c.Rollout.Steps()), int64(c.Rollout.Envs())
	last := s.Reshape(c.ValuesOf(s, k, c.nextObs, c.nextState), 1, n, 1)
	next := last
	if t > 1 {
		next = s.Cat(0, s.Narrow(c.Rollout.Tensor(k.Values), 0, 1, t-1), last)
	}
	return c.Masks(s, k, next)
}

// Masks computes the masks of [Values.NextValues] for given values next (T, N, 1). They are the values of what followed
// each step, even if that belongs to the next episode.
func (c *Values) Masks(s *tensor.Scope, k *Critic, next tensor.Tensor) Masks {
	r := c.Rollout
	terminated, truncated := r.Tensor("terminated"), r.Tensor("truncated")
	alive := s.ScalarSub(1, terminated)
	cut := s.Max(terminated, truncated)
	if c.Config.Skrl() { // the next value may be the following episode's
		if c.estimatesAs21() && c.Config.TimeLimitBootstrap {
			alive = s.ScalarSub(1, cut)
		}
		return Masks{Next: next, Bootstrap: alive, Chain: alive}
	}
	m := Masks{Next: s.Where(s.GtScalar(cut, 0.5), r.Tensor(k.Final), next), Bootstrap: alive,
		Chain: s.ScalarSub(1, cut)}
	if !c.Config.TimeLimitBootstrap {
		m.Bootstrap = m.Chain
	}
	return m
}

// StoreTargets stores the targets of the value loss and the advantages, all (T, N, 1); the advantages are normalised
// here if advantage_normalization is "rollout". The value network predicts standardised returns, so values and
// returns are standardised after the value scaler has learned from the returns. skrl's scaler learns from the old
// values first, normalises those, and only then sees the returns.
func (c *Values) StoreTargets(s *tensor.Scope, returns, advantages tensor.Tensor) {
	r := c.Rollout
	values := r.Tensor("values")
	if c.Config.Skrl() {
		c.VScaler.Learn(s, values)
		s.Copy(values, c.VScaler.Forward(s, values))
		c.VScaler.Learn(s, returns)
	} else {
		if c.VScaler != nil {
			c.LearnScale(s, c.VScaler, nil, c.ValidOf(s, returns))
		}
		s.Copy(values, c.VScaler.Forward(s, values))
	}
	s.Copy(r.Tensor("returns"), c.VScaler.Forward(s, returns))
	s.Copy(r.Tensor("advantages"), c.normalise(s, advantages, c.ValidOf(s, advantages), "rollout"))
}
