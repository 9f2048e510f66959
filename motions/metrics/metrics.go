// Package metrics measures how near a policy's motion is to reference motion, with the figures of the field: the pose
// error of the AMP paper, success, root velocity error, coverage of a set of clips, and the phases of a gait
// (phases.go). Foot sliding is motions.Skeleton.FootSliding. All are pure functions of positions and times.
package metrics

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/internal/rotation"
	"github.com/gorl-dev/gorl/motions"
)

// Track is a motion as the positions of a character's bodies in the world, step by step.
type Track struct {
	// Positions holds a row a step: x, y, z of each body, the root first, in metres, z up.
	Positions [][]float64
	// Headings holds, for each step, the root's angle about z in radians. Only poses without heading need it.
	Headings []float64
}

// NewTrack makes a track of rows of positions (qpos) of a skeleton. It fails if a row has another width.
func NewTrack(s *motions.Skeleton, rows [][]float64) (*Track, error) {
	t := &Track{}
	width := s.Width()
	for k, row := range rows {
		if len(row) != width {
			return nil, fmt.Errorf("metrics: row %d has %d values; the skeleton %s has %d", k, len(row), s.Name, width)
		}
		positions := make([]float64, 3*len(s.Bodies))
		s.Forward(row, positions, nil)
		t.Positions = append(t.Positions, positions)
		t.Headings = append(t.Headings, rotation.Of(row[3:]).Heading())
	}
	return t, nil
}

// ClipTrack makes a track of a clip with a skeleton: steps rows, dt seconds apart, from time start on, over any number
// of loops. It fails for a clip without a skeleton.
func ClipTrack(c *motions.Clip, start, dt float64, steps int) (*Track, error) {
	s := c.Skeleton()
	if s == nil {
		return nil, fmt.Errorf("metrics: the clip %s has no skeleton: use motions.Humanoid, or give NewClip a skeleton",
			c.Name())
	}
	rows := make([][]float64, steps)
	for k := range rows {
		rows[k] = make([]float64, c.Width())
		c.At(start+float64(k)*dt, rows[k], nil)
	}
	return NewTrack(s, rows)
}

// check fails unless two tracks are of the same bodies.
func check(reference, episode *Track) error {
	if len(reference.Positions) == 0 || len(episode.Positions) == 0 {
		return errors.New("metrics: a track has no steps")
	}
	width := len(reference.Positions[0])
	for k, row := range slices.Concat(reference.Positions, episode.Positions) {
		if len(row) != width || width < 3 || width%3 != 0 {
			return fmt.Errorf("metrics: row %d of both tracks has %d values, the first %d; want 3 for each of the "+
				"same bodies", k, len(row), width)
		}
	}
	return nil
}

// PoseError returns the figure of the AMP paper (Peng et al. 2021, equation 10): the mean distance in metres between
// the bodies of the episode and of the reference, each relative to its root, in the world's orientation. The mean is
// taken over the path of dynamic time warping with the least sum of distances. Repeat a looping clip to the episode's
// length, from the phase of its first step on ([ClipTrack]).
//
// The paper's figure includes the heading. Without heading (withHeading false) both tracks are turned first until the
// roots face x, so that the direction in which a policy goes does not count. PoseError fails if the tracks' bodies
// differ, or if headings are missing.
func PoseError(reference, episode *Track, withHeading bool) (float64, error) {
	if err := check(reference, episode); err != nil {
		return 0, err
	}
	a, err := reference.relative(withHeading)
	if err != nil {
		return 0, err
	}
	b, err := episode.relative(withHeading)
	if err != nil {
		return 0, err
	}
	return warp(len(a), len(b), func(i, j int) float64 { return meanDistance(a[i], b[j]) }), nil
}

// relative returns the positions relative to the root's, turned by its heading if wanted.
func (t *Track) relative(withHeading bool) ([][]float64, error) {
	if !withHeading && len(t.Headings) != len(t.Positions) {
		return nil, fmt.Errorf("metrics: a track of %d steps has %d headings", len(t.Positions), len(t.Headings))
	}
	out := make([][]float64, len(t.Positions))
	for k, row := range t.Positions {
		sin, cos := 0.0, 1.0
		if !withHeading {
			sin, cos = math.Sincos(-t.Headings[k])
		}
		out[k] = make([]float64, len(row))
		for i := 0; i < len(row); i += 3 {
			x, y := row[i]-row[0], row[i+1]-row[1]
			out[k][i], out[k][i+1], out[k][i+2] = cos*x-sin*y, sin*x+cos*y, row[i+2]-row[2]
		}
	}
	return out, nil
}

