package pbt

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/internal/states"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// forFour is a strategy for four members.
type forFour struct{ strategy.Never }

func (forFour) ValidateMembers(members int) error {
	if members != 4 {
		return errors.New("pbt: four members, please")
	}
	return nil
}

// holding is a trainee with an agent.
type holding struct {
	Trainee
	agent any
}

func (h *holding) Holds() map[string][]any { return map[string][]any{"agent": {h.agent}} }

// TestNewRefuses: wrong options are refused before anything trains, and what was built is closed.
func TestNewRefuses(t *testing.T) {
	type options = func(c *colony)
	set := func(change func(o *Options)) options { return func(c *colony) { change(&c.opt) } }
	measure := func(m Measure) options { return set(func(o *Options) { o.Measure = m }) }
	inherit := func(p CopyOptions) options { return set(func(o *Options) { o.Copy = p }) }
	sample := func(r explore.Range) options { return set(func(o *Options) { o.Sample["learning_rate"] = r }) }
	initial := func(maps ...map[string]float64) options { return set(func(o *Options) { o.Initial = maps }) }
	explorer := func(e explore.Explorer) options { return set(func(o *Options) { o.Explore = e }) }
	reference := func(ids ...int) options { return set(func(o *Options) { o.Reference = ids }) }
	type builder = func(Member) (Trainee, error)
	build := func(f func(m Member, build builder) (Trainee, error)) options {
		return func(c *colony) { c.opt.New = func(m Member) (Trainee, error) { return f(m, c.build) } }
	}
	agent := &struct{ weight float64 }{}
	for want, change := range map[string]options{
		"Members is 0":                   set(func(o *Options) { o.Members = 0 }),
		"IntervalSteps is -1":            set(func(o *Options) { o.IntervalSteps = -1 }),
		"SaveSteps is -2":                set(func(o *Options) { o.SaveSteps = -2 }),
		"New is nil":                     set(func(o *Options) { o.New = nil }),
		`["learning_rate"] is NaN`:       initial(map[string]float64{"learning_rate": math.NaN()}),
		`did you mean "learning_rate"?`:  initial(map[string]float64{"learning_rat": 1}),
		"low end must be above 0":        sample(explore.Range{High: 1, Log: true}),
		"ThresholdStd is -1":             set(func(o *Options) { o.Strategy = strategy.IsaacLab{ThresholdStd: -1} }),
		"four members":                   set(func(o *Options) { o.Strategy = forFour{} }),
		"Reference names member 1 twice": reference(1, 1),
		`"rate", which members`:          explorer(explore.Mutation{Bounds: map[string][2]float64{"rate": {0, 1}}}),
		"outside its bounds, [1 2]": explorer(explore.PB2{
			Bounds: map[string]explore.Range{"learning_rate": {Low: 1, High: 2}}}),
		`"discount", which members do not have: did you`: set(func(o *Options) { o.Rebuild = []string{"discount"} }),
		"Evolve and Explore both":                        set(func(o *Options) { o.Evolve = breeder{} }),
		"leave Asynchronous out": set(func(o *Options) {
			o.Target, o.Asynchronous = &Target{}, true
		}),
		`did you mean "mean"?`:                 measure(Measure{Window: 2, Reducer: "meen"}),
		"nothing to reduce":                    measure(Measure{Reducer: ReduceMax}),
		"evaluation_episodes and a window":     measure(Measure{Window: 2, EvaluationEpisodes: 2}),
		"0: measure.evaluation_episodes needs": measure(Measure{EvaluationEpisodes: 2}),
		`"optimizer" is "forget": want one of`: inherit(CopyOptions{Optimizer: "forget"}),
		"inherit.moment_decay is 0; give":      inherit(CopyOptions{Optimizer: DecayPart}),
		"member 2: out of luck": build(func(m Member, build builder) (Trainee, error) {
			if m.ID == 2 {
				return nil, errors.New("out of luck")
			}
			return build(m)
		}),
		"member 0: panic: oh":     set(func(o *Options) { o.New = func(Member) (Trainee, error) { panic("oh") } }),
		"0: New returned nothing": build(func(Member, builder) (Trainee, error) { return nil, nil }),
		"member 2: members 1 and 2 have the same trainee (*pbt.climber)": func(c *colony) {
			c.opt.New = func(m Member) (Trainee, error) {
				if m.ID == 2 {
					c.built[1].closed-- // it is closed as member 2's, too
					return c.built[1], nil
				}
				return c.build(m)
			}
		},
		"member 1: members 0 and 1 have the same agent (*struct": build(func(m Member, build builder) (Trainee, error) {
			one, err := build(m)
			return &holding{one, agent}, err
		}),
	} {
		t.Run(want, func(t *testing.T) {
			c := newColony(3)
			change(c)
			must.Refused(New(c.opt))(t, "pbt: ", want)
			for i, m := range c.built {
				if m.closed != 1 || m.steps != 0 {
					t.Errorf("member %d was closed %d times after %d steps", i, m.closed, m.steps)
				}
			}
		})
	}
}

