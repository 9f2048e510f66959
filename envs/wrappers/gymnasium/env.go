package gymnasium

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// Env is a batch of Gymnasium's environments in a few Python processes. It is an [envs.Observer], and an
// [envs.Renderer] where Options.RenderMode is "rgb_array", an [envs.RewardShaper], [envs.Curriculum] and
// [envs.MotionSource] where the Python environments have the methods that [Env.SetRewardShaping],
// [Env.SetCurriculumState] and [Env.CollectReferenceMotions] name; ask [envs.As]. Stepping allocates nothing unless an
// episode ends or infos are asked for.
type Env struct {
	options  Options
	set      spaces.Set
	about    description
	stderr   io.Writer
	children []*child

	file   *os.File
	memory []byte
	layout *layout
	header []byte // what the memory must begin with
	shared arrays // in the memory
	own    batch  // what is returned

	step       envs.Step
	returns    []float64
	lengths    []int
	partial    []bool // the episode in progress began at a random length
	episodes   []envs.Episode
	metrics    map[string]float64
	counts     map[string]int
	log        map[string]float64 // numbers of the whole batch that a simulator gave with this step
	infos      []json.RawMessage
	faults     []error           // of the children in this command
	shaping    map[string]any    // the reward parameters set for all environments, nil while none were set
	shaped     []map[string]any  // those of each Python object, see objects
	curriculum []json.RawMessage // the states put back, of each Python object
	replaced   int
	seeded     bool  // has been reset
	lastSeed   int64 // of the last seeded reset
	stepped    bool  // every environment has made a step, so that formerAMP or amp holds its last AMP observation
	ready      bool
	closed     bool
	failed     error // nothing but Close helps
	wO, wS, wM int   // the widths of observations, states and AMP observations
	kO, kS, kM []int // the choices of their columns
	kA         []int // those of actions
	rO, rS, rM []spaces.Run
	columns    int // how many numbers of an info have a place
}

// arrays are those of the shared memory, nil where the layout has none.
type arrays struct {
	actions                                        []float32
	observations, finals, states, finalStates, amp rows
	rewards, infos                                 []float64
	flags                                          []uint8
}

// rows are those of a space in the shared memory: columns of uint8 as bytes, all others as float32, each kind in the
// order of its columns.
type rows struct {
	floats []float32
	bytes  []uint8
}

// batch is what Step returns, copied from the shared memory once it is found to be good.
type batch struct {
	observations, former, finals, states, formerStates, finalStates, amp, formerAMP, rewards []float32
	exact                                                                                    []float64 // the rewards
	terminated, truncated, unknown, invalid                                                  []bool
}

// New starts the children and makes the environments. On an error nothing stays behind.
func New(o Options) (*Env, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	file, err := anonymousFile()
	if err != nil {
		return nil, fmt.Errorf("gymnasium: making shared memory: %w", err)
	}
	e := &Env{options: o, file: file, children: make([]*child, o.Children), columns: o.columns(),
		metrics: map[string]float64{}, counts: map[string]int{}}
	if o.Stderr != nil {
		e.stderr = &shared{to: o.Stderr}
	}
	if err := e.open(); err != nil {
		return nil, errors.Join(err, e.Close())
	}
	return e, nil
}

// open starts all children at once, then gives them the memory.
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

// meet reads a child's description of its environments, which must be that of all others.
func (e *Env) meet(c *child, first bool, deadline time.Time) error {
	head, err := c.describe(deadline)
	if err != nil {
		return err
	}
	about, set, err := parseDescription(head)
	switch {
	case err != nil:
		return c.fault(FaultStart, err, "%v", err)
	case first:
		e.about, e.set = about, set
		e.kA = choices(set.Action)
		e.kO, e.kS, e.kM = choices(set.Observation), choices(set.State), choices(set.AMPObservation)
		e.rO, e.rS, e.rM = set.Observation.Runs(), set.State.Runs(), set.AMPObservation.Runs()
		e.wO, e.wS, e.wM = set.Observation.Width(), set.State.Width(), set.AMPObservation.Width()
		return nil
	}
	if name, got, want := set.Difference(e.set); name != "" {
		return c.fault(FaultStart, nil,
			"its environments have the %s space %v, those of the first child %v, or with other limits; "+
				"they must be the same", name, got, want)
	}
	return nil
}