// meanDistance returns the mean distance between bodies.
func meanDistance(a, b []float64) float64 {
	sum := 0.0
	for i := 0; i < len(a); i += 3 {
		dx, dy, dz := a[i]-b[i], a[i+1]-b[i+1], a[i+2]-b[i+2]
		sum += math.Sqrt(dx*dx + dy*dy + dz*dz)
	}
	return 3 * sum / float64(len(a))
}

// warp is dynamic time warping (Sakoe and Chiba 1978). Of all paths from (0, 0) to (n − 1, m − 1) whose steps advance
// i, j, or both by one, it takes the path with the least sum of costs, and returns the mean cost over that path. Of
// paths with equal sums it takes the one that advances both first. It calls cost n·m times and keeps two rows. n and m
// are positive.
func warp(n, m int, cost func(i, j int) float64) float64 {
	type cell struct {
		sum    float64
		length int
	}
	before, now := make([]cell, m), make([]cell, m)
	for i := range n {
		for j := range m {
			best := cell{math.Inf(1), 0}
			try := func(c cell) {
				if c.sum < best.sum {
					best = c
				}
			}
			if i == 0 && j == 0 {
				best = cell{}
			}
			if i > 0 && j > 0 {
				try(before[j-1])
			}
			if i > 0 {
				try(before[j])
			}
			if j > 0 {
				try(now[j-1])
			}
			now[j] = cell{best.sum + cost(i, j), best.length + 1}
		}
		before, now = now, before
	}
	last := before[m-1]
	return last.sum / float64(last.length)
}

// RootVelocityError returns the mean length in m/s of the difference between the roots' velocities, over the steps that
// both tracks have, dt seconds apart. It fails if a track has fewer than two steps.
func RootVelocityError(reference, episode *Track, dt float64) (float64, error) {
	if err := check(reference, episode); err != nil {
		return 0, err
	}
	steps := min(len(reference.Positions), len(episode.Positions)) - 1
	if steps < 1 || !(dt > 0) {
		return 0, fmt.Errorf("metrics: a velocity needs two steps in both tracks and a positive time between them, "+
			"not %g s", dt)
	}
	sum := 0.0
	for k := range steps {
		square := 0.0
		for i := range 3 {
			d := (episode.Positions[k+1][i] - episode.Positions[k][i]) -
				(reference.Positions[k+1][i] - reference.Positions[k][i])
			square += d * d
		}
		sum += math.Sqrt(square) / dt
	}
	return sum / float64(steps), nil
}

// Success reports whether an episode follows its reference: it is as long, and the mean distance of its bodies from the
// reference's, in the world, is never above limit metres (usually 0.5). Otherwise failed is the first step that is
// missing or too far away.
func Success(reference, episode *Track, limit float64) (ok bool, failed int, err error) {
	if err := check(reference, episode); err != nil {
		return false, 0, err
	}
	for k := range reference.Positions {
		if k >= len(episode.Positions) || !(meanDistance(reference.Positions[k], episode.Positions[k]) <= limit) {
			return false, k, nil
		}
	}
	return true, 0, nil
}

// Coverage returns the share of a set of clips that a policy's motion covers: every row of the motion votes for the
// clip with the row nearest to it, as in the ASE paper, and clips with a vote count. clips holds the rows of each clip
// and rows those of the policy, of the same features (for transitions two states, one after the other). Distances are
// Euclidean, in features standardised over all rows of the clips; features that do not vary there are left out.
// Coverage fails if rows are missing or differ in width.
func Coverage(clips [][][]float64, rows [][]float64) (float64, error) {
	var all [][]float64
	for i, c := range clips {
		if len(c) == 0 {
			return 0, fmt.Errorf("metrics: clip %d has no rows", i)
		}
		all = append(all, c...)
	}
	if len(all) == 0 || len(rows) == 0 {
		return 0, errors.New("metrics: coverage needs clips and rows")
	}
	width := len(all[0])
	for k, row := range slices.Concat(all, rows) {
		if len(row) != width {
			return 0, fmt.Errorf("metrics: row %d of clips and motion has %d features, the first row %d", k,
				len(row), width)
		}
	}
	scale, column := make([]float64, width), make([]float64, len(all))
	for i := range scale {
		for k, row := range all {
			column[k] = row[i]
		}
		if variance := stat.PopVariance(column, nil); variance > 1e-12 {
			scale[i] = 1 / variance
		}
	}
	voted := map[int]bool{}
	for _, row := range rows {
		best, nearest := math.Inf(1), 0
		for c, clip := range clips {
			for _, other := range clip {
				d := 0.0
				for i, x := range row {
					d += (x - other[i]) * (x - other[i]) * scale[i]
				}
				if d < best {
					best, nearest = d, c
				}
			}
		}
		voted[nearest] = true
	}
	return float64(len(voted)) / float64(len(clips)), nil
}
