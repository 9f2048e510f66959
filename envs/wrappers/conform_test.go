package wrappers_test

import (
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/envtest"
)

// A wrap puts an environment into a wrapper.
type wrap func(env envs.Env) (envs.Env, error)

func clipAction(env envs.Env) (envs.Env, error) { return wrappers.NewClipAction(env) }

func rescaleAction(env envs.Env) (envs.Env, error) { return wrappers.NewRescaleAction(env) }

func scaleReward(env envs.Env) (envs.Env, error) { return wrappers.NewRewardScale(env, 2) }

func clipReward(env envs.Env) (envs.Env, error) { return wrappers.NewClipReward(env, -1, 1) }

func clipObservation(env envs.Env) (envs.Env, error) { return wrappers.NewClipObservation(env, -2, 2) }

func countEpisodes(env envs.Env) (envs.Env, error) { return wrappers.NewEpisodeStatistics(env) }

func normalizeReward(env envs.Env) (envs.Env, error) {
	return wrappers.NewNormalizeReward(env, wrappers.NormalizeRewardOptions{Discount: .9})
}

func normalizeObservation(env envs.Env) (envs.Env, error) {
	return wrappers.NewNormalizeObservation(env, wrappers.NormalizeObservationOptions{})
}

// everyWrapper lists wrappers that pass on what an environment of Boxes has; transitions are recorded in a folder.
func everyWrapper(dir string) []wrap {
	return []wrap{countEpisodes, scaleReward, normalizeReward, clipReward, clipAction, rescaleAction, clipObservation,
		func(env envs.Env) (envs.Env, error) {
			return wrappers.NewRecord(env, wrappers.RecordOptions{Dir: dir})
		},
		func(env envs.Env) (envs.Env, error) { return envs.Checked(env) },
	}
}

// wrapped puts a new environment into wrappers, the first one innermost.
func wrapped(t testing.TB, env envs.Env, err error, wraps []wrap) envs.Env {
	t.Helper()
	for _, w := range wraps {
		if err == nil {
			env, err = w(env)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return env
}

func TestConform(t *testing.T) {
	carts := func(seed int64, workers int) (envs.Env, error) {
		return classic.NewCartPole(classic.Config{NumEnvs: 5, Seed: seed, MaxEpisodeSteps: 12, Workers: workers})
	}
	batch := func(seed int64, workers int) (envs.Env, error) {
		return wrappers.NewParallel(5, func(i int) (envs.Single, error) {
			return &probe{index: i, length: 2 + i, constant: true}, nil
		}, wrappers.ParallelOptions{Seed: seed, Workers: workers})
	}
	skills := func(seed int64, workers int) (envs.Env, error) {
		env, err := batch(seed, workers)
		if err != nil {
			return nil, err
		}
		return wrappers.NewSkills(env, wrappers.SkillsOptions{Size: 3, MinSteps: 2, MaxSteps: 4, Seed: seed})
	}
	in := func(inside envtest.Make, wraps ...wrap) envtest.Make {
		return func(seed int64, workers int) (envs.Env, error) {
			env, err := inside(seed, workers)
			return wrapped(t, env, err, wraps), nil
		}
	}
	for name, make := range map[string]envtest.Make{
		"Parallel":          batch,
		"EpisodeStatistics": in(carts, countEpisodes),
		"rewards":           in(carts, scaleReward, clipReward),
		"actions":           in(batch, clipAction, rescaleAction),
		"Checker":           in(carts, func(env envs.Env) (envs.Env, error) { return envs.Checked(env) }),
	} {
		t.Run(name, func(t *testing.T) { envtest.Conform(t, 60, make) })
	}
	for name, make := range map[string]envtest.Make{
		"statistics": in(carts, normalizeReward, normalizeObservation, clipObservation),
		"Skills":     skills, // the first latents are drawn before Reset
	} {
		t.Run(name, func(t *testing.T) { envtest.ConformLearning(t, make) })
	}
}
