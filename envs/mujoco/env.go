package mujoco

// #include "engine.h"
import "C"

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// Env is a [Task] in N simulations of a model. It implements [envs.Env], [envs.Observer], [envs.Renderer],
// [envs.Stateful] and [envs.Terminator], and [envs.MotionSource] if the task does.
type Env struct {
	// cfg holds the settings with defaults filled in.
	cfg  Config
	task Task
	spec Spec
	// model is that of the batch.
	model *Model
	batch *Batch
	// states (N) are the task's views of the simulations.
	states []State
	// initial (NQ) holds the model's initial positions, from which every Reset of the task starts.
	initial []float64
	// pcg (N) are the sources of the generators in rng. They are kept because only a source can be saved.
	pcg []*rand.PCG
	// rng (N) has one generator per environment, so that results do not depend on the number of workers.
	rng []*rand.Rand
	// ends (N) marks the episodes that the next step terminates at the request of Terminate.
	ends   []bool
	ledger ledger
	// random holds what differs between the environments. It is nil if nothing does.
	random *randomizer
	// started is false before the first Reset and after an error from MuJoCo. Step and Observe need it.
	started bool

	// actions (N, A) are the caller's, set only while Step runs.
	actions []float32
	// observation (N, O) and state (N, S) are the current rows. The workers overwrite them in every step.
	observation []float32
	state       []float32
	// final holds the buffers FinalObservations and FinalStates. Only rows of episodes that ended are valid, and Step
	// returns the buffers only if there are such rows.
	final envs.Step
	// lists has one list per worker: the environments of the current piece that begin an episode.
	lists [][]C.int
	// out is what Step returns. Its slices are allocated once and reused.
	out envs.Step
	// stepWork and resetWork are the pool's work functions. They are made once so that a step does not allocate.
	stepWork  func(worker, first, last int)
	resetWork func(worker, first, last int)
	// drawing is made by the first call that draws.
	drawing *drawing
}

// New makes the environments. The error says which setting, space or part of the model is wrong.
func New(cfg Config, task Task) (*Env, error) {
	if task == nil {
		return nil, errors.New("mujoco: an environment needs a task")
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	m, err := cfg.model()
	if err != nil {
		return nil, err
	}
	defer m.release()
	return newEnv(cfg, m, task)
}

// newEnv builds the environment of a checked configuration. The batch takes its own reference to m.
func newEnv(cfg Config, m *Model, task Task) (*Env, error) {
	spec, err := task.Init(m)
	if err != nil {
		return nil, fmt.Errorf("mujoco: the task: %w", err)
	}
	if err := spec.Spaces.Validate(); err != nil {
		return nil, fmt.Errorf("mujoco: the task's %w", err)
	}
	if spec.Memory < 0 {
		return nil, fmt.Errorf("mujoco: the task's Memory is %d; it must not be negative", spec.Memory)
	}
	spec.Name = cmp.Or(spec.Name, "task")
	batch, err := NewBatch(m, cfg.NumEnvs, cfg.Workers)
	if err != nil {
		return nil, err
	}
	n := cfg.NumEnvs
	random, err := newRandomizer(cfg.character, batch)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("mujoco: %s: %w", spec.Name, err), batch.Close())
	}
	e := &Env{cfg: cfg, task: task, spec: spec, model: m, batch: batch, initial: m.InitialQPos(),
		ends: make([]bool, n), ledger: newLedger(task, spec.Name, n, cfg.EpisodeLength, random), random: random}
	e.states = newStates(batch, make([]float64, n*spec.Memory), spec.Memory, m.TimeStep()*float64(cfg.Substeps))
	for range n {
		p := rand.NewPCG(0, 0)
		e.pcg, e.rng = append(e.pcg, p), append(e.rng, rand.New(p))
	}
	s := spec.Spaces
	e.observation, e.state = s.Observation.Rows(n), s.State.Rows(n)
	e.final = envs.Step{FinalObservations: s.Observation.Rows(n), FinalStates: s.State.Rows(n)}
	e.out = envs.Step{
		Rewards: make([]float32, n), Terminated: make([]bool, n), Truncated: make([]bool, n),
		AMPObservations: s.AMPObservation.Rows(n), Episodes: make([]envs.Episode, 0, n),
	}
	if e.ledger.task != nil {
		e.out.Metrics = map[string]float64{}
	}
	for range batch.pool.workers() {
		e.lists = append(e.lists, make([]C.int, 0, n))
	}
	e.stepWork = e.stepPiece
	e.resetWork = func(worker, first, last int) {
		list := e.lists[worker][:0]
		for i := first; i < last; i++ {
			// A Reset abandons running episodes, whose sums collect never takes.
			clear(row(e.ledger.sums, i, len(e.ledger.names)))
			list = append(list, C.int(i))
		}
		e.lists[worker] = list
		e.begin(worker, list)
	}
	e.seed(cfg.Seed)
	return e, nil
}

// seed gives environment i a generator of stream i, and clears what the task keeps for all environments together.
func (e *Env) seed(seed int64) {
	for i, p := range e.pcg {
		p.Seed(uint64(seed), uint64(i))
	}
	clear(e.counts())
}

// NumEnvs is the number of environments.
func (e *Env) NumEnvs() int { return len(e.states) }

// Spaces returns the task's spaces.
func (e *Env) Spaces() spaces.Set { return e.spec.Spaces }

