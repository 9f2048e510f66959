package gymnasium

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/peers"
)

// misdeeds is what the second fake child does in its fifth step, and what that must be called.
var misdeeds = []struct {
	mode  string
	fault Fault
	words string
}{
	{"exit", FaultExit, "exit status 9; it printed last:\n\tthe simulation has exploded"},
	{"kill", FaultExit, "ended by signal: killed"},
	{"stop", FaultStopped, "has been stopped by a signal (SIGSTOP)"},
	{"hang", FaultTimeout, "did not finish in time"},
	{"nan", FaultData, "environment 2: the observation has NaN in dimension 2; it must be finite"},
	{"index", FaultData, "environment 2: the observation has -1 in dimension 3; it must be a whole number from 0 " +
		"to 99999"},
	{"final-nan", FaultData, "environment 2: the last observation has +Inf in dimension 0"},
	{"reward", FaultData, "environment 2: the reward is NaN"},
	{"amp", FaultData, "environment 2: the AMP observation has NaN in dimension 0"},
	{"flags", FaultProtocol, "environment 2: the flags are 0x40"},
	{"guard", FaultProtocol, "its control block was written over"},
	{"header", FaultProtocol, `wrote over the header of the shared memory: it begins with "nonsense"`},
	{"status", FaultProtocol, "the status is 0xdead"},
	{"garbage", FaultProtocol, "sent a message that cannot be read"},
	{"half", FaultTimeout, "sent no message in time"},
	{"exception", FaultException, "environment 2: Traceback: the environment is cross"},
	{"columns", FaultProtocol, "has 1000 numbers in its infos where there is room for 64"},
}

// unlucky is a batch of four, of which environments 2 and 3 are the second child's, five steps before its misdeed.
func unlucky(t *testing.T, mode string, change func(*Options)) *Env {
	t.Helper()
	o := fake(t, 4, 2, mode)
	change(&o)
	e := open(t, o)
	envtest.Reset(t, e, 50)
	for range 4 {
		envtest.Step(t, e, actions(4))
	}
	return e
}

// hurry shortens the time of the step of a misdeed that only time brings to light. It leaves the other child long
// enough on a loaded machine.
func hurry(e *Env, mode string) {
	if mode == "hang" || mode == "half" {
		e.options.Timeout = 1500 * time.Millisecond
	}
}

// faulted returns the fault of a child that an error is. It must be of a kind and mention words.
func faulted(t *testing.T, err error, kind Fault, words string) *ChildError {
	t.Helper()
	var fault *ChildError
	must.Not(t, !errors.As(err, &fault) || fault.Fault != kind, "%v, want the fault %q and %q", err, kind, words)
	must.Refuse(t, err, words)
	return fault
}

// A misdeed is an error of the child. A batch that replaces children goes on.
func TestFaults(t *testing.T) {
	for _, m := range misdeeds {
		e := unlucky(t, m.mode, func(*Options) {})
		hurry(e, m.mode)
		_, err := e.Step(actions(4))
		fault := faulted(t, err, m.fault, m.words)
		must.Not(t, m.mode != "header" && (fault.Child != 1 || fault.From != 2 || fault.To != 4),
			"%s: the error is of another child: %+v", m.mode, fault)
		must.Refused(e.Step(actions(4)))(t, "")
		_, err = e.Reset(1)
		must.Is(t, err != nil, fault.fatal(), "%s: Reset after the error: %v", m.mode, err)
	}
}

func TestReplace(t *testing.T) {
	for _, m := range misdeeds {
		t.Run(m.mode, func(t *testing.T) {
			var seen []*ChildError
			var e *Env
			e = unlucky(t, m.mode, func(o *Options) {
				o.Replace, o.OnFault = 2, func(err *ChildError) {
					seen = append(seen, err)
					e.options.Timeout = patience // for the new child
				}
			})
			hurry(e, m.mode)
			before, amp := slices.Clone(e.observations.now), slices.Clone(e.amp.now)
			s := envtest.Step(t, e, actions(4))
			first := 2 // the first environment that was replaced
			if m.mode == "header" {
				first = 0
			}
			if len(seen) != (4-first)/2 || seen[0].Fault != m.fault || e.Replaced() != len(seen) {
				t.Fatalf("faults seen: %v", seen)
			}
			must.Same(t, s.FinalObservations[4*first:], before[4*first:], "last observations, as they were shown")
			must.Same(t, s.AMPObservations[first:], amp[first:], "AMP observations, as they were shown")
			for i := first; i < 4; i++ {
				if s.Terminated[i] || !s.Truncated[i] || s.Rewards[i] != 0 {
					t.Errorf("environment %d: %t, %t, reward %g", i, s.Terminated[i], s.Truncated[i], s.Rewards[i])
				}
				if seed := s.Observations[4*i+1]; seed < 54 || int(seed-50)%4 != i || s.Observations[4*i+2] != 0 {
					t.Errorf("environment %d starts again with %v", i, s.Observations[4*i:4*i+4])
				}
			}
			ended := slices.DeleteFunc(slices.Clone(s.Episodes), func(e envs.Episode) bool { return e.Env < first })
			if len(ended) != 4-first || ended[0].Env != first || ended[0].Metrics != nil {
				t.Errorf("episodes %+v", s.Episodes)
			}
			for range 20 {
				envtest.Step(t, e, actions(4))
			}
		})
	}
}

