package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"path/filepath"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ippo"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/models/description"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/evolution"
	"github.com/gorl-dev/gorl/trainers"
)

// trainEvolution trains a population whose networks evolve.
func (f *trainFlags) trainEvolution(ctx context.Context, c runfile.Sections) error {
	training := c.Section("training")
	if f.given("timesteps") {
		return commandline.Usagef("an evolution's length is in environment steps of each member: --set " +
			"training.max_steps=N instead of --timesteps")
	}
	directory, name := "", ""
	if given := textOf(training["directory"]); given != "" {
		directory, name = filepath.Dir(filepath.Clean(given)), filepath.Base(given)
	}
	directory, name, err := f.place(directory, name, "evolution", false)
	if err != nil {
		return err
	}
	training["directory"] = filepath.Join(directory, name)
	settings, err := evolutionOf(c)
	if err != nil {
		return wrong(err)
	}
	o := &settings.Options
	o.New = func(m pbt.Member) (pbt.Trainee, error) {
		return evolved(f.checks.buildable(c), settings.Network, m.Seed, m.Restoring, f.checks.newEnvironment)
	}
	x := &crowd{dir: training["directory"].(string), key: "training.objective", options: &o.Options,
		notes: settings.Notes, warnings: o.Notes(), full: maps.Clone(c)}
	delete(x.full, "tournament_selection") // the older name of selection_strategy
	maps.Copy(x.full, settings.Dict())
	x.full["seed"] = o.Seed
	x.member = func() (*trainers.Trainee, runfile.Sections, error) {
		trainee, err := evolved(f.checks.buildable(c), settings.Network, o.Seed, nil, f.checks.newEnvironment)
		if err != nil {
			return nil, nil, err
		}
		var agent map[string]any
		switch a := trainee.Agent().(type) {
		case *ppo.Agent:
			agent = config.Dict(a.Settings())
		case *amp.Agent:
			agent = config.Dict(a.Settings())
		case *ippo.Agent:
			agent = a.Dict()
		}
		agent["class"] = c.Section("agent")["class"]
		return trainee, runfile.Sections{"agent": agent}, nil
	}
	x.open = func() (*pbt.Population, func(io.Writer) error, error) {
		if o.Directory == "" {
			o.SaveElite, o.Checkpoint = false, 0
		}
		e, err := evolution.New(*o)
		if err != nil {
			return nil, nil, err
		}
		return e.Population(), e.WriteTable, nil
	}
	if err := x.complete(); err != nil {
		return err
	}
	return f.crowd(ctx, x)
}

// evolutionOf reads the sections of an evolution. Without a section network: it adds the default.
func evolutionOf(c runfile.Sections) (*evolution.Settings, error) {
	if c["network"] == nil {
		c["network"] = map[string]any{"arch": "mlp"}
	}
	return evolution.FromDict(c.Of(runfile.Evolutions))
}

// evolved builds a member: with the initial networks of the configuration or, from a snapshot, with the networks that
// have evolved.
func evolved(c runfile.Sections, network *evolution.Network, seed int64,
	restoring *checkpoint.Snapshot, newEnv func(runfile.Sections) (envs.Env, error)) (*trainers.Trainee, error) {
	env, err := newEnv(c)
	if err != nil {
		return nil, err
	}
	build := func() (agents.Agent, error) { return evolvedAgent(c, network, env, seed, restoring) }
	return trainers.NewTrainee(env, build, trainers.Config{Seed: seed, SaveBuffers: true})
}

// evolvedAgent builds the agent of a member. After an error the agent is not nil, and not to be used.
func evolvedAgent(c runfile.Sections, network *evolution.Network, env envs.Env, seed int64,
	restoring *checkpoint.Snapshot) (agents.Agent, error) {
	settings := maps.Clone(c.Section("agent"))
	class := textOf(settings["class"])
	delete(settings, "class")
	sp := env.Spaces()
	groups := []ippo.Group{{Spaces: sp}} // an agent without a name
	several := class == "IPPO" || class == "MAPPO"
	var err error
	if several {
		if groups, err = ippo.Groups(settings, sp, class == "MAPPO"); err != nil {
			return nil, err
		}
	} else if err := sp.RefuseSeats("agent.class " + class); err != nil {
		return nil, fmt.Errorf("%w: use IPPO or MAPPO", err)
	}
	shapes := map[string]description.Architecture{}
	if restoring != nil {
		shapes, err = evolution.Architectures(restoring)
		groups = nil
	}
	for _, g := range groups {
		prefix, value := "", g.Spaces.Observation
		if several {
			prefix = g.Name + "."
		}
		if g.Spaces.State.Width() > 0 {
			value = g.Spaces.State
		}
		policy, errPolicy := network.Architecture(g.Spaces.Observation)
		critic, errValue := network.Architecture(value)
		shapes[prefix+"policy"], shapes[prefix+"value"], err = policy, critic, cmp.Or(err, errPolicy, errValue)
	}
	if err != nil {
		return nil, err
	}
	switch class {
	case "PPO":
		return ppo.New(ppo.Options{Spaces: sp, Models: ppo.Evolvable(sp, shapes["policy"], shapes["value"],
			models.DefaultGaussianConfig()), Dict: settings, Seed: seed})
	case "IPPO", "MAPPO":
		return ippo.New(ippo.Options{Spaces: sp, Centralised: class == "MAPPO", Dict: settings, Seed: seed,
			Models: ippo.Evolvable(shapes, models.DefaultGaussianConfig())})
	case "AMP":
		motions, ok := envs.As[envs.MotionSource](env)
		if !ok && settings["discriminator_mode"] != "differential" {
			return nil, fmt.Errorf("agent.class is AMP, but the environment has no reference motion")
		}
		if restoring == nil {
			discriminator := *network
			discriminator.Recurrent = models.RecurrentLayer{} // it judges transitions, each by itself
			if shapes["discriminator"], err = discriminator.Architecture(sp.AMPObservation); err != nil {
				return nil, err
			}
		}
		return amp.New(amp.Options{Spaces: sp, Models: amp.Evolvable(sp, shapes["policy"], shapes["value"],
			shapes["discriminator"], amp.DefaultGaussian()), Motions: motions, Dict: settings, Seed: seed})
	}
	return nil, fmt.Errorf("agent.class is %q; want PPO, AMP, IPPO or MAPPO", class)
}
