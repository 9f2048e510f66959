package trainers_test

import (
	"errors"
	"maps"
	"testing"

	"github.com/gorl-dev/gorl/agents/ippo"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	check "github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/models"
)

// scene makes an environment and an agent of a run, always the same ones.
type scene struct {
	name string
	make func(t testing.TB) (envs.Env, agenttest.Agent)
}

// made is make with an environment and an agent that are closed with the test.
func (s scene) made(t testing.TB) (envs.Env, agenttest.Agent) {
	t.Helper()
	env, agent := s.make(t)
	t.Cleanup(func() { must(t, errors.Join(env.Close(), agent.Close())) })
	return env, agent
}

// cartPole and walker are scenes of PPO and AMP with some settings.
func cartPole(name string, settings map[string]any) scene {
	return scene{name, func(t testing.TB) (envs.Env, agenttest.Agent) {
		env := value(classic.NewCartPole(classic.Config{NumEnvs: 4, MaxEpisodeSteps: 25}))(t)
		all := map[string]any{"learning_rate_scheduler": "KLAdaptiveLR", "value_preprocessor": "RunningStandardScaler"}
		maps.Copy(all, settings)
		return env, smallPPO(t, env.Spaces(), 5, all)
	}}
}

func walker(name string, settings map[string]any) scene {
	return scene{name, func(t testing.TB) (envs.Env, agenttest.Agent) {
		env := newWalker(t)
		all := map[string]any{"observation_preprocessor": "RunningStandardScaler"}
		maps.Copy(all, settings)
		return env, smallAMP(t, env.Spaces(), env, 5, all)
	}}
}

func newWalker(t testing.TB) *mujoco.Walker {
	t.Helper()
	return value(mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 3, EpisodeLength: 20, Workers: 1, Stagger: 10}))(t)
}

var scenes = []scene{cartPole("cartpole", nil), walker("walker", nil)}

// seats are scenes in which several agents act: in turns with masks, and at the same time with a shared state.
var seats = []scene{game("tic-tac-toe", classic.NewTicTacToe, false), game("spread", classic.NewSpread, true)}

// game is a scene of IPPO or MAPPO.
func game(name string, create func(classic.Config) (envs.Env, error), centralised bool) scene {
	return scene{name, func(t testing.TB) (envs.Env, agenttest.Agent) {
		env := value(create(classic.Config{NumEnvs: 4}))(t)
		return env, value(ippo.New(ippo.Options{Spaces: env.Spaces(), Models: ippo.MLPs([]int{8}, "elu"), Seed: 5,
			Centralised: centralised, Dict: map[string]any{"rollouts": 8, "learning_epochs": 2,
				"value_preprocessor": "RunningStandardScaler", "parameter_sharing": "prefix"}}))(t)
	}}
}

// overlapping are scenes whose agents act while they learn.
var overlapping = []scene{
	cartPole("cartpole overlap", map[string]any{"overlap": true}),
	walker("walker overlap", map[string]any{"separate_critics": true, "overlap": true}),
}

// recurrent is a scene whose agent has memory.
var recurrent = scene{"cartpole gru", func(t testing.TB) (envs.Env, agenttest.Agent) {
	env := value(classic.NewCartPole(classic.Config{NumEnvs: 4, MaxEpisodeSteps: 25}))(t)
	return env, value(ppo.New(ppo.Options{Spaces: env.Spaces(), Models: ppo.Recurrent(env.Spaces(), models.GRU(6),
		[]int{8}, "elu"), Seed: 5, Dict: map[string]any{"rollouts": 8, "learning_epochs": 2, "sequence_length": 4,
		"value_preprocessor": "RunningStandardScaler"}}))(t)
}}

var must, wantError = check.Do, check.RefuseAs

// value returns the first of two results and ends the test on an error: value(f())(t).
func value[T any](x T, err error) func(t testing.TB) T { return check.Get(x, err) }

// refused is wantError for a call with two results: refused(f())(t, "a case", "part of the text").
func refused[T any](x T, err error) func(t testing.TB, what any, parts ...string) {
	return check.RefusedAs(x, err)
}
