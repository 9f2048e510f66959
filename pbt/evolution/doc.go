// Package evolution changes what hyperparameters do not reach: the architecture of an agent's networks, their
// activations and their weights. Everything is a pure function of snapshots: a snapshot and architectures go in, a new
// snapshot and new architectures come out, and nothing touches a live network. An agent that continues from the result
// is made from the new architectures (for instance with ppo.Evolvable) and restored from the new snapshot.
//
// The mutations are those of AgileRL's evolutionary hyperparameter optimisation, with growth that preserves what the
// networks compute.
//
// [New] makes a population of them: [Options] say how it is selected ([Tournament], [MultiFrequency]), how its members
// mutate ([Mutations], [HyperparameterConfig]) and which of their networks do ([Registry]). It stands on package pbt, whose
// journal holds the lineage with every mutation and architecture. [FromYAML] reads manifests as AgileRL's are.
//
// What AgileRL does otherwise is documented where it differs; Strict brings it back. A member that failed or whose fitness
// is NaN ranks last in any case.
package evolution
