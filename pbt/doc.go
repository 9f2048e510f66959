// Package pbt trains populations: several members learn at once, and at the end of every interval the weak take
// over the weights and, mutated, the hyperparameters of the strong.
//
// The parts are small and can be used on their own:
//
//   - a [Trainee] is anything that trains: an agent in its environment, seen through the few methods pbt needs;
//   - a [Strategy] is a pure function from a [Generation] (who stands where) to one [Decision] a member;
//   - a [Mutation] changes hyperparameters by named rules, as other kinds of [Explorer] do in other ways;
//   - a [Measure] says how an objective comes from what trainees report, an [Inheritance] what is handed on;
//   - a [Population] trains its members concurrently, decides when all have reached the interval's end, and applies
//     the decisions: weights first, hyperparameters last;
//   - a [Worker] is one member of a population without a centre: it decides for itself from what the others publish on a
//     workspace.Store, in a process of its own or, with [TrainAsync], in one process with the others;
//   - the journal, one JSON object a line, records every decision; [ReadJournal] and [NewHistory] turn it into series
//     and ancestries.
//
// More of an objective is better, unless [Measure] says otherwise. A member that fails, or whose objective or weights are
// no longer finite, counts as the worst and is rescued by another. The same options and seed give the same decisions and,
// byte for byte, the same journal, however many members train at a time.
package pbt
