package gymnasium

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/gorl-dev/gorl/spaces"
)

// exchange is the memory that this process shares with the children, and the copy of what they wrote. Children are
// user code and may write anything at any time, even after they have said that they are done. Therefore only the copy
// is checked, and only the copy is returned.
type exchange struct {
	// set are the spaces of every environment.
	set spaces.Set
	// memory is the whole mapping, layout the places in it, header its first bytes as this process wrote them.
	memory []byte
	layout *layout
	header []byte
	// shared are the arrays in the memory, own the checked copies that are returned.
	shared arrays
	own    batch
	// columns is how many numbers of an info have a place, K; 0 for none.
	columns int

	// The widths of a row of observations (O), states (S), AMP observations (M) and action masks (K).
	wO, wS, wM, wK int
	// The numbers of choices of their columns, 0 for a real number; nil if all columns are real numbers.
	kO, kS, kM []int
	// kA is the same of the actions.
	kA []int
	// The runs of columns of one type, which say which columns travel as bytes.
	rO, rS, rM, rK []spaces.Run
	// out (N, K) marks the seats whose episode has ended before the game has. It is empty without seats.
	out []bool
}

// arrays are those of the shared memory, nil for those that the layout lacks.
type arrays struct {
	// actions is (N, A), written by this process only.
	actions []float32
	// The rows that the children write: (N, O), (N, S), (N, M) or (N, K).
	observations, finals, states, finalStates, amp, masks rows
	// rewards is (N), in float64 as Python has them, or (N, seats). infos is (N, K), NaN where an info has no such
	// number.
	rewards, infos []float64
	// flags is (N), made of the flag bits, and seats (N, seats), see flagActive.
	flags, seats []uint8
}

// rows are the rows of one space in the shared memory. Columns of uint8 travel as bytes, which makes a picture a
// quarter as large; all others travel as float32. Each kind stands in the order of its columns.
type rows struct {
	floats []float32
	bytes  []uint8
}

// batch is what Step returns, copied from the shared memory. former, formerStates and formerMasks are what the call
// before returned: they must not change until this call is known to be good, and they end the episodes of a child that
// is lost. formerAMP is the same of the last step.
type batch struct {
	observations, former, finals, states, formerStates, finalStates, amp, formerAMP, rewards []float32
	masks, formerMasks                                                                       []float32
	// exact are the rewards in float64, from which the returns of episodes are summed.
	exact []float64
	// unknown and invalid become FinalUnknown and Invalid of [envs.Step] if any is set.
	terminated, truncated, unknown, invalid []bool
	// seats is what the step brought to the seats of a game.
	seats spaces.SeatStep
}

// describe sets the spaces and what follows from them: widths, choices and runs.
func (x *exchange) describe(set spaces.Set) {
	x.set, x.kA = set, choices(set.Action)
	x.kO, x.kS, x.kM = choices(set.Observation), choices(set.State), choices(set.AMPObservation)
	x.rO, x.rS, x.rM = set.Observation.Runs(), set.State.Runs(), set.AMPObservation.Runs()
	x.rK, x.wK = set.ActionMask.Runs(), set.ActionMask.Width()
	x.wO, x.wS, x.wM = set.Observation.Width(), set.State.Width(), set.AMPObservation.Width()
}

