package multirank

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/launch"
)

// Train trains the member that a launcher has started this process for, as a function for [launch.Member]: by program,
// whose New it sets, and with as many ranks as the launcher says (launch.Process.Ranks). Rank 0 leads and the others
// follow; a member of one rank is trained by program alone. It finds its place among the ranks by [distributed.Detect].
func Train(ctx context.Context, p launch.Process, program launch.Program, cfg distributed.Config, b Build) (err error) {
	if p.Ranks <= 1 {
		program.New = func(m pbt.Member) (pbt.Trainee, error) { return b(nil, m) }
		return program.Train(ctx, p)
	}
	place, ok, err := distributed.Detect(os.Getenv)
	switch {
	case err != nil:
		return err
	case !ok:
		return fmt.Errorf("multirank: %s is %d, and nothing says which of the ranks this process is; a launcher sets "+
			"RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, or srun starts the ranks", launch.EnvRanks, p.Ranks)
	case place.Size != p.Ranks:
		return fmt.Errorf("multirank: %s is %d, and this process is %v (%s); make them the same number",
			launch.EnvRanks, p.Ranks, place, place.Launcher)
	}
	g, err := distributed.Join(ctx, place, cfg)
	if err != nil {
		return stoppedBy(ctx, err)
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	if place.Rank > 0 {
		return follow(ctx, g, b)
	}
	p.Ranks = 1 // to the population, this process is the member
	return lead(ctx, g, b, func(ctx context.Context, build buildFunc) error {
		program.New = build
		return program.Train(ctx, p)
	})
}
