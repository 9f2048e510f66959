package wrappers_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/wrappers"
)

// onward steps a batch from where it is and records what it returns.
func onward(t *testing.T, env envs.Env, steps int) [][]float32 {
	t.Helper()
	var out [][]float32
	actions := make([]float32, env.NumEnvs()*env.Spaces().Action.Width())
	for k := range steps {
		for i := range actions {
			actions[i] = float32((i + k) % 2)
		}
		s := must(t)(env.Step(actions))
		out = append(out, slices.Concat(s.Observations, s.States, s.Rewards))
		for _, e := range s.Episodes {
			out = append(out, []float32{float32(e.Env), float32(e.Return), float32(e.Length)})
		}
	}
	return out
}

// layers is a batch in wrappers that have states of their own.
func layers(t *testing.T, seed int64) envs.Env {
	t.Helper()
	cart, err := classic.NewCartPole(classic.Config{NumEnvs: 5, Seed: seed, MaxEpisodeSteps: 12, Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	statistics, err := wrappers.NewEpisodeStatistics(cart)
	if err != nil {
		t.Fatal(err)
	}
	normal, err := wrappers.NewNormalizeReward(statistics, wrappers.NormalizeRewardOptions{Discount: .9})
	if err != nil {
		t.Fatal(err)
	}
	observed, err := wrappers.NewNormalizeObservation(normal, wrappers.NormalizeObservationOptions{})
	if err != nil {
		t.Fatal(err)
	}
	clipped, err := wrappers.NewClipObservation(observed, -2, 2)
	if err != nil {
		t.Fatal(err)
	}
	checked, err := envs.Checked(clipped)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = checked.Close() })
	return checked
}

func TestStateContinuesExactly(t *testing.T) {
	for name, create := range map[string]func(seed int64) envs.Env{
		"probes": func(seed int64) envs.Env { return probes(t, 5, wrappers.ParallelOptions{Seed: seed}, nil) },
		"layers": func(seed int64) envs.Env { return layers(t, seed) },
		"skills": func(seed int64) envs.Env { return skills(t, seed) },
	} {
		a, fresh, used := create(1), create(2), create(3)
		must(t)(a.Reset(-1))
		must(t)(used.Reset(-1))
		onward(t, a, 17)
		onward(t, used, 5)
		saver, ok := envs.As[envs.Stateful](a)
		if !ok {
			t.Fatalf("%s: not stateful", name)
		}
		state, err := saver.MarshalState()
		if err != nil {
			t.Fatal(err)
		}
		observer, _ := envs.As[envs.Observer](a)
		now := slices.Clone(must(t)(observer.Observe()).Observations)
		want := onward(t, a, 60)
		for _, other := range []envs.Env{fresh, used} {
			restorer, _ := envs.As[envs.Stateful](other)
			if err := restorer.RestoreState(state); err != nil {
				t.Fatal(err)
			}
			observer, _ := envs.As[envs.Observer](other)
			if got := must(t)(observer.Observe()).Observations; !slices.Equal(now, got) {
				t.Errorf("%s: restored, it shows %v, want %v", name, got, now)
			}
			again, err := restorer.MarshalState()
			if err != nil || !bytes.Equal(state, again) {
				t.Errorf("%s: the state saved after restoring differs (%v)", name, err)
			}
			if d := cmp.Diff(want, onward(t, other, 60)); d != "" {
				t.Errorf("%s: restored, it goes on differently: %s", name, d)
			}
		}
	}
}

