package launch

// This file decides which member runs when and on which GPU, and when a failed one is restarted. It is a state machine
// without processes, clocks or files, so that tests can check every decision. run.go drives it.

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// state is the state of a member's process. It goes from ready to running and back, or ends in one of the last three.
type state string

const (
	ready    state = "ready" // waits for room, and for notBefore
	running  state = "running"
	finished state = "finished" // trained to its end
	stopped  state = "stopped"  // by a signal; the same command continues the member
	gaveUp   state = "gave up"  // after too many failures
)

// maxIdleRestarts is the number of restarts that a member may ask for in a row without training. The next one counts as
// a failure, because a setting that never takes effect would otherwise restart the process forever.
const maxIdleRestarts = 3

// seat is the state of one member.
type seat struct {
	state     state
	gpus      []int // one for each rank; empty if the member sees all GPUs or there are none
	notBefore time.Time
	at        progress // from the last heartbeat; valid if known
	known     bool
	startedAt progress    // at the last start
	turn      int         // the number of its last start
	idle      int         // yields in a row without progress
	idleAgain int         // restarts that it asked for, in a row without progress
	failures  []time.Time // within the window
	restarts  int         // after failures, in all
	note      string
}

// progress is how far a member has trained.
type progress struct{ steps, iteration int64 }

// turns decides which members run when and where. The caller passes the time and the events, and starts the members.
// The golden files in testdata/turns have every decision.
type turns struct {
	d        Config
	seats    []seat
	starts   int        // the number of starts so far
	random   *rand.Rand // for jitter
	stopping bool       // no more starts
}

// newTurns returns the state of a population without running members. Equal seeds and events give equal waits.
func newTurns(d Config) *turns {
	s := &turns{d: d, seats: make([]seat, d.NumPolicies), random: rand.New(rand.NewPCG(uint64(d.Seed), 0x6c61756e6368))}
	for i := range s.seats {
		s.seats[i] = seat{state: ready}
	}
	return s
}

// start says which member to start.
type start struct {
	member int
	gpus   []int // one for each rank; empty if members see all GPUs or there are none
}

// due returns the members to start now, and marks them as running. The order is: fewest steps, earliest last turn,
// lowest number.
func (s *turns) due(now time.Time) []start {
	var starts []start
	for !s.stopping && s.count(running) < s.d.parallel() {
		next := -1
		for i := range s.seats {
			if p := &s.seats[i]; p.state == ready && !p.notBefore.After(now) && (next < 0 || s.before(i, next)) {
				next = i
			}
		}
		gpus, ok := s.chooseGPUs()
		if next < 0 || !ok {
			break
		}
		starts = append(starts, s.begin(next, gpus))
	}
	return starts
}

// before reports whether member i starts before member j. Steps come first, because a strategy compares members of
// similar experience. Turns come next, so that members that cannot continue do not keep others out.
func (s *turns) before(i, j int) bool {
	a, b := &s.seats[i], &s.seats[j]
	return cmp.Or(cmp.Compare(a.at.steps, b.at.steps), cmp.Compare(a.turn, b.turn), cmp.Compare(i, j)) < 0
}

// begin marks a member as running on the GPUs.
func (s *turns) begin(member int, gpus []int) start {
	p := &s.seats[member]
	s.starts++
	p.state, p.gpus, p.turn, p.startedAt, p.note = running, gpus, s.starts, p.at, ""
	return start{member: member, gpus: gpus}
}

// chooseGPUs returns a GPU for each rank of a member: those with the most free slots, then with the lowest numbers. ok
// is false if too few GPUs have a free slot. Without GPUs ok is true and the list is empty.
func (s *turns) chooseGPUs() (gpus []int, ok bool) {
	if s.d.GPUs == 0 {
		return nil, true
	}
	free := make([]int, s.d.GPUs)
	for i := range free {
		free[i] = s.d.perGPU()
	}
	for _, p := range s.seats {
		for _, gpu := range p.gpus {
			free[gpu]--
		}
	}
	for range s.d.RanksPerMember {
		gpu := slices.Index(free, slices.Max(free))
		if free[gpu] <= 0 {
			return nil, false
		}
		gpus = append(gpus, gpu)
		free[gpu] = 0 // the next rank takes another GPU
	}
	return gpus, true
}

// count returns the number of members in a state.
func (s *turns) count(what state) int {
	n := 0
	for _, p := range s.seats {
		if p.state == what {
			n++
		}
	}
	return n
}

