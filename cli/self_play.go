package cli

// How gorl's commands use self-play: the wrapper self_play of the section environment.

import (
	"errors"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt/multirank"
	"github.com/gorl-dev/gorl/pbt/preset"
	"github.com/gorl-dev/gorl/pbt/selfplay"
	"github.com/gorl-dev/gorl/trainers"
)

func init() {
	catalog.RegisterWrapper(preset.SelfPlay, selfplay.DefaultConfig(),
		func(env envs.Env, s selfplay.Config) (envs.Env, error) {
			e, err := selfplay.Wrap(env, s)
			if err != nil {
				return nil, err
			}
			return e, nil
		})
}

// checkSelfPlay returns an error if a run uses self-play that is no population.
func checkSelfPlay(c runfile.Sections) error {
	if preset.UsesSelfPlay(c) && c.Kind() != runfile.Population {
		return &config.Error{Path: "environment.wrappers", Given: preset.SelfPlay, Reason: "opponents are members of a " +
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
