package tracking

import (
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
)

// Recorder collects values between two writes and reduces them by skrl's rule: a tag that ends in "(min)" gives the
// smallest value, a tag that ends in "(max)" the largest, any other tag the mean. NaN makes the result NaN. Memory does
// not grow with the number of values. The zero value is ready. Several goroutines may call the methods.
type Recorder struct {
	mu   sync.Mutex
	kept map[string]*Tally
}

// Track adds a value under a tag.
func (r *Recorder) Track(tag string, value float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := r.kept[tag]
	if t == nil {
		if r.kept == nil {
			r.kept = make(map[string]*Tally)
		}
		t = new(Tally)
		r.kept[tag] = t
	}
	t.add(value)
}

// Drain calls f for every tag that was tracked since the last Drain, in sorted order, and clears the values. f may call
// the recorder.
func (r *Recorder) Drain(f func(tag string, value float64)) {
	var taken []Scalar
	r.mu.Lock()
	for _, tag := range slices.Sorted(maps.Keys(r.kept)) {
		if t := r.kept[tag]; t.Count > 0 {
			taken = append(taken, Scalar{Tag: tag, Value: t.by(tag)})
			*t = Tally{}
		}
	}
	r.mu.Unlock() // f may call the recorder
	for _, s := range taken {
		f(s.Tag, s.Value)
	}
}

// Emit drains into a sink. It does not flush the sink.
func (r *Recorder) Emit(s Sink, step int64) {
	r.Drain(func(tag string, value float64) { s.Scalar(tag, step, value) })
}

// State returns the tallies of the values tracked since the last Drain, by tag, for checkpoints.
func (r *Recorder) State() map[string]Tally {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := make(map[string]Tally, len(r.kept))
	for tag, t := range r.kept {
		if t.Count > 0 {
			state[tag] = *t
		}
	}
	return state
}

// SetState replaces the tracked values by a state that State returned.
func (r *Recorder) SetState(state map[string]Tally) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.kept = make(map[string]*Tally, len(state))
	for tag, t := range state {
		r.kept[tag] = &t
	}
}

// Tally is a reduced stream of values: their number, sum, smallest and largest.
type Tally struct {
	Count         int64
	Sum, Min, Max float64
}

func (t *Tally) add(v float64) {
	if t.Count == 0 {
		t.Min, t.Max = v, v
	}
	t.Count++
	t.Sum += v
	t.Min = math.Min(t.Min, v) // NaN if either is
	t.Max = math.Max(t.Max, v)
}

func (t *Tally) mean() float64 { return t.Sum / float64(t.Count) }

func (t *Tally) by(tag string) float64 {
	switch {
	case strings.HasSuffix(tag, "(min)"):
		return t.Min
	case strings.HasSuffix(tag, "(max)"):
		return t.Max
	}
	return t.mean()
}
