package gymnasium

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/gorl-dev/gorl/envs"
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
	// observations, states, amp and masks are the rows that the children write.
	observations, states, amp, masks table
	// shared are the other arrays in the memory. own has their checked copies, and exact the rewards in float64, from
	// which the returns of episodes are summed.
	shared arrays
	own    envs.Step
	exact  []float64
	// columns is how many numbers of an info have a place, K; 0 for none.
	columns int
	// choices are those of the columns of actions, see table.
	choices []int
	// out (N, K) marks the seats whose episode has ended before the game has. It is empty without seats.
	out []bool
}

// table holds the rows of one space, of all environments.
type table struct {
	// name is what errors call a row, width the number of its values. A table without values has width 0.
	name  string
	space spaces.Space
	width int
	// choices are the numbers of choices of the columns, 0 for a real number; nil if all columns are real numbers.
	choices []int
	// runs are the runs of columns of one type, which say which columns travel as bytes.
	runs []spaces.Run
	// shared is what the children write. sharedFinals are the last rows of episodes that have ended.
	shared, sharedFinals rows
	// now is the checked copy that Step returns, former what the call before returned (of AMP observations: the last
	// step). former must not change until this call is known to be good, and ends the episodes of a child that is lost.
	// finals are the copies of sharedFinals.
	now, former, finals []float32
}

// rows are the rows of one space in the shared memory. Columns of uint8 travel as bytes, which makes a picture a
// quarter as large; all others travel as float32. Each kind stands in the order of its columns.
type rows struct {
	floats []float32
	bytes  []uint8
}

// arrays are those of the shared memory without the tables, nil for those that the layout lacks.
type arrays struct {
	// actions is (N, A), written by this process only.
	actions []float32
	// rewards is (N), in float64 as Python has them, or (N, seats). infos is (N, K), NaN where an info has no such
	// number.
	rewards, infos []float64
	// flags is (N), made of the flag bits, and seats (N, seats), see flagActive.
	flags, seats []uint8
}

// allocate lays out and maps the memory of n environments in so many children, and makes the copies. It writes the
// header, which the children read.
func (x *exchange) allocate(file *os.File, children, n int) error {
	seats := len(x.set.Seats)
	x.choices = choices(x.set.Action)
	wanted := []array{{"actions", "f4", x.set.Action.Width()}, {"rewards", "f8", cmp.Or(seats, -1)},
		{"flags", "u1", -1}, {"seats", "u1", seats}, {"infos", "f8", x.columns}}
	of := func(name, array string, s spaces.Space, last bool) table {
		t := table{name: name, space: s, width: s.Width(), choices: choices(s), runs: s.Runs(), now: s.Rows(n),
			former: s.Rows(n)}
		wanted = appendRows(wanted, array, s)
		if last {
			t.finals, wanted = s.Rows(n), appendRows(wanted, "final_"+array, s)
		}
		return t
	}
	x.observations = of("observation", "observations", x.set.Observation, true)
	x.states = of("state", "states", x.set.State, true)
	x.amp = of("AMP observation", "amp_observations", x.set.AMPObservation, false)
	x.masks = of("action mask", "action_masks", x.set.ActionMask, false)
	x.layout = plan("environments", children, n, wanted, nil)
	x.header = x.layout.header()
	var err error
	if x.memory, err = mapFile(file, x.layout.Size); err != nil {
		return fmt.Errorf("gymnasium: mapping %d bytes of shared memory: %w", x.layout.Size, err)
	}
	copy(x.memory, x.header)
	x.find(x.memory, x.layout)
	x.own = envs.Step{Rewards: make([]float32, n), Terminated: make([]bool, n), Truncated: make([]bool, n),
		FinalUnknown: make([]bool, n), Invalid: make([]bool, n), Seats: x.set.MakeSeatStep(n)}
	x.exact, x.out = make([]float64, n), make([]bool, n*seats)
	return nil
}

