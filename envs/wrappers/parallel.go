package wrappers

import (
	"cmp"
	"errors"
	"fmt"
	"image"
	"math/rand/v2"
	"reflect"
	"runtime"
	"sync"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/capacity"
	"github.com/gorl-dev/gorl/internal/exclusive"
	"github.com/gorl-dev/gorl/internal/panics"
	"github.com/gorl-dev/gorl/spaces"
)

// ParallelOptions are the settings of [NewParallel].
type ParallelOptions struct {
	// Seed seeds the generators for a first Reset with a negative seed. It must not be negative.
	Seed int64
	// Workers is how many goroutines step environments at once: the default 0 means one for each processor Go may
	// use, and there are never more than environments. One worker steps them on the caller's goroutine, which is
	// faster for environments whose step takes less than a microsecond. Results do not depend on it.
	Workers int
}

// Parallel steps many [envs.Single] environments as one batch. Each has its own generator, seeded from the seed and
// its index. Environments that end are reset in the same step. Stepping allocates nothing, unless an episode ends
// whose environment is [envs.Metered].
//
// A panic inside an environment becomes a [*envs.PanicError]. A NaN or infinite value in what an environment returns
// is an error that names environment and dimension. After an error from Step, Reset must be called before the next
// Step. A Parallel is used by one goroutine at a time: a call of Reset, Step or Close during another one returns an
// error and changes nothing.
//
// Parallel is an [envs.Observer]. It is an [envs.Stateful], [envs.Renderer], [envs.Timed], [envs.MotionSource],
// [envs.RewardShaper] and [envs.Curriculum] if its environments are (a Single draws itself as [envs.SingleRenderer] and
// is shaped as [envs.SingleRewardShaper]). Ask [envs.As].
type Parallel struct {
	// guard refuses calls that overlap.
	guard exclusive.Guard
	// set are the spaces of every environment.
	set     spaces.Set
	singles singles
	// meters has each environment as a Metered, nil if it reports no figures.
	meters []envs.Metered
	// pcgs are the states of the generators rngs, one per environment. They are kept apart from rngs because they can
	// be seeded and saved.
	pcgs []rand.PCG
	rngs []*rand.Rand
	// returns and lengths (N) belong to the episodes in progress; metrics (N) to the episodes that ended in this
	// step.
	returns []float64
	lengths []int
	metrics []map[string]float64
	// shaping are the reward parameters last set for all environments, nil while none were set.
	shaping map[string]any

	// step is what Reset and Step return. Its slices are those of all, which the environments write.
	step, all envs.Step
	// episodes are those that ended in the last step. The slice is reused.
	episodes []envs.Episode
	// chunks split the environments between goroutines; wg waits for all chunks but the first.
	chunks []*chunk
	wg     sync.WaitGroup
	// ready is true after a Reset, while no error has come since.
	ready  bool
	closed bool
	// width has the number of values in a row of each kind, 0 for a space that is None.
	width struct{ observation, state, amp, action, mask int }
}

// The guarded methods, as errors name them.
var (
	callReset exclusive.Method = "Reset"
	callStep  exclusive.Method = "Step"
)

// NewParallel makes n environments by calling create with the indices 0 to n-1 in order, and returns them as one
// batch. All must have the same spaces. None may be, or wrap, the same pointer as another. If n environments do not
// fit into memory, the error says how many bytes they need. After an error the environments already made are closed.
func NewParallel(n int, create func(i int) (envs.Single, error), opts ParallelOptions) (*Parallel, error) {
	switch {
	case n <= 0:
		return nil, fmt.Errorf("wrappers: the number of environments is %d; it must be positive", n)
	case opts.Seed < 0:
		return nil, fmt.Errorf("wrappers: seed is %d; it must not be negative", opts.Seed)
	case opts.Workers < 0:
		return nil, fmt.Errorf("wrappers: workers is %d; it must not be negative (0 means one for each processor)",
			opts.Workers)
	}
	p := &Parallel{guard: exclusive.Guard{Object: "wrappers",
		Advice: "a batch of environments serves one goroutine at a time"}}
	// create is called by one goroutine and in order, so it may use a shared generator or counter.
	owners := map[any]int{}
	for i := range n {
		if err := p.add(i, create, owners); err != nil {
			return nil, errors.Join(err, p.singles.close())
		}
		if i == 0 { // whose spaces say how wide rows are
			if err := p.room(n); err != nil {
				return nil, errors.Join(err, p.singles.close())
			}
		}
	}
	p.allocate(n)
	p.seed(opts.Seed)
	p.startWorkers(min(cmp.Or(opts.Workers, runtime.GOMAXPROCS(0)), n))
	return p, nil
}