// allocate lays out and maps the memory of n environments in so many children, and makes the copies. It writes the
// header, which the children read.
func (x *exchange) allocate(file *os.File, children, n int) error {
	seats := len(x.set.Seats)
	wanted := []array{{"actions", "f4", x.set.Action.Width()}, {"rewards", "f8", cmp.Or(seats, -1)}, {"flags", "u1", -1},
		{"seats", "u1", seats}, {"infos", "f8", x.columns}}
	for _, of := range []struct {
		name  string
		space spaces.Space
	}{{"observations", x.set.Observation}, {"final_observations", x.set.Observation}, {"states", x.set.State},
		{"final_states", x.set.State}, {"amp_observations", x.set.AMPObservation},
		{"action_masks", x.set.ActionMask}} {
		small := of.space.Bytes()
		wanted = append(wanted, array{of.name, "f4", of.space.Width() - small},
			array{of.name + bytesSuffix, "u1", small})
	}
	x.layout = plan("environments", children, n, wanted)
	var err error
	if x.header, err = x.layout.header(); err != nil {
		return err
	}
	if x.memory, err = mapFile(file, x.layout.Size); err != nil {
		return fmt.Errorf("gymnasium: mapping %d bytes of shared memory: %w", x.layout.Size, err)
	}
	copy(x.memory, x.header)
	x.shared = sharedArrays(x.memory, x.layout)
	o, s, amp := x.set.Observation, x.set.State, x.set.AMPObservation
	x.own = batch{
		observations: o.Rows(n), former: o.Rows(n), finals: o.Rows(n),
		states: s.Rows(n), formerStates: s.Rows(n), finalStates: s.Rows(n),
		masks: x.set.ActionMask.Rows(n), formerMasks: x.set.ActionMask.Rows(n),
		amp: amp.Rows(n), formerAMP: amp.Rows(n), rewards: make([]float32, n), exact: make([]float64, n),
		terminated: make([]bool, n), truncated: make([]bool, n), unknown: make([]bool, n), invalid: make([]bool, n),
		seats: x.set.MakeSeatStep(n),
	}
	x.out = make([]bool, n*seats)
	return nil
}

// bytesSuffix ends the name of the array that holds the uint8 columns of a space: "observations_bytes".
const bytesSuffix = "_bytes"

// sharedArrays returns the arrays of a layout as slices of the memory m.
func sharedArrays(m []byte, l *layout) arrays {
	of := func(name string) rows { return rows{view[float32](m, l, name), view[uint8](m, l, name+bytesSuffix)} }
	return arrays{
		actions: view[float32](m, l, "actions"), observations: of("observations"), finals: of("final_observations"),
		states: of("states"), finalStates: of("final_states"), amp: of("amp_observations"),
		masks:   of("action_masks"),
		rewards: view[float64](m, l, "rewards"), flags: view[uint8](m, l, "flags"), infos: view[float64](m, l, "infos"),
		seats: view[uint8](m, l, "seats"),
	}
}

// verifyHeader returns an error if the header has changed, because a child wrote over it. The header lies before all
// else, so it shows writes to the beginning of the memory.
func (x *exchange) verifyHeader() error {
	if bytes.Equal(x.memory[:len(x.header)], x.header) {
		return nil
	}
	_, err := parseHeader(x.memory)
	if err == nil {
		err = errors.New("it is that of another layout")
	}
	return fmt.Errorf("gymnasium: an environment wrote over the header of the shared memory: %w", err)
}

// The bits of an environment's flags.
const (
	// flagTerminated and flagTruncated: the episode ended, by the task or by a limit; both may be set.
	flagTerminated = 1 << iota
	flagTruncated
	// flagUnknown: the episode ended, and its last observation was not kept.
	flagUnknown
	// flagInvalid: there was no transition to learn from, see Invalid of [envs.Step].
	flagInvalid
)

