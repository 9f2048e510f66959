package main

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
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
func humanoid(stepping int) ([]measure, error) {
	const updates = 30
	env, err := newTracker(walkers, humanoidEpisode, stepping)
	if err != nil {
		return nil, err
	}
	trainee, err := trainers.NewTrainee(env, func() (agents.Agent, error) { return newTrackerAgent(env.Spaces()) },
		trainers.Config{Seed: 1})
	if err != nil {
		return nil, err
	}
	defer trainee.Close() // and env, which it owns
	physics, err := humanoidPhysics(stepping)
	if err != nil {
		return nil, err
	}
	got := []measure{{"physics_per_thread", physics}}
	if err := trainee.Train(context.Background(), walkers*walkerRollout); err != nil { // warms up
		return nil, err
	}
	begin := time.Now()
	if err := trainee.Train(context.Background(), walkers*walkerRollout*updates); err != nil {
		return nil, err
	}
	learning := walkers * walkerRollout * updates / time.Since(begin).Seconds()
	simulated, err := randomSteps(env, walkerRollout*updates)
	if err != nil {
		return nil, err
	}
	agent, err := newTrackerAgent(env.Spaces())
	if err != nil {
		return nil, err
	}
	defer agent.Close()
	rng, ends := rand.New(rand.NewPCG(1, 2)), make([][]bool, walkerRollout)
	for i := range ends {
		ends[i] = make([]bool, walkers)
	}
	timed, err := rounds(agent, normal(rng, walkers*env.Spaces().Observation.Width()),
		agents.Transition{Rewards: normal(rng, walkers)}, ends, 10)
	got = append(got, measure{"simulated_per_second", simulated})
	return append(append(got, timed...), measure{"steps_per_second", learning}), err
}

// randomSteps times steps under small random actions, in environment steps a second.
func randomSteps(env envs.Env, steps int) (float64, error) {
	rng, actions := rand.New(rand.NewPCG(1, 1)), make([]float32, env.NumEnvs()*env.Spaces().Action.Width())
	begin := time.Now()
	for range steps {
		for i := range actions {
			actions[i] = float32(0.3 * rng.NormFloat64())
		}
		if _, err := env.Step(actions); err != nil {
			return 0, err
		}
	}
	return float64(env.NumEnvs()*steps) / time.Since(begin).Seconds(), nil
}

// humanoidPhysics times the simulation alone on targets about the clip's poses, in rollouts that begin in step with the
// clip: control steps a second and thread.
func humanoidPhysics(stepping int) (perThread float64, err error) {
	const repeats = 10
	clip, err := readClipTable()
	if err != nil {
		return 0, err
	}
	body := mujoco.HumanoidBody()
	model, err := mujoco.ParseModel(body.XML)
	if err != nil {
		return 0, err
	}
	defer model.Close()
	batch, err := mujoco.NewBatch(model, walkers, stepping)
	if err != nil {
		return 0, err
	}
	defer func() { _ = batch.Close() }() // nothing of it is kept
	rng, spent := rand.New(rand.NewPCG(1, 1)), time.Duration(0)
	for range repeats {
		for i := range walkers {
			row := i * clip.Period / walkers
			copy(batch.QPos(i), clip.Positions[row])
			copy(batch.QVel(i), clip.Velocities[row])
			if err := batch.Reset(i); err != nil {
				return 0, err
			}
		}
		for step := range walkerRollout {
			for i := range walkers {
				pose := clip.Positions[i*clip.Period/walkers+(step+1)*clipRows][7:] // behind the root
				for k, v := range pose {
					batch.Ctrl(i)[k] = v + 0.1*rng.NormFloat64()
				}
			}
			begin := time.Now()
			if err := batch.Step(body.Substeps); err != nil {
				return 0, err
			}
			spent += time.Since(begin)
		}
	}
	return walkers * walkerRollout * repeats / spent.Seconds() / float64(stepping), nil
}

// clipTable is a clip's states as a simulation has them, clipRows a control step, for a longest episode that begins
// anywhere in the clip. The clip comes around after Period rows.
type clipTable struct {
	Period     int         `json:"period"`
	Positions  [][]float64 `json:"positions"`
	Velocities [][]float64 `json:"velocities"`
}

// readClipTable tabulates the walk that the humanoids track.
func readClipTable() (*clipTable, error) {
	const controlSteps = 30 // a second
	clip, err := motions.Builtin("humanoid_walk")
	if err != nil {
		return nil, err
	}
	t := &clipTable{Period: int(math.Round(clip.Duration() * controlSteps * clipRows))}
	for row := range t.Period + (humanoidEpisode+1)*clipRows {
		position, velocity := make([]float64, clip.Width()), make([]float64, clip.VelocityWidth())
		clip.State(clip.Duration()*float64(row)/float64(t.Period), position, velocity)
		t.Positions, t.Velocities = append(t.Positions, position), append(t.Velocities, velocity)
	}
	return t, nil
}

// writeClipTable writes the table for skrl_humanoid.py into a temporary file.
func writeClipTable() (path string, err error) {
	t, err := readClipTable()
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(t)
	if err != nil {
		return "", err
	}
	f, err := os.CreateTemp("", "gorl-benchmark-*.json")
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return f.Name(), err
}
