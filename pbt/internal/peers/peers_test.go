package peers

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// noon is the board's time in these tests; whoever looks joined a minute before.
var noon = time.Date(2020, 1, 1, 12, 0, 0, 0, time.UTC)

func sight(change func(l *Filter)) Filter {
	l := Filter{Member: 0, Iteration: 5, Silence: 30 * time.Second, Since: noon.Add(-time.Minute), Frames: 50,
		Total: 100}
	if change != nil {
		change(&l)
	}
	return l
}

func shown1(phase workspace.Phase, ago time.Duration, records ...workspace.Record) workspace.MemberView {
	p := workspace.MemberView{Member: 1, Seen: noon.Add(-ago), Records: records}
	p.Heartbeat = &workspace.Heartbeat{Member: 1, Phase: phase, Steps: 33, Total: 100,
		Hyperparameters: map[string]float64{"a": 2}, Iteration: 4}
	return p
}

func published1(iteration int64, objective float64) workspace.Record {
	return workspace.Record{Member: 1, Iteration: iteration, Steps: 10 * iteration, WeightSteps: 11 * iteration,
		SinceCopy: 7, SinceChange: 7, Objective: objective, HasObjective: true,
		Peak: 9, HasPeak: true, Samples: 3, Hyperparameters: map[string]float64{"a": 1},
		Weights: &workspace.Weights{Path: "x"}}
}

func TestGenerationFromView(t *testing.T) {
	absent := strategy.Status{Member: 1, Steps: 33, Hyperparameters: map[string]float64{"a": 2}, Absent: true}
	unknown := absent
	unknown.Absent = false
	of := func(iteration int64, objective float64) strategy.Status {
		return strategy.Status{Member: 1, Iteration: iteration, Steps: 10 * iteration, WeightSteps: 11 * iteration,
			SinceCopy: 7, SinceChange: 7, Objective: objective, HasObjective: true,
			Peak: 9, HasPeak: true, Samples: 3, Hyperparameters: map[string]float64{"a": 1}}
	}
	exact := func(l *Filter) { l.Exact = true }
	failure := workspace.Record{Member: 1, Iteration: 5, Steps: 42, Failure: "gone",
		Hyperparameters: map[string]float64{"a": 1}}
	diverged := published1(5, math.NaN())
	diverged.Weights, diverged.Failure = nil, "objective is NaN"
	short := published1(5, 4)
	short.Steps = 45 // of a run that was to train less
	minimised := of(5, -4)
	minimised.Peak = -9
	for name, test := range map[string]struct {
		peer workspace.MemberView
		look func(l *Filter)
		want strategy.Status
	}{
		"equal or less": {shown1(workspace.Training, 0, published1(7, 7), published1(6, 6),
			published1(4, 4), published1(3, 3)), nil, of(4, 4)},
		"only newer": {shown1(workspace.Training, 0, published1(7, 7), published1(6, 6)), nil, unknown},
		"only newer, to be rescued": {shown1(workspace.Training, 0, published1(7, 7), published1(6, 6)),
			func(l *Filter) { l.Rescue = true }, of(6, 6)},
		"slack": {shown1(workspace.Training, 0, published1(7, 7), published1(6, 6)),
			func(l *Filter) { l.Slack = 1 }, of(6, 6)},
		"minimise": {shown1(workspace.Training, 0, published1(5, 4)), func(l *Filter) { l.Minimise = true },
			minimised},
		"exactly": {shown1(workspace.Training, 0, published1(6, 6), published1(5, 5)), exact,
			of(5, 5)},
		"exactly, gone on": {workspace.MemberView{Member: 1, Seen: noon, Heartbeat: &workspace.Heartbeat{},
			Stale: []workspace.Record{published1(5, 5)}, Records: []workspace.Record{published1(6, 6)}}, exact,
			of(5, 5)},
		"exactly, not there":        {shown1(workspace.Training, 0, published1(4, 4)), exact, unknown},
		"exactly, of a shorter run": {shown1(workspace.Training, 0, short), exact, unknown},
		"silent":                    {shown1(workspace.Training, time.Hour, published1(4, 4)), nil, absent},
		"silent, but we have just come": {shown1(workspace.Training, time.Hour, published1(4, 4)),
			func(l *Filter) { l.Since = noon.Add(-time.Second) }, of(4, 4)},
		"yielded":  {shown1(workspace.Yielded, time.Hour, published1(4, 4)), nil, of(4, 4)},
		"finished": {shown1(workspace.Finished, time.Hour, published1(4, 4)), nil, of(4, 4)},
		"given up": {shown1(workspace.Failed, 0, published1(4, 4)), nil, absent},
		"never started": {workspace.MemberView{Member: 1}, nil, strategy.Status{Member: 1,
			Absent: true}},
		"failed": {shown1(workspace.Training, 0, failure), nil, strategy.Status{Member: 1,
			Iteration: 5, Steps: 42, Failed: true, Hyperparameters: map[string]float64{"a": 1}}},
		"diverged": {shown1(workspace.Training, 0, diverged), nil, of(5, math.NaN())},
		"not readable": {shown1(workspace.Training, 0, published1(5, 5)),
			func(l *Filter) { l.Without = map[int]bool{1: true} }, unknown},
	} {
		t.Run(name, func(t *testing.T) {
			own := strategy.Status{Member: 0, Steps: 50, Objective: 1, HasObjective: true, Iteration: 5}
			v := workspace.View{Now: noon, Members: []workspace.MemberView{{Member: 0}, test.peer}}
			g, records := sight(test.look).Generation(v, own)
			want := strategy.Generation{Iteration: 5, Members: []strategy.Status{own, test.want}}
			must.Equal(t, "what it sees", want, g, cmpopts.EquateNaNs())
			if (records[1] != nil) != (test.want.Iteration > 0) || records[1] != nil &&
				records[1].Iteration != test.want.Iteration {
				t.Errorf("the record is %+v", records[1])
			}
		})
	}
}

