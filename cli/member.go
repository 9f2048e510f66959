package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/launch"
	"github.com/gorl-dev/gorl/pbt/multirank"
	"github.com/gorl-dev/gorl/pbt/preset"
	"github.com/gorl-dev/gorl/pbt/selfplay"
	"github.com/gorl-dev/gorl/trainers"
)

func memberCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "member",
		Short: "train one member of a population of processes; launchers call it",
		Long: `
Trains one member of a population whose members are processes. gorl-pbt run, slurm
and kubernetes call it if the configuration has a section pbt: and

  launcher: {command: [gorl, member]}

launcher: {ranks_per_member: 2} starts two processes per member. If a program
registers environments, models or rules, name that program instead of gorl.`,
		Example: "gorl member",
		Args:    commandline.NoArguments,
		RunE: func(*cobra.Command, []string) error {
			if _, ok, _ := launch.FromEnvironment(); !ok {
				return commandline.Usagef(
					"a launcher starts members: give launcher: {command: [%s, member]} and call gorl-pbt run", program)
			}
			if status := launch.Member(trainMember); status != launch.StatusFinished {
				return &commandline.StatusError{Status: status}
			}
			return nil
		},
	}
}

// trainMember trains one member, and sends its metrics to the trackers of the population's file.
func trainMember(ctx context.Context, p launch.Process) (err error) {
	c, err := runfile.Read(p.Config)
	if err != nil {
		return err
	}
	if err := check(c); err != nil {
		return err
	}
	section, _ := c["distributed"].(map[string]any)
	ranked, err := distributed.FromDict(section)
	if err != nil {
		return err
	}
	var tracked *memberFigures
	var total int64
	defer func() {
		ended := err
		if ctx.Err() != nil || errors.Is(err, pbt.ErrYield) || errors.Is(err, pbt.ErrRestart) {
			ended = context.Canceled // another process goes on
		}
		err = errors.Join(err, tracked.close(ended))
	}()
	program := launch.Program{Adjust: func(o *pbt.Options, _ *pbt.ProcessOptions) {
		total = o.TotalSteps
		tell := o.Progress
		o.Progress = func(u pbt.Update) {
			tell(u)
			tracked.update(u)
		}
	}}
	return multirank.Train(ctx, p, program, ranked,
		func(g *distributed.Group, m pbt.Member) (multirank.Trainee, error) {
			trainee, own, err := member(g, c, m.Seed, makeEnvironment)
			if err != nil {
				return nil, err
			}
			plays, err := meeting(trainee, m.ID, g.Size())
			if err != nil || g.Rank() > 0 || tracked != nil {
				return plays, err
			}
			full := maps.Clone(c)
			maps.Copy(full, own)
			note := func(err error) { fmt.Println("note:", err) }
			if tracked, err = trackMembers(filepath.Dir(p.Config), full, total, g.Size(), true, note); err != nil {
				return nil, errors.Join(err, trainee.Close())
			}
			return plays, nil
		})
}

// trainAlone trains one member of a population without a launcher. The other members are processes with the same
// configuration, elsewhere or here. The first process writes the configuration into the population's folder.
func trainAlone(ctx context.Context, full runfile.Sections, id int) error {
	delete(full.Section("pbt"), "policy_idx") // in which the others' files differ
	file, err := launchFile(full)
	if err != nil {
		return wrong(err)
	}
	path, err := file.Install()
	if err != nil {
		return wrong(err)
	}
	for {
		err := trainMember(ctx, launch.Process{Config: path, Member: id})
		switch {
		case errors.Is(err, pbt.ErrRestart):
			continue // a setting that takes effect in a member that is built anew
		case err != nil && ctx.Err() != nil && !several(err):
			return &commandline.StoppedError{Err: fmt.Errorf("stopped; member %d is saved in %s, and the same "+
				"command goes on with it", id, file.Dir())}
		}
		return err
	}
}

// The section environment may have the wrapper self_play, by which members are each other's opponents.
func init() {
	catalog.RegisterWrapper(preset.SelfPlay, selfplay.DefaultConfig(),
		func(env envs.Env, s selfplay.Config) (envs.Env, error) { return selfplay.Wrap(env, s) })
}

// checkSelfPlay returns an error if a run uses self-play that is no population.
func checkSelfPlay(c runfile.Sections) error {
	if preset.UsesSelfPlay(c) && c.Kind() != runfile.Population {
		return &config.Error{Path: "environment.wrappers", Given: preset.SelfPlay,
			Reason: "opponents are members of a " +
				"population: give the section pbt; pbt.num_policies: 1 trains one agent against its past selves"}
	}
	return nil
}

// meeting returns a trainee as a member of a population: one that meets the others if they play against each other.
func meeting(t *trainers.Trainee, member, ranks int) (multirank.Trainee, error) {
	_, plays := envs.As[*selfplay.Env](t.Env())
	switch {
	case !plays:
		return t, nil
	case ranks > 1:
		return nil, errors.Join(wrong(&config.Error{Path: "launcher.ranks_per_member", Given: ranks,
			Reason: "want 1: members of several ranks cannot use the wrapper self_play"}), t.Close())
	}
	return selfplay.NewTrainee(t, member, t.Env())
}
