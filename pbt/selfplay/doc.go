// Package selfplay trains a population on a game whose members are each other's opponents.
//
// A [Game] turns a game with seats into an environment of one agent: frozen policies play the other seats. A learner's
// opponents are in its [Pool]: the newest weights of all members, and past selves of its own lineage. [Config] says how
// one is drawn for an episode. At the end of every interval the population gives the pools new weights ([pbt.Meeter]).
// The pool is part of the learner's snapshot, so a run resumes exactly, and a member that copies another takes over
// that member's past selves and rating.
//
// Results become [Elo] ratings. The journal has them with a table of who met whom, and "episode.rating" can be the
// objective of the population:
//
//	population, err := pbt.New(pbt.Options{
//		Objective: "episode.rating",
//		New: func(m pbt.Member) (pbt.Trainee, error) {
//			env, err := selfplay.NewGames(64, newGame, selfplay.DefaultConfig(), wrappers.ParallelOptions{Seed: m.Seed})
//			...
//			trainee, err := trainers.NewTrainee(env, newAgent, trainers.Config{Seed: m.Seed})
//			...
//			return selfplay.NewTrainee(trainee, m.ID, env)
//		},
//		...
//	})
//
// Package pbt knows nothing of games and policies. This package knows both, and no agent: opponents act by package
// infer, in plain Go.
package selfplay
