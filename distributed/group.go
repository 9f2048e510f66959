package distributed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gorl-dev/gorl/internal/process"
)

// Group is the connection of a rank to all other ranks. Every operation waits for the other ranks, so all ranks must
// call the same operations in the same order. If one rank does not, the others return a [PeerError] after
// Config.Timeout. A group cannot be used after an error. One goroutine at a time may use a group. A nil *Group is a
// single process.
type Group struct {
	place   Place
	cfg     Config
	links   links
	gpus    gpus
	op      uint64 // counts operations
	scratch [2][]byte
	joining context.Context // while the ranks join, otherwise nil
	lost    error           // why the group cannot be used any more
	spent   time.Duration
}

// Join connects the ranks at place and returns when all are connected. It returns an error after Config.JoinTimeout, or
// when ctx ends. No port is open after Join has returned.
func Join(ctx context.Context, place Place, cfg Config) (*Group, error) {
	if err := cfg.Validate(); err != nil {
		return nil, err
	}
	if place.Size < 1 || place.Rank < 0 || place.Rank >= place.Size {
		return nil, fmt.Errorf("distributed: rank %d of %d: want a rank from 0 to the number of ranks less one",
			place.Rank, place.Size)
	}
	g := &Group{place: place, cfg: cfg, links: make(links, place.Size)}
	if place.Size == 1 {
		return g, nil
	}
	if _, _, err := network(place.Address); err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, cfg.JoinTimeout)
	defer cancel()
	err := g.join(limited)
	switch {
	case err == nil:
		return g, nil
	case ctx.Err() != nil:
		err = fmt.Errorf("distributed: rank %d waited for the others: %w", place.Rank, context.Cause(ctx))
	default:
		err = fmt.Errorf("distributed: rank %d of %d could not join the others at %s within %v: %w; see that all "+
			"ranks are started, and that they reach this "+
			"address", place.Rank, place.Size, place.Address, cfg.JoinTimeout, err)
	}
	return nil, errors.Join(err, g.Close())
}

// join connects this rank to all others, and compares the values that must be equal on all.
func (g *Group) join(ctx context.Context) error {
	if err := connect(ctx, g.place, g.links); err != nil {
		return err
	}
	g.joining = ctx
	stop := context.AfterFunc(ctx, func() { g.links.until(time.Now()) })
	defer func() { stop(); g.joining = nil }()
	nccl := g.takesNCCL()
	err := g.RequireEqual(map[string]any{"the program's version": version(), "distributed.backend": g.cfg.Backend,
		"sums on GPUs by NCCL": nccl})
	if g.Rank() == 0 {
		process.RemoveSocketFolder(g.place.Address)
	}
	if err != nil || !nccl {
		return err
	}
	return g.gpus.open(g.place, g.cfg.Timeout)
}

// Local returns the groups of size ranks in this process, for tests of programs that run as several. Each rank is a
// goroutine. The groups work as those of processes.
func Local(size int, cfg Config) ([]*Group, error) {
	address, remove, err := process.SocketAddress()
	if err != nil {
		return nil, fmt.Errorf("distributed: %w", err)
	}
	defer remove()
	groups, errs := make([]*Group, size), make([]error, size)
	var joined sync.WaitGroup
	for r := range size {
		joined.Go(func() {
			groups[r], errs[r] = Join(context.Background(), Place{Rank: r, Size: size, LocalRank: r, LocalSize: size,
				Address: address, Launcher: "Local"}, cfg)
		})
	}
	joined.Wait()
	if err := errors.Join(errs...); err != nil {
		for _, g := range groups {
			err = errors.Join(err, g.Close())
		}
		return nil, err
	}
	return groups, nil
}

// alone is what a nil group stands for.
var alone = &Group{place: Place{Size: 1, LocalSize: 1}}

// Rank returns the number of this rank, from 0.
func (g *Group) Rank() int { return cmp.Or(g, alone).place.Rank }

// Size returns the number of ranks.
func (g *Group) Size() int { return cmp.Or(g, alone).place.Size }

// Place returns the place of this rank.
func (g *Group) Place() Place { return cmp.Or(g, alone).place }

// Config returns the configuration of the group.
func (g *Group) Config() Config { return g.cfg }

// Spent returns the time that this rank has spent in operations. Most of it is waiting for the others.
func (g *Group) Spent() time.Duration { return cmp.Or(g, alone).spent }

// Several reports whether there are other ranks.
func (g *Group) Several() bool { return g.Size() > 1 }
