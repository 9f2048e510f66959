package wrappers_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/exclusive"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// While Step runs, another goroutine's Step, Reset and Close are refused, and no environment is closed.
func TestParallelRefusesOverlap(t *testing.T) {
	for _, workers := range []int{1, 2} {
		entered, release, closed := make(chan struct{}), make(chan struct{}), 0
		env := probes(t, 2, wrappers.ParallelOptions{Workers: workers}, func(_ int, p *probe) {
			p.closed = &closed
			if p.index == 0 {
				p.fault = func(*probe, envs.Row) error {
					close(entered)
					<-release
					return nil
				}
			}
		})
		must.Get(env.Reset(1))(t)
		actions, stepped := make([]float32, 4), make(chan error)
		go func() {
			_, err := env.Step(actions)
			stepped <- err
		}()
		<-entered
		for name, call := range map[string]func() error{
			"Step":  func() error { _, err := env.Step(actions); return err },
			"Reset": func() error { _, err := env.Reset(1); return err },
			"Close": env.Close,
		} {
			if err := call(); !errors.Is(err, exclusive.ErrOverlap) ||
				!strings.HasPrefix(err.Error(), "wrappers: "+name+" was called while Step is running") {
				t.Errorf("%s: %v", name, err)
			}
		}
		must.Is(t, closed, 0, "environments were closed")
		close(release)
		if err := errors.Join(<-stepped, env.Close(), env.Close()); err != nil || closed != 2 {
			t.Errorf("%v; %d environments were closed", err, closed)
		}
	}
}
