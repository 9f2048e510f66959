package wrappers_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// A batch whose environments refuse a state goes on as if nothing had been asked, reset or not.
func TestRestoreUndoesWhenAnEnvironmentRefuses(t *testing.T) {
	donor := probes(t, 4, wrappers.ParallelOptions{Seed: 1}, nil)
	must.Get(donor.Reset(-1))(t)
	state := must.Get(donor.MarshalState())(t)
	if err := probes(t, 3, wrappers.ParallelOptions{}, nil).RestoreState(state); err == nil ||
		!strings.Contains(err.Error(), "it is of 4 environments, here are 3") {
		t.Errorf("error %v", err)
	}
	for _, reset := range []bool{true, false} {
		var last *probe
		env := probes(t, 4, wrappers.ParallelOptions{Seed: 2}, func(i int, p *probe) { last = p })
		twin := probes(t, 4, wrappers.ParallelOptions{Seed: 2}, nil)
		actions := make([]float32, 8)
		if reset {
			for _, e := range []envs.Env{env, twin} {
				must.Get(e.Reset(-1))(t)
				must.Get(e.Step(actions))(t)
			}
		}
		last.badState = true
		want := "environment 3 (*wrappers_test.probe): probe: bad state"
		must.Fail(t, env.RestoreState(state), want)
		if !reset {
			must.Refuse(env.Step(actions))(t, "")
			// The probes' own episode numbers have gone on, their generators have not.
			must.Get(env.Reset(-1))(t)
			must.Get(twin.Reset(-1))(t)
		}
		for range 20 {
			a, b := must.Get(twin.Step(actions))(t), must.Get(env.Step(actions))(t)
			must.Same(t, a.Observations, b.Observations, "a refused state changed how it goes on")
		}
	}
}

func FuzzRestoreState(f *testing.F) {
	create := func() envs.Env {
		env := must.Get(classic.NewPendulum(classic.Config{NumEnvs: 2, Seed: 1}))(f)
		statistics := must.Get(wrappers.NewEpisodeStatistics(env))(f)
		skills := must.Get(wrappers.NewSkills(statistics, wrappers.SkillsOptions{Size: 2}))(f)
		must.Get(skills.Reset(-1))(f)
		return skills
	}
	env := create()
	f.Cleanup(func() { _ = env.Close() })
	s, _ := envs.As[envs.Stateful](env)
	state := must.Get(s.MarshalState())(f)
	f.Add(state)
	f.Add(state[:len(state)/2])
	f.Add(bytes.Repeat([]byte{0xff}, 200))
	flipped := slices.Clone(state)
	flipped[len(flipped)/3] ^= 0x80
	f.Add(flipped)
	f.Fuzz(func(t *testing.T, b []byte) {
		before := must.Get(s.MarshalState())(t)
		restoreErr := s.RestoreState(b)
		after := must.Get(s.MarshalState())(t)
		if restoreErr != nil && !bytes.Equal(before, after) {
			t.Errorf("a refused state changed the environment: %v", restoreErr)
		}
		if restoreErr == nil && !bytes.Equal(after, b) {
			t.Error("an accepted state is saved differently")
		}
	})
}
