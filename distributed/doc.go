// Package distributed lets several processes train one agent, each with environments of its own, often one for every
// GPU (data parallelism). The processes are called ranks. Each computes gradients of its own minibatches, all ranks
// add them up, and every rank makes the same step, so that the parameters stay the same everywhere, bit for bit.
//
//	place, several, err := distributed.Detect(os.Getenv) // torchrun, Slurm, Kubernetes, gorl train --nproc
//	// ...
//	group, err := distributed.Join(ctx, place, distributed.DefaultConfig())
//	// ...
//	defer group.Close()
//	agent, err := ppo.New(ppo.Options{Group: group /* ... */})
//
// The ranks of one machine are connected by unix sockets, those of several machines by TCP. GPUs use NCCL. A nil
// *Group is one process alone, for which every operation does nothing. docs/distributed.md says in what a run of
// several ranks equals a run of one process.
package distributed