// copyRows copies what a child wrote for a step or a reset into own, and checks the copy: finite numbers, discrete
// values in range, flags that go together. After a reset there are observations, states and masks. Last observations
// are copied for the episodes that ended with a known one.
func (x *exchange) copyRows(c *child, what command) error {
	if err := take(c, "observation", c.from, c.to, x.own.observations, x.shared.observations, x.wO, x.rO,
		x.kO); err != nil {
		return err
	}
	if err := take(c, "state", c.from, c.to, x.own.states, x.shared.states, x.wS, x.rS, x.kS); err != nil {
		return err
	}
	if err := x.copyMasks(c); err != nil {
		return err
	}
	if what == commandReset {
		for i := c.from; i < c.to && len(x.set.Seats) > 0; i++ {
			if err := x.copySeats(c, i, what); err != nil {
				return err
			}
		}
		return nil
	}
	if err := take(c, "AMP observation", c.from, c.to, x.own.amp, x.shared.amp, x.wM, x.rM, x.kM); err != nil {
		return err
	}
	for i := c.from; i < c.to; i++ {
		if err := x.copyRewards(c, i); err != nil {
			return err
		}
		flags := x.shared.flags[i]
		ended := flags&(flagTerminated|flagTruncated) != 0
		if flags > flagTerminated|flagTruncated|flagUnknown|flagInvalid || !ended && flags&flagUnknown != 0 {
			return c.fault(FaultProtocol, nil, "environment %d: the flags are %#x", i, flags)
		}
		x.own.terminated[i], x.own.truncated[i] = flags&flagTerminated != 0, flags&flagTruncated != 0
		x.own.unknown[i], x.own.invalid[i] = flags&flagUnknown != 0, flags&flagInvalid != 0
		if len(x.set.Seats) > 0 {
			if err := x.copySeats(c, i, what); err != nil {
				return err
			}
		}
		if !ended || x.own.unknown[i] {
			continue
		}
		if err := take(c, "last observation", i, i+1, x.own.finals, x.shared.finals, x.wO, x.rO, x.kO); err != nil {
			return err
		}
		if err := take(c, "last state", i, i+1, x.own.finalStates, x.shared.finalStates, x.wS, x.rS, x.kS); err != nil {
			return err
		}
	}
	return nil
}

// copyMasks copies the action masks that a child wrote, and checks the copy.
func (x *exchange) copyMasks(c *child) error {
	if x.wK == 0 {
		return nil
	}
	if err := take(c, "action mask", c.from, c.to, x.own.masks, x.shared.masks, x.wK, x.rK, nil); err != nil {
		return err
	}
	for i := c.from; i < c.to; i++ {
		if err := x.set.CheckMask(x.own.masks[i*x.wK : (i+1)*x.wK]); err != nil {
			return c.fault(FaultData, err, "environment %d: %v", i, err)
		}
	}
	return nil
}

// truncate ends the episodes of the environments of c, a child that was replaced in this step. They are truncated at
// the last observations that were shown, with reward 0: what the lost step would have brought is unknown.
// own.observations already holds the first observations of the new child.
func (x *exchange) truncate(c *child) {
	c.renewed = true
	copy(x.own.finals[c.from*x.wO:c.to*x.wO], x.own.former[c.from*x.wO:])
	if x.wS > 0 {
		copy(x.own.finalStates[c.from*x.wS:c.to*x.wS], x.own.formerStates[c.from*x.wS:])
	}
	if x.wM > 0 {
		copy(x.own.amp[c.from*x.wM:c.to*x.wM], x.own.formerAMP[c.from*x.wM:])
	}
	for k := c.from; k < c.to; k++ {
		x.own.rewards[k], x.own.exact[k], x.own.terminated[k], x.own.truncated[k] = 0, 0, false, true
		x.own.unknown[k], x.own.invalid[k] = false, false
		x.truncateSeats(k)
	}
}

// numbers calls f for every number in environment i's last info whose name is among names. A nil names, or [Every] in
// it, stands for all. An absent number is NaN in the row, and is left out like any other that is not finite.
func (x *exchange) numbers(c *child, i int, names []string, f func(name string, x float64)) {
	k := x.columns
	if k == 0 {
		return
	}
	row := x.shared.infos[i*k : (i+1)*k]
	all := names == nil || slices.Contains(names, Every)
	for j, name := range c.columns {
		if x := row[j]; x-x == 0 && (all || slices.Contains(names, name)) {
			f(name, x)
		}
	}
}

// episodeMetrics returns the numbers of environment i's last info that names asks for, or nil if there are none.
func (x *exchange) episodeMetrics(c *child, i int, names []string) map[string]float64 {
	var found map[string]float64
	x.numbers(c, i, names, func(name string, x float64) {
		if found == nil {
			found = make(map[string]float64, len(c.columns))
		}
		found[name] = x
	})
	return found
}
