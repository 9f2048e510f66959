package trainers

import (
	"maps"
	"testing"
)

// FuzzDecodeParameters feeds damaged states: an error or good values, never a panic.
func FuzzDecodeParameters(f *testing.F) {
	for _, seed := range []string{
		`{"format":1,"target":{"scale":1.5},"current":[{"values":{"scale":1},"environments":[0,2]},` +
			`{"values":{"scale":1.5},"environments":[1]}],"fresh":[1]}`,
		`{"format":1,"target":null}`, `{"format":1,"current":[{"environments":[-1]}]}`,
		`[]`, `{"format":1,"fresh":[9]}`,
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
		has := make([]*values, n)
		for _, c := range s.Current {
			v := &values{flat: c.Values}
			for _, i := range c.Environments {
				has[i] = v
			}
		}
		p := &parameters{standing: standing{&values{flat: s.Target}, has, make([]bool, n)}}
		for _, i := range s.Fresh {
			p.fresh[i] = true
		}
		saved, err := p.marshal(n > 0)
		if err != nil {
			t.Fatal(err)
		}
		again, err := decodeParameters(saved, n)
		if err != nil || !maps.Equal(again.Target, s.Target) {
			t.Fatalf("%s: %v", saved, err)
		}
	})
}
