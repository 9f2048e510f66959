//go:build cgo

package infer_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/internal/test/actors"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
	"github.com/gorl-dev/gorl/trainers"
)

const observations = 10_000

// TestAgrees compares every kind of policy with the agent that it is of.
func TestAgrees(t *testing.T) {
	for i, c := range actors.Cases() {
		t.Run(c.Name, func(t *testing.T) {
			agent := c.New(t, int64(i))
			snap, err := agent.Snapshot(agents.SnapshotOptions{})
			must(t, err)
			p, err := infer.FromSnapshot(agenttest.Through(t, snap))
			must(t, err)
			if got := p.Spaces(); !got.Observation.Equal(c.Spaces.Observation) || !got.Action.Equal(c.Spaces.Action) {
				t.Errorf("spaces %v and %v, the agent's are %v and %v", got.Observation, got.Action, c.Spaces.Observation,
					c.Spaces.Action)
			}
			played := c.Play(t, agent, rand.New(rand.NewPCG(uint64(i), 7)), observations/actors.Rows, nil)
			got, err := played.Replay(p)
			must(t, err)
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
			forgetful := slices.Clone(played.Ended)
			clear(played.Ended)
			without, err := played.Replay(p)
			must(t, err)
			if same := difference(t, p, played.Observations, without, played.Actions) <= 1e-5; p.HiddenSize() > 0 &&
				slices.Contains(forgetful, 1) && same {
				t.Error("states that are never begun anew give the same actions")
			}
		})
	}
}

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
		must(t, p.Outputs(rows[row*w:(row+1)*w], logits))
		at := 0
		for _, n := range a.NVec[:i%a.Width()] {
			at += n
		}
		worst = max(worst, math.Abs(float64(logits[at+int(got[i])]-logits[at+int(want[i])])))
	}
	return worst
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
			snap, err := agent.Snapshot(agents.SnapshotOptions{})
			must(t, err)
			p, err := infer.FromSnapshot(snap)
			must(t, err)
			agent.(interface{ SetStochastic(on bool) }).SetStochastic(true)
			rng := rand.New(rand.NewPCG(1, 2))
			one := make([]float32, c.Spaces.Observation.Width())
			c.Observations(rng, one)
			var rows []float32
			for range actors.Rows {
				rows = append(rows, one...)
			}
			w := c.Spaces.Action.Width()
			action := make([]float32, w)
			mine, theirs := newMoments(w), newMoments(w)
			for range 100 {
				actions, err := agent.Act(agents.Observation{Observations: rows})
				must(t, err)
				for i := range actors.Rows {
					theirs.add(actions[i*w : (i+1)*w])
					must(t, p.Sample(one, action, rng))
					mine.add(action)
				}
			}
			for j := range w {
				m1, d1 := mine.of(j)
				m2, d2 := theirs.of(j)
				if math.Abs(m1-m2) > 0.06*(d2+0.01) || math.Abs(d1-d2) > 0.06*(d2+0.01) {
					t.Errorf("dimension %d: mean and deviation %.4f and %.4f, the agent's %.4f and %.4f", j, m1, d1, m2, d2)
				}
			}
		})
	}
}

// moments are sums over actions.
type moments struct {
	n            float64
	sum, squares []float64
}

func newMoments(w int) *moments {
	return &moments{sum: make([]float64, w), squares: make([]float64, w)}
}

func (m *moments) add(action []float32) {
	m.n++
	for j, x := range action {
		m.sum[j] += float64(x)
		m.squares[j] += float64(x) * float64(x)
	}
}

func (m *moments) of(j int) (mean, deviation float64) {
	mean = m.sum[j] / m.n
	return mean, math.Sqrt(max(0, m.squares[j]/m.n-mean*mean))
}

// A policy that says what it does not compute is not believed, and one that says nothing is named.
func TestUndescribed(t *testing.T) {
	c := actors.Named(t, "elu/ppo")
	c.Name = "custom"
	plain := c.Models
	for name, test := range map[string]struct {
		wrap func(p *models.Stochastic) models.Policy
		want string
	}{
		"silent": {func(p *models.Stochastic) models.Policy { return &models.Stochastic{Net: silent{p.Net}, Dist: p.Dist} },
			"the network infer_test.silent does not say"},
		"liar": {func(p *models.Stochastic) models.Policy {
			return &models.Stochastic{Net: liar{p.Net.(*models.Net)}, Dist: p.Dist}
		}, "does not compute what it says of itself"},
	} {
		t.Run(name, func(t *testing.T) {
			c.Models = func(seed int64) (models.Policy, models.Network, error) {
				p, v, err := plain(seed)
				if err != nil {
					return nil, nil, err
				}
				return test.wrap(p.(*models.Stochastic)), v, nil
			}
			agent := c.New(t, 1)
			snap, err := agent.Snapshot(agents.SnapshotOptions{})
			must(t, err)
			_, err = infer.FromSnapshot(agenttest.Through(t, snap))
			if !errors.Is(err, infer.ErrUndescribed) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want an ErrUndescribed with %q", err, test.want)
			}
		})
	}
}

