package gymnasium

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
	"unsafe"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/spaces"
)

// Reset starts a new episode in every environment. With seed ≥ 0 environment i is reset with the seed seed + i, as
// Gymnasium's vector environments are; with a negative one it goes on from where it was, and the first time from
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
	err := e.command(commandReset, seed)
	if err != nil {
		return nil, err
	}
	for i := range e.returns {
		e.returns[i], e.lengths[i], e.partial[i] = 0, 0, e.options.RandomEpisodeLengths
	}
	e.seeded, e.ready = true, true
	e.step = envs.Step{Observations: e.own.observations, States: e.own.states}
	return &e.step, nil
}

// Step applies one row of actions to every environment. Actions of the wrong length, NaN or infinite actions and
// indices out of range are refused before any environment moves; the limits of a Box are the environment's to enforce
// (or those of wrappers.NewClipAction). An error names the child and says what happened to it ([*ChildError]); where an
// environment raised an exception or returned NaN, Reset starts anew, after any other the batch can only be closed.
func (e *Env) Step(actions []float32) (*envs.Step, error) {
	if err := e.usable("Step"); err != nil {
		return nil, err
	}
	if !e.ready {
		return nil, errors.New("gymnasium: call Reset before Step: the environments have not been reset, or an " +
			"error stopped them")
	}
	if len(actions) != len(e.shared.actions) || !copyFinite(e.shared.actions, actions) || e.kA != nil {
		if err := e.set.Action.Check(actions, e.options.NumEnvs); err != nil {
			return nil, fmt.Errorf("gymnasium: actions: %w", err)
		}
	}
	e.ready = false
	// AMP observations are of steps alone: a reset, and a step that fails, leave those of the step before.
	e.own.amp, e.own.formerAMP = e.own.formerAMP, e.own.amp
	if err := e.command(commandStep, -1); err != nil {
		e.own.amp, e.own.formerAMP = e.own.formerAMP, e.own.amp
		return nil, err
	}
	e.ready, e.stepped = true, true
	e.step = envs.Step{
		Observations: e.own.observations, States: e.own.states, Rewards: e.own.rewards,
		Terminated: e.own.terminated, Truncated: e.own.truncated, AMPObservations: e.own.amp,
	}
	if slices.Contains(e.own.unknown, true) {
		e.step.FinalUnknown = e.own.unknown
	}
	if slices.Contains(e.own.invalid, true) {
		e.step.Invalid = e.own.invalid
	}
	e.collectEpisodes()
	e.collectMetrics()
	return &e.step, nil
}

// command has all children reset or step, copies what they wrote, and replaces those that failed where it may.
func (e *Env) command(what command, seed int64) error {
	deadline := time.Now().Add(e.options.Timeout)
	clear(e.infos)
	e.log = nil
	for _, c := range e.children {
		c.idle, c.renewed = false, false
		c.block.Load().seed = seed
		c.begin(what)
	}
	// What was returned before stays until all is known to be good.
	e.own.observations, e.own.former = e.own.former, e.own.observations
	e.own.states, e.own.formerStates = e.own.formerStates, e.own.states
	failed := false
	for i, c := range e.children {
		e.faults[i] = e.gather(c, what, deadline)
		failed = failed || e.faults[i] != nil
	}
	if err := e.verifyHeader(); err != nil {
		return e.blameAll(err, what, seed)
	}
	if !failed {
		return nil
	}
	return e.replaceFailed(what, seed)
}

