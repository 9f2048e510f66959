package pbt

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// climber minimises a quadratic by gradient descent with noisy gradients. Great learning rates come down fast and
// stay high on the noise; above 2/curvature they diverge; small ones crawl. Its snapshots hold the learning rate,
// as an optimizer's do, so that a population that set hyperparameters before weights would lose them.
type climber struct {
	id       int
	x        [4]float64
	steps    int64
	rate     float64
	discount float64
	source   *rand.PCG
	rng      *rand.Rand

	faults *faults
	closed int
}

// faults are what a test makes go wrong, and what it watches.
type faults struct {
	train    func(c *climber) error // before every step
	restore  func(c *climber) error
	set      func(c *climber, values map[string]float64) error
	snapshot func(c *climber) error
	running  atomic.Int64
	greatest atomic.Int64
}

// letOthersRun is a fault that is none: a step during which other members may begin theirs.
func letOthersRun(*climber) error {
	for range 50 {
		runtime.Gosched()
	}
	return nil
}

func newClimber(m Member, f *faults) *climber {
	c := &climber{id: m.ID, x: [4]float64{3, -2, 1, 4}, rate: 0.01, discount: 0.99, faults: f}
	c.source = rand.NewPCG(uint64(m.Seed), 1)
	c.rng = rand.New(c.source)
	return c
}

func (c *climber) Train(ctx context.Context, steps int64) error {
	n := c.faults.running.Add(1)
	defer c.faults.running.Add(-1)
	for g := c.faults.greatest.Load(); n > g && !c.faults.greatest.CompareAndSwap(g, n); g = c.faults.greatest.Load() {
	}
	for range steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		if c.faults.train != nil {
			if err := c.faults.train(c); err != nil {
				return err
			}
		}
		for i := range c.x {
			gradient := float64(i+1)*c.x[i] + c.rng.NormFloat64()
			c.x[i] -= c.rate * gradient
		}
		c.steps++
	}
	return nil
}

func (c *climber) objective() float64 {
	loss := 0.0
	for i, x := range c.x {
		loss += float64(i+1) * x * x / 2
	}
	return -loss
}

func (c *climber) Steps() int64 { return c.steps }

func (c *climber) Metrics() map[string]float64 {
	return map[string]float64{"episode.return": c.objective(), "loss": -c.objective()}
}

func (c *climber) Hyperparameters() map[string]float64 {
	return map[string]float64{"learning_rate": c.rate, "discount_factor": c.discount}
}

func (c *climber) SetHyperparameters(values map[string]float64) error {
	if c.faults.set != nil {
		if err := c.faults.set(c, values); err != nil {
			return err
		}
	}
	for key := range values {
		if key != "learning_rate" && key != "discount_factor" {
			return fmt.Errorf("climber: no hyperparameter %q", key)
		}
	}
	if v, ok := values["learning_rate"]; ok {
		c.rate = v
	}
	if v, ok := values["discount_factor"]; ok {
		c.discount = v
	}
	return nil
}

func (c *climber) Snapshot() (*checkpoint.Snapshot, error) {
	if c.faults.snapshot != nil {
		if err := c.faults.snapshot(c); err != nil {
			return nil, err
		}
	}
	state, err := c.source.MarshalBinary()
	if err != nil {
		return nil, err
	}
	var x []byte
	for _, v := range c.x {
		x = binary.LittleEndian.AppendUint64(x, math.Float64bits(v))
	}
	return &checkpoint.Snapshot{
		Arrays: map[string]checkpoint.Array{"parameters": {DType: checkpoint.F64, Shape: []int64{4}, Data: x}},
		Values: map[string]any{"steps": c.steps, "learning_rate": c.rate, "random": hex.EncodeToString(state)},
	}, nil
}

func (c *climber) Restore(s *checkpoint.Snapshot) error {
	if c.faults.restore != nil {
		if err := c.faults.restore(c); err != nil {
			return err
		}
	}
	x, err := s.Float64s("parameters", 4)
	steps, err1 := s.Int("steps")
	rate, err2 := s.Float("learning_rate")
	text, err3 := s.Text("random")
	state, err4 := hex.DecodeString(text)
	if err := errors.Join(err, err1, err2, err3, err4); err != nil {
		return err
	}
	if err := c.source.UnmarshalBinary(state); err != nil {
		return err
	}
	copy(c.x[:], x)
	c.steps, c.rate = steps, rate
	return nil
}

// Reseed implements Reseeder.
func (c *climber) Reseed(seed int64) error {
	c.source.Seed(uint64(seed), 1)
	return nil
}

func (c *climber) Close() error {
	c.closed++
	return nil
}

// colony is a population of climbers and what a test needs to look at it.
type colony struct {
	faults *faults
	built  []*climber
	opt    Options
}

// newColony has options to change before making populations of it.
func newColony(members int) *colony {
	c := &colony{faults: &faults{}}
	c.opt = Options{
		Members: members, Objective: "episode.return", IntervalSteps: 50, TotalSteps: 500, Seed: 11,
		Strategy: strategy.IsaacLab{ThresholdStd: 0.1, ThresholdAbs: 0.001},
		Explore: explore.Mutation{Rate: 0.8, Bounds: map[string][2]float64{"learning_rate": {1e-5, 0.4}},
			Rules: explore.Rules{"learning_rate": explore.MutateFloat, "discount_factor": explore.MutateDiscount}},
		Sample: map[string]explore.Range{"learning_rate": {Low: 1e-4, High: 0.3, Log: true}},
		New:    c.build,
	}
	return c
}