// Rewrap returns a batch of the environments of p, each inside what wrap puts around it, such as [NewTimeLimit] or the
// games of package pbt/selfplay. The batch has the generators and the number of workers of p. It takes over the
// environments: after Rewrap, p must not be used. After an error everything is closed.
func Rewrap(p *Parallel, wrap func(i int, single envs.Single) (envs.Single, error)) (*Parallel, error) {
	if p.closed {
		return nil, errors.New("wrappers: Rewrap of a batch that is closed")
	}
	made := 0
	q, err := NewParallel(len(p.singles), func(i int) (envs.Single, error) {
		s, err := wrap(i, p.singles[i])
		if err == nil && s != nil {
			made++
		}
		return s, err
	}, ParallelOptions{Workers: len(p.chunks)})
	if err != nil {
		p.singles = p.singles[made:] // NewParallel has closed the others
		return nil, errors.Join(err, p.Close())
	}
	copy(q.pcgs, p.pcgs)
	p.singles = nil // Close only stops the workers
	return q, p.Close()
}

// add makes environment i and appends it. Its spaces must equal those of environment 0, because the rows of a batch
// have one width. owners is that of claim.
func (p *Parallel) add(i int, create func(i int) (envs.Single, error), owners map[any]int) error {
	var s envs.Single
	if err := panics.Guard("its constructor", func() (err error) { s, err = create(i); return err }); err != nil {
		return fmt.Errorf("wrappers: environment %d: %w", i, err)
	}
	if s == nil {
		return fmt.Errorf("wrappers: environment %d is nil", i)
	}
	if err := claim(i, s, owners); err != nil {
		return err
	}
	p.singles = append(p.singles, s)
	var set spaces.Set
	if err := p.singles.call(i, func() error { set = s.Spaces(); return nil }); err != nil {
		return err
	}
	if i == 0 {
		if err := set.Validate(); err != nil {
			return fmt.Errorf("wrappers: environment 0 (%T): %w", s, err)
		}
		p.set = set
	}
	// The limits are compared too: a batch has one space for all of its rows.
	if name, got, want := set.Difference(p.set); name != "" {
		return fmt.Errorf("wrappers: environment %d (%T) has the %s %s, environment 0 has %s; they must be the same",
			i, s, name, got, want)
	}
	m, _ := envs.SingleAs[envs.Metered](s)
	p.meters = append(p.meters, m)
	return nil
}

// claim returns an error if s is, or wraps, the same pointer as an earlier environment: two environments would step
// one state. owners maps the pointers of all environments so far to their indices, and gets those of s.
func claim(i int, s envs.Single, owners map[any]int) error {
	for at := s; at != nil; {
		// Pointers to two variables of a type of size 0 may be equal.
		if t := reflect.TypeOf(at); t.Kind() == reflect.Pointer && t.Elem().Size() > 0 {
			if other, taken := owners[at]; taken {
				return fmt.Errorf("wrappers: environments %d and %d are the same %T, with one state; "+
					"make a new one for each index", other, i, at)
			}
			owners[at] = i
		}
		wrapper, ok := at.(interface{ Unwrap() envs.Single })
		if !ok {
			break
		}
		at = wrapper.Unwrap()
	}
	return nil
}

// room returns an error if n environments do not fit into memory, by their rows and 256 bytes of bookkeeping each.
// What an environment keeps itself is unknown here. It is called after the first environment, whose spaces give the
// widths.
func (p *Parallel) room(n int) error {
	// A rough bound in bytes for the generator, the counts and the slots in slices of one environment.
	const bookkeeping = 256
	row := 4 * (2*p.set.Observation.Width() + 2*p.set.State.Width() + p.set.AMPObservation.Width() +
		p.set.Action.Width() + p.set.ActionMask.Width())
	return capacity.Check(fmt.Sprintf("wrappers: %d environments", n), float64(n)*float64(row+bookkeeping))
}

// allocate makes the buffers and generators for n environments, so that stepping allocates nothing.
func (p *Parallel) allocate(n int) {
	p.width.observation, p.width.state = p.set.Observation.Width(), p.set.State.Width()
	p.width.amp, p.width.action = p.set.AMPObservation.Width(), p.set.Action.Width()
	p.width.mask = p.set.ActionMask.Width()
	p.all = envs.Step{
		Observations: p.set.Observation.Rows(n), FinalObservations: p.set.Observation.Rows(n),
		States: p.set.State.Rows(n), FinalStates: p.set.State.Rows(n), AMPObservations: p.set.AMPObservation.Rows(n),
		ActionMasks: p.set.ActionMask.Rows(n), Rewards: make([]float32, n),
		Terminated: make([]bool, n), Truncated: make([]bool, n), Seats: p.set.MakeSeatStep(n),
	}
	p.returns, p.lengths = make([]float64, n), make([]int, n)
	p.metrics = make([]map[string]float64, n)
	p.episodes = make([]envs.Episode, 0, n)
	p.pcgs = make([]rand.PCG, n) // whose states seed sets afterwards
	for i := range p.pcgs {
		p.rngs = append(p.rngs, rand.New(&p.pcgs[i]))
	}
}

