// Package pbt trains populations: several members learn at once, and at the end of every interval the weak take
// over the weights and, mutated, the hyperparameters of the strong.
//
// The parts are small and can be used on their own:
//
//   - a [Trainee] is anything that trains: an agent in its environment, seen through the few methods pbt needs;
//   - a [Strategy] is a pure function from a [Generation] (who stands where) to one [Decision] a member;
//   - a [Mutation] changes hyperparameters by named rules;
//   - a [Population] trains its members concurrently, decides when all have reached the interval's end, and applies
//     the decisions: weights first, hyperparameters last;
//   - the journal, one JSON object a line, records every decision; [ReadJournal] and [NewHistory] turn it into series
//     and ancestries.
//
// Objectives are higher-is-better. The same options and seed give the same decisions and, byte for byte, the same
// journal, however many members train at a time.
package pbt