func TestWentOn(t *testing.T) {
	at := func(minutes ...int) (v workspace.View) {
		v.Now = time.Unix(600, 0) // ten minutes
		for _, m := range minutes {
			v.Members = append(v.Members, workspace.MemberView{Seen: time.Unix(int64(60*m), 0)})
		}
		return v
	}
	for _, c := range []struct {
		view workspace.View
		from int64
		want bool
	}{
		{at(), 8, true}, {at(), 7, true}, {at(), 6, false},
		{at(7, 4, 2), 1, true}, {at(7, 4, 0), 1, true}, {at(7, 2, 3), 1, false}, {at(6, 4, 2), 1, false},
		{at(9, 10, 9), 1, false}, {at(12, 9), 7, true}, {at(12), 5, false},
	} {
		if got := WentOn(c.view, time.Unix(60*c.from, 0), 3*time.Minute); got != c.want {
			t.Errorf("since minute %d: %t, want %t: %+v", c.from, got, c.want, c.view.Members)
		}
	}
}

// TestSetBack: where the store's clock is set back, those who died before count from when their time was first seen.
func TestSetBack(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	a, joined := Ahead{}, at(900_000)
	for _, look := range []struct{ now, seen, want, joined int64 }{
		{1000, 1_000_000, 1000, 1000}, {1060, 1_000_000, 1000, 1000}, {1070, 2_000_000, 1070, 1000},
		{1080, 1075, 1075, 1000},
	} {
		v := workspace.View{Now: at(look.now), Members: []workspace.MemberView{{Seen: at(look.seen)}}}
		if joined = a.SetBack(&v, joined); !v.Members[0].Seen.Equal(at(look.want)) || !joined.Equal(at(look.joined)) {
			t.Errorf("%+v: seen at %v, joined at %v", look, v.Members[0].Seen.Unix(), joined.Unix())
		}
	}
}
