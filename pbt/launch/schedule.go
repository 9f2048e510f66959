package launch

// This file decides which member runs when and on which GPU, and when a failed one is started again. It is a state
// machine without processes, clocks or files, so that every decision can be tested; run.go drives it with real ones.

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// state is where a member's process stands: ready → running → ready again, or one of the three in which it stays.
type state string

const (
	ready    state = "ready" // to be started when there is room, not before its time
	running  state = "running"
	finished state = "finished" // trained to its end
	stopped  state = "stopped"  // by a signal; the same command continues it
	gaveUp   state = "gave up"  // it failed too often
)

// maxIdleRestarts is the number of restarts at a member's own wish without any training between them after which the
// next counts as a failure. A setting that never takes effect would otherwise restart its process for ever.
const maxIdleRestarts = 3

// seat is one member as the schedule knows it.
type seat struct {
	state     state
	gpus      []int // of the running process, one for each rank; none where it sees all or there are none
	notBefore time.Time
	at        progress // by its heartbeat; known once there was one
	known     bool
	startedAt progress    // at the last start
	turn      int         // when it was last started, counted in starts
	idle      int         // yields in a row without getting on between them
	idleAgain int         // restarts at its own wish in a row, likewise
	failures  []time.Time // within the window
	restarts  int         // after failures, in all
	note      string
}

// progress is how far a member is.
type progress struct{ steps, iteration int64 }

// schedule decides which members run when and where. It starts and ends nothing and reads no clock: its driver tells it
// the time and what happened, and does what it says. So the golden files in testdata/schedule can hold every decision,
// and the same schedule serves real processes (runner) and tests.
type schedule struct {
	d        Config
	seats    []seat
	starts   int        // all so far, which number the turns
	random   *rand.Rand // of the jitter
	stopping bool       // nothing is started any more
}

// newSchedule returns the schedule of a population of which no member runs yet. Jitter is drawn from Config.Seed, so
// that equal seeds and events give equal waits.
func newSchedule(d Config) *schedule {
	s := &schedule{d: d, seats: make([]seat, d.NumPolicies), random: rand.New(rand.NewPCG(uint64(d.Seed), 0x6c61756e6368))}
	for i := range s.seats {
		s.seats[i] = seat{state: ready}
	}
	return s
}

// start is one member to start.
type start struct {
	member int
	gpus   []int // one for each rank; none where members see all GPUs or there are none
}

