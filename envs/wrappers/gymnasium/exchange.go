package gymnasium

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/gorl-dev/gorl/spaces"
)

// exchange is the memory that this process shares with the children, and the copy of what they wrote. Children are user
// code, which may write anything at any time: only the copy is checked and returned.
type exchange struct {
	set     spaces.Set
	memory  []byte
	layout  *layout
	header  []byte // what the memory must begin with
	shared  arrays // in the memory
	own     batch  // what is returned
	columns int    // how many numbers of an info have a place

	wO, wS, wM int   // the widths of observations, states and AMP observations
	kO, kS, kM []int // the choices of their columns
	kA         []int // those of actions
	rO, rS, rM []spaces.Run
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

// describe sets the spaces.
func (x *exchange) describe(set spaces.Set) {
	x.set, x.kA = set, choices(set.Action)
	x.kO, x.kS, x.kM = choices(set.Observation), choices(set.State), choices(set.AMPObservation)
	x.rO, x.rS, x.rM = set.Observation.Runs(), set.State.Runs(), set.AMPObservation.Runs()
	x.wO, x.wS, x.wM = set.Observation.Width(), set.State.Width(), set.AMPObservation.Width()
}

// allocate lays out and maps the memory of n environments, and makes the copy.
func (x *exchange) allocate(file *os.File, children, n int) error {
	wanted := []array{{"actions", "f4", x.set.Action.Width()}, {"rewards", "f8", -1}, {"flags", "u1", -1},
		{"infos", "f8", x.columns}}
	for _, of := range []struct {
		name  string
		space spaces.Space
	}{{"observations", x.set.Observation}, {"final_observations", x.set.Observation}, {"states", x.set.State},
		{"final_states", x.set.State}, {"amp_observations", x.set.AMPObservation}} {
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
		amp: amp.Rows(n), formerAMP: amp.Rows(n), rewards: make([]float32, n), exact: make([]float64, n),
		terminated: make([]bool, n), truncated: make([]bool, n), unknown: make([]bool, n), invalid: make([]bool, n),
	}
	return nil
}

// bytesSuffix follows an array's name in that of its columns of uint8.
const bytesSuffix = "_bytes"

// sharedArrays finds the arrays of a layout.
func sharedArrays(m []byte, l *layout) arrays {
	of := func(name string) rows { return rows{view[float32](m, l, name), view[uint8](m, l, name+bytesSuffix)} }
	return arrays{
		actions: view[float32](m, l, "actions"), observations: of("observations"), finals: of("final_observations"),
		states: of("states"), finalStates: of("final_states"), amp: of("amp_observations"),
		rewards: view[float64](m, l, "rewards"), flags: view[uint8](m, l, "flags"), infos: view[float64](m, l, "infos"),
	}
}

// verifyHeader reports what a child wrote over the header.
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
	flagTerminated = 1 << iota
	flagTruncated
	flagUnknown // the episode ended, and its last observation was not kept
	flagInvalid // there was no transition: the environment was reset
)

// copyRows copies what a child wrote out of the shared memory, and checks the copy, which the child cannot change any
// more.
func (x *exchange) copyRows(c *child, what command) error {
	if err := take(c, "observation", c.from, c.to, x.own.observations, x.shared.observations, x.wO, x.rO,
		x.kO); err != nil {
		return err
	}
	if err := take(c, "state", c.from, c.to, x.own.states, x.shared.states, x.wS, x.rS, x.kS); err != nil {
		return err
	}
	if what == commandReset {
		return nil
	}
	if err := take(c, "AMP observation", c.from, c.to, x.own.amp, x.shared.amp, x.wM, x.rM, x.kM); err != nil {
		return err
	}
	for i := c.from; i < c.to; i++ {
		x.own.exact[i] = x.shared.rewards[i]
		x.own.rewards[i] = float32(x.own.exact[i])
		if r := x.own.rewards[i]; r-r != 0 {
			return c.fault(FaultData, nil, "environment %d: the reward is %g; it must be finite", i, x.own.exact[i])
		}
		flags := x.shared.flags[i]
		ended := flags&(flagTerminated|flagTruncated) != 0
		if flags > flagTerminated|flagTruncated|flagUnknown|flagInvalid || !ended && flags&flagUnknown != 0 {
			return c.fault(FaultProtocol, nil, "environment %d: the flags are %#x", i, flags)
		}
		x.own.terminated[i], x.own.truncated[i] = flags&flagTerminated != 0, flags&flagTruncated != 0
		x.own.unknown[i], x.own.invalid[i] = flags&flagUnknown != 0, flags&flagInvalid != 0
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

// truncate ends the episodes of a child that was replaced at the last observations that it showed.
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
	}
}

// numbers calls f for the finite numbers of environment i's info that are among names, nil and Every meaning all.
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

// episodeMetrics are the numbers of environment i's last info that were asked for, nil where there is none.
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
