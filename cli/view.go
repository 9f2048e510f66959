package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/envs/view"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/trainers"
)

// viewFlags are what the command line says. Those of an evaluation choose the checkpoint.
type viewFlags struct {
	evalFlags
	env  string
	acts *string
	set  []string
	port uint16
}

func viewCommand() *cobra.Command {
	f := viewFlags{evalFlags: evalFlags{episodes: 1, numEnvs: 1}}
	c := &cobra.Command{
		Use:   "view [RUN|CHECKPOINT]",
		Short: "show a character in the browser, while it moves, and push it",
		Long: `
Opens a web server on this machine, at 127.0.0.1 only, and prints its address. Its
page shows the character of a run in space while it acts in real time by the mean
or the most probable action, with the reference motion beside it where its task has
one, and the figures of the episode. The page pauses, slows time down, pushes the
character, resets it, and commands direction and speed where the task has commands.
It needs no network. Ctrl-C ends the server, and the page says so.

RUN and CHECKPOINT are as for gorl eval. Without them --env names an environment,
whose character takes zeros as actions, or random ones with --actions random. Only
characters of package envs/mujoco can be shown: Walker, Humanoid, Quadruped.`,
		Example: `
gorl view runs/walker
gorl view runs/walker --checkpoint latest --port 8080
gorl view --env Humanoid --set task=track --set residual=true`,
		Args: commandline.Arguments(0, 1, "the folder of a run, or a checkpoint, or --env"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd.Context(), args, cmd.Flags().Changed, cmd.InOrStdin(), cmd.OutOrStdout(),
				cmd.ErrOrStderr())
		},
	}
	flags := c.Flags()
	flags.StringVarP(&f.config, "config", "c", "", "the configuration, a YAML `file`, instead of the run's run.yaml")
	flags.StringVar(&f.checkpoint, "checkpoint", "best",
		"which of the run's `checkpoints`: best, latest, a timestep or a file")
	flags.StringVarP(&f.env, "env", "e", "", "show the environment with this `id`, without a run")
	f.acts = commandline.Choice(c, "actions", "zero", "what acts with --env", "zero", "random")
	flags.StringArrayVarP(&f.set, "set", "s", nil,
		"change a setting of the environment: `KEY=VALUE`, the value in YAML (may be repeated)")
	flags.Uint16Var(&f.port, "port", 0, "`port` of the server; 0 takes a free one")
	flags.Int64Var(&f.seed, "seed", 1, "seed of the environment, and of actions that are drawn")
	flags.BoolVar(&f.stochastic, "stochastic", false, "draw actions from the policy's distribution, as in training")
	flags.StringVar(&f.device, "device", "", "where tensors live: cpu, cuda, cuda:1 or auto")
	_ = c.MarkFlagFilename("config", "yaml", "yml")
	_ = c.RegisterFlagCompletionFunc("checkpoint", cobra.FixedCompletions([]string{"best", "latest"},
		cobra.ShellCompDirectiveDefault))
	_ = c.RegisterFlagCompletionFunc("env", cobra.FixedCompletions(catalog.Names(), cobra.ShellCompDirectiveNoFileComp))
	return c
}

func (f *viewFlags) run(ctx context.Context, args []string, given func(string) bool, stdin io.Reader, stdout,
	stderr io.Writer) (err error) {
	switch {
	case (len(args) == 1) == (f.env != ""):
		return commandline.Usagef("give either a run, a checkpoint or --env ID")
	case f.seed < 0:
		return commandline.Usagef("--seed is %d; want 0 or more", f.seed)
	case f.env == "" && given("actions"):
		return commandline.Usagef("--actions is for --env; a run acts by its policy, at random with --stochastic")
	}
	c := runfile.Sections{"environment": map[string]any{"id": catalogName(f.env)}}
	var saved *savedRun
	title, settings := f.env, "--env "+f.env
	if f.env == "" {
		if saved, err = f.open(args[0]); err != nil {
			return err
		}
		for _, note := range saved.notes {
			fmt.Fprintln(stderr, note)
		}
		if c, err = readConfiguration(saved.config, stdin); err != nil {
			return err
		}
		if err := check(c); err != nil {
			return commandline.Usagef("%s: %w", saved.config, err)
		}
		title, settings = fmt.Sprintf("%s, timestep %d", args[0], saved.Manifest.Step), saved.config
		if f.device != "" {
			c.Section("agent")["device"] = f.device
		}
	}
	for _, assignment := range f.set {
		if err := c.Set("environment." + assignment); err != nil {
			return commandline.Usagef("--set %w", err)
		}
	}
	f.environment(c.Section("environment"))
	env, err := makeEnvironment(c)
	if err != nil {
		return fmt.Errorf("%s: %w", settings, err)
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	for _, w := range envs.All[envs.RunningStatistics](env) {
		w.Freeze(true)
	}
	cfg := view.Config{Env: env, Title: title, Seed: f.seed, Act: f.without(env)}
	if saved != nil {
		trainer, err := f.player(c, env, saved)
		if err != nil {
			return err
		}
		agent := trainer.Agent()
		defer func() { err = errors.Join(err, agent.Close()) }()
		cfg.Act, cfg.Figures = acting(agent, f.stochastic), styled(agent)
	}
	v, err := view.New(cfg)
	if err != nil {
		return commandline.Usagef("%s: %w", settings, err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(int(f.port))))
	if err != nil {
		return commandline.Usagef("--port: %w", err)
	}
	fmt.Fprintf(stdout, "http://%s\n", listener.Addr())
	return v.Serve(ctx, listener)
}

// catalogName is the name in the catalog that differs from id in nothing but capitals, or id itself.
func catalogName(id string) string {
	for _, name := range catalog.Names() {
		if strings.EqualFold(name, id) {
			return name
		}
	}
	return id
}

// without returns what acts without a policy.
func (f *viewFlags) without(env envs.Env) func(*envs.Step) ([]float32, error) {
	space := env.Spaces().Action
	actions := make([]float32, space.Width())
	rng := rand.New(rand.NewPCG(uint64(f.seed), 0))
	return func(*envs.Step) ([]float32, error) {
		if *f.acts == "random" {
			space.Sample(rng, actions)
		}
		return actions, nil
	}
}

// acting returns what acts as the agent does in evaluation.
func acting(agent agents.Agent, stochastic bool) func(*envs.Step) ([]float32, error) {
	agent.SetTraining(false)
	if s, ok := agents.As[agents.Stochastic](agent); ok {
		s.SetStochastic(stochastic)
	}
	return func(step *envs.Step) ([]float32, error) {
		if step.Rewards != nil {
			if err := agent.Record(trainers.Transition(step)); err != nil { // which episodes have ended
				return nil, err
			}
		} else if r, ok := agents.As[agents.Recurrent](agent); ok {
			r.ResetHidden()
		}
		return agent.Act(trainers.Observation(step))
	}
}

// styled returns the style reward of a step where the agent has a discriminator, as AMP does; nil for others.
func styled(agent agents.Agent) func(*envs.Step) (map[string]float64, error) {
	judge, ok := agents.As[interface {
		StyleRewards(ampObservations []float32) ([]float32, error)
	}](agent)
	if !ok {
		return nil
	}
	return func(step *envs.Step) (map[string]float64, error) {
		rewards, err := judge.StyleRewards(step.AMPObservations)
		if err != nil {
			return nil, err
		}
		return map[string]float64{"style reward": float64(rewards[0])}, nil
	}
}
