package mujoco

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// starts says where episodes begin: in a clip by its weight and at a uniform time, unless CharacterConfig.FailureStarts
// has some begin where others terminated.
type starts struct {
	clip   int       // in which all begin; negative: drawn
	first  []int     // the first bin of each clip, and the number of all
	counts []float64 // of terminations by bin, decaying; nil without FailureStarts
	fell   []int     // of each environment: the bin in which its episode terminated in this step, or -1
}

// Bins of a clip are as long as each other: at most so many seconds, and at least so many of them.
const (
	longestBin = 1.0
	fewestBins = 8
)

// newStarts makes the bins of the clips.
func newStarts(refs []reference, numEnvs int) starts {
	s := starts{clip: -1, first: []int{0}}
	for i := range refs {
		bins := max(fewestBins, int(math.Ceil(refs[i].clip.Duration()/longestBin)))
		s.first = append(s.first, s.first[i]+min(bins, refs[i].rows))
	}
	s.counts, s.fell = make([]float64, s.first[len(refs)]), make([]int, numEnvs)
	return s
}

// rows are the first row of bin b of a clip, and the one behind its last.
func (s *starts) rows(r *reference, clip, b int) (first, end int) {
	bins := s.first[clip+1] - s.first[clip]
	return (b*r.rows + bins - 1) / bins, ((b+1)*r.rows + bins - 1) / bins
}

// bin is the one of all clips in which an environment is now, or without a clock the one in which its episode began.
func (c *characterTask) bin(mem []float64) int {
	clip, r := int(mem[memoryClip]), c.reference(mem)
	row := int(math.Floor((mem[memoryTime]-float64(c.cfg.History-1)*c.dt)/r.spacing + 1e-6))
	row = (row%r.rows + r.rows) % r.rows
	first := c.starts.first
	return first[clip] + row*(first[clip+1]-first[clip])/r.rows
}

// start draws where an episode begins: a clip, and a row of it.
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
		// No episode has terminated yet: draw by weight.
	}
	clip = c.draw(rng)
	return clip, rng.IntN(c.refs[clip].rows)
}

// shared implements sharedTask.
func (c *characterTask) shared() []float64 { return c.starts.counts }

// stepped implements sharedTask: it counts the terminations of a step, and the step.
func (c *characterTask) stepped() {
	c.faded++
	s := &c.starts
	if s.counts == nil {
		return
	}
	for i := range s.counts {
		s.counts[i] *= c.cfg.FailureDecay
	}
	for _, bin := range s.fell {
		if bin >= 0 {
			s.counts[bin]++
		}
	}
}

// Clip is the number of the clip of Motions that character i is in.
func (c *Character) Clip(i int) (int, error) {
	if err := c.has(i); err != nil {
		return 0, err
	}
	return int(c.task.memory(&c.states[i])[memoryClip]), nil
}

// SetClip has the episodes that begin from now on, of all characters, begin at a random moment of the clip with this
// number among Motions; −1 draws the clip again, as at first. It is no part of the state that is saved.
func (c *Character) SetClip(number int) error {
	if number < -1 || number >= len(c.task.refs) {
		return fmt.Errorf("mujoco: character: there is no clip %d; they are numbered from 0 to %d, and -1 is any",
			number,
			len(c.task.refs)-1)
	}
	c.task.starts.clip = number
	return nil
}