// silent has a forward pass of its own, and says nothing of it.
type silent struct{ models.Network }

// liar has the methods of another network but one.
type liar struct{ *models.Net }

func (l liar) Forward(s *tensor.Scope, in models.Inputs) tensor.Tensor {
	return s.Sin(l.Net.Forward(s, in))
}

// A network of one's own that says what it computes is believed.
func TestDescribedByItself(t *testing.T) {
	c := actors.Named(t, "relu/ppo")
	plain := c.Models
	c.Models = func(seed int64) (models.Policy, models.Network, error) {
		p, v, err := plain(seed)
		if err != nil {
			return nil, nil, err
		}
		own := p.(*models.Stochastic)
		own.Net = doubled{own.Net.(*models.Net)}
		return own, v, nil
	}
	agent := c.New(t, 1)
	snap, err := agent.Snapshot(agents.SnapshotOptions{})
	must(t, err)
	p, err := infer.FromSnapshot(snap)
	must(t, err)
	rows, got := make([]float32, actors.Rows*7), make([]float32, actors.Rows*3)
	c.Observations(rand.New(rand.NewPCG(1, 1)), rows)
	want, err := agent.Act(agents.Observation{Observations: rows})
	if err := errors.Join(err, p.ActBatch(rows, got)); err != nil || difference(t, p, rows, got, want) > 1e-5 {
		t.Errorf("%v, %v; want %v", err, got[:3], want[:3])
	}
}

// doubled is a network of one's own.
type doubled struct{ *models.Net }

func (d doubled) Forward(s *tensor.Scope, in models.Inputs) tensor.Tensor {
	return s.MulScalar(d.Net.Forward(s, in), 2)
}

func (d doubled) Describe() (description.Network, error) {
	n, err := d.Net.Describe()
	last := len(n.Steps)
	two := n.Add(description.Step{Op: description.Number, Number: 2})
	n.Add(description.Step{Op: description.Mul, Inputs: []int{last, two}})
	return n, err
}

// The agents of a group are policies one by one.
func TestGroup(t *testing.T) {
	c := actors.Named(t, "elu/ppo")
	var list []agents.Agent
	for seed := range int64(2) {
		list = append(list, c.New(t, seed))
	}
	group, err := trainers.NewGroup(list, nil)
	must(t, err)
	snap, err := group.Snapshot(agents.SnapshotOptions{})
	must(t, err)
	if _, err := infer.FromSnapshot(snap); err == nil || !strings.Contains(err.Error(), "infer.Member") {
		t.Errorf("%v, want a word of infer.Member", err)
	}
	store, err := checkpoint.NewStore(t.TempDir(), checkpoint.Options{})
	must(t, err)
	path, err := store.Save("group", 1, snap)
	must(t, err)
	for i, a := range list {
		p, err := infer.LoadMember(path, i)
		must(t, err)
		rows, got := make([]float32, actors.Rows*7), make([]float32, actors.Rows*3)
		c.Observations(rand.New(rand.NewPCG(1, 1)), rows)
		want, err := a.Act(agents.Observation{Observations: rows})
		if err := errors.Join(err, p.ActBatch(rows, got)); err != nil || difference(t, p, rows, got, want) > 1e-5 {
			t.Errorf("agent %d: %v, %v; want %v", i, err, got[:3], want[:3])
		}
	}
	if _, err := infer.Member(snap, 2); err == nil {
		t.Error("a third agent of two")
	}
	if _, err := infer.Load(path); err == nil || !strings.Contains(err.Error(), "infer.LoadMember") {
		t.Errorf("%v, want a word of infer.LoadMember", err)
	}
	if _, err := infer.LoadMember(path, 2); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("a third agent of two: %v, want the path", err)
	}
	if _, err := infer.LoadMember(filepath.Join(t.TempDir(), "none.safetensors"), 0); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

// must ends the test if err is not nil.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