func TestRestoreRefusesBadStates(t *testing.T) {
	for name, create := range map[string]func(seed int64) envs.Env{
		"probes": func(seed int64) envs.Env { return probes(t, 5, wrappers.ParallelOptions{Seed: seed}, nil) },
		"layers": func(seed int64) envs.Env { return layers(t, seed) },
		"skills": func(seed int64) envs.Env { return skills(t, seed) },
	} {
		env := create(4)
		must(t)(env.Reset(-1))
		onward(t, env, 3)
		s, _ := envs.As[envs.Stateful](env)
		state, err := s.MarshalState()
		if err != nil {
			t.Fatal(err)
		}
		for cut := range len(state) {
			if err := s.RestoreState(state[:cut]); err == nil {
				t.Fatalf("%s: accepted %d of %d bytes", name, cut, len(state))
			}
		}
		if err := s.RestoreState(append(slices.Clone(state), 0)); err == nil || !strings.Contains(err.Error(), "left over") {
			t.Errorf("%s: a byte too many: %v", name, err)
		}
		if again, err := s.MarshalState(); err != nil || !bytes.Equal(state, again) {
			t.Errorf("%s: refused states changed it (%v)", name, err)
		}
	}
	small, large := probes(t, 2, wrappers.ParallelOptions{}, nil), probes(t, 3, wrappers.ParallelOptions{}, nil)
	must(t)(small.Reset(0))
	state, err := small.MarshalState()
	if err != nil {
		t.Fatal(err)
	}
	if err := large.RestoreState(state); err == nil || !strings.Contains(err.Error(), "it is of 2 environments, here are 3") {
		t.Errorf("error %v", err)
	}
}

func TestRestoreUndoesWhenAnEnvironmentRefuses(t *testing.T) {
	for _, reset := range []bool{true, false} {
		donor := probes(t, 4, wrappers.ParallelOptions{Seed: 1}, nil)
		var last *probe
		env := probes(t, 4, wrappers.ParallelOptions{Seed: 2}, func(i int, p *probe) { last = p })
		twin := probes(t, 4, wrappers.ParallelOptions{Seed: 2}, nil)
		must(t)(donor.Reset(-1))
		onward(t, donor, 3)
		state, err := donor.MarshalState()
		if err != nil {
			t.Fatal(err)
		}
		if reset {
			must(t)(env.Reset(-1))
			must(t)(twin.Reset(-1))
			onward(t, env, 4)
			onward(t, twin, 4)
		}
		last.badState = true
		if err := env.RestoreState(state); err == nil || !strings.Contains(err.Error(), "environment 3 (*wrappers_test.probe): probe: bad state") {
			t.Fatalf("error %v", err)
		}
		if !reset {
			if _, err := env.Step(make([]float32, 8)); err == nil {
				t.Error("stepped without Reset")
			}
			// The probes' own episode numbers have gone on, their generators have not.
			a, b := must(t)(env.Reset(-1)), must(t)(twin.Reset(-1))
			if !slices.Equal(a.Observations, b.Observations) {
				t.Errorf("begins with %v, want %v", a.Observations, b.Observations)
			}
			continue
		}
		if d := cmp.Diff(onward(t, twin, 20), onward(t, env, 20)); d != "" {
			t.Errorf("a refused state changed how it goes on: %s", d)
		}
	}
}

func FuzzRestoreState(f *testing.F) {
	create := func() envs.Env {
		env, err := classic.NewPendulum(classic.Config{NumEnvs: 2, Seed: 1})
		if err != nil {
			f.Fatal(err)
		}
		statistics, err := wrappers.NewEpisodeStatistics(env)
		if err != nil {
			f.Fatal(err)
		}
		skills, err := wrappers.NewSkills(statistics, wrappers.SkillsOptions{Size: 2})
		if err != nil {
			f.Fatal(err)
		}
		if _, err := skills.Reset(-1); err != nil {
			f.Fatal(err)
		}
		return skills
	}
	env := create()
	f.Cleanup(func() { _ = env.Close() })
	s, _ := envs.As[envs.Stateful](env)
	state, err := s.MarshalState()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(state)
	f.Add(state[:len(state)/2])
	f.Add(bytes.Repeat([]byte{0xff}, 200))
	flipped := slices.Clone(state)
	flipped[len(flipped)/3] ^= 0x80
	f.Add(flipped)
	f.Fuzz(func(t *testing.T, b []byte) {
		before, err := s.MarshalState()
		if err != nil {
			t.Fatal(err)
		}
		restoreErr := s.RestoreState(b)
		after, err := s.MarshalState()
		if err != nil {
			t.Fatal(err)
		}
		if restoreErr != nil && !bytes.Equal(before, after) {
			t.Errorf("a refused state changed the environment: %v", restoreErr)
		}
		if restoreErr == nil && !bytes.Equal(after, b) {
			t.Error("an accepted state is saved differently")
		}
	})
}
