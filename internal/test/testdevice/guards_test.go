package testdevice_test

import (
	"errors"
	"os"
	"os/exec"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/internal/test/testdevice"
	"github.com/gorl-dev/gorl/tensor"
)

// on returns an open scope on device i.
func on(t *testing.T, i int) *tensor.Scope {
	t.Helper()
	s := tensor.NewScope().On(testdevice.Device(t, i))
	t.Cleanup(s.Close)
	return s
}

// refused fails the test unless the scope's error has the word, and resets the scope.
func refused(t *testing.T, s *tensor.Scope, word string) {
	t.Helper()
	must.RefuseAs(t, "the scope", s.Err(), word)
	s.Reset()
}

// Every mixture that CUDA refuses is refused, and a scalar of the host is not.
func TestMixedDevices(t *testing.T) {
	host, other, s := tensortest.NoGrad(t, tensor.CPU), on(t, 1), on(t, 0)
	gen := generator(t, 1)
	for name, mix := range map[string]func(with *tensor.Scope){
		"add":       func(with *tensor.Scope) { s.Add(s.Ones(2), with.Ones(2)) },
		"linear":    func(with *tensor.Scope) { s.Linear(s.Ones(2, 2), with.Ones(2, 2), s.Ones(2)) },
		"generator": func(*tensor.Scope) { s.Multinomial(gen, s.Ones(2, 3), 1) },
	} {
		t.Run(name, func(t *testing.T) {
			mix(host)
			refused(t, s, "same device")
			mix(other)
			refused(t, s, "same device")
		})
	}
	s.Add(s.Ones(2), host.Scalar(3))
	must.Do(t, s.Err())
}

// The host cannot reach the memory of a device: not by a view, not from Go, and not from C++, where the program ends.
func TestHostTouches(t *testing.T) {
	s := on(t, 0)
	x := s.Ones(3)
	if _, err := tensor.Bytes(x); err == nil {
		t.Error("Bytes shows memory of a device")
	}
	if os.Getenv("GORL_TEST_TOUCH") != "" {
		debug.SetPanicOnFault(true)
		testdevice.Touch(x)
		return
	}
	cmd := exec.Command(os.Args[0], "-test.run", "^TestHostTouches$")
	cmd.Env = append(os.Environ(), "GORL_TEST_TOUCH=1")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the host touched device memory") {
		t.Errorf("the program ended with %v and %q", err, out)
	}
}

// A host read inside a passage that may have none shows in the counts, and so does every other kind of traffic, on the
// device that has it.
func TestCounts(t *testing.T) {
	s, other, host := on(t, 0), on(t, 1), tensor.NoGrad()
	defer host.Close()
	x, far := s.Ones(4), other.Ones(4)
	for name, test := range map[string]struct {
		do   func()
		want testdevice.Counts
	}{
		"kernel": {func() { s.Exp(x) }, testdevice.Counts{Launches: 1}},
		"read":   {func() { _, _ = tensor.Float32s(x) }, testdevice.Counts{Reads: 1}},
		"write":  {func() { _ = tensor.Write(x, []float32{1, 2, 3, 4}) }, testdevice.Counts{Writes: 1}},
		"move": {func() { s.To(host.Ones(2), tensor.Float32, s.Device()) },
			testdevice.Counts{Writes: 1, Blocking: 1}},
		"copy":         {func() { s.Copy(x, s.Narrow(x, 0, 0, 1)) }, testdevice.Counts{Launches: 1, Copies: 1}},
		"between":      {func() { s.Copy(x, far) }, testdevice.Counts{Launches: 1, Copies: 1}},
		"other device": {func() { other.Exp(far) }, testdevice.Counts{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := testdevice.During(0, test.do)
			got.Allocations, got.LiveBytes = 0, 0
			if err := errors.Join(s.Err(), other.Err()); err != nil || got != test.want {
				t.Errorf("%+v (%v), want %+v", got, err, test.want)
			}
		})
	}
	events := testdevice.Events(func() { s.Add(x, x) })
	if len(events) != 1 || !strings.Contains(events[0], "launch aten::add") {
		t.Errorf("the events are %q", events)
	}
}