// withoutSteps never counts a step.
type withoutSteps struct{ *climber }

func (withoutSteps) Steps() int64 { return 7 }

// TestTrainRefuses: what turns out to be wrong while training ends it, with an error that says what.
func TestTrainRefuses(t *testing.T) {
	decide := func(d ...strategy.Decision) func(c *colony) { return func(c *colony) { c.opt.Strategy = decided(d) } }
	for want, change := range map[string]func(c *colony){
		"no such member": decide(strategy.Decision{Member: 3, Action: strategy.Keep}),
		"no such action": decide(strategy.Decision{Member: 1, Action: "promote"}),
		"another member": decide(strategy.Decision{Member: 1, Action: strategy.Replace, Source: 1}),
		"only healthy": func(c *colony) {
			c.diverge(20, 2)
			c.opt.Strategy = decided{{Member: 1, Action: strategy.Replace, Source: 2}}
		},
		"From must be a member there is": decide(strategy.Decision{Member: 1, Action: strategy.Replace,
			From: strategy.HyperparametersOf(3)}),
		"panic: no idea": func(c *colony) {
			c.opt.Strategy = each(func(strategy.Status, strategy.Generation) strategy.Decision { panic("no idea") })
		},
		`objective "episode.retrun": did you mean "episode.return"? (one of episode.return, loss`: func(c *colony) {
			c.opt.Objective = "episode.retrun"
		},
		`no member reported the objective "reward" by the end of interval 8: `: func(c *colony) {
			c.opt.Objective, c.opt.InitialDelay = "reward", 400 // it may appear until then
		},
		"3 measurements of \"episode.return\" that measure.min_samples wants": func(c *colony) {
			c.opt.Measure.MinSamples = 3
		},
		"by the end of interval 1: want one of episode.score, episode.x": func(c *colony) {
			*c = *newExamined(3, nil)
			c.opt.Objective = "loss" // a figure of training only
		},
		"must advance": func(c *colony) {
			c.opt.New = func(m Member) (Trainee, error) { return withoutSteps{newClimber(m, c.faults)}, nil }
		},
		"OnInterval: the disk is full": func(c *colony) {
			c.opt.OnInterval = func(*Population) error { return errors.New("the disk is full") }
		},
	} {
		t.Run(want, func(t *testing.T) {
			c := newColony(3)
			change(c)
			p := mustNew(t, c.opt)
			must.Refused(p.Train(t.Context()))(t, want)
			if steps := p.workers()[0].m.Steps; strings.Contains(want, "retrun") && steps != c.opt.IntervalSteps/10 {
				t.Errorf("a slip of the pen is found after %d environment steps of an interval of %d", steps,
					c.opt.IntervalSteps)
			}
		})
	}
}

