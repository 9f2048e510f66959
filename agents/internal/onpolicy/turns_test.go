package onpolicy

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Steps from turn to turn, with random turns, rewards and ends, are those that a walk through each row finds.
func TestDivideTurns(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n, steps := 1+rng.IntN(3), 1+rng.IntN(9)
		idle, ended, rewards := make([]bool, (steps+1)*n), make([]bool, steps*n), make([]float32, steps*n)
		for i := range idle {
			idle[i] = rng.IntN(2) == 0
		}
		for i := range ended {
			ended[i], rewards[i] = rng.IntN(5) == 0, float32(rng.IntN(9)-4)
		}
		d := divideTurns(n, idle, rewards, ended)
		sorted := slices.Clone(d.action)
		slices.Sort(sorted)
		for i, row := range sorted {
			if row != int64(i) {
				t.Fatalf("the rows %v are not those of %d steps of %d environments", d.action, steps, n)
			}
		}
		for env := range n {
			type step struct {
				action, last int
				reward       float32
			}
			var want []step
			var unknown []int64
			for at := 0; at < steps; at++ {
				row := at*n + env
				if idle[row] {
					continue
				}
				s := step{action: row, last: row, reward: rewards[row]}
				for !ended[s.last] && idle[s.last+n] && s.last+n < steps*n {
					s.last += n
					s.reward += rewards[s.last]
				}
				if !ended[s.last] && idle[s.last+n] {
					unknown = append(unknown, int64(row))
				} else {
					want = append(want, s)
				}
			}
			for i, s := range want {
				at := (steps-len(want)+i)*n + env
				if got := (step{int(d.action[at]), int(d.last[at]), d.rewards[at]}); got != s {
					t.Fatalf("step %d of row %d is %+v, want %+v; idle %v, ended %v", i, env, got, s, idle, ended)
				}
			}
			for _, row := range unknown {
				if !slices.Contains(d.unknown, row) {
					t.Fatalf("the outcome of row %d counts as known", row)
				}
			}
		}
		if len(d.unknown) > n || math.IsNaN(float64(d.rewards[0])) {
			t.Fatalf("%d outcomes are unknown in %d environments", len(d.unknown), n)
		}
	}
}
