package pbt

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/pbt/journal"
)

// TestEveryFlippedBitOfAStateIsNoticed: a state that was altered is not taken for one, unless it says the same.
func TestEveryFlippedBitOfAStateIsNoticed(t *testing.T) {
	t.Parallel()
	c := newColony(2)
	c.opt.Directory, c.opt.TotalSteps = t.TempDir(), 100
	if err := mustTrain(t, c.opt).Close(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := newTribe(2, folder(t, dir, 2))
	r.opt.TotalSteps = 100
	r.mustTrain(t)
	for name, s := range map[string]struct {
		data   []byte
		decode func([]byte) (any, error)
	}{
		"population": {read(t, c.opt.Directory, stateFile), func(data []byte) (any, error) { return decodeState(data) }},
		"member":     {read(t, dir, "000", stateFile), func(data []byte) (any, error) { return decodeWorkerState(data) }},
	} {
		want, err := s.decode(s.data)
		if err != nil {
			t.Fatal(err)
		}
		for i := range s.data {
			for _, bit := range []int{0, 5, 7} {
				data := slices.Clone(s.data)
				data[i] ^= 1 << bit
				if got, err := s.decode(data); err == nil && !reflect.DeepEqual(got, want) {
					t.Fatalf("%s: %q in place of %q at byte %d is not noticed", name, data[i], s.data[i], i)
				}
			}
		}
	}
}

// TestStateOfAnyText: whatever a failure says, the state that keeps it can be read again.
func TestStateOfAnyText(t *testing.T) {
	for _, text := range []string{"plain", "\xff\xfe", "\uFFFD", `\ufffd`, "\xff" + `\\ufffd` + "\n\x00<>&\u2028"} {
		s := workerState{
			Schema: stateSchema, Members: 2, Phase: phaseDecided, Iteration: 3, Sequence: 4,
			Member:  savedMember{Steps: 5, Failure: text, Hyperparameters: number.Map{text: number.JSON(math.NaN()), "b": 1e-300}},
			Pending: &savedPending{Event: journal.Event{Kind: journal.SelfMutate, Iteration: 3, Parent: -1, Steps: 5, Cause: text, Before: map[string]float64{"b": math.NaN()}}},
		}
		data, err := durable.Seal(&s, &s.Check)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := decodeWorkerState(data); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func FuzzDecodeState(f *testing.F) {
	f.Add([]byte(`{"schema":1,"members":[{"steps":5,"objective":1,"hyperparameters":{"a":1},"snapshot":"000001.safetensors"}],"iteration":1,"sequence":1,"best":{"member":0,"iteration":1,"snapshot":"000001.safetensors"}}`))
	f.Add([]byte(`{"schema":1,"members":[{"steps":5,"failure":"gone","parent":0}],"iteration":1,"sequence":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := decodeState(data)
		if err != nil {
			return
		}
		for _, m := range s.Members {
			if p := m.parent(); p < -1 || p >= len(s.Members) {
				t.Errorf("parent %d of %d members", p, len(s.Members))
			}
		}
	})
}