// TestDirectoriesThatAreRefused: neither another population's nor a damaged directory is begun anew or changed.
func TestDirectoriesThatAreRefused(t *testing.T) {
	t.Parallel()
	c := newColony(2)
	c.opt.Directory = t.TempDir()
	must.Do(t, mustTrain(t, c.opt).Close())
	write := func(dir, name, text string) error {
		return os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)
	}
	for want, spoil := range map[string]func(o *Options, dir string) error{
		"number of members is 2 there and 3": func(o *Options, _ string) error { o.Members = 3; return nil },
		"the seed is 11 there and 1 here":    func(o *Options, _ string) error { o.Seed = 1; return nil },
		"is 50 there and 51 here":            func(o *Options, _ string) error { o.IntervalSteps = 51; return nil },
		"is episode.return there and loss":   func(o *Options, _ string) error { o.Objective = "loss"; return nil },
		"measure.minimise is false there and true": func(o *Options, _ string) error {
			o.Measure.Minimise = true
			return nil
		},
		"state.previous.json": func(_ *Options, dir string) error {
			return errors.Join(write(dir, "001/"+states.File, "?"), write(dir, "001/"+states.PreviousFile, "?"))
		},
		"shorter than": func(_ *Options, dir string) error {
			return os.Truncate(filepath.Join(dir, "001", journal.File), 100)
		},
		"holds the run of a single agent": func(_ *Options, dir string) error {
			return errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755), write(dir, "scalars.jsonl", "{}\n"))
		},
	} {
		t.Run(want, func(t *testing.T) {
			opt := c.opt
			opt.Directory = filepath.Join(t.TempDir(), "population")
			must.Do(t, os.CopyFS(opt.Directory, os.DirFS(c.opt.Directory)))
			must.Do(t, spoil(&opt, opt.Directory))
			before := contents(t, opt.Directory)
			_, err := New(opt)
			must.Refuse(t, err, want)
			if strings.Contains(want, " there and ") && !errors.Is(err, states.ErrOtherPopulation) {
				t.Errorf("the error is %v, want one that is ErrOtherPopulation", err)
			}
			must.Equal(t, "the files", before, contents(t, opt.Directory))
		})
	}
	held := mustNew(t, c.opt)
	if _, err := New(c.opt); !errors.Is(err, durable.ErrInUse) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second population: %v", err)
	}
	mustClose(t, held)
	mustNew(t, c.opt)
}

// TestJoinRefuses: options of another population leave the member, and what its peers see of it, alone.
func TestJoinRefuses(t *testing.T) {
	r := newProcesses(2, folder(t, t.TempDir(), 2))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := r.join(t, 0)
	if _, err := s.Train(ctx); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	mustClose(t, s)
	for want, change := range map[string]func(o *Options, p *ProcessOptions){
		"is episode.return there and loss":           func(o *Options, _ *ProcessOptions) { o.Objective = "loss" },
		"must be equal":                              func(o *Options, _ *ProcessOptions) { o.Members = 3 },
		"members are 0 to 1":                         func(_ *Options, p *ProcessOptions) { p.Member = 2 },
		"Options.Evolve, Target and OnInterval need": func(o *Options, _ *ProcessOptions) { o.Evolve = breeder{} },
		"Silence must be several heartbeats":         func(_ *Options, p *ProcessOptions) { p.Silence = 1 },
	} {
		opt, place := r.opt, r.cfg
		change(&opt, &place)
		must.Refused(Join(t.Context(), opt, place))(t, want)
	}
	if v, err := r.store.View(); err != nil || v.Members[0].Heartbeat.Phase != workspace.Stopped {
		t.Errorf("the member's heartbeat is %+v, %v", v.Members[0].Heartbeat, err)
	}
	held := r.join(t, 1)
	if _, err := Join(ctx, r.opt, ProcessOptions{Member: 1, Store: r.store}); !errors.Is(err, workspace.ErrTaken) {
		t.Errorf("a member that is held: %v", err)
	}
	mustClose(t, held)
}

// TestNotes: what can only be meant by mistake is noted, and what may be meant is not.
func TestNotes(t *testing.T) {
	one, early, late := "the population has 1 member",
		"the first decision comes after an interval of 1001 environment steps, and the run has 1000",
		"the last decision comes after 900 environment steps, and a member must have trained 901"
	for _, test := range []struct {
		members                     int
		interval, total, delay, own int64
		strategy                    strategy.Strategy
		want                        []string
	}{
		{4, 100, 1000, 900, 0, nil, nil},
		{1, 100, 1000, 0, 0, nil, []string{one}},
		{1, 2000, 1000, 0, 0, strategy.Never{}, nil},
		{4, 1001, 1000, 0, 0, nil, []string{early}},
		{4, 100, 1000, 901, 0, nil, []string{late}},
		{1, 100, 1000, 0, 5000, nil, []string{one, "must have trained 5000"}},
	} {
		got := Options{Members: test.members, IntervalSteps: test.interval, TotalSteps: test.total,
			Delays: Delays{InitialDelay: test.delay, StartAfter: test.own}, Strategy: test.strategy}.Notes()
		if !cmp.Equal(got, test.want, cmp.Comparer(func(a, b string) bool {
			return strings.Contains(a, b) || strings.Contains(b, a)
		})) {
			t.Errorf("%+v: notes %q, want %q", test, got, test.want)
		}
	}
}