// allocate lays out and maps the shared memory and makes the batch that is returned.
func (e *Env) allocate() error {
	n := e.options.NumEnvs
	wanted := []array{{"actions", "f4", e.set.Action.Width()}, {"rewards", "f8", -1}, {"flags", "u1", -1},
		{"infos", "f8", e.columns}}
	for _, of := range []struct {
		name  string
		space spaces.Space
	}{{"observations", e.set.Observation}, {"final_observations", e.set.Observation}, {"states", e.set.State},
		{"final_states", e.set.State}, {"amp_observations", e.set.AMPObservation}} {
		small := of.space.Bytes()
		wanted = append(wanted, array{of.name, "f4", of.space.Width() - small}, array{of.name + bytesSuffix, "u1",
			small})
	}
	e.layout = plan("environments", len(e.children), n, wanted)
	var err error
	if e.header, err = e.layout.header(); err != nil {
		return err
	}
	if e.memory, err = mapFile(e.file, e.layout.Size); err != nil {
		return fmt.Errorf("gymnasium: mapping %d bytes of shared memory: %w", e.layout.Size, err)
	}
	copy(e.memory, e.header)
	e.shared = sharedArrays(e.memory, e.layout)
	o, s, amp := e.set.Observation, e.set.State, e.set.AMPObservation
	e.own = batch{
		observations: o.Rows(n), former: o.Rows(n), finals: o.Rows(n),
		states: s.Rows(n), formerStates: s.Rows(n), finalStates: s.Rows(n),
		amp: amp.Rows(n), formerAMP: amp.Rows(n), rewards: make([]float32, n), exact: make([]float64, n),
		terminated: make([]bool, n), truncated: make([]bool, n), unknown: make([]bool, n), invalid: make([]bool, n),
	}
	e.returns, e.lengths, e.partial = make([]float64, n), make([]int, n), make([]bool, n)
	e.episodes, e.faults = make([]envs.Episode, 0, n), make([]error, len(e.children))
	objects := n
	if e.options.Simulator != "" {
		objects = 1
	}
	e.infos, e.shaped, e.curriculum = make([]json.RawMessage, n), make([]map[string]any, objects),
		make([]json.RawMessage, objects)
	return nil
}

// bytesSuffix follows an array's name in that of its columns of uint8.
const bytesSuffix = "_bytes"

// sharedArrays finds the arrays that a layout says where they are.
func sharedArrays(m []byte, l *layout) arrays {
	of := func(name string) rows { return rows{view[float32](m, l, name), view[uint8](m, l, name+bytesSuffix)} }
	return arrays{
		actions: view[float32](m, l, "actions"), observations: of("observations"), finals: of("final_observations"),
		states: of("states"), finalStates: of("final_states"), amp: of("amp_observations"),
		rewards: view[float64](m, l, "rewards"), flags: view[uint8](m, l, "flags"), infos: view[float64](m, l, "infos"),
	}
}

// NumEnvs is the number of environments.
func (e *Env) NumEnvs() int { return e.options.NumEnvs }

// Spaces are those of every environment. A MultiBinary space is MultiDiscrete with two choices each; in a row the parts
// of a Dict stand sorted by their keys, discrete ones as their index, and arrays row by row. Discrete values begin at 0
// here, whatever they begin at in Python. A Box of uint8, a picture, stays one: its values travel as bytes.
func (e *Env) Spaces() spaces.Set { return e.set }

// Versions returns the versions of Python, gymnasium and numpy.
func (e *Env) Versions() (python, gymnasium, numpy string) {
	return e.about.Python, e.about.Gymnasium, e.about.NumPy
}

// Replaced is how many children have been replaced.
func (e *Env) Replaced() int { return e.replaced }

// Observe returns the current observations and states.
func (e *Env) Observe() (*envs.Step, error) {
	if e.closed || !e.ready {
		return nil, errors.New("gymnasium: nothing to observe: call Reset first")
	}
	return &envs.Step{Observations: e.own.observations, States: e.own.states}, nil
}

// usable is an error where the environments cannot be asked for anything.
func (e *Env) usable(what string) error {
	if e.closed {
		return fmt.Errorf("gymnasium: %s was called after Close", what)
	}
	return e.failed
}

// verifyHeader reports what a child wrote over the header.
func (e *Env) verifyHeader() error {
	if bytes.Equal(e.memory[:len(e.header)], e.header) {
		return nil
	}
	_, err := parseHeader(e.memory)
	if err == nil {
		err = errors.New("it is that of another layout")
	}
	return fmt.Errorf("gymnasium: an environment wrote over the header of the shared memory: %w", err)
}

// Close ends the children: those that are idle close their environments first, and have two seconds for it. A second
// call does nothing.
func (e *Env) Close() error {
	if e.closed {
		return nil
	}
	e.closed, e.ready = true, false
	for _, c := range e.children {
		if c != nil && c.block.Load() != nil && c.idle && !c.ended.Load() && !stopped(c.process.Process.Pid) {
			c.begin(commandClose)
		} else if c != nil {
			_ = c.process.Process.Kill()
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
	if e.memory != nil && all { // who is not gone may still have to be woken through it
		err = unmap(e.memory)
	}
	e.memory, e.shared = nil, arrays{}
	return errors.Join(err, e.file.Close())
}