// A child that is lost between a reset and its answer is replaced by one that gives the same answer.
func TestReplaceInReset(t *testing.T) {
	o := fake(t, 4, 2, "")
	o.Replace = -1
	e := open(t, o)
	envtest.Reset(t, e, 1)
	want := slices.Clone(envtest.Reset(t, e, 9).Observations)
	lose(t, e, 0)
	must.Same(t, envtest.Reset(t, e, 9).Observations, want, "observations")
	must.Is(t, e.Replaced(), 1, "replacements")
}

// lose ends child i from outside and waits until it is gone.
func lose(t *testing.T, e *Env, i int) {
	t.Helper()
	e.children[i].process.Kill()
	<-e.children[i].gone
}

// What a discriminator is shown of a step in which a child was lost is always something that its environments have
// shown: the AMP observations of their step before, whatever resets and failed steps lie between. In the very first
// step there are none, and the transitions are invalid.
func TestReplaceKeepsAMPObservations(t *testing.T) {
	e := unlucky(t, "amp", func(o *Options) { o.Replace = -1 }) // four steps
	last := slices.Clone(e.amp.now)
	e.options.Replace = 0
	must.Refused(e.Step(actions(4)))(t, "")
	e.options.Replace = -1
	envtest.Reset(t, e, 60)
	envtest.Reset(t, e, 61)
	lose(t, e, 1)
	got := slices.Clone(envtest.Step(t, e, actions(4)).AMPObservations)
	must.Same(t, got, slices.Concat([]float32{1, 101}, last[2:]), "AMP observations after resets and a failed step")
	must.Same(t, e.own.Truncated, []bool{false, false, true, true}, "truncated")
	got = envtest.Step(t, e, actions(4)).AMPObservations
	must.Same(t, got, []float32{2, 102, 201, 301}, "after the replacement the AMP observations")

	o := fake(t, 4, 2, "")
	o.Replace = -1
	e = open(t, o)
	first := slices.Clone(envtest.Reset(t, e, 70).Observations)
	lose(t, e, 1)
	s := envtest.Step(t, e, actions(4))
	must.Same(t, s.Invalid, []bool{false, false, true, true}, "invalid in the first step of all")
	must.Same(t, s.FinalObservations[8:], first[8:], "last observations")
	must.Same(t, s.Rewards[2:], []float32{0, 0}, "rewards")
}

// Nothing stays behind children that cannot start.
func TestStartFaults(t *testing.T) {
	open(t, fake(t, 2, 2, "")).Close() // the thread that starts processes stays
	descriptors, mappings, goroutines := left(t)
	for _, c := range []struct {
		mode  string
		fault Fault
		words string
	}{
		{"start-exit", FaultExit,
			"exit status 7 before it had made its environments; it printed last:\n\tcannot"},
		{"start-hang", FaultTimeout, "raise start_timeout where they take longer to make"},
		{"start-other", FaultStart, "they must be the same"},
	} {
		o := fake(t, 4, 2, c.mode)
		if c.mode == "start-hang" {
			o.StartTimeout = time.Second
		}
		_, err := New(o)
		faulted(t, err, c.fault, c.words)
	}
	deaf := fake(t, 2, 1, "") // it ends while it is sent more than a pipe holds
	deaf.Python, deaf.Kwargs = filepath.Join(t.TempDir(), "python3"), map[string]any{"large": make([]int, 1<<20)}
	must.Do(t, os.WriteFile(deaf.Python, []byte("#!/bin/sh\nsleep 0.2; echo no licence >&2; exit 3"), 0o755))
	_, err := New(deaf)
	faulted(t, err, FaultExit, "exit status 3 before it had made its environments; it printed last:\n\tno licence")
	nothingMore(t, descriptors, mappings, goroutines)
	must.Is(t, len(children(t)), 0, "processes that are left")
}

// fakeParent makes a batch whose simulator starts processes in its eighth step, says so, and steps for ever.
func fakeParent() {
	e, err := New(Options{Simulator: Batch, Factory: "bridge_batches:Count", Kwargs: map[string]any{"bad": "linger"},
		NumEnvs: 4, Python: os.Getenv("GORL_FAKE_PARENT"), Path: []string{"testdata"}})
	if err == nil {
		_, err = e.Reset(0)
	}
	for k := 0; err == nil; k++ {
		if k == 8 {
			fmt.Println("ready")
		}
		_, err = e.Step(actions(4))
	}
	fmt.Println(err)
}

// TestPeersParentKilled kills a parent that has no time to tell its child. The simulator has started processes, some in
// sessions of their own, which hold a lock for as long as they live: none of them goes on.
func TestPeersParentKilled(t *testing.T) {
	lock := filepath.Join(t.TempDir(), "lock")
	parent := exec.Command(must.Get(os.Executable())(t))
	parent.Env = append(os.Environ(), "GORL_FAKE_PARENT="+peers.Python(t, "gymnasium"), "GORL_FAKE_LOCK="+lock)
	said := must.Get(parent.StdoutPipe())(t)
	must.Do(t, parent.Start())
	if line, err := bufio.NewReader(said).ReadString('\n'); line != "ready\n" {
		t.Errorf("the parent said %q, %v", line, err)
	}
	file := must.Open(os.OpenFile(lock, os.O_RDWR, 0))(t)
	take := func() error { return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
	must.Not(t, !errors.Is(take(), syscall.EWOULDBLOCK), "the processes do not hold the lock")
	must.Do(t, parent.Process.Kill())
	_ = parent.Wait()
	for until := time.Now().Add(patience); take() != nil; time.Sleep(10 * time.Millisecond) {
		must.Not(t, time.Now().After(until), "a process goes on after its parent was killed")
	}
}