// bytesSuffix ends the name of the array that holds the uint8 columns of a space: "observations_bytes".
const bytesSuffix = "_bytes"

// appendRows appends the two arrays of the rows of a space.
func appendRows(to []array, name string, s spaces.Space) []array {
	small := s.Bytes()
	return append(to, array{name, "f4", s.Width() - small}, array{name + bytesSuffix, "u1", small})
}

// find makes the arrays of a layout slices of the memory m.
func (x *exchange) find(m []byte, l *layout) {
	of := func(name string) rows { return rows{view[float32](m, l, name), view[uint8](m, l, name+bytesSuffix)} }
	x.observations.shared, x.observations.sharedFinals = of("observations"), of("final_observations")
	x.states.shared, x.states.sharedFinals = of("states"), of("final_states")
	x.amp.shared, x.masks.shared = of("amp_observations"), of("action_masks")
	x.shared = arrays{actions: view[float32](m, l, "actions"), rewards: view[float64](m, l, "rewards"),
		flags: view[uint8](m, l, "flags"), infos: view[float64](m, l, "infos"), seats: view[uint8](m, l, "seats")}
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
	for _, t := range []*table{&x.observations, &x.states} {
		if err := t.take(c); err != nil {
			return err
		}
	}
	if err := x.copyMasks(c); err != nil {
		return err
	}
	for i := c.from; i < c.to; i++ {
		if what == commandStep {
			if err := x.copyTransition(c, i); err != nil {
				return err
			}
		}
		if len(x.set.Seats) > 0 {
			if err := x.copySeats(c, i, what); err != nil {
				return err
			}
		}
	}
	if what == commandStep {
		return x.amp.take(c)
	}
	return nil
}

// copyTransition copies the reward and the flags of environment i, and the last rows if its episode has ended.
func (x *exchange) copyTransition(c *child, i int) error {
	if err := x.copyRewards(c, i); err != nil {
		return err
	}
	flags := x.shared.flags[i]
	ended := flags&(flagTerminated|flagTruncated) != 0
	if flags > flagTerminated|flagTruncated|flagUnknown|flagInvalid || !ended && flags&flagUnknown != 0 {
		return c.fault(FaultProtocol, nil, "environment %d: the flags are %#x", i, flags)
	}
	x.own.Terminated[i], x.own.Truncated[i] = flags&flagTerminated != 0, flags&flagTruncated != 0
	x.own.FinalUnknown[i], x.own.Invalid[i] = flags&flagUnknown != 0, flags&flagInvalid != 0
	if !ended || x.own.FinalUnknown[i] {
		return nil
	}
	if err := x.observations.takeLast(c, i); err != nil {
		return err
	}
	return x.states.takeLast(c, i)
}

// copyMasks copies the action masks that a child wrote, and checks the copy.
func (x *exchange) copyMasks(c *child) error {
	if err := x.masks.take(c); err != nil || x.masks.width == 0 {
		return err
	}
	for i := c.from; i < c.to; i++ {
		if err := x.set.CheckMask(x.masks.now[i*x.masks.width : (i+1)*x.masks.width]); err != nil {
			return c.fault(FaultData, err, "environment %d: %v", i, err)
		}
	}
	return nil
}

// truncate ends the episodes of the environments of c, a child that was replaced in this step. They are truncated at
// the last observations that were shown, with reward 0: what the lost step would have brought is unknown.
// observations.now already holds the first observations of the new child. invalid marks the transitions as such.
func (x *exchange) truncate(c *child, invalid bool) {
	c.renewed = true
	x.observations.repeat(c, x.observations.finals)
	x.states.repeat(c, x.states.finals)
	x.amp.repeat(c, x.amp.now)
	for k := c.from; k < c.to; k++ {
		x.own.Rewards[k], x.exact[k], x.own.Terminated[k], x.own.Truncated[k] = 0, 0, false, true
		x.own.FinalUnknown[k], x.own.Invalid[k] = false, invalid
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
