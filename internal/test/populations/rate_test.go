package populations

import (
	"math"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/spaces"
)

// place is what an agent is.
type place struct {
	snapshot *checkpoint.Snapshot
	rate     float64 // in its optimizer
	base     float64 // as a hyperparameter
}

func placesOf(t *testing.T, all []*pupil) (places []place) {
	for _, p := range all {
		s, err := p.Snapshot()
		if err != nil {
			t.Error(err)
		}
		rate := p.copied.(interface{ LearningRate() float64 }).LearningRate()
		places = append(places, place{agenttest.Through(t, s), rate, p.Hyperparameters()["learning_rate"]})
	}
	return places
}

// TestLearningRateAfterReplacement: what is in the optimizer after a copy is the mutated rate, not the one that came
// with the weights; a schedule scales it as far as it is inherited.
func TestLearningRateAfterReplacement(t *testing.T) {
	adaptive := map[string]any{"learning_rate_scheduler": "KLAdaptiveLR",
		"learning_rate_scheduler_kwargs": map[string]any{"kl_threshold": 1e-8, "min_lr": 1e-9}}
	for name, test := range map[string]struct {
		sp       spaces.Set
		settings map[string]any
		schedule pbt.Part
	}{
		"PPO":                                {boxed, nil, pbt.CopyPart},
		"PPO, KLAdaptive kept":               {boxed, adaptive, pbt.KeepPart},
		"PPO, KLAdaptive from its beginning": {boxed, adaptive, pbt.ResetPart},
		"AMP, KLAdaptive copied":             {styled, adaptive, pbt.CopyPart},
	} {
		t.Run(name, func(t *testing.T) {
			agenttest.CheckLive(t)
			o := pbt.Options{Members: 3, Copy: pbt.CopyOptions{Schedule: test.schedule},
				Strategy: decided{{Member: 2, Action: strategy.Replace, Mutate: true},
					{Member: 1, Action: strategy.SelfMutate}},
				Explore: explore.Mutation{Rate: 1, ChangeRange: [2]float64{1.5, 1.7},
					Rules: explore.Rules{"learning_rate": explore.MutateFloat}},
				Initial: []map[string]float64{{"learning_rate": 2e-3}, {"learning_rate": 4e-3},
					{"learning_rate": 1e-4}},
			}
			var before, after []place
			checked := 0
			pupils(t, o, test.sp, func(t testing.TB, seed int64) agenttest.Agent {
				if test.sp.AMPObservation.Width() > 0 {
					return smallAMP(t, seed, test.settings)
				}
				return smallPPO(t, test.sp, seed, test.settings)
			}, func(all []*pupil, e *journal.Event) {
				after = placesOf(t, all)
				if e == nil {
					before = after
				}
				if e == nil || e.Kind == journal.Keep {
					return
				}
				checked++
				// old is the member whose rate was mutated, and scheduled the one whose schedule goes on.
				old := before[map[journal.Kind]int{journal.Replace: 0, journal.SelfMutate: 1}[e.Kind]]
				scheduled := old
				if test.schedule == pbt.KeepPart {
					scheduled = before[e.Member]
				}
				factor := scheduled.rate / scheduled.base
				if test.schedule == pbt.ResetPart && e.Kind == journal.Replace {
					factor = 1
				}
				mutated := e.After["learning_rate"]
				if a := after[e.Member]; a.base != mutated || math.Abs(a.rate/(mutated*factor)-1) > 1e-12 {
					t.Errorf("member %d trains at %v with a learning rate of %v, want %v times %v", e.Member, a.rate,
						a.base, mutated, factor)
				}
				ratio := math.Abs(math.Log(mutated / old.base))
				if ratio < math.Log(1.5)-1e-9 || ratio > math.Log(1.7)+1e-9 {
					t.Errorf("member %d went from %v to %v", e.Member, old.base, mutated)
				}
			})
			must.Is(t, checked, 2, "members that were looked at")
			must.Same(t, agenttest.Differences(before[0].snapshot, after[2].snapshot, "hyperparameters",
				"scheduler_state", "learning_rate"), nil, "differences of the copy beside hyperparameters")
			must.Is(t, before[0].rate != before[0].base, test.settings != nil, "whether the schedule did anything")
		})
	}
}