// gather waits for a child and copies what it wrote.
func (e *Env) gather(c *child, what command, deadline time.Time) error {
	if err := c.wait(deadline, e.options.Spin); err != nil {
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

// isFatal reports whether an error leaves the child useless.
func isFatal(err error) bool {
	var fault *ChildError
	return !errors.As(err, &fault) || fault.fatal()
}

// hear reads what a child says beyond numbers.
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

// copyRows copies what a child wrote out of the shared memory, and checks the copy, which the child cannot change any
// more.
func (e *Env) copyRows(c *child, what command) error {
	if err := take(c, "observation", c.from, c.to, e.own.observations, e.shared.observations, e.wO, e.rO,
		e.kO); err != nil {
		return err
	}
	if err := take(c, "state", c.from, c.to, e.own.states, e.shared.states, e.wS, e.rS, e.kS); err != nil {
		return err
	}
	if what == commandReset {
		return nil
	}
	if err := take(c, "AMP observation", c.from, c.to, e.own.amp, e.shared.amp, e.wM, e.rM, e.kM); err != nil {
		return err
	}
	for i := c.from; i < c.to; i++ {
		e.own.exact[i] = e.shared.rewards[i]
		e.own.rewards[i] = float32(e.own.exact[i])
		if r := e.own.rewards[i]; r-r != 0 {
			return c.fault(FaultData, nil, "environment %d: the reward is %g; it must be finite", i, e.own.exact[i])
		}
		flags := e.shared.flags[i]
		ended := flags&(flagTerminated|flagTruncated) != 0
		if flags > flagTerminated|flagTruncated|flagUnknown|flagInvalid || !ended && flags&flagUnknown != 0 {
			return c.fault(FaultProtocol, nil, "environment %d: the flags are %#x", i, flags)
		}
		e.own.terminated[i], e.own.truncated[i] = flags&flagTerminated != 0, flags&flagTruncated != 0
		e.own.unknown[i], e.own.invalid[i] = flags&flagUnknown != 0, flags&flagInvalid != 0
		if !ended || e.own.unknown[i] {
			continue
		}
		if err := take(c, "last observation", i, i+1, e.own.finals, e.shared.finals, e.wO, e.rO, e.kO); err != nil {
			return err
		}
		if err := take(c, "last state", i, i+1, e.own.finalStates, e.shared.finalStates, e.wS, e.rS, e.kS); err != nil {
			return err
		}
	}
	return nil
}

// The bits of an environment's flags.
const (
	flagTerminated = 1 << iota
	flagTruncated
	flagUnknown // the episode ended, and its last observation was not kept
	flagInvalid // there was no transition: the environment was reset
)

// take copies the rows of the environments first to last (exclusive) of a child, of width w, and checks them.
func take(c *child, name string, first, last int, to []float32, from rows, w int, runs []spaces.Run,
	choices []int) error {
	out := to[first*w : last*w]
	var good bool
	if len(from.bytes) == 0 {
		good = copyFinite(out, from.floats[first*w:last*w])
	} else {
		from.widen(out, first, w, runs)
		good = finite(out)
	}
	if good && choices == nil {
		return nil
	}
	return inspect(c, name, first, out, w, choices)
}

// copyFinite copies in portions that stay in the processor's cache while they are looked at, and reports whether all
// numbers of the copy are finite.
func copyFinite(to, from []float32) bool {
	const portion = 2048
	good := true
	for len(to) > portion {
		copy(to[:portion], from)
		good = finite(to[:portion]) && good
		to, from = to[portion:], from[portion:]
	}
	copy(to, from)
	return finite(to) && good
}

// finite reports whether all numbers are: the exponents of those that are not have no bit that is 0, so that adding one
// reaches the bit of the sign. It looks at two numbers at once.
func finite(rows []float32) bool {
	const exponents, ones, signs = 0x7f80_0000_7f80_0000, 0x0080_0000_0080_0000, 0x8000_0000_8000_0000
	if len(rows) < 2 {
		return len(rows) == 0 || rows[0]-rows[0] == 0
	}
	pairs := unsafe.Slice((*uint64)(unsafe.Pointer(&rows[0])), len(rows)/2)
	last := rows[len(rows)-1]
	var a, b, c, d uint64
	for ; len(pairs) >= 4; pairs = pairs[4:] {
		a |= pairs[0]&exponents + ones
		b |= pairs[1]&exponents + ones
		c |= pairs[2]&exponents + ones
		d |= pairs[3]&exponents + ones
	}
	for _, p := range pairs {
		a |= p&exponents + ones
	}
	return (a|b|c|d)&signs == 0 && last-last == 0
}

// widen copies rows of width w, from that of environment first on, with bytes made numbers.
func (r rows) widen(out []float32, first, w int, runs []spaces.Run) {
	small := 0
	for _, run := range runs {
		if run.DType == spaces.Uint8 {
			small += run.To - run.From
		}
	}
	floats, bytes := r.floats, r.bytes[first*small:]
	if large := w - small; large > 0 {
		floats = floats[first*large:]
	}
	for ; len(out) > 0; out = out[w:] {
		for _, run := range runs {
			n := run.To - run.From
			if run.DType != spaces.Uint8 {
				copy(out[run.From:run.To], floats)
				floats = floats[n:]
				continue
			}
			for j, x := range bytes[:n] {
				out[run.From+j] = float32(x)
			}
			bytes = bytes[n:]
		}
	}
}

// inspect checks rows from that of environment first on.
func inspect(c *child, name string, first int, rows []float32, w int, choices []int) error {
	for j, x := range rows {
		switch {
		case x-x != 0:
			return c.fault(FaultData, nil, "environment %d: the %s has %g in dimension %d; it must be finite",
				first+j/w, name,
				x, j%w)
		case choices == nil || choices[j%w] == 0:
		case x < 0 || x >= float32(choices[j%w]) || x != float32(int(x)):
			return c.fault(FaultData, nil,
				"environment %d: the %s has %g in dimension %d; it must be a whole number from 0 to %d", first+j/w,
				name, x, j%w, choices[j%w]-1)
		}
	}
	return nil
}

// collectEpisodes lists the episodes that ended in this step.
func (e *Env) collectEpisodes() {
	e.episodes = e.episodes[:0]
	ended := false
	for _, c := range e.children {
		for i := c.from; i < c.to; i++ {
			if e.step.ResetOnly(i) {
				continue
			}
			e.returns[i] += e.own.exact[i]
			e.lengths[i]++
			if !e.own.terminated[i] && !e.own.truncated[i] {
				continue
			}
			ended = true
			if !e.partial[i] {
				episode := envs.Episode{Env: i, Return: e.returns[i], Length: e.lengths[i]}
				if !c.renewed {
					episode.Metrics = e.episodeMetrics(c, i)
				}
				e.episodes = append(e.episodes, episode)
			}
			// Where the child is a new one, its environments have begun anew, at random lengths, too.
			e.returns[i], e.lengths[i], e.partial[i] = 0, 0, c.renewed && e.options.RandomEpisodeLengths
		}
	}
	if ended {
		e.step.FinalObservations, e.step.FinalStates = e.own.finals, e.own.finalStates
	}
	if len(e.episodes) > 0 {
		e.step.Episodes = e.episodes
	}
}
