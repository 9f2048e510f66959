package gymnasium

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/gorl-dev/gorl/envs"
)

// Reset starts a new episode in every environment. With seed ≥ 0 environment i is reset with the seed seed + i, as in
// Gymnasium's vector environments. With a negative seed the random numbers continue; a first Reset then uses
// Options.Seed.
func (e *Env) Reset(seed int64) (*envs.Step, error) {
	if err := e.usable("Reset"); err != nil {
		return nil, err
	}
	if seed > math.MaxInt64-1<<40 {
		return nil, fmt.Errorf("gymnasium: seed is %d; it must be less than 2⁶³-2⁴⁰", seed)
	}
	if seed < 0 && !e.seeded {
		seed = e.options.Seed
	}
	if seed >= 0 {
		e.lastSeed = seed
	}
	e.ready = false
	if err := e.command(commandReset, seed); err != nil {
		return nil, err
	}
	for i := range e.returns {
		e.returns[i], e.lengths[i], e.partial[i] = 0, 0, e.options.RandomEpisodeLengths
	}
	clear(e.out)
	e.seeded, e.ready = true, true
	e.step = e.observed()
	return &e.step, nil
}

// Step applies one row of actions to every environment. Actions of the wrong length, NaN or infinite actions and
// indices out of range are refused before any environment moves. The limits of a Box are not checked: the environment
// enforces them, or wrappers.NewClipAction does.
//
// If a child fails, the error is a [*ChildError], which names the child and what happened to it. After an exception,
// or NaN from an environment, Reset makes the batch usable again. After any other failure it can only be closed.
func (e *Env) Step(actions []float32) (*envs.Step, error) {
	if err := e.usable("Step"); err != nil {
		return nil, err
	}
	if !e.ready {
		return nil, errors.New("gymnasium: call Reset before Step: the environments have not been reset, or an " +
			"error stopped them")
	}
	if len(actions) != len(e.shared.actions) || !copyFinite(e.shared.actions, actions) || e.choices != nil {
		if err := e.set.Action.Check(actions, e.options.NumEnvs); err != nil {
			return nil, fmt.Errorf("gymnasium: actions: %w", err)
		}
	}
	e.ready = false
	// AMP observations are of steps alone: a reset, and a step that fails, leave those of the step before.
	e.amp.swap()
	if err := e.command(commandStep, -1); err != nil {
		e.amp.swap()
		return nil, err
	}
	e.ready, e.stepped = true, true
	e.step = e.own
	e.step.Observations, e.step.States = e.observations.now, e.states.now
	e.step.AMPObservations, e.step.ActionMasks = e.amp.now, e.masks.now
	e.settleSeats()
	if !slices.Contains(e.own.FinalUnknown, true) {
		e.step.FinalUnknown = nil
	}
	if !slices.Contains(e.own.Invalid, true) {
		e.step.Invalid = nil
	}
	e.collectEpisodes()
	e.collectMetrics()
	return &e.step, nil
}

// command has all children reset or step, waits for each, copies what they wrote, and replaces those that failed if
// Options.Replace allows it. seed is that of a reset, negative for none. All children work at the same time; they
// share one deadline.
func (e *Env) command(what command, seed int64) error {
	deadline := time.Now().Add(e.options.Timeout)
	clear(e.infos)
	e.log = nil
	for _, c := range e.children {
		c.idle, c.renewed = false, false
		c.block.Load().seed = seed
		c.begin(what)
	}
	// What the last call returned must not change before all results are known to be good.
	for _, t := range []*table{&e.observations, &e.states, &e.masks} {
		t.swap()
	}
	failed := 0
	for i, c := range e.children {
		if e.faults[i] = e.gather(c, what, deadline); e.faults[i] != nil {
			failed++
		}
	}
	if err := e.verifyHeader(); err != nil { // a child wrote over it, and nothing shows which: all are replaced
		failed = len(e.children)
		for i, c := range e.children {
			e.faults[i] = c.fault(FaultProtocol, err, "%v", err)
		}
	}
	if failed == 0 {
		return nil
	}
	return e.replaceFailed(failed, what, seed)
}

// gather waits for a child to finish its command and copies what it wrote. An error is a [*ChildError]; the child is
// idle again if the error is not fatal.
func (e *Env) gather(c *child, what command, deadline time.Time) error {
	if err := c.wait(deadline); err != nil {
		return err
	}
	head, _, err := c.finish(deadline)
	c.idle = err == nil || !isFatal(err)
	if err != nil {
		return err
	}
	if head != nil {
		if err := e.hear(c, head); err != nil {
			return err
		}
	}
	return e.copyRows(c, what)
}

// hear reads the message that came with a step or a reset: the names of infos' columns if they changed, infos beyond
// numbers, and a simulator's log. A child sends none if there is nothing of the kind.
func (e *Env) hear(c *child, head []byte) error {
	var said struct {
		Columns []string                `json:"columns"`
		Infos   map[int]json.RawMessage `json:"infos"`
		Log     map[string]float64      `json:"log"`
	}
	if err := json.Unmarshal(head, &said); err != nil {
		return c.fault(FaultProtocol, err, "sent a message that cannot be read: %v", err)
	}
	if len(said.Columns) > e.columns {
		return c.fault(FaultProtocol, nil, "has %d numbers in its infos where there is room for %d", len(said.Columns),
			e.columns)
	}
	c.columns, e.log = said.Columns, said.Log
	for i, info := range said.Infos {
		if i < c.from || i >= c.to {
			return c.fault(FaultProtocol, nil, "has infos of environment %d", i)
		}
		e.infos[i] = info
	}
	return nil
}

// collectEpisodes adds the step to the returns and lengths of the episodes in progress, and lists those that ended.
// Episodes that began at a random length end like others, but are not listed.
func (e *Env) collectEpisodes() {
	e.episodes = e.episodes[:0]
	ended := false
	for _, c := range e.children {
		for i := c.from; i < c.to; i++ {
			if e.step.ResetOnly(i) {
				continue
			}
			e.returns[i] += e.exact[i]
			e.lengths[i]++
			if !e.own.Ended(i) {
				continue
			}
			ended = true
			if !e.partial[i] {
				episode := envs.Episode{Env: i, Return: e.returns[i], Length: e.lengths[i]}
				if !c.renewed {
					episode.Metrics = e.episodeMetrics(c, i, e.options.EpisodeMetrics)
				}
				e.episodes = append(e.episodes, episode)
			}
			// A new child's environments have been reset, and so begin at random lengths if they are to.
			e.returns[i], e.lengths[i], e.partial[i] = 0, 0, c.renewed && e.options.RandomEpisodeLengths
		}
	}
	if ended {
		e.step.FinalObservations, e.step.FinalStates = e.observations.finals, e.states.finals
	}
	if len(e.episodes) > 0 {
		e.step.Episodes = e.episodes
	}
}