// MuJoCo returns e. Types that embed an Env have the method, too.
func (e *Env) MuJoCo() *Env { return e }

// Model returns the simulated model. It lives as long as the environment.
func (e *Env) Model() *Model { return e.model }

// StepDuration is the duration of a control step in seconds.
func (e *Env) StepDuration() float64 { return e.states[0].TimeStep }

// State returns environment i as its task sees it. It is valid until the next Step, Reset, RestoreState or Close, and
// must not be written.
func (e *Env) State(i int) *State { return &e.states[i] }

// Reset starts an episode in every environment. With seed ≥ 0 environment i draws from a generator seeded with
// (seed, i), and first episodes are staggered if Config says so.
func (e *Env) Reset(seed int64) (*envs.Step, error) {
	if e.batch.c == nil {
		return nil, errClosed
	}
	if seed >= 0 {
		e.seed(seed)
	}
	e.started, e.batch.err = false, nil
	clear(e.ends)
	e.batch.pool.run(e.resetWork)
	if e.batch.err != nil {
		return nil, e.batch.err
	}
	if seed >= 0 && e.cfg.Stagger > 0 {
		for i := range e.states {
			e.ledger.limit[i] -= e.rng[i].IntN(e.cfg.Stagger)
		}
	}
	e.started = true
	return e.Observe()
}

// errClosed is the error of methods that need the simulations, after Close.
var errClosed = errors.New("mujoco: the environment is closed")

// ready returns an error if the environment is closed, or has not been reset.
func (e *Env) ready() error {
	switch {
	case e.batch.c == nil:
		return errClosed
	case !e.started:
		return errors.New("mujoco: the environment has not been reset, or failed; call Reset first")
	}
	return nil
}

// Observe returns the current observations and states, as the last Reset, Step or RestoreState left them.
func (e *Env) Observe() (*envs.Step, error) {
	if err := e.ready(); err != nil {
		return nil, err
	}
	return &envs.Step{Observations: e.observation, States: e.state}, nil
}

// Step applies one row of actions (N, A) to every environment for one control step. Actions must be finite. If Step
// refuses them, the environments are unchanged. After an error from MuJoCo itself, call Reset.
func (e *Env) Step(actions []float32) (*envs.Step, error) {
	if err := e.ready(); err != nil {
		return nil, err
	}
	w := e.spec.Spaces.Action.Width()
	if len(actions) != len(e.states)*w {
		return nil, fmt.Errorf("mujoco: %d action values for %d environments of %d", len(actions), len(e.states), w)
	}
	for i, a := range actions {
		if a-a != 0 {
			return nil, fmt.Errorf("mujoco: action %d of environment %d is %g; actions must be finite", i%w, i/w, a)
		}
	}
	e.actions, e.batch.err = actions, nil
	e.batch.pool.run(e.stepWork)
	e.actions = nil
	if e.batch.err != nil {
		e.started = false
		return nil, e.batch.err
	}
	clear(e.ends)
	e.out.Observations, e.out.States = e.observation, e.state
	e.out.FinalObservations, e.out.FinalStates = nil, nil
	if e.ledger.collect(&e.out); len(e.out.Episodes) > 0 {
		e.out.FinalObservations, e.out.FinalStates = e.final.FinalObservations, e.final.FinalStates
	}
	if e.cfg.character != nil {
		e.cfg.character.stepped()
	}
	if e.random != nil {
		e.random.steps++
	}
	return &e.out, nil
}

// Terminate implements [envs.Terminator].
func (e *Env) Terminate(ends []bool) error {
	if len(ends) != 0 && len(ends) != len(e.ends) {
		return fmt.Errorf("mujoco: Terminate was given %d environments of %d", len(ends), len(e.ends))
	}
	clear(e.ends)
	copy(e.ends, ends)
	return nil
}

// Close frees the simulations, and the model unless another environment or batch uses it. It may be called twice.
func (e *Env) Close() error {
	if e.drawing != nil {
		e.drawing.close()
		e.drawing = nil
	}
	for i := range e.states {
		e.states[i] = State{Env: i}
	}
	return e.batch.Close()
}

// CollectReferenceMotions implements [envs.MotionSource] if the task does.
func (e *Env) CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error) {
	if s, ok := e.task.(envs.MotionSource); ok {
		return s.CollectReferenceMotions(n, rng)
	}
	return nil, fmt.Errorf("mujoco: the task %q has no reference motion: %w", e.spec.Name, errors.ErrUnsupported)
}

// CollectOverlappingMotions implements [envs.OverlappingMotionSource] if the task does.
func (e *Env) CollectOverlappingMotions(n int, rng *rand.Rand) ([]float32, error) {
	if s, ok := e.task.(envs.OverlappingMotionSource); ok {
		return s.CollectOverlappingMotions(n, rng)
	}
	return nil, fmt.Errorf("mujoco: the task %q has no reference motion in windows that overlap: %w", e.spec.Name,
		errors.ErrUnsupported)
}

// Supports reports whether the environment supports an optional interface, given as a nil pointer to it. Only reference
// motion depends on the task.
func (e *Env) Supports(iface any) bool {
	switch iface.(type) {
	case *envs.MotionSource:
		_, ok := e.task.(envs.MotionSource)
		return ok
	case *envs.OverlappingMotionSource:
		_, ok := e.task.(envs.OverlappingMotionSource)
		return ok
	}
	return true
}
