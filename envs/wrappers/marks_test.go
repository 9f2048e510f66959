package wrappers_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// resetLater records two environments of a simulator with next-step autoreset, whose episodes have 3 and 5 steps. The
// observations count the steps of an episode, and every step's reward is 1. With lost the last observations are not
// kept, and the simulator resets within its step.
func resetLater(steps int, lost bool) *tape {
	e := &tape{n: 2, width: 1, steps: []envs.Step{{Observations: []float32{0, 0}}}}
	length, at, ended := []int{3, 5}, []int{0, 0}, []bool{false, false}
	for range steps {
		s := envs.Step{Observations: make([]float32, 2), Rewards: make([]float32, 2), Terminated: make([]bool, 2),
			Truncated: make([]bool, 2), Invalid: make([]bool, 2), FinalUnknown: make([]bool, 2)}
		for i := range at {
			if ended[i] {
				at[i], ended[i], s.Invalid[i] = 0, false, true
				continue
			}
			at[i]++
			s.Rewards[i] = 1
			s.Truncated[i] = at[i] == length[i]
			if s.Observations[i] = float32(at[i]); !s.Truncated[i] {
				continue
			}
			s.Episodes = append(s.Episodes, envs.Episode{Env: i, Return: float64(at[i]), Length: at[i]})
			s.FinalObservations = []float32{float32(at[0]), float32(at[1])}
			if ended[i] = !lost; lost {
				at[i], s.FinalUnknown[i], s.Observations[i] = 0, true, 0
				s.FinalObservations[i] = 777 // undefined
			}
		}
		e.steps = append(e.steps, s)
	}
	return e
}

// Wrappers learn from every observation of an episode once, from no row of a reset, and from no observation that was
// not kept.
func TestMarkedRows(t *testing.T) {
	const steps = 24 // six episodes of the first, four of the second, each with its reset
	for _, variant := range []wrappers.Variant{wrappers.Gymnasium, wrappers.SB3} {
		for name, lost := range map[string]bool{"next step": false, "lost": true} {
			env := must.Get(envs.Checked(resetLater(steps, lost)))(t)
			options := wrappers.NormalizeRewardOptions{Variant: variant}
			observations := must.Get(wrappers.NewNormalizeObservation(env,
				wrappers.NormalizeObservationOptions{Variant: variant}))(t)
			rewards := must.Get(wrappers.NewNormalizeReward(observations, options))(t)
			counted := must.Get(wrappers.NewEpisodeStatistics(rewards))(t)
			dir := t.TempDir()
			recorded := must.Get(wrappers.NewRecord(counted, wrappers.RecordOptions{Dir: dir, Env: 1}))(t)
			must.Get(recorded.Reset(0))(t)
			seen, episodes := []float64{0, 0}, 0 // all that was shown, without what was shown twice
			for k := range steps {
				for _, e := range must.Get(recorded.Step([]float32{0, 0}))(t).Episodes {
					length := []int{3, 5}[e.Env]
					must.Not(t, e.Length != length || e.Return != float64(length), "%v, %s: %+v", variant, name, e)
					episodes++
				}
				raw := env.Unwrap().(*tape).steps[k+1]
				for i, x := range raw.Observations {
					if variant == wrappers.Gymnasium || lost || !raw.Truncated[i] {
						seen = append(seen, float64(x))
					}
				}
			}
			n, mean, square := float64(len(seen)), 0.0, 0.0
			for _, x := range seen {
				mean, square = mean+x/n, square+x*x/n
			}
			got := observations.Statistics() // which begin with a count of 1e-4
			must.Near(t, got["mean"][0], mean, 1e-3, "%v, %s: mean", variant, name)
			must.Near(t, got["variance"][0], square-mean*mean, 1e-3, "%v, %s: variance", variant, name)
			must.Near(t, got["count"][0], n, 1e-3, "%v, %s: count", variant, name)
			resets := 0
			for _, s := range env.Unwrap().(*tape).steps {
				for i := range s.Invalid {
					if s.ResetOnly(i) {
						resets++
					}
				}
			}
			must.Near(t, rewards.Statistics()["count"][0], float64(2*steps-resets), 1e-3, "%v, %s", variant, name)
			must.Is(t, episodes, map[bool]int{false: 6 + 4, true: 8 + 4}[lost], "%v, %s", variant, name)
			must.Do(t, recorded.Close())
			lines := readLines(t, filepath.Join(dir, "episode-000001.jsonl"))
			must.Not(t, len(lines) != 5 || !lines[4].Truncated || (lines[4].NextObservation == nil) != lost ||
				slices.Equal(lines[0].Observation, lines[1].Observation), "%v, %s: recorded %v", variant, name, lines)
		}
	}
}
