package pbt

import (
	"errors"
	"fmt"
	"time"

	"github.com/gorl-dev/gorl/pbt/workspace"
)

// Place is where one policy of a decentralised population trains.
type Place struct {
	// Policy is its number, 0 to Options.Members-1.
	Policy int
	// Board is all that the policies share; its number of policies is Options.Members.
	Board workspace.Store
	// Synchronous makes the policies wait for each other at every interval's end. All then decide from the same
	// records, as a [Population] with the same options does. Policies that are silent, that failed or that trained to the
	// end hold nobody up. By default nobody waits.
	Synchronous bool
	// Slack is how many iterations newer than its own the records may be that a policy looks at. Default 0: only peers
	// of equal or less experience. Synchronous policies look at records of the very same iteration.
	Slack int64
	// Heartbeat is how often a sign of life is given. Default 10 s.
	Heartbeat time.Duration
	// Silence is how long a policy may give none before the others go on without it; where policies take turns, more than
	// a process needs to start. Default 5 minutes.
	Silence time.Duration
	// SaveSteps is the number of own steps after which the private state is saved also within an interval. Default 0:
	// at interval ends only.
	SaveSteps int64
	// Slice is the number of intervals after which Train returns ErrYield, so that more policies than there is room for
	// take turns; a policy that would have to wait for others then yields as well. Default 0: never.
	Slice int64
	// RestartProcess makes Train return ErrRestart where a member would be built anew, for environments that can be made
	// only once in a process. The first trainee is built in Join, from the new hyperparameters.
	RestartProcess bool
	// Experiment is the run's name, for the records.
	Experiment string
	// Clock makes the policy wait. Default: the machine's.
	Clock Clock

	// slots, when not nil, is what the policies of one process wait in to train.
	slots chan struct{}
	// chronicle, when not nil, are the journals of all policies, which are in this process.
	chronicle *chronicle
}

// Clock is what a policy waits by. Whether others are alive is told by the board's own clock.
type Clock interface {
	// After sends once when d has passed.
	After(d time.Duration) <-chan time.Time
}

type machineClock struct{}

func (machineClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

func (p Place) withDefaults() Place {
	if p.Heartbeat == 0 {
		p.Heartbeat = 10 * time.Second
	}
	if p.Silence == 0 {
		p.Silence = 5 * time.Minute
	}
	if p.Clock == nil {
		p.Clock = machineClock{}
	}
	return p
}

func (p Place) validate(o *Options) error {
	switch {
	case p.Board == nil:
		return errors.New("pbt: Place.Board is nil; give the board that the policies share, e.g. workspace.OpenFolder")
	case p.Board.Members() != o.Members:
		return fmt.Errorf("pbt: Place.Board is one of %d policies, and Options.Members is %d; they must be equal", p.Board.Members(), o.Members)
	case p.Policy < 0 || p.Policy >= o.Members:
		return fmt.Errorf("pbt: Place.Policy is %d; policies are 0 to %d", p.Policy, o.Members-1)
	case p.Synchronous && o.Asynchronous:
		return errors.New("pbt: Place.Synchronous and Options.Asynchronous contradict each other; set one of the two at most")
	case o.Evolve != nil || o.Target != nil || o.OnInterval != nil:
		return errors.New("pbt: Options.Evolve, Target and OnInterval need the whole population at hand; use New, which trains it in one process")
	case p.Slack < 0 || p.SaveSteps < 0 || p.Slice < 0:
		return fmt.Errorf("pbt: Place.Slack is %d, SaveSteps %d, Slice %d; give 0 or more", p.Slack, p.SaveSteps, p.Slice)
	case p.Heartbeat < 0 || p.Silence < p.Heartbeat:
		return fmt.Errorf("pbt: Place.Heartbeat is %v and Silence %v; Silence must be several heartbeats", p.Heartbeat, p.Silence)
	}
	return nil
}
