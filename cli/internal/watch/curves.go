package watch

import (
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gorl-dev/gorl/pbt/report"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/tracking/aggregate"
)

// The server keeps the curves of at most maxFollowed runs in memory, with at most maxPoints points per tag. It reads
// logs in chunks of chunkBytes, for at most readFor per request.
const (
	maxFollowed = 64
	maxPoints   = 1024
	maxTags     = 2000
	chunkBytes  = 8 << 20
	readFor     = 2 * time.Second
)

// bucket is the mean of several consecutive values of a tag, at the position of the last.
type bucket struct {
	step, env int64
	seconds   float64
	mean      float64
	n         int
}

// curve holds the values of a tag in at most maxPoints buckets of up to per values.
type curve struct {
	buckets []bucket
	per     int
}

// add appends a value. When the curve is full, every two buckets become one.
func (c *curve) add(v tracking.Scalar, seconds float64) {
	next := bucket{v.Step, v.EnvSteps, seconds, v.Value, 1}
	if n := len(c.buckets); n > 0 && c.buckets[n-1].n < c.per {
		c.buckets[n-1].join(next)
		return
	}
	if len(c.buckets) == maxPoints {
		for i := range maxPoints / 2 {
			c.buckets[i] = c.buckets[2*i]
			c.buckets[i].join(c.buckets[2*i+1])
		}
		c.buckets, c.per = c.buckets[:maxPoints/2], 2*c.per
	}
	c.buckets = append(c.buckets, next)
}

// join adds a later bucket's values.
func (b *bucket) join(next bucket) {
	n := b.n + next.n
	b.mean += (next.mean - b.mean) * float64(next.n) / float64(n)
	b.step, b.env, b.seconds, b.n = next.step, next.env, next.seconds, n
}

// follower reads the log of a run as it grows.
type follower struct {
	curves map[string]*curve
	began  time.Time
	info   fs.FileInfo // of the file that was read last
	offset int64
	note   string
	used   time.Time
}

// advance reads new values of a run's log. more reports whether values are left to read.
func (w *follower) advance(s *Server, f *folder, until time.Time) (more bool) {
	w.used = time.Now()
	if f.log == "" {
		return false
	}
	file, info, err := s.open(f.log)
	if err != nil {
		w.note = err.Error()
		return false
	}
	defer file.Close()
	if w.info == nil || info.Size() < w.offset || !os.SameFile(w.info, info) {
		w.curves, w.offset, w.began, w.note = map[string]*curve{}, 0, time.Time{}, ""
	}
	w.info = info
	for w.offset < info.Size() && w.note == "" {
		n, err := tracking.DecodeLines(io.NewSectionReader(file, w.offset, chunkBytes), w.add)
		w.offset += n
		switch {
		case err != nil:
			w.note = err.Error() + "; what stands before that is shown"
		case n == 0 && info.Size()-w.offset >= chunkBytes:
			w.note = fmt.Sprintf("the line after byte %d is longer than %d MiB", w.offset, chunkBytes>>20)
		case n == 0: // a line in progress
			return false
		case time.Now().After(until):
			return w.offset < info.Size()
		}
	}
	return false
}

// add adds a value to its curve.
func (w *follower) add(v tracking.Scalar) {
	if w.began.IsZero() {
		w.began = v.Time
	}
	c := w.curves[v.Tag]
	if c == nil {
		if len(w.curves) == maxTags {
			return
		}
		c = &curve{per: 1}
		w.curves[v.Tag] = c
	}
	c.add(v, v.Time.Sub(w.began).Seconds())
}

// Curves is the answer with the curves of runs.
type Curves struct {
	// Tags are all tags of the runs.
	Tags   []string `json:"tags"`
	Panels []Panel  `json:"panels"`
	// Notes say what is damaged or missing. Partial is true while logs are still being read.
	Notes   []string `json:"notes,omitempty"`
	Partial bool     `json:"partial,omitempty"`
}

// Panel has the curves of one tag.
type Panel struct {
	Tag    string  `json:"tag"`
	Curves []Curve `json:"curves"`
}

// Curve is a run's curve, or the mean of several seeds with a 95 % interval from Low to High. Every point is the mean
// of Per values.
type Curve struct {
	Name string          `json:"name"`
	Runs []string        `json:"runs"`
	Per  int             `json:"per"`
	X    []report.Number `json:"x"`
	Y    []report.Number `json:"y"`
	Low  []report.Number `json:"low,omitempty"`
	High []report.Number `json:"high,omitempty"`
}

