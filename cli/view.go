package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/cli/internal/inspection"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/view"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/process"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/trainers"
)

// viewFlags are the flags of gorl view. Those of an evaluation choose the checkpoint.
type viewFlags struct {
	evalFlags
	env, example string
	port         uint16
	follow       bool
	socket       string
}

func viewCommand() *cobra.Command {
	f := viewFlags{evalFlags: evalFlags{episodes: 1, numEnvs: 1}}
	c := &cobra.Command{
		Use:   "view [RUN|CHECKPOINT]",
		Short: "show a moving character in the browser, and push it",
		Long: `
Starts a web server at 127.0.0.1 and prints its address. The page shows the character
of a run acting in real time by the mean or the most probable action, and the reference
motion if the task has one. It can pause, slow down, push, reset and command.

RUN and CHECKPOINT are as for gorl eval; --follow plays the newest checkpoint, and newer
ones as training writes them. --example shows a trained policy that comes with gorl.
--env shows an environment without a run; its actions are zeros. Ctrl-C ends the server.`,
		Example: `
gorl view --example humanoid
gorl view runs/walker
gorl view runs/walker --follow --port 8080
gorl view --env Humanoid --set task=track --set residual=true`,
		Args: commandline.Arguments(0, 1, "the folder of a run, or a checkpoint, or --env, or --example"),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.console = consoleOf(cmd)
			return f.run(cmd.Context(), args)
		},
	}
	flags := c.Flags()
	f.register(c, "seed of the environment, and of actions that are drawn")
	flags.StringVarP(&f.env, "env", "e", "", "show the environment with this `id`, without a run")
	flags.StringVar(&f.example, "example", "", "show the trained policy of this `example`: "+
		strings.Join(policyNames(), ", "))
	flags.BoolVar(&f.follow, "follow", false, "play the newest checkpoint of a run, and newer ones as they appear")
	flags.StringVar(&f.socket, "socket", "", "serve a page of gorl serve at this Unix socket, within limits")
	_ = flags.MarkHidden("socket")
	flags.Uint16Var(&f.port, "port", 0, "`port` of the server; 0 takes a free one")
	return c
}

func (f *viewFlags) run(ctx context.Context, args []string) (err error) {
	switch {
	case len(args)+min(len(f.env), 1)+min(len(f.example), 1) != 1:
		return commandline.Usagef("give either a run, a checkpoint, --env ID or --example NAME (one of %s)",
			strings.Join(policyNames(), ", "))
	case f.follow && (len(args) == 0 || f.given("checkpoint")):
		return commandline.Usagef("--follow is for a run, without --checkpoint")
	case f.example != "" && (f.given("config") || f.given("checkpoint") || f.given("device")):
		return commandline.Usagef("--config, --checkpoint and --device are for runs; --example has a policy of its own")
	}
	if f.socket != "" {
		if err := process.Confine(viewMemory); err != nil {
			return err
		}
	}
	c := runfile.Sections{"environment": map[string]any{"id": f.env}}
	var saved *savedRun
	var policy *infer.Policy
	title, source := f.env, "--env "+f.env
	switch {
	case f.example != "":
		if c, policy, err = examplePolicy(f.example); err != nil {
			return err
		}
		title, source = "example "+f.example, "--example "+f.example
	case f.env == "":
		target := args[0]
		if f.follow {
			target, err = newestIn(target)
		}
		if err == nil {
			saved, err = f.load(target)
		}
		if err != nil {
			return err
		}
		c = saved.sections
		title, source = fmt.Sprintf("%s, timestep %d", args[0], saved.Manifest.Step), saved.config
		if f.follow {
			title = filepath.Base(args[0])
		}
		if f.socket != "" && !inProcess(c) {
			return commandline.Usagef("the environment %v runs in another program, which a page does not start; "+
				"start it by: %s view %s --follow", c.Section("environment")["id"], program, process.QuoteWord(args[0]))
		}
	}
	f.pictures = true
	env, err := f.makeEnvironment(c, source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, env.Close()) }()
	for _, w := range envs.All[envs.RunningStatistics](env) {
		w.Freeze(true)
	}
	zeros := make([]float32, env.Spaces().Action.Width())
	cfg := view.Config{Env: env, Title: title, Seed: f.seed,
		Act: func(*envs.Step) ([]float32, error) { return zeros, nil }}
	if policy != nil {
		if cfg.Act, err = f.policyActs(policy, env); err != nil {
			return err
		}
	}
	if saved != nil {
		p := &playing{flags: &f.evalFlags, run: saved, env: env}
		if err := p.load(saved.Saved); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.Close()) }()
		if f.follow {
			p.newer = make(chan *checkpoint.Saved)
			go p.follow(ctx, args[0], saved.Path)
		}
		cfg.Act, cfg.Figures = p.Act, p.Figures
	}
	v, err := view.New(cfg)
	if err != nil {
		return commandline.Usagef("%s: %w", source, err)
	}
	flag, network, address := "--port", "tcp", fmt.Sprintf("127.0.0.1:%d", f.port)
	if f.socket != "" {
		flag, network, address = "--socket", "unix", f.socket
	}
	listener, err := net.Listen(network, address)
	if err != nil {
		return commandline.Usagef("%s: %w", flag, err)
	}
	if f.socket == "" {
		fmt.Fprintf(f.stdout, "http://%s\n", listener.Addr())
	}
	return v.Serve(ctx, listener)
}

