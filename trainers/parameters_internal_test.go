package trainers

import (
	"testing"
)

// FuzzDecodeParameters feeds damaged states: an error or values of environments that exist, never a panic.
func FuzzDecodeParameters(f *testing.F) {
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
		s, err := decodeParameters(b, n)
		if err != nil {
			return
		}
		all := s.Fresh
		for _, c := range s.Current {
			all = append(all, c.Environments...)
		}
		for _, i := range all {
			_ = make([]bool, n)[i]
		}
	})
}