// due takes the members to start now from those that wait and counts them as running: the least trained first, among
// equally trained ones the one whose last turn is longest ago, then the lowest number.
func (s *schedule) due(now time.Time) []start {
	var starts []start
	for !s.stopping && s.count(running) < s.d.parallel() {
		// A linear search each time: populations are small, and the order changes with every heartbeat.
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

// before says which of two members that wait is started first. Steps come first so that the members stay comparable: a
// strategy judges members of similar experience. Turns come next so that members which cannot go on do not keep others
// out.
func (s *schedule) before(i, j int) bool {
	a, b := &s.seats[i], &s.seats[j]
	return cmp.Or(cmp.Compare(a.at.steps, b.at.steps), cmp.Compare(a.turn, b.turn), cmp.Compare(i, j)) < 0
}

// begin counts a member as running on some GPUs.
func (s *schedule) begin(member int, gpus []int) start {
	p := &s.seats[member]
	s.starts++
	p.state, p.gpus, p.turn, p.startedAt, p.note = running, gpus, s.starts, p.at, ""
	return start{member: member, gpus: gpus}
}

// chooseGPUs returns as many GPUs as a member has ranks: those with the most free slots, of equals the lowest numbers,
// so that members spread over the devices. ok is false where fewer have a free slot. Without GPUs there is always room,
// and the list is empty.
func (s *schedule) chooseGPUs() (gpus []int, ok bool) {
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
		free[gpu] = 0 // each rank takes another
	}
	return gpus, true
}

// count returns the number of members in a state.
func (s *schedule) count(what state) int {
	n := 0
	for _, p := range s.seats {
		if p.state == what {
			n++
		}
	}
	return n
}

// beat notes how far a member has trained. Progress clears the counts of exits without progress, which are of exits
// in a row.
func (s *schedule) beat(member int, at progress) {
	p := &s.seats[member]
	if p.known && at != p.at {
		p.idle, p.idleAgain = 0, 0
	}
	p.at, p.known = at, true
}

// exited notes how a process ended, and returns the member to start again at once, where there is one. status is its
// exit status; -1, with a description in how, where a signal ended it or it could not be started.
func (s *schedule) exited(member, status int, how string, now time.Time) (again start, ok bool) {
	p := &s.seats[member]
	gpus := p.gpus
	p.state, p.gpus = ready, nil
	if status == StatusFinished {
		p.state, p.note = finished, ""
		return start{}, false
	}
	// While the run stops every exit ends the member's run, failures too: a process that was killed has not failed by
	// itself.
	if s.stopping || status == StatusStopped {
		p.state = stopped
		p.note = cmp.Or(how, "stopped by a signal")
		if status == StatusStopped {
			p.note = "saved"
		}
		return start{}, false
	}
	// A member that exits without progress, and is started again at once, would do nothing but start. Without a
	// heartbeat its progress is unknown, and counts as made.
	advanced := !p.known || p.at != p.startedAt
	switch status {
	case StatusYielded:
		p.note = "waits for its turn"
		if advanced {
			p.idle = 0
			return start{}, false
		}
		// It needs records that other members have not published yet. Asking again at once would only start processes.
		wait := doubled(s.d.Restarts.Backoff, p.idle, s.d.Restarts.MaxBackoff)
		p.idle++
		p.notBefore = now.Add(wait)
		p.note = fmt.Sprintf("waits for others, asked again in %v", short(wait))
		return start{}, false
	case StatusRestart:
		if advanced {
			p.idleAgain = 0
		}
		// The member keeps its GPU and does not queue: its turn is not over.
		if p.idleAgain++; p.idleAgain <= maxIdleRestarts {
			return s.begin(member, gpus), true
		}
		how = fmt.Sprintf("asked %d times to be restarted without getting on between", p.idleAgain)
	}
	s.failed(p, status, how, now)
	return start{}, false
}

// failed lets a member wait before it is started again, or gives it up. Waits double, so that a cause that lasts (a
// full disk, a lost mount) does not use up the restarts within seconds; jitter keeps members that failed together
// apart.
func (s *schedule) failed(p *seat, status int, how string, now time.Time) {
	if how == "" {
		how = fmt.Sprintf("exit status %d", status)
	}
	r := s.d.Restarts
	// Only failures within the window count, so that rare ones in a run of weeks never add up.
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
	// Jitter only lengthens, so that a wait is never shorter than the file says.
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

// doubled is first times two to the power of n, at most longest.
func doubled(first time.Duration, n int, longest time.Duration) time.Duration {
	for ; n > 0 && first < longest; n-- {
		first *= 2
	}
	return min(first, longest)
}

// stop starts no more members. Those that wait are stopped at once; ending those that run is up to the caller.
func (s *schedule) stop() {
	s.stopping = true
	for i := range s.seats {
		if p := &s.seats[i]; p.state == ready {
			p.state, p.note = stopped, "was not running"
		}
	}
}

// wake returns the next time at which a back-off ends. ok is false where none does, so that only an exit or a signal
// can change anything.
func (s *schedule) wake(now time.Time) (at time.Time, ok bool) {
	for _, p := range s.seats {
		if p.state == ready && p.notBefore.After(now) && (!ok || p.notBefore.Before(at)) {
			at, ok = p.notBefore, true
		}
	}
	return at, ok
}

// over reports whether no member runs and none is left to start.
func (s *schedule) over() bool { return s.count(running) == 0 && s.count(ready) == 0 }
