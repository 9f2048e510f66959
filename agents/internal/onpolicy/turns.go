package onpolicy

import (
	"slices"

	"github.com/gorl-dev/gorl/tensor"
)

// In games with turns a row is idle while other rows act (agents.Transition.Idle). Rewards and ends in that time belong
// to the row's last action. A step therefore runs from an action to the row's next turn, or to the end of its episode.
// This file estimates advantages over such steps. Networks with memory read idle rows like all others.
//
// If the rollout ends before the row's next turn, the outcome of the row's last action is unknown. Nothing learns from
// that action, and the estimate of the step before it bootstraps from its value. Rewards and ends that reach a row
// before its first action of an episode, or of the rollout, are dropped.

// steps are the steps of a complete rollout from turn to turn. action, last and rewards are (T·N). The column of each
// environment has the rows that nothing learns from first, and then the steps in order.
type steps struct {
	action  []int64   // the row of each step's action
	last    []int64   // the last row of each step: the end of the episode, or the row before the next turn
	rewards []float32 // the sum of the rewards from action to last
	unknown []int64   // the rows of the actions whose outcomes are unknown
}

// divideTurns divides a complete rollout of n environments into steps. idle is ((T+1)·n), rewards and ended are (T·n).
func divideTurns(n int, idle []bool, rewards []float32, ended []bool) steps {
	d := steps{action: make([]int64, len(rewards)), last: make([]int64, len(rewards)),
		rewards: make([]float32, len(rewards))}
	for env := range n {
		free, filled := env, len(rewards)+env // the next place for a row without a step, and the first one filled
		known := !idle[filled]
		last, sum := filled-n, 0.0
		for row := filled - n; row >= 0; row -= n {
			if ended[row] { // what comes later belongs to another episode
				known, last, sum = true, row, 0
			}
			sum += float64(rewards[row])
			at := free
			if !idle[row] && known {
				filled -= n
				at = filled
			} else {
				free += n
			}
			d.action[at], d.last[at] = int64(row), int64(row)
			if idle[row] {
				continue
			}
			if known {
				d.last[at], d.rewards[at] = int64(last), float32(sum)
			} else {
				d.unknown = append(d.unknown, int64(row))
			}
			known, last, sum = true, row-n, 0
		}
	}
	return d
}

// steps returns the steps of the complete rollout. ok is false if no row is ever idle.
func (c *Values) steps(s *tensor.Scope, rewards tensor.Tensor) (d steps, ok bool) {
	if s.Err() != nil || !slices.Contains(c.idle, true) {
		return d, false
	}
	var columns [3][]float32
	for i, x := range []tensor.Tensor{rewards, c.Rollout.Tensor("terminated"), c.Rollout.Tensor("truncated")} {
		var err error
		if columns[i], err = tensor.Float32s(x); err != nil {
			s.Fail(err)
			return d, false
		}
	}
	ended := make([]bool, len(columns[0]))
	for row := range ended {
		ended[row] = columns[1][row] > 0 || columns[2][row] > 0
	}
	return divideTurns(c.Rollout.Envs(), c.idle, columns[0], ended), true
}

// markUnknown marks the rows whose outcomes are unknown at the end of the rollout, so that nothing learns from them.
func (c *Collector) markUnknown(s *tensor.Scope) {
	d, _ := c.values.steps(s, c.Rollout.Tensor("rewards"))
	for _, row := range d.unknown {
		c.invalid[row] = true
	}
}

// Advantages estimates the advantages (T, N, 1) of a critic's values by generalised advantage estimation, from turn to
// turn. rewards is (T, N, 1), and m describes what followed each row. Rows that nothing learns from have no meaning.
func (c *Values) Advantages(s *tensor.Scope, k *Critic, rewards tensor.Tensor, m Masks) tensor.Tensor {
	values, gamma, lambda := c.Rollout.Tensor(k.Values), c.Config.DiscountFactor, c.Config.GAELambda
	d, turns := c.steps(s, rewards)
	if !turns {
		return s.GAE(rewards, values, m.Next, m.Bootstrap, m.Chain, gamma, lambda)
	}
	t, n, all := int64(c.Rollout.Steps()), int64(c.Rollout.Envs()), c.rows()
	action, last := tensor.From(s, d.action), tensor.From(s, d.last)
	pick := func(x, rows tensor.Tensor) tensor.Tensor {
		return s.Reshape(s.IndexSelect(s.Reshape(x, all, 1), 0, rows), t, n, 1)
	}
	estimate := s.GAE(tensor.From(s, d.rewards, t, n, 1), pick(values, action), pick(m.Next, last),
		pick(m.Bootstrap, last), pick(m.Chain, last), gamma, lambda)
	advantages := s.Zeros(all, 1)
	s.IndexCopy(advantages, action, s.Reshape(estimate, all, 1))
	return s.Reshape(advantages, t, n, 1)
}
