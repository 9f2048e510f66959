// Package distributed lets several processes train one agent, each with its own environments, often one per GPU (data
// parallelism). The processes are called ranks. Each rank computes the gradients of its own minibatches, all ranks add
// them up, and every rank makes the same step. The parameters of all ranks therefore stay equal, bit for bit.
//
//	place, several, err := distributed.Detect(os.Getenv) // torchrun, Slurm, Kubernetes, gorl train --nproc
//	// ...
//	group, err := distributed.Join(ctx, place, distributed.DefaultConfig())
//	// ...
//	defer group.Close()
//	agent, err := ppo.New(ppo.Options{Group: group /* ... */})
//
// The ranks of one machine are connected by unix sockets, those of several machines by TCP. GPUs use NCCL. A nil *Group
// is a single process, for which every operation does nothing. docs/distributed.md compares a run of several ranks with
// one of a single process.
//
// Reading order: place.go, launchers.go and detect.go find the ranks; group.go and join.go with listen.go connect them;
// operations.go and link.go are the exchange of data, nccl.go the one of GPUs; peers.go handles the failure of a rank.
package distributed
