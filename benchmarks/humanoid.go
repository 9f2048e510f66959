package main

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/motions"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/trainers"
)

const (
	humanoidEpisode = 300 // control steps
	clipRows        = 8   // of a clipTable in a control step
)

// newTracker makes humanoids that track the built-in walk, the same as in skrl_humanoid.py.
func newTracker(characters, episode, stepping int) (*mujoco.Character, error) {
	return mujoco.NewHumanoid(mujoco.CharacterConfig{NumEnvs: characters, Seed: 1, Workers: stepping,
		EpisodeLength: episode,
		Task:          mujoco.Track, Residual: true})
}

// newTrackerAgent makes what learns from them.
func newTrackerAgent(sp spaces.Set) (agents.Agent, error) {
	return ppo.New(ppo.Options{Spaces: sp, NumEnvs: walkers, Models: ppo.MLPs(sp, []int{256, 128}, "elu"), Seed: 1,
		Dict: map[string]any{
			"rollouts": walkerRollout, "learning_epochs": 4, "mini_batches": 4, "discount_factor": 0.97,
			"learning_rate": 3e-4, "grad_norm_clip": 1.0,
			"observation_preprocessor": "RunningStandardScaler", "value_preprocessor": "RunningStandardScaler",
			"mixed_precision": mixed, "cuda_graphs": graphs, "device": device,
		}})
}

// humanoid times 64 humanoids that track a clip: the simulation alone, the environment under small random actions,
// acting and learning, and training end to end.
func humanoid(stepping int) []measure {
	const updates = 30
	env := compare.Must(newTracker(walkers, humanoidEpisode, stepping))
	trainee := compare.Must(trainers.NewTrainee(env,
		func() (agents.Agent, error) { return newTrackerAgent(env.Spaces()) }, trainers.Config{Seed: 1}))
	defer trainee.Close() // and env, which it owns
	got := []measure{{"physics_per_thread", humanoidPhysics(stepping)}}
	learning := trainingRate(trainee, updates)
	got = append(got, measure{"simulated_per_second", randomSteps(env, walkerRollout*updates)})
	agent := compare.Must(newTrackerAgent(env.Spaces()))
	defer agent.Close()
	rng := rand.New(rand.NewPCG(1, 2))
	got = append(got, rounds(agent, normal(rng, walkers*env.Spaces().Observation.Width()),
		agents.Transition{Rewards: normal(rng, walkers)}, noEnds(walkerRollout, walkers), 10)...)
	return append(got, measure{"steps_per_second", learning})
}

// randomSteps times steps under small random actions, in environment steps a second.
func randomSteps(env envs.Env, steps int) float64 {
	rng, actions := rand.New(rand.NewPCG(1, 1)), make([]float32, env.NumEnvs()*env.Spaces().Action.Width())
	begin := time.Now()
	for range steps {
		for i := range actions {
			actions[i] = float32(0.3 * rng.NormFloat64())
		}
		compare.Must(env.Step(actions))
	}
	return float64(env.NumEnvs()*steps) / time.Since(begin).Seconds()
}

// humanoidPhysics times the simulation alone on targets about the clip's poses, in rollouts that begin in step with the
// clip: control steps a second and thread.
func humanoidPhysics(stepping int) (perThread float64) {
	const repeats = 10
	clip, body := readClipTable(), mujoco.HumanoidBody()
	model := compare.Must(mujoco.ParseModel(body.XML))
	defer model.Close()
	batch := compare.Must(mujoco.NewBatch(model, walkers, stepping))
	defer batch.Close()
	rng, spent := rand.New(rand.NewPCG(1, 1)), time.Duration(0)
	for range repeats {
		for i := range walkers {
			row := i * clip.Period / walkers
			copy(batch.QPos(i), clip.Positions[row])
			copy(batch.QVel(i), clip.Velocities[row])
			compare.Check(batch.Reset(i))
		}
		for step := range walkerRollout {
			for i := range walkers {
				pose := clip.Positions[i*clip.Period/walkers+(step+1)*clipRows][7:] // behind the root
				for k, v := range pose {
					batch.Ctrl(i)[k] = v + 0.1*rng.NormFloat64()
				}
			}
			begin := time.Now()
			compare.Check(batch.Step(body.Substeps))
			spent += time.Since(begin)
		}
	}
	return walkers * walkerRollout * repeats / spent.Seconds() / float64(stepping)
}

// clipTable is a clip's states as a simulation has them, clipRows a control step, for a longest episode that begins
// anywhere in the clip. The clip comes around after Period rows.
type clipTable struct {
	Period     int         `json:"period"`
	Positions  [][]float64 `json:"positions"`
	Velocities [][]float64 `json:"velocities"`
}

// readClipTable tabulates the walk that the humanoids track.
func readClipTable() clipTable {
	const controlSteps = 30 // a second
	clip := compare.Must(motions.Builtin("humanoid_walk"))
	t := clipTable{Period: int(math.Round(clip.Duration() * controlSteps * clipRows))}
	for row := range t.Period + (humanoidEpisode+1)*clipRows {
		position, velocity := make([]float64, clip.Width()), make([]float64, clip.VelocityWidth())
		clip.State(clip.Duration()*float64(row)/float64(t.Period), position, velocity)
		t.Positions, t.Velocities = append(t.Positions, position), append(t.Velocities, velocity)
	}
	return t
}

// writeClipTable writes the table for skrl_humanoid.py into a temporary file.
func writeClipTable() (path string) {
	f := compare.Must(os.CreateTemp("", "gorl-benchmark-*.json"))
	compare.Check(errors.Join(json.NewEncoder(f).Encode(readClipTable()), f.Close()))
	return f.Name()
}
