package tracking

import (
	"math"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/internal/test/must"
)

type pair struct {
	Tag   string
	Value float64
}

func drain(d interface{ Drain(func(string, float64)) }) (got []pair) {
	d.Drain(func(tag string, value float64) { got = append(got, pair{tag, value}) })
	return got
}

func TestRecorderNotANumber(t *testing.T) {
	for _, order := range [][]float64{{math.NaN(), 1}, {1, math.NaN()}} {
		var r Recorder
		for _, v := range order {
			for _, tag := range []string{"x", "x (max)", "x (min)"} {
				r.Track(tag, v)
			}
		}
		for _, p := range drain(&r) {
			must.Not(t, !math.IsNaN(p.Value), "%s of %v is %v: a diverged loss would not be seen", p.Tag, order,
				p.Value)
		}
	}
}

// Values may be tracked during a drain, by its function and by other goroutines.
func TestRecorderWhileDraining(t *testing.T) {
	var r Recorder
	r.Track("loss", 1)
	r.Drain(func(tag string, value float64) { r.Track(tag, value+1) })
	must.Equal(t, "the values", []pair{{"loss", 2}}, drain(&r))
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 1000 {
				r.Track("n (max)", 1)
			}
			r.Drain(func(_ string, v float64) {
				if v != 1 {
					t.Errorf("drained %v", v)
				}
			})
		})
	}
	wg.Wait()
	r.Track("loss", 1)
	if n := testing.AllocsPerRun(10_000, func() { r.Track("loss", 2) }); n != 0 {
		t.Errorf("%v allocations for a known tag", n)
	}
}

func TestEpisodesCountEachEpisodeOnce(t *testing.T) {
	e := must.Get(NewEpisodes(3))(t)
	step := func(rewards []float32, terminated, truncated []bool) {
		t.Helper()
		must.Do(t, e.Record(rewards, terminated, truncated, nil))
	}
	no := []bool{false, false, false}
	step([]float32{1, 10, 100}, no, no)
	const instantaneous, total, length = "Reward / Instantaneous reward ", "Reward / Total reward ",
		"Episode / Total timesteps "
	want := []pair{{instantaneous + "(max)", 100}, {instantaneous + "(mean)", 37}, {instantaneous + "(min)", 1}}
	must.Equal(t, "the values", want, drain(e))
	// Environment 1 terminates and 2 is truncated. The sum of 0 does not change (skrl would reset it).
	step([]float32{1, 10, 100}, []bool{false, true, false}, []bool{false, false, true})
	for range 5 { // later, both episodes still count once
		step([]float32{1, -2, 0}, no, no)
	}
	step([]float32{1, 0, 0}, []bool{true, false, false}, []bool{true, false, false}) // both at once is one end
	want = []pair{
		{length + "(max)", 8}, {length + "(mean)", 4}, {length + "(min)", 2},
		{instantaneous + "(max)", 100}, {instantaneous + "(mean)", 107. / 21}, {instantaneous + "(min)", -2},
		{total + "(max)", 200}, {total + "(mean)", (20. + 200 + 8) / 3}, {total + "(min)", 8},
	}
	must.Equal(t, "the values", want, drain(e), cmpopts.EquateApprox(1e-12, 0))
	if got := drain(e); len(got) != 0 {
		t.Errorf("without a step the drain gives %v", got)
	}
	// The window outlives a drain: environment 1 had 5·(-2) so far, and what is no transition does not count.
	must.Do(t, e.Record([]float32{0, 50, 0}, no, no, []bool{false, true, false}))
	step([]float32{0, 0, 0}, []bool{false, true, false}, no)
	means := map[string]float64{}
	e.Drain(func(tag string, value float64) { means[tag] = value })
	must.Near(t, means[total+"(mean)"], (20.+200+8-10)/4, 1e-12, "the mean total reward")
	must.Is(t, means[length+"(mean)"], (2.+2+8+7)/4, "the mean length")
	e.Reset()
	if e.Finished() != 0 || len(drain(e)) != 0 {
		t.Error("something is left after Reset")
	}
}

func TestEpisodesWindow(t *testing.T) {
	e := must.Get(NewEpisodes(1))(t)
	for i := range 3*episodeWindow + 7 {
		must.Do(t, e.Record([]float32{float32(i)}, []bool{true}, []bool{false}, nil))
	}
	var got memory
	e.Emit(&got, 307)
	const last = 3.*episodeWindow + 6
	must.Equal(t, "total rewards", []Scalar{{testTime, 307, TagTotalReward + " (max)", last, 0},
		{testTime, 307, TagTotalReward + " (mean)", last - (episodeWindow-1)/2., 0},
		{testTime, 307, TagTotalReward + " (min)", last - episodeWindow + 1, 0}}, got.scalars[6:])
}

// Restored statistics continue as the original ones.
func TestEpisodesState(t *testing.T) {
	step := func(e *Episodes, i int) {
		must.Do(t, e.Record([]float32{float32(i), -1}, []bool{i%3 == 0, false}, []bool{false, i%7 == 0}, nil))
	}
	for _, n := range []int{1, 2*episodeWindow + 5} {
		original, restored := must.Get(NewEpisodes(2))(t), must.Get(NewEpisodes(2))(t)
		for i := range n {
			step(original, i)
		}
		drain(original)
		must.Do(t, restored.SetState(original.State()))
		for i := range 30 {
			step(original, n+i)
			step(restored, n+i)
			must.Match(t, drain(original), drain(restored), "after %d and %d steps", n, i)
		}
		before := original.State()
		for _, bad := range []EpisodesState{{Finished: 2, Totals: []float64{1, 2}, Durations: []float64{1}},
			{Returns: []float64{1}, Lengths: []int64{1}}, {Returns: []float64{1, 2}, Lengths: []int64{1, -1}}} {
			must.Refuse(t, original.SetState(bad), "")
		}
		must.Equal(t, "the state", before, original.State())
	}
}

func TestEpisodesErrors(t *testing.T) {
	e := must.Get(NewEpisodes(2))(t)
	two, rewards := []bool{true, true}, []float32{1, 1}
	must.Refuse(t, e.Record(rewards[:1], two, two, nil), "")
	must.Refuse(t, e.Record(rewards, two, nil, nil), "")
	must.Equal(t, "finished episodes", int64(0), e.Finished())
	must.Equal(t, "allocations a step", 0.0, testing.AllocsPerRun(1000, func() {
		_ = e.Record(rewards, two, two, nil)
	}))
}