// seed seeds every environment's generator from the seed and the environment's index. An environment's numbers do not
// depend on N, nor on the number of workers.
func (p *Parallel) seed(seed int64) {
	for i := range p.pcgs {
		// Index and seed are hashed separately: seed 1 of environment 0 is not seed 0 of environment 1.
		s := splitmix(uint64(seed))
		p.pcgs[i].Seed(s, splitmix(s^splitmix(uint64(i)+1)))
	}
}

// splitmix is the output function of SplitMix64 (Steele, Lea and Flood, 2014): nearby seeds give unrelated numbers.
func splitmix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// NumEnvs is the number of environments.
func (p *Parallel) NumEnvs() int { return len(p.singles) }

// Spaces are those of every environment.
func (p *Parallel) Spaces() spaces.Set { return p.set }

// Reset starts a new episode in every environment. A seed of at least 0 seeds every generator first.
func (p *Parallel) Reset(seed int64) (*envs.Step, error) {
	if err := p.guard.Enter(&callReset); err != nil {
		return nil, err
	}
	defer p.guard.Leave()
	if seed >= 0 {
		p.seed(seed)
	}
	// An error would leave rows of several episodes mixed. ready remains false then, and Step refuses to run.
	p.ready = false
	if err := p.advance(nil); err != nil {
		return nil, err
	}
	p.ready = true
	// A new Step: rewards, ends and final observations of the step before must not show after a reset.
	p.step = p.shown()
	return &p.step, nil
}

// Observe returns the current observations, states and action masks. After a failed Reset or Step there are none.
func (p *Parallel) Observe() (*envs.Step, error) {
	if p.closed || !p.ready {
		return nil, errors.New("wrappers: nothing to observe: call Reset or RestoreState first")
	}
	now := p.shown()
	return &now, nil
}

// shown is what the environments show to act on next.
func (p *Parallel) shown() envs.Step {
	return envs.Step{Observations: p.all.Observations, States: p.all.States, ActionMasks: p.all.ActionMasks,
		Seats: spaces.SeatStep{Active: p.all.Seats.Active}}
}

// Close stops the workers and closes every environment. A second call does nothing. While Step or Reset is running,
// Close returns an error and closes nothing.
func (p *Parallel) Close() error {
	first, err := p.guard.EnterClose()
	if !first {
		return err
	}
	defer p.guard.LeaveClose()
	p.closed = true
	for _, c := range p.chunks[1:] {
		close(c.work)
	}
	return p.singles.close()
}

// Supports reports whether the environments can be saved, drawn, shaped or asked for reference motion, and whether
// they have a curriculum, see [envs.As]. State, shaping and curricula need every environment. For pictures and
// reference motion only environment 0 is checked, which stands for all.
func (p *Parallel) Supports(iface any) bool {
	ok := true
	switch iface.(type) {
	case *envs.Stateful:
		ok = every[envs.Stateful](p.singles)
	case *envs.RewardShaper:
		ok = every[envs.SingleRewardShaper](p.singles)
	case *envs.Curriculum:
		ok = every[envs.Curriculum](p.singles)
	case *envs.Renderer:
		_, ok = envs.SingleAs[envs.SingleRenderer](p.singles[0])
	case *envs.MotionSource:
		_, ok = envs.SingleAs[envs.MotionSource](p.singles[0])
	}
	return ok
}

// Render draws environment i.
func (p *Parallel) Render(i int) (picture image.Image, err error) {
	if i < 0 || i >= len(p.singles) {
		return nil, fmt.Errorf("wrappers: environment %d is not one of %d", i, len(p.singles))
	}
	err = callAs(p.singles, i, "a picture", func(r envs.SingleRenderer) (err error) {
		picture, err = r.Render()
		return err
	})
	return picture, err
}

// StepDuration is the duration of a step of environment 0 in seconds, 0 if that is not known.
func (p *Parallel) StepDuration() float64 {
	if timed, ok := envs.SingleAs[envs.Timed](p.singles[0]); ok {
		return timed.StepDuration()
	}
	return 0
}

// CollectReferenceMotions returns n rows, n × M values, from environment 0. All environments show the same motion.
func (p *Parallel) CollectReferenceMotions(n int, rng *rand.Rand) (rows []float32, err error) {
	m, ok := envs.SingleAs[envs.MotionSource](p.singles[0])
	if !ok {
		return nil, fmt.Errorf("wrappers: the environment (%T) shows no reference motion: give it the method "+
			"CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error), see envs.MotionSource (%w)",
			p.singles[0], errors.ErrUnsupported)
	}
	err = p.singles.call(0, func() (err error) { rows, err = m.CollectReferenceMotions(n, rng); return err })
	return rows, err
}