// beat records how far a member has trained. Progress clears the counts of exits without progress.
func (s *turns) beat(member int, at progress) {
	p := &s.seats[member]
	if p.known && at != p.at {
		p.idle, p.idleAgain = 0, 0
	}
	p.at, p.known = at, true
}

// exited records how a process ended. If ok, the caller starts the member again at once. status is the exit status. It
// is -1 if a signal ended the process or the process could not be started, and how then says which.
func (s *turns) exited(member, status int, how string, now time.Time) (again start, ok bool) {
	p := &s.seats[member]
	gpus := p.gpus
	p.state, p.gpus = ready, nil
	if status == StatusFinished {
		p.state, p.note = finished, ""
		return start{}, false
	}
	// A process that ends while the run stops has not failed by itself.
	if s.stopping || status == StatusStopped {
		p.state = stopped
		p.note = cmp.Or(how, "stopped by a signal")
		if status == StatusStopped {
			p.note = "saved"
		}
		return start{}, false
	}
	// A member without any heartbeat counts as one that made progress.
	advanced := !p.known || p.at != p.startedAt
	switch status {
	case StatusYielded:
		p.note = "waits for its turn"
		if advanced {
			p.idle = 0
			return start{}, false
		}
		// The member waits for records of other members. Starting it again at once would only start processes.
		wait := doubled(s.d.Restarts.Backoff, p.idle, s.d.Restarts.MaxBackoff)
		p.idle++
		p.notBefore = now.Add(wait)
		p.note = fmt.Sprintf("waits for others, asked again in %v", short(wait))
		return start{}, false
	case StatusRestart:
		if advanced {
			p.idleAgain = 0
		}
		// The turn of the member is not over, so it keeps its GPU and does not queue.
		if p.idleAgain++; p.idleAgain <= maxIdleRestarts {
			return s.begin(member, gpus), true
		}
		how = fmt.Sprintf("asked %d times to be restarted without getting on between", p.idleAgain)
	}
	s.failed(p, status, how, now)
	return start{}, false
}

// failed sets the wait before a member is restarted, or gives the member up. Waits double, so that a full disk or a
// lost mount does not use up the restarts within seconds. Jitter separates members that failed together.
func (s *turns) failed(p *seat, status int, how string, now time.Time) {
	if how == "" {
		how = fmt.Sprintf("exit status %d", status)
	}
	r := s.d.Restarts
	// Failures before the window do not count, so that rare failures in a run of weeks do not add up.
	p.failures = slices.DeleteFunc(p.failures, func(t time.Time) bool { return now.Sub(t) >= r.Window })
	p.failures = append(p.failures, now)
	p.idleAgain = 0
	if len(p.failures) > r.Max {
		p.state = gaveUp
		p.note = fmt.Sprintf("%s; failed %d times within %v", how, len(p.failures), r.Window)
		if r.Max == 0 {
			p.note = how
		}
		return
	}
	wait := doubled(r.Backoff, len(p.failures)-1, r.MaxBackoff)
	// Jitter only lengthens a wait, so that it is never shorter than the file says.
	wait += time.Duration(r.Jitter * s.random.Float64() * float64(wait))
	p.restarts++
	p.notBefore = now.Add(wait)
	p.note = fmt.Sprintf("%s; restart %d of %d in %v", how, len(p.failures), r.Max, short(wait))
}

// short rounds a wait for messages.
func short(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// doubled returns first times two to the power of n, at most longest.
func doubled(first time.Duration, n int, longest time.Duration) time.Duration {
	for ; n > 0 && first < longest; n-- {
		first *= 2
	}
	return min(first, longest)
}

// stop prevents further starts and marks waiting members as stopped. The caller ends the running ones.
func (s *turns) stop() {
	s.stopping = true
	for i := range s.seats {
		if p := &s.seats[i]; p.state == ready {
			p.state, p.note = stopped, "was not running"
		}
	}
}

// wake returns the next time at which a back-off ends. ok is false if no member is backing off.
func (s *turns) wake(now time.Time) (at time.Time, ok bool) {
	for _, p := range s.seats {
		if p.state == ready && p.notBefore.After(now) && (!ok || p.notBefore.Before(at)) {
			at, ok = p.notBefore, true
		}
	}
	return at, ok
}

// over reports whether no member runs and none is left to start.
func (s *turns) over() bool { return s.count(running) == 0 && s.count(ready) == 0 }
