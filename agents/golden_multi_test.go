package agents_test

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/agents/ippo"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/internal/test/golden"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// TestGoldenSeveralAgents replays rollouts and updates of IPPO and MAPPO that skrl 2.0.0 made, each with all its agents
// at once.
func TestGoldenSeveralAgents(t *testing.T) {
	list := check.Get(golden.Sources(os.DirFS("testdata")))(t)
	for _, src := range list {
		files := check.Get(fs.Glob(src.FS, "skrl_multi_agent/*.json"))(t)
		check.Not(t, len(files) == 0 && src.Name != golden.Environment, "%s has no case of several agents", src.Name)
		for _, file := range files {
			t.Run(path.Join(src.Name, strings.TrimSuffix(path.Base(file), ".json")), func(t *testing.T) {
				goldenSeveral(t, src.FS, file)
			})
		}
	}
}

// loadAgents reads a case of several agents: one case each, in order, and the settings of all.
func loadAgents(t *testing.T, fsys fs.FS, file string) (names []string, cases []*goldenCase,
	settings map[string]any) {
	t.Helper()
	var d struct {
		goldenHead
		Possible   []string `json:"possible_agents"`
		ValueReads string   `json:"value_reads"`
		Agents     map[string]struct {
			Discrete bool `json:"discrete_actions"`
		}
		Expect struct {
			LearningRate map[string]float64 `json:"learning_rate"`
			Tracked      map[string]float64
		}
	}
	all := loadHead(t, fsys, file, &d)
	settings = d.settings()
	for _, name := range d.Possible {
		c := &goldenCase{Algorithm: d.Algorithm, Activation: d.Activation, Discrete: d.Agents[name].Discrete,
			Config: map[string]any{}, Init: arrays{}, Ranks: 1}
		if d.ValueReads == "states" {
			c.ValueReads = d.ValueReads
		}
		tracked := map[string]float64{}
		for tag, x := range d.Expect.Tracked {
			if own, ok := strings.CutSuffix(tag, " ("+name+")"); ok {
				tracked[own] = x
			}
		}
		for key, x := range all { // kind/agent/name
			if kind, rest, ok := strings.Cut(key, "/"+name+"/"); ok {
				c.Init[kind+"/"+rest] = x
			}
		}
		c.Updates = []goldenUpdate{{arrays: c.Init, Tracked: tracked, LearningRate: d.Expect.LearningRate[name]}}
		c.finish(t)
		cases, settings["rollouts"] = append(cases, c), c.steps
		for _, scaler := range []string{"observation_preprocessor", "state_preprocessor", "value_preprocessor"} {
			if _, ok := c.Init["init/"+scaler+"/running_mean"]; ok && d.Scalers {
				settings[scaler] = "RunningStandardScaler"
			}
		}
	}
	return d.Possible, cases, settings
}

func goldenSeveral(t *testing.T, fsys fs.FS, file string) {
	names, cases, settings := loadAgents(t, fsys, file)
	seats, replays := make([]spaces.Seat, len(cases)), make([]*replay, len(cases))
	for i, c := range cases {
		seats[i] = spaces.Seat{Name: names[i], Observation: c.spaces.Observation, Action: c.spaces.Action}
		replays[i] = &replay{c: c, policy: c.policy(t)}
	}
	n := cases[0].envs
	a := check.Get(ippo.New(ippo.Options{Spaces: spaces.NewSeats(cases[0].spaces.State, seats...), NumEnvs: n,
		Dict: settings, Centralised: cases[0].Algorithm == "mappo",
		Models: func(g ippo.Group) ppo.Models {
			i := slices.Index(names, g.Name)
			return ppo.Models{Policy: replays[i].policy, Value: cases[i].network(t, "value")}
		}}))(t)
	defer a.Close()
	for i, member := range a.Agents() {
		x := replays[i]
		x.agent = member.(*ppo.Agent)
		x.core = inside(x.agent, "Parts").Interface().(onpolicy.Parts)
		x.start(t)
	}
	for step := range cases[0].steps {
		joint := func(field string) (rows []float32) {
			for env := range n {
				for _, c := range cases {
					x := c.Init["rollout/"+field].Row(step)
					w := len(x.Data) / n
					rows = append(rows, x.Float32s()[env*w:(env+1)*w]...)
				}
			}
			return rows
		}
		flags := func(field string) (out []bool) {
			for _, x := range joint(field) {
				out = append(out, x != 0)
			}
			return out
		}
		shared := func(field string) []float32 {
			if x, ok := cases[0].Init["rollout/"+field]; ok {
				return x.Row(step).Float32s()
			}
			return nil
		}
		active := slices.Repeat([]bool{true}, n*len(cases))
		for _, x := range replays {
			x.policy.next = x.c.Init["rollout/actions"].Row(step).Float32s()
		}
		check.Get(a.Act(agents.Observation{Observations: joint("observations"), States: shared("states"),
			Active: active}))(t)
		must(t, a.Record(agents.Transition{Rewards: make([]float32, n), Terminated: make([]bool, n),
			Truncated: make([]bool, n), NextObservations: joint("next_observations"), NextStates: shared("next_states"),
			Seats: spaces.SeatStep{Rewards: joint("rewards_env"), Terminated: flags("terminated"),
				Truncated: flags("truncated"), Active: active}}))
	}
	compare := golden.NewComparison(t)
	for _, x := range replays {
		x.compareRollout(t, compare, &x.c.Updates[0])
	}
	must(t, a.Update(t.Context()))
	tracked := map[string]float64{}
	a.Tracked(func(tag string, value float64) { tracked[tag] = value })
	for i, x := range replays {
		x.updated(t, compare, &x.c.Updates[0], func(f func(tag string, value float64)) {
			for tag, value := range tracked {
				if own, ok := strings.CutSuffix(tag, " ("+names[i]+")"); ok {
					f(own, value)
				}
			}
		})
	}
}
