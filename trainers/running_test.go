package trainers_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/trainers"
)

// takeOver gives m another's weights as a population does.
func takeOver(t *testing.T, m *trainers.Trainee, snap *checkpoint.Snapshot) {
	t.Helper()
	must(t, errors.Join(m.Restore(snap), m.Reseed(3)))
}

// withEnvironment is a snapshot with the environment of another, as Inheritance.Environment "keep" makes it.
func withEnvironment(of, from *checkpoint.Snapshot) *checkpoint.Snapshot {
	out := *of
	out.Arrays = maps.Clone(of.Arrays)
	for name, array := range from.Arrays {
		if strings.HasPrefix(name, "environment/") {
			out.Arrays[name] = array
		}
	}
	return &out
}

// Episodes that weights are changed in are not counted when they end, those that begin afterwards are, and so are those
// whose environment comes with its weights. Episodes last 3, 4 and 5 steps; after 4 steps the second environment's has
// just ended.
func TestEpisodesOfSeveralWeights(t *testing.T) {
	without, with := trainers.Config{Seed: 1}, trainers.Config{Seed: 1, SaveBuffers: true}
	type snapshots func(own, other *checkpoint.Snapshot) *checkpoint.Snapshot
	other := func(_, other *checkpoint.Snapshot) *checkpoint.Snapshot { return other }
	kept := func(own, other *checkpoint.Snapshot) *checkpoint.Snapshot { return withEnvironment(other, own) }
	ownGoOn, othersCame := []float64{4, 3, 5, 3, 4}, []float64{3, 5, 4, 3, 4, 5, 3}
	for name, c := range map[string]struct {
		donor, taker trainers.Config
		snap         snapshots
		want         []float64 // the lengths of the episodes that are counted in the next 8 steps, in order
	}{
		"no state is saved":         {without, without, other, ownGoOn},
		"the state is not taken":    {with, without, other, ownGoOn},
		"its own state is kept":     {with, with, kept, ownGoOn},
		"the state comes with them": {with, with, other, othersCame},
	} {
		donor, m := scholar(t, 3, c.donor), scholar(t, 3, c.taker)
		advance(t, donor, 14)
		advance(t, m, 4)
		takeOver(t, m, c.snap(mustSnapshot(t, m), mustSnapshot(t, donor)))
		saved := mustSnapshot(t, m)
		advance(t, m, 8)
		if got := m.Samples("episode.length", 99); !slices.Equal(got, c.want) ||
			len(m.Samples("episode.lowest", 99)) != len(got) {
			t.Errorf("%s: episodes of %v are counted, want %v", name, got, c.want)
		}
		if c.taker.SaveBuffers { // a member that is saved after the takeover and goes on elsewhere is the same
			resumed := scholar(t, 3, c.taker)
			must(t, resumed.Restore(saved))
			advance(t, resumed, 8)
			sameStanding(t, name, m, resumed)
		}
	}
}

// lesson is an environment with parameters and a curriculum: its level is the number of episodes that have ended. It
// says of every episode which scales it has seen. Its state has neither parameters nor level.
type lesson struct {
	length, steps int
	level         uint64
	x             float64

	scale, delta float64
	count        int
	on           bool

	low, high float64 // scales in this episode
}

func (l *lesson) Spaces() spaces.Set {
	return spaces.Set{Observation: spaces.Unbounded(2), Action: spaces.NewBox(-1, 1, 1)}
}

func (l *lesson) Reset(rng *rand.Rand, out envs.Row) error {
	l.steps, l.x, l.low, l.high = 0, rng.Float64(), math.Inf(1), math.Inf(-1)
	out.Observation[0], out.Observation[1] = float32(l.x), 0
	return nil
}

