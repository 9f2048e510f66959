package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// stores are the implementations; every test of the contract runs on each.
var stores = map[string]func(t *testing.T, members int) Store{
	"memory": func(t *testing.T, members int) Store { return NewMemory(members) },
	"folder": func(t *testing.T, members int) Store { return openFolder(t, t.TempDir(), members, FolderOptions{}) },
}

func onEach(t *testing.T, members int, test func(t *testing.T, b Store)) {
	for _, name := range slices.Sorted(maps.Keys(stores)) {
		t.Run(name, func(t *testing.T) { test(t, stores[name](t, members)) })
	}
}

// weights are a snapshot that says whose it is.
func weights(member int, iteration int64) *checkpoint.Snapshot {
	s := checkpoint.NewSnapshot()
	data := make([]float32, 64)
	for i := range data {
		data[i] = float32(iteration)
	}
	s.Arrays["parameters"] = checkpoint.ArrayFloat32([]int64{64}, data)
	s.Values["policy"], s.Values["iteration"] = member, iteration
	return s
}

// checkWeights reports weights that are not those of the member and iteration.
func checkWeights(s *checkpoint.Snapshot, member int, iteration int64) error {
	p, err := s.Int("policy")
	i, err2 := s.Int("iteration")
	data, err3 := s.Float32s("parameters", 64)
	if err := errors.Join(err, err2, err3); err != nil {
		return err
	}
	if p != int64(member) || i != iteration || slices.ContainsFunc(data,
		func(x float32) bool { return x != float32(iteration) }) {
		return fmt.Errorf("the weights of member %d, iteration %d (%v), want %d, %d", p, i, data[:3], member, iteration)
	}
	return nil
}

func record(member int, iteration int64, objective float64) Record {
	return Record{
		Member: member, Iteration: iteration, Steps: 100 * iteration, WeightSteps: 100 * iteration,
		SinceCopy: 100 * iteration,
		Objective: objective, HasObjective: true, Parent: -1, Samples: 3, Experiment: "walker",
		Hyperparameters: map[string]float64{"agent.learning_rate": 3e-4, "agent.discount_factor": 0.99},
	}
}

func mustPublish(t *testing.T, s Lease, r Record) Record {
	t.Helper()
	return must.Get(s.Publish(r, weights(r.Member, r.Iteration)))(t)
}

func mustView(t *testing.T, b Store) View {
	t.Helper()
	v := must.Get(b.View())(t)
	for _, p := range v.Members {
		for _, d := range p.Damaged {
			t.Errorf("member %d: %v", p.Member, d)
		}
	}
	return v
}

func iterations(records []Record) []int64 {
	list := []int64{}
	for _, r := range records {
		list = append(list, r.Iteration)
	}
	return list
}

var sameNaN = cmpopts.EquateNaNs()

func TestPublishedIsRead(t *testing.T) {
	onEach(t, 3, func(t *testing.T, b Store) {
		s := join(t, b, 1)
		want := Record{
			Member: 1, Iteration: 2, Steps: 7, WeightSteps: 1 << 60, SinceCopy: 5, SinceChange: 3, Samples: 12,
			Parent:    2,
			Objective: math.NaN(), HasObjective: true, Peak: math.Inf(1), HasPeak: true,
			Experiment: "tab\tquote\" \u2028 ключ\x00: [a]\n- b",
			Hyperparameters: map[string]float64{"with: colon # and \"quotes\"": -1e-05, "λ": math.MaxFloat64,
				"small": 5e-324, "true": 1e6},
		}
		published := mustPublish(t, s, want)
		want.Weights = published.Weights
		failed, err := s.Publish(Record{Member: 1, Iteration: 3, Parent: -1, Failure: "loss is NaN\nat step 7"}, nil)
		must.Do(t, err)
		v := mustView(t, b)
		must.Equal(t, "v.Members[1].Records", []Record{failed, want}, v.Members[1].Records, sameNaN)
		if pv := v.Members[2]; pv.Member != 2 || pv.Heartbeat != nil || !pv.Seen.IsZero() || pv.Records != nil {
			t.Errorf("a member that never started: %+v", pv)
		}
		must.Refused(b.Fetch(failed))(t, "loss is NaN")
		beat := Heartbeat{Member: 0, Phase: Waiting, Iteration: 4, Steps: 300, Total: 1000, Objective: math.Inf(-1),
			HasObjective: true, Hyperparameters: map[string]float64{"x": 1e-5}, Parent: 2,
			Note: "copied 2\n\u2028\x00 é"}
		must.Do(t, s.Beat(beat))
		got := *mustView(t, b).Members[1].Heartbeat
		if beat.Member, beat.Owner = 1, got.Owner; got.Owner == "" {
			t.Error("a heartbeat has no owner")
		}
		must.Equal(t, "the heartbeat", beat, got)
		// What was read of records is the reader's.
		v.Members[1].Records[1].Hyperparameters["small"] = 99
		v.Members[1].Records[1].Weights.Path = "nowhere"
		if snap, err := b.Fetch(published); err != nil || checkWeights(snap, 1, 2) != nil {
			t.Errorf("a reader changed the store's weights, or they are others: %v", err)
		}
		must.Equal(t, "the store's own", []Record{failed, want}, mustView(t, b).Members[1].Records, sameNaN)
	})
}

