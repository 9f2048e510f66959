// Package evolution changes what hyperparameters do not reach: the architecture of an agent's networks, their
// activations and their weights. Everything is a pure function of snapshots: a snapshot and architectures go in, a new
// snapshot and new architectures come out, and nothing touches a live network. An agent that continues from the result
// is made from the new architectures (for instance with ppo.Evolvable) and restored from the new snapshot.
//
// The mutations are those of AgileRL's evolutionary hyperparameter optimisation, with growth that preserves what the
// networks compute.
package evolution
