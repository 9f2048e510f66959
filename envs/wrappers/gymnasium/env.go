package gymnasium

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// Env is a batch of Gymnasium's environments in a few Python processes. Stepping allocates nothing, unless an episode
// ends or infos are asked for.
//
// Env is an [envs.Observer]. It is an [envs.Renderer] if Options.RenderMode is "rgb_array". It is an
// [envs.RewardShaper], [envs.Curriculum] and [envs.MotionSource] if the Python environments have the methods that
// [Env.SetRewardShaping], [Env.SetCurriculumState] and [Env.CollectReferenceMotions] name. Ask [envs.As].
type Env struct {
	// options are valid and have their defaults filled in.
	options Options
	// children are in the order of their environments: child k has those from k·N/K to (k+1)·N/K.
	children []*child
	// closed is set by Close for good. failed is the error after which only Close is left.
	closed bool
	failed error
	// exchange is the memory shared with the children; parameters are the reward parameters and curricula that a new
	// child is given again.
	exchange
	parameters
	// about is the description that the first child gave. All others gave the same spaces.
	about description
	// stderr is Options.Stderr behind a lock, nil for none. file is the shared memory.
	stderr io.Writer
	file   *os.File

	// step is what Reset and Step return; its slices are those of exchange.own.
	step envs.Step
	// returns (N) and lengths (N) are the sum of rewards and the number of steps of the episodes in progress.
	returns []float64
	lengths []int
	// partial (N) marks episodes that began at a random length. They are not reported, see
	// Options.RandomEpisodeLengths.
	partial []bool
	// episodes, metrics and counts are reused by every step. counts is how many environments gave a metric.
	episodes []envs.Episode
	metrics  map[string]float64
	counts   map[string]int
	// log holds numbers about the whole batch that a simulator gave with this step.
	log map[string]float64
	// infos (N) are the entries of infos beyond numbers, as JSON, nil for an environment without any.
	infos []json.RawMessage
	// faults (children) holds the fault of each child in this command, nil for a child that did it.
	faults []error
	// replaced counts the children that were replaced in all, against Options.Replace.
	replaced int
	// seeded is true after the first Reset. lastSeed is the seed of the last seeded Reset; seeds of new children
	// follow from it.
	seeded   bool
	lastSeed int64
	// stepped is true once every environment has made a step, so that formerAMP or amp holds its last AMP
	// observation.
	stepped bool
	// ready is true if Step may be called: a Reset has succeeded, and no error since.
	ready bool
}

// New starts the children and makes the environments. After an error no process and no memory is left.
func New(o Options) (*Env, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	file, err := anonymousFile()
	if err != nil {
		return nil, fmt.Errorf("gymnasium: making shared memory: %w", err)
	}
	e := &Env{options: o, children: make([]*child, o.Children), exchange: exchange{columns: o.columns()},
		file: file, metrics: map[string]float64{}, counts: map[string]int{}}
	if o.Stderr != nil {
		e.stderr = &shared{to: o.Stderr}
	}
	if err := e.open(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// open starts all children, so that they import and make their environments at the same time, which takes seconds. It
// then reads their descriptions and gives them the memory, whose size follows from the spaces. All of it must be done
// within Options.StartTimeout.
func (e *Env) open() error {
	deadline := time.Now().Add(e.options.StartTimeout)
	n, k := e.options.NumEnvs, e.options.Children
	for i := range e.children {
		c, err := startChild(&e.options, i, i*n/k, (i+1)*n/k, e.file, e.stderr, deadline)
		if err != nil {
			return err
		}
		e.children[i] = c
	}
	for i, c := range e.children {
		if err := e.meet(c, i == 0, deadline); err != nil {
			return err
		}
	}
	if err := e.allocate(); err != nil {
		return err
	}
	for _, c := range e.children {
		if err := c.attach(e.layout, e.memory, deadline); err != nil {
			return err
		}
	}
	return nil
}

// meet reads a child's description of its environments. The first child's spaces become those of the batch; any other
// child must have the same ones. A child that replaces another passes first as false.
func (e *Env) meet(c *child, first bool, deadline time.Time) error {
	head, _, err := c.read(deadline)
	if err != nil {
		return early(err)
	}
	about, set, err := parseDescription(head)
	switch {
	case err != nil:
		return c.fault(FaultStart, err, "%v", err)
	case first:
		e.about = about
		e.set = set
		return nil
	}
	if name, got, want := set.Difference(e.set); name != "" {
		return c.fault(FaultStart, nil,
			"its environments have the %s %s, those of the first child %s; they must be the same", name, got, want)
	}
	return nil
}

// allocate lays out and maps the shared memory, and makes what this process keeps per environment. The spaces must be
// known.
func (e *Env) allocate() error {
	n := e.options.NumEnvs
	if err := e.exchange.allocate(e.file, len(e.children), n); err != nil {
		return err
	}
	e.returns, e.lengths, e.partial = make([]float64, n), make([]int, n), make([]bool, n)
	e.episodes, e.faults = make([]envs.Episode, 0, n), make([]error, len(e.children))
	e.infos = make([]json.RawMessage, n)
	objects := n
	if e.options.Simulator != "" {
		objects = 1
	}
	e.shaped, e.curriculum = make([]map[string]any, objects), make([]json.RawMessage, objects)
	return nil
}

// NumEnvs is the number of environments.
func (e *Env) NumEnvs() int { return e.options.NumEnvs }

// Spaces are those of every environment. A MultiBinary space is MultiDiscrete with two choices each. In a row the
// parts of a Dict are sorted by their keys; a discrete part is its index, an array is row by row. Discrete values
// begin at 0 here, whatever their start in Python. A Box of uint8, a picture, remains one: its values travel as
// bytes.
func (e *Env) Spaces() spaces.Set { return e.set }

// Replaced is how many children have been replaced.
func (e *Env) Replaced() int { return e.replaced }

// Observe returns the current observations and states.
func (e *Env) Observe() (*envs.Step, error) {
	if e.closed || !e.ready {
		return nil, errors.New("gymnasium: nothing to observe: call Reset first")
	}
	step := e.observed()
	return &step, nil
}

// observed returns a step that has what is to be acted on next, and nothing of how it came about.
func (e *Env) observed() envs.Step {
	return envs.Step{Observations: e.observations.now, States: e.states.now, ActionMasks: e.masks.now,
		Seats: spaces.SeatStep{Active: e.own.Seats.Active}}
}

// Close ends the children. Idle children close their environments first, and have two seconds for it. A second call
// does nothing.
func (e *Env) Close() error {
	if e.closed {
		return nil
	}
	e.closed, e.ready = true, false
	for _, c := range e.children {
		if c != nil && c.block.Load() != nil && c.idle && !c.ended.Load() && !stopped(c.pid) {
			c.begin(commandClose)
		} else if c != nil {
			c.process.Kill()
		}
	}
	limit := time.NewTimer(2 * time.Second)
	defer limit.Stop()
	all := true
	for _, c := range e.children {
		if c == nil {
			continue
		}
		select {
		case <-c.gone:
		case <-limit.C:
			limit.Reset(0)
		}
		c.kill()
		all = all && c.ended.Load()
	}
	var err error
	// The goroutine of a child that is not gone yet still uses the memory, to wake a waiter.
	if e.memory != nil && all {
		err = unmap(e.memory)
	}
	e.memory, e.shared = nil, arrays{}
	return errors.Join(err, e.file.Close())
}
