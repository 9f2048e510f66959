package gymnasium

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// Action masks arrive from infos and from a method, of single environments and of batches. Masks that would be ignored
// without a word, and masks that are wrong, are errors that say what to do.
func TestPeersMasks(t *testing.T) {
	single := func(form string) Options {
		o := real(t, "bridge_environments:Allowed", 3, 2)
		o.Kwargs = map[string]any{"form": form}
		return o
	}
	batch := func(mode Autoreset, method bool) Options {
		o := real(t, "bridge_batches:Allowed", 3, 0)
		o.Simulator, o.Kwargs = Batch, map[string]any{"mode": mode, "method": method}
		return o
	}
	boxed := real(t, "bridge_environments:boxed", 1, 1)
	const key = "action_mask"
	for i, c := range []struct {
		o       Options
		masks   string // the option
		refused string // "" if the environment must work
	}{
		{single("info"), key, ""}, {single("parts"), key, ""}, {single("method"), "", ""},
		{batch(SameStep, false), key, ""}, {batch(NextStep, false), key, ""}, {batch(Disabled, true), "", ""},
		{single("info"), "", `set action_masks to action_mask so that policies obey the masks, or to ignore`},
		{single("short"), key, "it must be 5 values of 0 and 1"},
		{single("empty"), key, "environment 0: the action mask allows no choice of index 1 of MultiDiscrete(3, 2)"},
		{boxed, key, "action masks need Discrete, MultiDiscrete or MultiBinary actions"},
	} {
		t.Run(fmt.Sprint(i, c.masks, c.refused), func(t *testing.T) {
			c.o.ActionMasks = c.masks
			e, err := New(c.o)
			if err == nil {
				t.Cleanup(func() { e.Close() })
				err = envs.Check(e, 20, 1)
			}
			if c.refused != "" {
				must.Refuse(t, err, c.refused)
				return
			}
			must.Do(t, err)
			s, actions := envtest.Reset(t, e, 1), make([]float32, 6)
			for range 12 {
				for k := range 3 {
					at := int(s.Observations[k])
					want := []float32{0, 0, 0, 0, 0}
					want[at%3], want[3+at%2] = 1, 1
					if at == 4 { // the next step of the row only resets
						want = []float32{1, 1, 1, 1, 1}
					}
					must.Same(t, s.ActionMasks[5*k:5*k+5], want, "the mask of step %d", at)
				}
				e.Spaces().SampleActions(rand.New(rand.NewPCG(1, 1)), actions, s.ActionMasks)
				s = envtest.Step(t, e, actions)
			}
		})
	}
	ignoring := single("info")
	ignoring.ActionMasks = Ignore
	e := open(t, ignoring)
	masks := envtest.Reset(t, e, 1).ActionMasks
	must.Not(t, masks != nil || e.set.ActionMask.Kind != spaces.None, "masks %v that should be ignored", masks)
}
