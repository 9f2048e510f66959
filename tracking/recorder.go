package tracking

import (
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
)

// Recorder gathers values between two writes and reduces them by skrl's rule: of a tag that ends in "(min)" the
// smallest remains, of one that ends in "(max)" the largest, of any other the mean. NaN makes the result NaN. Memory
// does not grow with the number of values. The zero value is ready; methods may be called from several goroutines.
type Recorder struct {
	mu   sync.Mutex
	tags []string // sorted
	kept map[string]*tally
}

// Track adds a value under a tag.
func (r *Recorder) Track(tag string, value float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.kept[tag]
	if t == nil {
		if r.kept == nil {
			r.kept = make(map[string]*tally)
		}
		t = new(tally)
		r.kept[tag] = t
		i, _ := slices.BinarySearch(r.tags, tag)
		r.tags = slices.Insert(r.tags, i, tag)
	}
	t.add(value)
}

// Drain calls f for every tag that was tracked since the last Drain, in sorted order, and forgets the values. f may
// call the recorder.
func (r *Recorder) Drain(f func(tag string, value float64)) {
	var taken []Scalar
	r.mu.Lock()
	for _, tag := range r.tags {
		if t := r.kept[tag]; t.count > 0 {
			taken = append(taken, Scalar{Tag: tag, Value: t.by(tag)})
			*t = tally{}
		}
	}
	r.mu.Unlock() // before f is called, which may lock it again
	for _, s := range taken {
		f(s.Tag, s.Value)
	}
}

// Emit drains into a sink. It does not flush.
func (r *Recorder) Emit(s Sink, step int64) {
	r.Drain(func(tag string, value float64) { s.Scalar(tag, step, value) })
}

// State returns the tallies of the values tracked since the last Drain, by tag, for checkpoints.
func (r *Recorder) State() map[string]Tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := make(map[string]Tally, len(r.tags))
	for tag, t := range r.kept {
		if t.count > 0 {
			state[tag] = t.state()
		}
	}
	return state
}

// SetState replaces the tracked values by a state that State returned.
func (r *Recorder) SetState(state map[string]Tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tags, r.kept = slices.Sorted(maps.Keys(state)), make(map[string]*tally, len(state))
	for tag, t := range state {
		r.kept[tag] = t.tally()
	}
}

// Tally is a reduced stream of values: their number, sum, smallest and largest.
type Tally struct {
	Count         int64
	Sum, Min, Max float64
}

func (t Tally) tally() *tally { return &tally{t.Count, t.Sum, t.Min, t.Max} }

// tally reduces a stream of values.
type tally struct {
	count         int64
	sum, min, max float64
}

func (t *tally) state() Tally { return Tally{t.count, t.sum, t.min, t.max} }

func (t *tally) add(v float64) {
	if t.count == 0 {
		t.min, t.max = v, v
	}
	t.count++
	t.sum += v
	t.min = math.Min(t.min, v) // NaN if either is
	t.max = math.Max(t.max, v)
}

func (t *tally) mean() float64 { return t.sum / float64(t.count) }

func (t *tally) by(tag string) float64 {
	switch {
	case strings.HasSuffix(tag, "(min)"):
		return t.min
	case strings.HasSuffix(tag, "(max)"):
		return t.max
	}
	return t.mean()
}
