// Package pbt trains populations: several members learn at once, and at the end of every interval members that fall
// behind are given the weights of members that lead, with mutated hyperparameters.
//
// Two verbs run through the package, as in the paper (Jaderberg et al., "Population Based Training of Neural Networks",
// 2017): a member exploits when it copies another's weights, and explores when its hyperparameters are mutated.
//
//   - A [Trainee] is anything that trains: an agent in its environment, seen through the few methods that pbt needs.
//   - A strategy.Strategy is a pure function from a strategy.Generation (where all members stand) to one
//     strategy.Decision a member. Package strategy has those of Isaac Lab, IsaacGymEnvs, Sample Factory, Ray Tune, AgileRL.
//   - An explore.Explorer mutates hyperparameters. Package explore has mutation by rules, perturbation and PB2.
//   - [Measure] says how an objective comes from what trainees report, [CopyOptions] what is copied beside the weights.
//   - A [Population] trains its members in one process. When all have reached the interval's end it decides about all of
//     them and applies the decisions: weights first, hyperparameters last.
//   - A [Worker] is one member of a population without a centre, usually a process of its own. It decides about itself from
//     the records that the others publish in a workspace.Store. With [TrainAsync] all workers are in one process.
//   - Every decision is an event of the journal; package journal reads it.
//
// More of an objective is better, unless [Measure] says otherwise. A member that fails, or whose objective or weights
// are no longer finite, counts as the worst, is never copied, and is rescued by another. The same options and seed give
// the same decisions and, byte for byte, the same journal, however many members train at a time; only workers that do
// not wait for each other depend on timing.
//
// Start reading at [Population.Train] for the loop, at exploit.go for what a decision does to a running agent, and at
// peers.go for what one worker knows of the others.
package pbt