func (l *lesson) Step(action []float32, out envs.Row) (reward float64, terminated, truncated bool, err error) {
	l.steps++
	l.x += 0.1*float64(action[0]) + 0.001*float64(l.level)
	l.low, l.high = min(l.low, l.scale), max(l.high, l.scale)
	out.Observation[0], out.Observation[1] = float32(l.x), float32(l.steps)
	if l.steps == l.length {
		l.level++
	}
	if l.on {
		reward = 1
	}
	return reward + l.scale*l.x + float64(l.count) + l.delta, l.steps == l.length &&
		l.length%2 == 0, l.steps == l.length && l.length%2 == 1, nil
}

func (l *lesson) Close() error { return nil }

func (l *lesson) EpisodeMetrics() map[string]float64 {
	return map[string]float64{"lowest": l.low, "highest": l.high, "true_objective": float64(l.length),
		"Curriculum/difficulty_level": float64(l.level)}
}

func (l *lesson) RewardShaping() map[string]any {
	return map[string]any{"scale": l.scale, "count": l.count, "nested": map[string]any{"on": l.on, "name": "as it is",
		"delta": []any{l.delta}}}
}

func (l *lesson) SetRewardShaping(values map[string]any) error {
	scale, nested := values["scale"].(float64), values["nested"].(map[string]any)
	if scale > 100 {
		return fmt.Errorf("scale %g is too much", scale)
	}
	l.scale, l.count, l.on = scale, values["count"].(int), nested["on"].(bool)
	l.delta = nested["delta"].([]any)[0].(float64)
	return nil
}

func (l *lesson) CurriculumState() ([]byte, error) {
	return binary.LittleEndian.AppendUint64(nil, l.level), nil
}

func (l *lesson) SetCurriculumState(b []byte) error {
	if len(b) != 8 {
		return fmt.Errorf("a level of %d bytes", len(b))
	}
	l.level = binary.LittleEndian.Uint64(b)
	return nil
}

func (l *lesson) MarshalState() ([]byte, error) {
	return binary.Append(nil, binary.LittleEndian, [4]float64{float64(l.steps), l.x, l.low, l.high})
}

func (l *lesson) RestoreState(b []byte) error {
	var state [4]float64
	if n, err := binary.Decode(b, binary.LittleEndian, &state); err != nil || n != len(b) {
		return errors.New("not a lesson")
	}
	l.steps, l.x, l.low, l.high = int(state[0]), state[1], state[2], state[3]
	return nil
}

// forgetful is a lesson that cannot be saved.
type forgetful struct{ *lesson }

func (forgetful) MarshalState() {} // hides the method of that name

// lessons are a batch whose episodes last 3, 4, 5, ... steps, behind wrappers.
func lessons(t testing.TB, n int, saved bool) envs.Env {
	t.Helper()
	env := value(wrappers.NewParallel(n, func(i int) (envs.Single, error) {
		l := &lesson{length: 3 + i, scale: 1, count: 2, delta: 0.5}
		if !saved {
			return wrappers.NewTimeLimit(forgetful{l}, 50)
		}
		return wrappers.NewTimeLimit(l, 50)
	}, wrappers.ParallelOptions{Workers: 2}))(t)
	scaled := value(wrappers.NewRewardScale(env, 0.5))(t)
	return scaled
}

// scholar trains in lessons. All scholars begin alike.
func scholar(t testing.TB, n int, cfg trainers.Config) *trainers.Trainee {
	t.Helper()
	return student(t, lessons(t, n, true), cfg)
}

func student(t testing.TB, env envs.Env, cfg trainers.Config) *trainers.Trainee {
	t.Helper()
	agent := smallPPO(t, env.Spaces(), 7, nil)
	m := sequential(t, env, agent, cfg).Trainee()
	t.Cleanup(func() {
		must(t, m.Close())
	})
	return m
}

// sameStanding fails where two trainers would not go on alike.
func sameStanding(t *testing.T, what string, want, got *trainers.Trainee) {
	t.Helper()
	a := value(want.Snapshot())(t)
	b := value(got.Snapshot())(t)
	if d := agenttest.Differences(agenttest.Through(t, a), agenttest.Through(t, b)); len(d) > 0 {
		t.Errorf("%s: %q differ", what, d)
	}
}
