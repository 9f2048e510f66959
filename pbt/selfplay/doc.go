// Package selfplay trains the members of a population against each other, in a game with seats.
//
// A [Game] turns a game with seats into an environment of one agent, the learner. Frozen policies play the other seats.
// A learner's opponents are in its [Pool]: the newest weights of all members, and past selves of its own lineage.
// [Config] says how an opponent is drawn for an episode. At the end of every interval the population gives the pools
// new weights ([pbt.Meeter]). The pool is part of the learner's snapshot. So a run resumes exactly, and a member that
// copies another gets that member's past selves and rating.
//
// Results become [Elo] ratings. The journal has the ratings and a table of games by opponent. "episode.rating" can be
// the objective of the population:
//
//	population, err := pbt.New(pbt.Options{
//		Objective: "episode.rating",
//		New: func(m pbt.Member) (pbt.Trainee, error) {
//			env, err := selfplay.NewGames(64, newGame, selfplay.DefaultConfig(),
//				wrappers.ParallelOptions{Seed: m.Seed})
//			...
//			trainee, err := trainers.NewTrainee(env, newAgent, trainers.Config{Seed: m.Seed})
//			...
//			return selfplay.NewTrainee(trainee, m.ID, env)
//		},
//		...
//	})
//
// Package pbt imports neither games nor policies. This package imports both, and no agent: opponents act by package
// infer, in plain Go.
package selfplay