func (c *colony) build(m Member) (Trainee, error) {
	t := newClimber(m, c.faults)
	c.built = append(c.built, t)
	return t, nil
}

// rates makes the members begin with these learning rates.
func (c *colony) rates(rates ...float64) {
	c.opt.Initial = nil
	for _, r := range rates {
		c.opt.Initial = append(c.opt.Initial, map[string]float64{"learning_rate": r})
	}
}

// at calls f before step n of the trainee that member id began with.
func (c *colony) at(id int, n int64, f func(m *climber) error) {
	before := c.faults.train
	c.faults.train = func(m *climber) error {
		if m == c.built[id] && m.steps == n {
			if err := f(m); err != nil {
				return err
			}
		}
		if before != nil {
			return before(m)
		}
		return nil
	}
}

// poison makes members' parameters NaN in their step n.
func (c *colony) poison(n int64, members ...int) {
	for _, id := range members {
		c.at(id, n, func(m *climber) error { m.x[1] = math.NaN(); return nil })
	}
}

// atEnd returns, once the population has trained, the trainee that member id had at the first interval's end.
func (c *colony) atEnd(id int) *climber {
	found := new(climber)
	c.opt.Progress = func(u Update) {
		if u.Event == nil && u.Iteration == 1 && u.Status.Member == id && u.Status.Steps == c.opt.IntervalSteps {
			*found = *c.built[id]
		}
	}
	return found
}

// decided gives fixed decisions at the first interval's end, and keeps everyone later.
type decided []strategy.Decision

func (d decided) Decide(g strategy.Generation, _ *rand.Rand) []strategy.Decision {
	if g.Iteration > 1 {
		return nil
	}
	return d
}

// each makes a strategy of a decision about one member.
type each func(m strategy.Status, g strategy.Generation) strategy.Decision

func (f each) Decide(g strategy.Generation, _ *rand.Rand) []strategy.Decision {
	var decisions []strategy.Decision
	for _, m := range g.Members {
		d := f(m, g)
		d.Member = m.Member
		decisions = append(decisions, d)
	}
	return decisions
}

func mustNew(t *testing.T, opt Options) *Population {
	t.Helper()
	p, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { mustClose(t, p) })
	return p
}

func mustClose(t *testing.T, p *Population) {
	t.Helper()
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

func mustTrain(t *testing.T, opt Options) *Population {
	t.Helper()
	p := mustNew(t, opt)
	if _, err := p.Train(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

// interrupted trains a population in one directory until it ends. build makes its colony; once stop has been called
// every times the population is stopped, closed, and built again.
func interrupted(t *testing.T, every func() int64, build func(stop func()) *colony) (p *Population, breaks int) {
	t.Helper()
	for dir := t.TempDir(); ; breaks++ {
		ctx, cancel := context.WithCancel(t.Context())
		var left atomic.Int64
		left.Store(every())
		c := build(func() {
			if left.Add(-1) == 0 {
				cancel()
			}
		})
		c.opt.Directory = dir
		p = mustNew(t, c.opt)
		if p.Recovered() != nil {
			t.Error(p.Recovered())
		}
		_, err := p.Train(ctx)
		cancel()
		if err == nil {
			return p, breaks
		}
		if !errors.Is(err, context.Canceled) || breaks > 300 {
			t.Fatal(err)
		}
		mustClose(t, p)
	}
}

// compare checks that two populations ended alike, down to the bytes of their journals and best snapshots.
func compare(t *testing.T, whole, resumed *Population) {
	t.Helper()
	if d := cmp.Diff(lines(t, whole.Journal()), lines(t, readJournal(t, resumed.opt.Directory))); d != "" {
		t.Errorf("the journals differ: %s", d)
	}
	if d := cmp.Diff(whole.Generation(), resumed.Generation(), cmpopts.EquateNaNs()); d != "" {
		t.Errorf("the members differ: %s", d)
	}
	for id, m := range whole.Generation().Members {
		if m.Failed { // the weights of a failed member are not saved
			continue
		}
		a, errA := whole.Trainee(id).Snapshot()
		b, errB := resumed.Trainee(id).Snapshot()
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		if !bytes.Equal(a.Arrays["parameters"].Data, b.Arrays["parameters"].Data) {
			t.Errorf("member %d has other weights", id)
		}
	}
	a, b := whole.Best(), resumed.Best()
	if a.Member != b.Member || a.Iteration != b.Iteration || a.Objective != b.Objective ||
		!bytes.Equal(a.Snapshot.Arrays["parameters"].Data, b.Snapshot.Arrays["parameters"].Data) {
		t.Errorf("the best are %+v and %+v", a, b)
	}
}

// readJournal returns the merged journal of a directory.
func readJournal(t *testing.T, dir string) []journal.Event {
	t.Helper()
	events, err := journal.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// lines are events as text.
func lines(t *testing.T, events []journal.Event) string {
	t.Helper()
	var b strings.Builder
	for _, e := range events {
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(data, '\n'))
	}
	return b.String()
}

// kinds are the events of one kind.
func kinds(events []journal.Event, kind journal.Kind) []journal.Event {
	return slices.DeleteFunc(slices.Clone(events), func(e journal.Event) bool { return e.Kind != kind })
}

// contents returns a folder's files without journals, which only grow, and without the files that each process rewrites.
func contents(t *testing.T, dir string) map[string]string {
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "lease-") ||
			slices.Contains([]string{journal.File, "clock", "heartbeat.json"}, d.Name()) {
			return err
		}
		files[path] = string(read(t, path))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func read(t *testing.T, elem ...string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(elem...))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
