// Package pbt trains populations: several members learn at once, and at the end of every interval members that fall
// behind copy the weights of members that lead, with mutated hyperparameters.
//
// Two verbs run through the package, as in the paper (Jaderberg et al., "Population Based Training of Neural Networks",
// 2017): a member exploits when it copies another's weights, and explores when its hyperparameters are mutated.
//
//   - A [Trainee] is anything that trains: an agent in its environment, seen through the few methods that pbt needs.
//   - A strategy.Strategy is a pure function from a strategy.Generation (where all members stand) to one
//     strategy.Decision for each member. Package strategy has those of Isaac Lab, IsaacGymEnvs, Sample Factory, Ray Tune
//     and AgileRL.
//   - An explore.Explorer mutates hyperparameters. Package explore has mutation by rules, perturbation and PB2.
//   - [Measure] says how an objective comes from what trainees report, [CopyOptions] what is copied beside the weights.
//   - A [Population] trains its members. [New] makes one of all members in this process. [Join] makes one of a single
//     member, whose peers are other processes: they share a workspace.Store.
//   - Every decision is an event of a journal; package journal reads it.
//
// Higher objectives are better, unless [Measure] says otherwise. A member that fails, or whose objective or weights are
// not finite, counts as the worst, is never copied, and is rescued by another. The same options and seed give the same
// decisions and, byte for byte, the same journals, however many members train at a time; only members that do not wait
// for each other depend on timing.
//
// # Reading order
//
// options.go and trainee.go are what a user gives, population.go and process.go what a user calls. A group, in
// interval.go, is the loop: the members that train and are decided about together. member.go, build.go and measure.go
// are one member; decide.go, exploit.go and copyoptions.go what is decided about it, and what that does to a running
// agent. publish.go, peers.go, wait.go and heartbeat.go are about members of other groups. worker.go, state.go and
// pending.go keep a member's state and continue from it.
package pbt
