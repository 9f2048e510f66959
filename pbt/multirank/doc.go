// Package multirank trains a population's member on several processes, its ranks. Rank 0 is the member to the
// population:
// it has the lease, the heartbeat, the records, the journal and the decisions, as a member of one process has them
// (pbt.Join). The other ranks follow it. What changes the member, from a step of training to the weights of another
// member that it takes over, is told to them as a command with everything that it needs, and made by all ranks at once:
// no process is started for it.
//
// All ranks have the same weights and hyperparameters. Each has environments of its own, so the environment steps
// of a member are those of all its ranks.
//
// [Train] is what a member program calls. It finds out by the environment whether this process is one of several
// ranks, and which.
package multirank
