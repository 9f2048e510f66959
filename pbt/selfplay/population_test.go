package selfplay

import (
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// population returns the options of three members that play nim against each other.
func population(t testing.TB, total int64) pbt.Options {
	cfg := DefaultConfig()
	cfg.Matchmaking, cfg.PastSelves = PFSP, 3
	return pbt.Options{
		Members: 3, Objective: "rating", IntervalSteps: 256, TotalSteps: total, Seed: 4, Parallel: 2,
		Strategy: strategy.Quantile{Fraction: 0.34},
		Explore:  explore.Mutation{Rate: 1, Rules: explore.Rules{"learning_rate": explore.MutateFloat}},
		New:      func(m pbt.Member) (pbt.Trainee, error) { return learner(t, m, cfg, 8) },
	}
}

// text is the events of a journal, a line each.
func text(t testing.TB, events []journal.Event) string {
	t.Helper()
	var b strings.Builder
	for _, e := range events {
		b.Write(append(must.Get(json.Marshal(e))(t), '\n'))
	}
	return b.String()
}

// A population that is interrupted within intervals, and one whose members are processes, come to the same journal as
// one that is neither. The journal says who met whom.
func TestPopulation(t *testing.T) {
	const total = 6 * 256
	p := must.Open(pbt.New(population(t, total)))(t)
	must.Get(p.Train(t.Context()))(t)
	whole := text(t, p.Journal())
	checkJournal(t, p.Journal())

	dir, lives := t.TempDir(), 0
	for done := false; !done; lives++ {
		ctx, cancel := context.WithCancel(t.Context())
		opt := population(t, total)
		opt.Directory, opt.SaveSteps, opt.ProgressSteps = dir, 96, 0
		steps := int64(-1)
		opt.Progress = func(u pbt.Update) {
			if steps < 0 {
				steps = u.Status.Steps
			}
			if u.Event == nil && u.Status.Steps > steps+300 {
				cancel()
			}
		}
		q := must.Get(pbt.New(opt))(t)
		_, err := q.Train(ctx)
		cancel()
		if done = err == nil; !done && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		must.Do(t, q.Close())
	}
	must.Equal(t, "interrupted", whole, text(t, must.Get(journal.Read(dir))(t)))
	if lives < 3 {
		t.Errorf("interrupted %d times", lives-1)
	}

	dir = t.TempDir()
	process := func(id int) error {
		store, err := workspace.OpenFolder(dir, 3, workspace.FolderOptions{})
		if err != nil {
			return err
		}
		q, err := pbt.Join(t.Context(), population(t, total), pbt.ProcessOptions{Member: id, Store: store})
		if err != nil {
			return err
		}
		_, err = q.Train(t.Context())
		return errors.Join(err, q.Close())
	}
	var wg sync.WaitGroup
	var faults [3]error
	for id := range faults {
		wg.Go(func() { faults[id] = process(id) })
	}
	wg.Wait()
	must.Do(t, errors.Join(faults[:]...))
	must.Equal(t, "processes", whole, text(t, must.Get(journal.Read(dir))(t)))
}

// checkJournal checks that members met the random player first, and each other and their past selves later, and that
// somebody copied a rating.
func checkJournal(t *testing.T, events []journal.Event) {
	t.Helper()
	met := map[int64]map[int]int{}
	past, copies := 0, 0
	for _, e := range events {
		switch e.Kind {
		case journal.Keep, journal.Replace, journal.SelfMutate, journal.Final:
		default:
			continue
		}
		if e.SelfPlay == nil {
			t.Fatalf("%s of member %d at %d says nothing of its games", e.Kind, e.Member, e.Iteration)
		}
		if e.Kind == journal.Replace {
			copies++
		}
		if met[e.Iteration] == nil {
			met[e.Iteration] = map[int]int{}
		}
		for _, g := range e.SelfPlay.Games {
			met[e.Iteration][g.Opponent] += g.Games
			if g.Past && g.Opponent >= 0 {
				past += g.Games
			}
			if g.Interval >= e.Iteration || g.Wins+g.Draws > g.Games || !g.Past && g.Opponent == e.Member {
				t.Errorf("member %d at %d: %+v", e.Member, e.Iteration, g)
			}
		}
	}
	if len(met[1]) != 1 || met[1][-1] < 100 {
		t.Errorf("in interval 1 members met %v; want the random player only", met[1])
	}
	if m := met[2]; m[0] == 0 || m[1] == 0 || m[2] == 0 || past == 0 || copies == 0 {
		t.Errorf("in interval 2 members met %v, past selves %d times, and %d copies were made", m, past, copies)
	}
}

// A population learns to play perfectly: the best member wins all games that it may begin. Its rating rises.
func TestPopulationLearnsNim(t *testing.T) {
	if testing.Short() {
		t.Skip("trains")
	}
	opt := population(t, 20*1024)
	opt.IntervalSteps = 1024
	p := must.Open(pbt.New(opt))(t)
	best := must.Get(p.Train(t.Context()))(t)
	policy := must.Get(infer.FromSnapshot(best.Snapshot))(t)
	for _, heap := range []int{1, 2, 3, 5, 6, 7} { // 4 is lost
		x, mask, want, got := make([]float32, stones+1), []float32{1, 1, 1}, [1]float32{}, [1]float32{}
		x[heap] = 1
		for k := heap; k < 3; k++ {
			mask[k] = 0
		}
		rng := rand.New(rand.NewPCG(1, 1))
		must.Do(t, errors.Join(perfect.Act(rng, x, mask, nil, want[:]),
			NewPlayer(policy, true).Act(rng, x, mask, nil, got[:])))
		if got != want {
			t.Errorf("of %d stones it takes %g, want %g", heap, got[0]+1, want[0]+1)
		}
	}
	if best.Objective < 1100 {
		t.Errorf("the best rating is %.0f", best.Objective)
	}
}
