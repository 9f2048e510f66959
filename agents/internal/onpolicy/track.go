package onpolicy

import "sort"

// Tracker averages values by tag until they are read.
type Tracker struct {
	sum   map[string]float64
	count map[string]int
}

// NewTracker returns an empty tracker.
func NewTracker() *Tracker { return &Tracker{sum: map[string]float64{}, count: map[string]int{}} }

// Add tracks one value.
func (t *Tracker) Add(tag string, value float64) {
	t.sum[tag] += value
	t.count[tag]++
}

// Drain calls f with the mean of every tag, in sorted order, and forgets them.
func (t *Tracker) Drain(f func(tag string, value float64)) {
	tags := make([]string, 0, len(t.sum))
	for tag := range t.sum {
		tags = append(tags, tag)
	}
	sort.Strings(tags)
	for _, tag := range tags {
		f(tag, t.sum[tag]/float64(t.count[tag]))
	}
	clear(t.sum)
	clear(t.count)
}
