package states

import "testing"

// FuzzDecode: what a state file may hold, a population can rely on.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"schema":1,"policy":1,"members":2,"phase":"trained","iteration":3,"sequence":4,"copies":1,
		"best":"NaN","member":{"steps":5,"parent":0,"objective":1,"hyperparameters":{"a":1},
		"snapshot":"000001.safetensors"}}`))
	f.Add([]byte(`{"schema":1,"policy":0,"members":2,"phase":"decided","iteration":1,"sequence":1,"member":{"steps":5},
		"pending":{"event":{"event":"replace","iteration":1,"member":0,"parent":1,"steps":5},"values":{"a":2},
		"source":1,"snapshot":"x"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := Decode(data)
		if err != nil {
			return
		}
		if p := s.Member.CopiedFrom(); p < -1 || p >= s.Members || s.Policy >= s.Members ||
			(s.Pending != nil) != (s.Phase == Decided) {
			t.Errorf("%+v is accepted", s)
		}
		if s.Pending != nil && (s.Pending.Source < 0 || s.Pending.Source >= s.Members) {
			t.Errorf("pending %+v is accepted", s.Pending)
		}
	})
}
