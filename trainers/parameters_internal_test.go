package trainers

import (
	"slices"
	"testing"
)

// anyScale takes every value of a reward with one parameter.
type anyScale struct{}

func (anyScale) RewardShaping() map[string]any                { return map[string]any{"scale": 1.0} }
func (anyScale) SetRewardShaping(map[string]any, []int) error { return nil }

// FuzzReadParameters feeds damaged states: an error or values for every environment, never a panic.
func FuzzReadParameters(f *testing.F) {
	own := &values{map[string]any{"scale": 1.0}, map[string]float64{"scale": 1}}
	for _, seed := range []string{
		`{"format":1,"target":{"scale":1.5},"current":[{"values":{"scale":1},"environments":[0,2]},` +
			`{"values":{"scale":1.5},"environments":[1]}],"fresh":[1]}`,
		`{"format":1,"target":null}`, `{"format":1,"current":[{"environments":[-1]}]}`, `{"format":1,"fresh":[9]}`,
	} {
		f.Add([]byte(seed), 3)
	}
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		if n < 0 || n > 1000 {
			return
		}
		p := parameters{shaper: anyScale{}, standing: standing{own, make([]*values, n), make([]bool, n)}}
		if s, err := p.read(b, true); err == nil && slices.Contains(s.current, nil) {
			t.Errorf("%q: an environment has no values", b)
		}
	})
}
