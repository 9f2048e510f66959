//go:build cgo

package infer_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/internal/test/actors"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/trainers"
)

const observations = 10_000

// difference is the greatest between two batches of actions. Choices may differ where both are equally probable.
func difference(t *testing.T, p *infer.Policy, rows, got, want []float32) float64 {
	t.Helper()
	a, w := p.Spaces().Action, p.Spaces().Observation.Width()
	worst := 0.0
	logits := make([]float32, a.Outputs())
	for i := range got {
		if a.Kind == spaces.Box || got[i] == want[i] {
			worst = max(worst, math.Abs(float64(got[i]-want[i])))
			continue
		}
		row := i / a.Width()
		must.Do(t, p.Outputs(rows[row*w:(row+1)*w], logits))
		at := 0
		for _, n := range a.NVec[:i%a.Width()] {
			at += n
		}
		worst = max(worst, math.Abs(float64(logits[at+int(got[i])]-logits[at+int(want[i])])))
	}
	return worst
}

// described returns the policy of an agent, as a checkpoint describes it.
func described(t *testing.T, agent agents.Snapshotter) (*infer.Policy, error) {
	t.Helper()
	snap := must.Get(agent.Snapshot(agents.SnapshotOptions{}))(t)
	return infer.FromSnapshot(agenttest.Through(t, snap))
}

// TestAgrees compares every kind of policy with the agent that it is of.
func TestAgrees(t *testing.T) {
	for i, c := range actors.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			agent := c.New(t, int64(i))
			p := must.Get(described(t, agent))(t)
			if got := p.Spaces(); !got.Observation.Equal(c.Spaces.Observation) || !got.Action.Equal(c.Spaces.Action) {
				t.Errorf("spaces %v, the agent's are %v", got, c.Spaces)
			}
			played := c.Play(t, agent, rand.New(rand.NewPCG(uint64(i), 7)), observations/actors.Rows, nil)
			got := must.Get(played.Replay(p))(t)
			if worst := difference(t, p, played.Observations, got, played.Actions); worst > 1e-5 {
				t.Errorf("the greatest difference is %g", worst)
			}
			varied, a := map[string]bool{}, c.Spaces.Action.Width()
			for k := 0; k < len(got); k += a * actors.Rows {
				varied[fmt.Sprint(got[k:k+a])] = true
			}
			if len(varied) < 2 {
				t.Error("the agent always does the same, so nothing was compared")
			}
			ended := slices.Contains(played.Ended, 1)
			clear(played.Ended)
			without := must.Get(played.Replay(p))(t)
			same := difference(t, p, played.Observations, without, played.Actions) <= 1e-5
			if p.HiddenSize() > 0 && ended && same {
				t.Error("states that are never reset give the same actions")
			}
		})
	}
}

// A Gaussian's deviation and a categorical policy's probabilities are the agent's.
func TestSamplesLikeTheAgent(t *testing.T) {
	for _, c := range actors.Cases() {
		if !slices.Contains([]string{"categorical", "multi_categorical", "clip_actions", "fixed_log_std",
			"state_dependent_log_std"}, c.Name) {
			continue
		}
		t.Run(c.Name, func(t *testing.T) {
			agent := c.New(t, 3)
			p := must.Get(described(t, agent))(t)
			agent.(agents.Stochastic).SetStochastic(true)
			rng := rand.New(rand.NewPCG(1, 2))
			one := make([]float32, c.Spaces.Observation.Width())
			c.Observations(rng, one)
			w, action := c.Spaces.Action.Width(), make([]float32, c.Spaces.Action.Width())
			var theirs, mine []float32
			for range 100 {
				actions := must.Get(agent.Act(agents.Observation{Observations: slices.Repeat(one, actors.Rows)}))(t)
				theirs = append(theirs, actions...)
				for range actors.Rows {
					must.Do(t, p.Sample(one, action, rng))
					mine = append(mine, action...)
				}
			}
			for j := range w {
				m1, d1 := moments(mine, j, w)
				m2, d2 := moments(theirs, j, w)
				if math.Abs(m1-m2) > 0.06*(d2+0.01) || math.Abs(d1-d2) > 0.06*(d2+0.01) {
					t.Errorf("dimension %d: mean and deviation %.4f and %.4f, the agent's %.4f and %.4f", j, m1, d1, m2,
						d2)
				}
			}
		})
	}
}

