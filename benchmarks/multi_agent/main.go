// Command multi_agent trains gorl's MAPPO and skrl's on games of PettingZoo with the same networks, settings and steps,
// and prints the mean return, summed over the agents, of the last 100 training episodes of each seed. `make peers` sets
// up the Python that it needs.
//
//	go run ./benchmarks/multi_agent -python ~/.cache/gorl/peers/bin/python
package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"strings"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/agents/ippo"
	"github.com/gorl-dev/gorl/benchmarks/internal/compare"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/wrappers/gymnasium"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/trainers"
)

var (
	python = flag.String("python", "python3", "the interpreter of make peers")
	games  = flag.String("games", "mpe2.simple_speaker_listener_v4,mpe2.simple_spread_v3", "modules of PettingZoo")
	seeds  = flag.Int("seeds", 3, "number of runs of each side, with seeds 1, 2, ...")
	steps  = flag.Int("steps", 60_000, "environment steps of each run")
)

//go:embed skrl_mappo.py
var skrlMAPPO string

// settings are those of a run, for both sides.
type settings struct {
	ID        string         `json:"id"`
	Seed      int            `json:"seed"`
	NumEnvs   int            `json:"num_envs"`
	Timesteps int            `json:"timesteps"`
	Every     int            `json:"every"` // timesteps from one point of the curve to the next
	Network   []int          `json:"network"`
	Agent     map[string]any `json:"agent"`
}

// outcome is what a run came to: points of environment steps and returns.
type outcome struct {
	Curve   [][2]float64 `json:"curve"`
	Seconds float64      `json:"seconds"`
}

func main() { compare.Main(run) }

func run(ctx context.Context) {
	const numEnvs = 32
	var rows [][]string
	for _, id := range strings.Split(*games, ",") {
		for seed := 1; seed <= *seeds; seed++ {
			s := settings{ID: id, Seed: seed, NumEnvs: numEnvs, Timesteps: *steps / numEnvs, Network: []int{64, 64},
				Agent: map[string]any{"rollouts": 25, "learning_epochs": 5, "mini_batches": 4, "learning_rate": 7e-4,
					"discount_factor": 0.99, "gae_lambda": 0.95, "ratio_clip": 0.2, "value_loss_scale": 1.0,
					"value_clip": 0.2, "entropy_loss_scale": 0.01, "grad_norm_clip": 0.5, "time_limit_bootstrap": true}}
			s.Every = s.Timesteps / 10
			row := []string{id, fmt.Sprint(seed)}
			for _, side := range []func(context.Context, settings) outcome{gorl, skrl} {
				o := side(ctx, s)
				row = append(row, fmt.Sprintf("%.1f", o.Curve[0][1]), fmt.Sprintf("%.1f", o.Curve[len(o.Curve)-1][1]),
					fmt.Sprintf("%.0f", o.Seconds))
			}
			rows = append(rows, row)
			fmt.Fprintln(os.Stderr, row)
		}
	}
	header := []string{"game", "seed", "gorl at 10 %", "gorl", "s", "skrl at 10 %", "skrl", "s"}
	compare.Check(tracking.Table(os.Stdout, header, rows))
}

// counting is an environment that keeps the returns of its last 100 episodes.
type counting struct {
	envs.Env
	every, step int
	returns     []float64
	outcome     outcome
}

// Step implements [envs.Env].
func (c *counting) Step(actions []float32) (*envs.Step, error) {
	s, err := c.Env.Step(actions)
	if err != nil {
		return nil, err
	}
	for _, episode := range s.Episodes {
		c.returns = append(c.returns, episode.Return)
	}
	c.returns = c.returns[max(0, len(c.returns)-100):]
	if c.step++; c.step%c.every == 0 {
		steps := float64(c.step * c.Env.NumEnvs())
		c.outcome.Curve = append(c.outcome.Curve, [2]float64{steps, stat.Mean(c.returns, nil)})
	}
	return s, nil
}

// gorl trains gorl's MAPPO.
func gorl(ctx context.Context, s settings) outcome {
	games := compare.Must(gymnasium.New(gymnasium.Options{PettingZoo: true, ID: s.ID, NumEnvs: s.NumEnvs, Children: 1,
		Python: *python, Seed: int64(s.Seed)}))
	defer games.Close()
	env := &counting{Env: games, every: s.Every}
	dict := maps.Clone(s.Agent)
	dict["parameter_sharing"] = "off"
	for _, key := range []string{"observation", "state", "value"} {
		dict[key+"_preprocessor"] = "RunningStandardScaler"
	}
	asPyTorch := models.Initialization{PolicyOutputGain: 1}
	agent := compare.Must(ippo.New(ippo.Options{Spaces: env.Spaces(), Centralised: true, Dict: dict,
		Seed: int64(s.Seed), Models: ippo.MLPs(s.Network, "tanh", asPyTorch)}))
	defer agent.Close()
	trainer := compare.Must(trainers.New(env, agent, trainers.Config{Timesteps: s.Timesteps}))
	start := time.Now()
	compare.Check(trainer.Train(ctx))
	env.outcome.Seconds = time.Since(start).Seconds()
	return env.outcome
}

// skrl trains skrl's MAPPO.
func skrl(ctx context.Context, s settings) (o outcome) {
	cmd := exec.CommandContext(ctx, *python, "-W", "ignore", "-c", skrlMAPPO, string(compare.Must(json.Marshal(s))))
	cmd.Env, cmd.Stderr = compare.SingleThread(), os.Stderr
	compare.Check(json.Unmarshal(compare.Must(cmd.Output()), &o))
	return o
}
