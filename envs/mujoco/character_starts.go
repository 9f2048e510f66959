package mujoco

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// starts decides where episodes begin. By default that is in a clip drawn by weight, at a uniform time. With
// CharacterConfig.FailureStarts some episodes begin where others terminated. For this, clips are divided into bins, and
// terminations are counted per bin (the adaptive sampling of BeyondMimic, Liao et al. 2025).
type starts struct {
	// clip is the clip in which all episodes begin, see Character.SetClip. A negative number means a drawn clip.
	clip int
	// first is the index of each clip's first bin, followed by the number of all bins.
	first []int
	// counts are the terminations per bin, which decay by failureDecay per step. nil without FailureStarts.
	counts []float64
	// fell (N) is the bin in which the environment's episode terminated in this step, or -1.
	fell []int
}

// All bins of a clip have the same length.
const (
	longestBin = 1.0 // s
	fewestBins = 8   // per clip, unless the clip has fewer rows

	// failureDecay is the factor per control step of the counts of terminations, which therefore last about 1000 steps.
	failureDecay = 0.999
)

// newStarts divides the clips into bins. A bin has at least one row of features, at which episodes can begin.
func newStarts(refs []reference, numEnvs int) starts {
	s := starts{clip: -1, first: []int{0}}
	for i := range refs {
		bins := max(fewestBins, int(math.Ceil(refs[i].clip.Duration()/longestBin)))
		s.first = append(s.first, s.first[i]+min(bins, refs[i].rows))
	}
	s.counts, s.fell = make([]float64, s.first[len(refs)]), make([]int, numEnvs)
	return s
}

// rows returns the range [first, end) of feature rows in bin b of a clip.
func (s *starts) rows(r *reference, clip, b int) (first, end int) {
	bins := s.first[clip+1] - s.first[clip]
	return (b*r.rows + bins - 1) / bins, ((b+1)*r.rows + bins - 1) / bins
}

// bin returns the index, over all clips, of the bin in which an environment is now. Without a clock it is the bin in
// which the episode began, because the time in the clip does not advance. mem is the environment's memory.
func (c *characterTask) bin(mem []float64) int {
	clip, r := int(mem[memoryClip]), c.reference(mem)
	// The row whose last moment is now. 1e-6 keeps rounding from selecting the row before.
	row := int(math.Floor((mem[memoryTime]-float64(c.cfg.History-1)*c.dt)/r.spacing + 1e-6))
	row = (row%r.rows + r.rows) % r.rows
	first := c.starts.first
	return first[clip] + row*(first[clip+1]-first[clip])/r.rows
}

// start draws where an episode begins: a clip, the first one with a clock, and a row of its features.
func (c *characterTask) start(rng *rand.Rand) (clip, row int) {
	s := &c.starts
	if s.clip >= 0 {
		return s.clip, rng.IntN(c.refs[s.clip].rows)
	}
	if s.counts != nil && rng.Float64() < c.cfg.FailureStarts {
		total := 0.0
		for _, n := range s.counts {
			total += n
		}
		x := rng.Float64() * total
		for clip := range c.refs {
			for b, n := range s.counts[s.first[clip]:s.first[clip+1]] {
				if x -= n; x < 0 {
					first, end := s.rows(&c.refs[clip], clip, b)
					return clip, first + rng.IntN(end-first)
				}
			}
		}
		// All counts are 0, since no episode has terminated yet: draw by weight.
	}
	if clip = c.draw(rng); c.cfg.Clock {
		clip = 0
	}
	return clip, rng.IntN(c.refs[clip].rows)
}

// counts returns what a task keeps for all environments together: a character's counts of terminations, or nil. The
// numbers change only between steps, so that results do not depend on the order in which workers step environments.
// They are part of a saved state, and a seeded Reset clears them.
func (e *Env) counts() []float64 {
	if e.cfg.character == nil {
		return nil
	}
	return e.cfg.character.starts.counts
}

// stepped advances the fade and counts the step's terminations, after all environments have stepped. Workers only note
// terminations in fell, because adding to shared counts would need a lock.
func (c *characterTask) stepped() {
	c.faded++
	s := &c.starts
	if s.counts == nil {
		return
	}
	for i := range s.counts {
		s.counts[i] *= failureDecay
	}
	for _, bin := range s.fell {
		if bin >= 0 {
			s.counts[bin]++
		}
	}
}

// Clip returns the index in Motions of the clip in which the episode of character i began.
func (c *Character) Clip(i int) (int, error) {
	if err := c.has(i); err != nil {
		return 0, err
	}
	return int(c.task.memory(&c.states[i])[memoryClip]), nil
}

// SetClip makes all later episodes begin at a random moment of one clip, given by its index in Motions. −1 restores the
// default: each episode draws its clip. The choice is not part of a saved state.
func (c *Character) SetClip(number int) error {
	if number < -1 || number >= len(c.task.refs) {
		return fmt.Errorf("mujoco: character: there is no clip %d; they are numbered from 0 to %d, and -1 is any",
			number,
			len(c.task.refs)-1)
	}
	c.task.starts.clip = number
	return nil
}