func TestRecordsOfReplacedWeightsAreStale(t *testing.T) {
	t.Parallel()
	onEach(t, 2, func(t *testing.T, b Store) {
		s := join(t, b, 0)
		for i := int64(1); i <= 3; i++ {
			mustPublish(t, s, record(0, i, float64(i)))
		}
		check := func(records, stale []int64) {
			t.Helper()
			p := mustView(t, b).Members[0]
			must.Equal(t, "records", records, iterations(p.Records))
			must.Equal(t, "stale", stale, iterations(p.Stale))
		}
		check([]int64{3, 2, 1}, []int64{})
		must.Do(t, s.Beat(Heartbeat{Phase: Training, Copies: 1, Parent: 1, Iteration: 4}))
		check([]int64{}, []int64{3, 2, 1})
		r := record(0, 4, 4)
		r.Copies = 2
		mustPublish(t, s, r)
		check([]int64{4}, []int64{3, 2, 1})
	})
}

// TestARecordIsReplaced: a reader that holds a record keeps its weights until they are pruned. It is then told to look
// again, also where their name has gone to other weights, and not that the disk is failing.
func TestARecordIsReplaced(t *testing.T) {
	onEach(t, 1, func(t *testing.T, b Store) {
		s := join(t, b, 0)
		old := mustPublish(t, s, record(0, 5, 1))
		paths := []string{old.Weights.Path}
		for i := range int64(2) { // to 000005-2 and, once that is free, back to 000005
			next := must.Get(s.Publish(record(0, 5, 2), weights(0, 55+i)))(t)
			paths = append(paths, next.Weights.Path)
			must.Not(t, paths[i] == paths[i+1], "weights were written over")
			if i == 0 {
				must.Do(t, checkWeights(must.Get(b.Fetch(old))(t), 0, 5))
			}
			must.Do(t, s.Prune(0))
			if _, err := b.Fetch(old); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the old weights after Prune: %v", err)
			}
			records := mustView(t, b).Members[0].Records
			if len(records) != 1 || records[0].Objective != 2 {
				t.Fatalf("%+v", records)
			}
			must.Do(t, checkWeights(must.Get(b.Fetch(records[0]))(t), 0, 55+i))
		}
		if _, isFolder := b.(*Folder); isFolder && paths[2] != paths[0] {
			t.Errorf("the names are %q: this shows little", paths)
		}
	})
}

func TestPrune(t *testing.T) {
	t.Parallel()
	onEach(t, 2, func(t *testing.T, b Store) {
		s, other := join(t, b, 0), join(t, b, 1)
		kept := mustPublish(t, other, record(1, 1, 1))
		var published []Record
		for i := int64(1); i <= 40; i++ {
			published = append(published, mustPublish(t, s, record(0, i, float64(i))))
		}
		must.Do(t, s.Prune(25))
		want := []int64{40, 39, 38, 37, 36, 35, 34, 33, 32, 31, 30, 29, 28, 27, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8,
			6}
		must.Equal(t, "the records left", want, iterations(mustView(t, b).Members[0].Records))
		if _, err := b.Fetch(published[24]); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("iteration 25 was pruned: %v", err)
		}
		must.Get(b.Fetch(kept))(t)
		// A member that has diverged keeps the weights that it can go back to.
		for i := int64(100); i < 130; i++ {
			must.Get(s.Publish(Record{Member: 0, Iteration: i, Parent: -1, Failure: "diverged"}, nil))(t)
		}
		must.Do(t, s.Prune(1000))
		records := mustView(t, b).Members[0].Records
		must.Same(t, iterations(records), []int64{129, 40}, "the records left")
		must.Get(b.Fetch(records[1]))(t)
	})
}

func TestBest(t *testing.T) {
	offers := []struct {
		member    int
		iteration int64
		objective float64
		best      int // the member that is the best afterwards, -1 for none
		of        int64
	}{
		{0, 1, math.NaN(), -1, 0},
		{0, 1, math.Inf(1), -1, 0},
		{0, 1, math.Inf(-1), -1, 0},
		{0, 2, -13.2, 0, 2},
		{0, 3, -100, 0, 2}, // worse
		{1, 4, -3.2, 1, 4}, // better, although its text sorts lower
		{2, 3, -3.2, 2, 3}, // equal and earlier
		{2, 5, -3.2, 2, 3}, // equal, and its own is not beaten
		{0, 6, 1e-9, 0, 6},
	}
	for sign, minimise := range map[float64]bool{1: false, -1: true} {
		onEach(t, 3, func(t *testing.T, b Store) {
			leases := []Lease{join(t, b, 0), join(t, b, 1), join(t, b, 2)}
			for _, o := range offers {
				r := record(o.member, o.iteration, o.objective*sign)
				must.Do(t, leases[o.member].PublishBest(r, weights(o.member, o.iteration), minimise))
				best, ok, err := b.Best(minimise)
				if err != nil || ok != (o.best >= 0) || ok && (best.Member != o.best || best.Iteration != o.of) {
					t.Fatalf("after %+v, minimise %t: the best is %d of %d, %t, %v", o, minimise, best.Iteration,
						best.Member, ok, err)
				}
				if ok {
					must.Do(t, checkWeights(must.Get(b.Fetch(best))(t), o.best, o.of))
				}
			}
			must.Refuse(t, leases[0].PublishBest(record(0, 9, 1), nil, minimise)) // without weights
		})
	}
}
