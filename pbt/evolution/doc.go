// Package evolution mutates what hyperparameters do not reach: the architecture of an agent's networks, their
// activations and their weights. It follows AgileRL's evolutionary hyperparameter optimisation.
//
// # Snapshots in, snapshots out
//
// A mutation never touches a live network. [Evolver.Evolve] is a pure function: a snapshot goes in, a new snapshot
// comes out, and the argument is not changed. To continue from the result, build an agent of the new [Architectures]
// (for instance with ppo.Evolvable) and restore the new snapshot. Mutations therefore work on every agent whose
// snapshots follow the conventions of [Registry].
//
// # Populations
//
// [New] makes a population of evolving members. [Options] say how members are selected (strategy.Tournament,
// strategy.MultiFrequency), how they mutate ([Mutations], [HyperparameterConfig]) and which networks take part
// ([Registry]). The population itself is one of package pbt, whose journal records the lineage with every mutation and
// architecture. [FromYAML] reads the options from a manifest as AgileRL's are.
//
// # Differences from AgileRL
//
//   - Growth preserves the function that a network computes, and optimizers keep their moments; AgileRL copies the
//     weights that overlap, draws the rest again and begins with fresh optimizers. See [Preserve].
//   - Hyperparameters change by one symmetric factor, so that they do not drift; AgileRL multiplies by 1.2 or 0.8,
//     whose product is below 1. See [RLParameter.Mutate].
//   - Where a member consists of several agents (IPPO, MAPPO), an edit is for one of them: its policy and its value
//     network. AgileRL gives it to all that have such a layer.
//   - The elite is not mutated unless Mutations.MutateElite is set; AgileRL's class mutates it.
//   - A member that failed, or whose fitness is NaN, ranks last and is never copied.
//
// Strict brings AgileRL's behaviour back for all of them except the last two.
//
// Reading order: options.go and evolution.go (the population), evolver.go and mutations.go (what is drawn), parts.go
// (members of several agents), edit_kind.go and edit_apply.go (architectures), edit.go, rewire.go and function.go
// (weights), yaml.go.
package evolution
