package pbt

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

func TestPause(t *testing.T) {
	o := &Options{IntervalSteps: 50, TotalSteps: 120, ProgressSteps: 20}
	for _, test := range []struct{ iteration, steps, want int64 }{
		{1, 0, 20}, {1, 19, 20}, {1, 20, 40}, {1, 41, 50}, {2, 50, 70}, {2, 64, 70}, {2, 89, 90}, {2, 90, 100},
		{3, 100, 120}, {2, 45, 50}, {2, 10, 30}, // the last two were rescued, and are behind the others
	} {
		must.Is(t, o.pause(test.iteration, test.steps), test.want, "the pause of %+v", test)
	}
	o.ProgressSteps = 0
	must.Is(t, o.pause(2, 60), 100, "the pause without ProgressSteps")
}

// recordingExplorer changes the rate by a factor that it chooses when it is informed, and remembers what it was told.
type recordingExplorer struct {
	explore.Mutation
	lessons *[][]journal.Event
	factor  float64
}

func (s recordingExplorer) Fit(events []journal.Event, rng *rand.Rand) explore.Explorer {
	*s.lessons = append(*s.lessons, slices.Clone(events))
	s.factor = 1 + rng.Float64()
	return s
}

func (s recordingExplorer) Apply(values map[string]float64, _ explore.Uniform) map[string]float64 {
	out := maps.Clone(values)
	out["learning_rate"] *= s.factor
	return out
}

// TestFitter: an explorer learns from the journal so far, what was decided before it in this interval, and where
// the others stand.
func TestFitter(t *testing.T) {
	c := newColony(4)
	var lessons [][]journal.Event
	c.opt.Explore = recordingExplorer{lessons: &lessons}
	c.opt.TotalSteps, c.opt.Diversify, c.opt.Reference = 150, true, []int{3}
	c.opt.Strategy = each(func(m strategy.Status, _ strategy.Generation) strategy.Decision {
		if m.Member == 0 {
			return strategy.Decision{Action: strategy.Keep}
		}
		return strategy.Decision{Action: strategy.Replace, Mutate: true, Reason: "always"}
	})
	c.at(2, 70, func(*climber) error { return errors.New("gone") })
	recorded := mustTrain(t, c.opt).Journal()
	if len(lessons) != 3+2+2 || len(slices.Concat(lessons[:3]...)) > 0 { // before training, and twice members 1 and 2
		t.Fatalf("%d lessons, first %v", len(lessons), lessons[:3])
	}
	for i, lesson := range lessons[3:] {
		interval, id := i/2, 1+i%2
		known := 1 + 4 + interval*5 + id // of the journal: in interval 2 there also is a failure
		must.Equal(t, fmt.Sprintf("the journal in lesson %d", i), recorded[:known], lesson[:known])
		var standing []int
		for _, e := range lesson[known:] {
			standing = append(standing, e.Member)
			if e.Kind != journal.Keep || e.After != nil || e.Before["learning_rate"] == 0 {
				t.Errorf("lesson %d says %+v", i, e)
			}
		}
		must.Same(t, standing, []int{1, 2, 3}[id-1:], "members of lesson %d", i)
	}
}