// moments are mean and deviation of column j of rows of a width.
func moments(rows []float32, j, width int) (mean, deviation float64) {
	n, squares := float64(len(rows)/width), 0.0
	for ; j < len(rows); j += width {
		x := float64(rows[j])
		mean, squares = mean+x/n, squares+x*x/n
	}
	return mean, math.Sqrt(max(0, squares-mean*mean))
}

// A network of one's own is believed where it says what it computes. One that says nothing is named, and one that says
// what it does not compute is refused.
func TestNetworksOfOnesOwn(t *testing.T) {
	for name, test := range map[string]struct {
		wrap func(n *models.Net) models.Network
		want string
	}{
		"silent": {func(n *models.Net) models.Network { return silent{n} }, "infer_test.silent does not say"},
		"liar":   {func(n *models.Net) models.Network { return liar{n} }, "does not compute what it says of itself"},
		"frank":  {func(n *models.Net) models.Network { return frank{liar{n}} }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := actors.Named(t, "relu/ppo")
			plain := c.Models
			c.Models = func(seed int64) (models.Policy, models.Network, error) {
				p, v, err := plain(seed)
				must.Do(t, err)
				own := p.(*models.Stochastic)
				return &models.Stochastic{Net: test.wrap(own.Net.(*models.Net)), Dist: own.Dist}, v, nil
			}
			agent := c.New(t, 1)
			p, err := described(t, agent)
			if test.want == "" {
				must.Do(t, err)
				agrees(t, c, agent, p)
			} else if !errors.Is(err, infer.ErrUndescribed) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want an ErrUndescribed with %q", err, test.want)
			}
		})
	}
}

// agrees compares one batch of actions.
func agrees(t *testing.T, c actors.Case, agent agents.Agent, p *infer.Policy) {
	t.Helper()
	rows, got := make([]float32, actors.Rows*7), make([]float32, actors.Rows*3)
	c.Observations(rand.New(rand.NewPCG(1, 1)), rows)
	want, err := agent.Act(agents.Observation{Observations: rows})
	if err := errors.Join(err, p.ActBatch(rows, got)); err != nil || difference(t, p, rows, got, want) > 1e-5 {
		t.Errorf("%v, %v; want %v", err, got[:3], want[:3])
	}
}

// silent has a forward pass of its own and no description; liar has another forward pass than its description says,
// and frank describes it.
type (
	silent struct{ models.Network }
	liar   struct{ *models.Net }
	frank  struct{ liar }
)

func (l liar) Forward(s *tensor.Scope, in models.Inputs) tensor.Tensor {
	return s.MulScalar(l.Net.Forward(s, in), 2)
}

func (f frank) Describe() (description.Network, error) {
	n, err := f.Net.Describe()
	last := len(n.Steps)
	two := n.Add(description.Step{Op: description.Number, Number: 2})
	n.Add(description.Step{Op: description.Mul, Inputs: []int{last, two}})
	return n, err
}

// The agents of a group are policies one by one.
func TestGroup(t *testing.T) {
	c := actors.Named(t, "elu/ppo")
	list := []agents.Agent{c.New(t, 0), c.New(t, 1)}
	group := must.Get(trainers.NewGroup(list, nil))(t)
	snap := must.Get(group.Snapshot(agents.SnapshotOptions{}))(t)
	store := must.Get(checkpoint.NewStore(t.TempDir(), checkpoint.Options{}))(t)
	path := must.Get(store.Save("group", 1, snap))(t)
	for i, a := range list {
		p := must.Get(infer.LoadMember(path, i))(t)
		agrees(t, c, a, p)
	}
	must.Refused(infer.FromSnapshot(snap))(t, "infer.Member")
	must.Refused(infer.Load(path))(t, "infer.LoadMember")
	must.Refused(infer.LoadMember(path, 2))(t, path)
}