// viewMemory limits the memory in bytes of a process that plays a run for a page of gorl serve.
const viewMemory = 2 << 30

// playing acts by the checkpoint of a run, as the agent does in evaluation. Close it in the end.
type playing struct {
	flags *evalFlags
	run   *savedRun // with the present checkpoint
	env   envs.Env
	agent agents.Agent
	// newer receives the checkpoints that training has written since. It is nil unless the run is followed.
	newer chan *checkpoint.Saved
}

// load makes the agent of a checkpoint and closes the earlier agent. After an error the earlier one plays on.
func (p *playing) load(saved *checkpoint.Saved) error {
	run := *p.run
	run.Saved = saved
	trainer, err := p.flags.player(p.env, &run)
	if err != nil {
		return err
	}
	err = p.Close()
	p.run, p.agent = &run, trainer.Agent()
	p.agent.SetTraining(false)
	if s, ok := agents.As[agents.Stochastic](p.agent); ok {
		s.SetStochastic(p.flags.stochastic)
	}
	return err
}

// Close closes the agent.
func (p *playing) Close() error {
	if p.agent == nil {
		return nil
	}
	return p.agent.Close()
}

// Act returns the actions for a step, of a newer checkpoint if there is one.
func (p *playing) Act(step *envs.Step) ([]float32, error) {
	fresh := false
	select {
	case saved := <-p.newer:
		err := p.load(saved)
		if fresh = err == nil; !fresh {
			p.flags.note(fmt.Sprintf("%v; the earlier checkpoint plays on", err))
		}
	default:
	}
	if step.Rewards != nil && !fresh {
		if err := p.agent.Record(trainers.Transition(step)); err != nil { // episodes that ended reset memories
			return nil, err
		}
	} else if r, ok := agents.As[agents.Recurrent](p.agent); ok { // the agent has not acted before
		r.ResetHidden()
	}
	return p.agent.Act(trainers.Observation(step))
}

// Figures returns the style reward of a step if the agent has a discriminator, and the checkpoint's timestep if it may
// change.
func (p *playing) Figures(step *envs.Step) (map[string]float64, error) {
	figures := map[string]float64{}
	if judge, ok := agents.As[interface {
		StyleRewards(ampObservations []float32) ([]float32, error)
	}](p.agent); ok {
		rewards, err := judge.StyleRewards(step.AMPObservations)
		if err != nil {
			return nil, err
		}
		figures["style reward"] = float64(rewards[0])
	}
	if p.newer != nil {
		figures["checkpoint"] = float64(p.run.Manifest.Step)
	}
	return figures, nil
}

// follow passes newer checkpoints of a run's folder to Act until the context ends. It reads them while Act goes on. A
// checkpoint that cannot be read is tried again: training may have replaced it.
func (p *playing) follow(ctx context.Context, dir, playing string) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(followEvery):
		}
		now, err := newestIn(dir)
		if err != nil || now == playing {
			continue
		}
		if saved, err := checkpoint.Load(now); err == nil {
			select {
			case <-ctx.Done():
			case p.newer <- saved:
				playing = now
			}
		}
	}
}

// newestIn returns the path of the newest checkpoint of a run's folder; of another folder, such as a population's, that
// of the best one.
func newestIn(dir string) (string, error) {
	latest := filepath.Join(dir, "checkpoints")
	if !exists(latest) {
		return inspection.Find(dir)
	}
	list, err := manifests(latest)
	if err != nil {
		return "", err
	}
	return filepath.Join(latest, list[0].File), nil
}

// followEvery is the time between two looks for a newer checkpoint.
var followEvery = 3 * time.Second
