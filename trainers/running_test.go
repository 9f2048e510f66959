package trainers_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/trainers"
)

// takeOver gives m another's weights as a population does.
func takeOver(t *testing.T, m *trainers.Trainee, snap *checkpoint.Snapshot) {
	t.Helper()
	must(t, errors.Join(m.Restore(snap), m.Reseed(3)))
}

// withEnvironment is a snapshot with the environment of another, as Inheritance.Environment "keep" makes it.
func withEnvironment(of, from *checkpoint.Snapshot) *checkpoint.Snapshot {
	out := *of
	out.Arrays = maps.Clone(of.Arrays)
	for name, array := range from.Arrays {
		if strings.HasPrefix(name, "environment/") {
			out.Arrays[name] = array
		}
	}
	return &out
}

// Episodes that weights are changed in are not counted when they end, those that begin afterwards are, and so are those
// whose environment comes with its weights. Episodes last 3, 4 and 5 steps; after 4 steps the second environment's has
// just ended.
func TestEpisodesOfSeveralWeights(t *testing.T) {
	without, with := trainers.Config{Seed: 1}, trainers.Config{Seed: 1, SaveBuffers: true}
	type snapshots func(own, other *checkpoint.Snapshot) *checkpoint.Snapshot
	other := func(_, other *checkpoint.Snapshot) *checkpoint.Snapshot { return other }
	kept := func(own, other *checkpoint.Snapshot) *checkpoint.Snapshot { return withEnvironment(other, own) }
	ownGoOn, othersCame := []float64{4, 3, 5, 3, 4}, []float64{3, 5, 4, 3, 4, 5, 3}
	for name, c := range map[string]struct {
		donor, taker trainers.Config
		snap         snapshots
		want         []float64 // the lengths of the episodes that are counted in the next 8 steps, in order
	}{
		"no state is saved":         {without, without, other, ownGoOn},
		"the state is not taken":    {with, without, other, ownGoOn},
		"its own state is kept":     {with, with, kept, ownGoOn},
		"the state comes with them": {with, with, other, othersCame},
	} {
		t.Run(name, func(t *testing.T) {
			donor, m := scholar(t, 3, c.donor), scholar(t, 3, c.taker)
			advance(t, donor, 14)
			advance(t, m, 4)
			takeOver(t, m, c.snap(mustSnapshot(t, m), mustSnapshot(t, donor)))
			for k := range 8 {
				advance(t, m, 1)
				if got := m.Samples("episode.length", 99); len(got) > len(c.want) ||
					!slices.Equal(got, c.want[:len(got)]) {
					t.Fatalf("after %d steps episodes of %v are counted, want %v", k+1, got, c.want)
				}
			}
			if got := m.Samples("episode.length", 99); len(got) != len(c.want) ||
				len(m.Samples("episode.lowest", 99)) != len(got) {
				t.Errorf("episodes of %v are counted, want %v", got, c.want)
			}
		})
	}
}

// What is known of the episodes in progress is saved with them: a member that is saved at any moment after a takeover
// and goes on elsewhere is the one that never ended, also where it is taken over from once more.
func TestEpisodesOfSeveralWeightsResume(t *testing.T) {
	cfg := trainers.Config{Seed: 1, SaveBuffers: true}
	donor := scholar(t, 3, cfg)
	advance(t, donor, 9)
	whole := scholar(t, 3, cfg)
	advance(t, whole, 4)
	takeOver(t, whole, withEnvironment(mustSnapshot(t, donor), mustSnapshot(t, whole)))
	const length = 9
	var saved []*checkpoint.Snapshot
	for range length {
		saved = append(saved, mustSnapshot(t, whole))
		advance(t, whole, 1)
	}
	for k, snap := range saved {
		m := scholar(t, 3, cfg)
		advance(t, m, k%3)
		must(t, m.Restore(snap))
		advance(t, m, length-k)
		sameStanding(t, fmt.Sprintf("resumed after step %d", k), whole, m)
	}
	for _, k := range []int{0, 2} { // the first of its episodes that is counted ends in step 4
		heir := scholar(t, 3, cfg)
		takeOver(t, heir, saved[k])
		advance(t, heir, 3-k)
		if got := heir.Samples("episode.length", 99); len(got) > 0 {
			t.Errorf("an heir after step %d counts episodes of %v, which several had a part in", k, got)
		}
		advance(t, heir, length-3)
		if got, want := heir.Samples("episode.length", 99), whole.Samples("episode.length", 99); !slices.Equal(got,
			want) {
			t.Errorf("an heir after step %d counts episodes of %v, want %v", k, got, want)
		}
	}
}

// A takeover that is undone before the next step has touched no episode.
func TestTakeoverUndone(t *testing.T) {
	for _, buffers := range []bool{false, true} {
		cfg := trainers.Config{Seed: 1, SaveBuffers: buffers}
		donor := scholar(t, 3, cfg)
		advance(t, donor, 9)
		m, untouched := scholar(t, 3, cfg), scholar(t, 3, cfg)
		advance(t, m, 4)
		advance(t, untouched, 4)
		own := mustSnapshot(t, m)
		takeOver(t, m, mustSnapshot(t, donor))
		must(t, m.Restore(own))
		advance(t, m, 8)
		advance(t, untouched, 8)
		if got, want := m.Samples("episode.length", 99), untouched.Samples("episode.length", 99); !slices.Equal(got,
			want) || len(got) == 0 {
			t.Errorf("buffers %t: episodes of %v are counted, want %v", buffers, got, want)
		}
	}
}