// curvesOf returns curves of runs. Without tags it chooses the usual ones. The axis is steps, timesteps or time. With
// seeds it joins runs that differ only by their seed.
func (s *Server) curvesOf(ids, tags []string, axis string, seeds bool) Curves {
	s.reading.Lock()
	defer s.reading.Unlock()
	out, until := Curves{Tags: []string{}, Panels: []Panel{}}, time.Now().Add(readFor)
	var names, dirs []string
	followed := map[string]*follower{}
	for _, id := range ids {
		f := s.folder(id)
		if f == nil || followed[id] != nil || len(followed) == maxFollowed {
			continue
		}
		w := s.follow(id)
		out.Partial = w.advance(s, f, until) || out.Partial
		if w.note != "" {
			out.Notes = append(out.Notes, s.name(id)+": "+w.note)
		}
		out.Tags = slices.AppendSeq(out.Tags, maps.Keys(w.curves))
		followed[id] = w
		names, dirs = append(names, id), append(dirs, filepath.Join(s.dir, filepath.FromSlash(id)))
	}
	slices.Sort(out.Tags)
	out.Tags = slices.Compact(out.Tags)
	if len(tags) == 0 {
		tags = s.cfg.Tags(out.Tags)
	}
	groups := []Group{}
	if seeds {
		groups = s.cfg.Group(names, dirs)
	} else {
		for _, name := range names {
			groups = append(groups, Group{name, []string{name}})
		}
	}
	for _, tag := range tags[:min(len(tags), maxPanels)] {
		p := Panel{Tag: tag, Curves: []Curve{}}
		for _, g := range groups {
			if c, ok := s.joined(g, followed, tag, axis); ok {
				p.Curves = append(p.Curves, c)
			}
		}
		out.Panels = append(out.Panels, p)
	}
	return out
}

// maxPanels limits the panels of one answer.
const maxPanels = 24

// joined returns the curve of a group: the run's, or the mean of several runs.
func (s *Server) joined(g Group, followed map[string]*follower, tag, axis string) (c Curve, ok bool) {
	var x, y [][]float64
	c.Name, c.Per = s.name(g.Name), 1
	for _, id := range g.Runs {
		own := followed[id].curves[tag]
		if own == nil {
			continue
		}
		c.Runs, c.Per = append(c.Runs, id), max(c.Per, own.per)
		xs, ys := own.over(axis)
		x, y = append(x, xs), append(y, ys)
	}
	switch len(x) {
	case 0:
		return c, false
	case 1:
		c.X, c.Y = numbers(x[0]), numbers(y[0])
		return c, true
	}
	mean := aggregate.Curves(x, y, aggregate.Mean)
	c.Name = fmt.Sprintf("%s: mean of %d seeds", c.Name, len(x))
	c.X, c.Y, c.Low, c.High = numbers(mean.X), numbers(mean.Y), numbers(mean.Low), numbers(mean.High)
	return c, true
}

// over returns the points of a curve in the order of the axis.
func (c *curve) over(axis string) (x, y []float64) {
	for _, b := range c.buckets {
		at := float64(cmp.Or(b.env, b.step))
		switch axis {
		case "timesteps":
			at = float64(b.step)
		case "time":
			at = b.seconds
		}
		if n := len(x); n > 0 && at < x[n-1] { // written out of order
			at = x[n-1]
		}
		x, y = append(x, at), append(y, b.mean)
	}
	return x, y
}

// numbers converts values for JSON.
func numbers(values []float64) []report.Number {
	list := make([]report.Number, len(values))
	for i, v := range values {
		list[i] = report.Number(v)
	}
	return list
}

// follow returns the follower of a run. If there are too many, the least recently used one is dropped.
func (s *Server) follow(id string) *follower {
	if w := s.followers[id]; w != nil {
		return w
	}
	if len(s.followers) >= maxFollowed {
		ids := slices.Collect(maps.Keys(s.followers))
		delete(s.followers, slices.MinFunc(ids, func(a, b string) int {
			return s.followers[a].used.Compare(s.followers[b].used)
		}))
	}
	w := &follower{curves: map[string]*curve{}}
	s.followers[id] = w
	return w
}
