package trainers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/tracking"
)

// Several ranks train one agent (package distributed). Each rank has a trainer and environments of its own. All make
// the same number of timesteps and meet in every update. After it they exchange which episodes have ended, so that all
// have the same figures. They also exchange whether one of them has to stop, so that all stop at the same timestep.
//
// Rank 0 alone writes, draws, evaluates and saves. The others receive from it the checkpoint that a run continues from,
// and the results of evaluations.

// rank is the trainer's part in training on several ranks. The zero value is a single process.
type rank struct {
	*distributed.Group
	// asked is the context of Train, and nil outside of it. episodes and finished record what the other ranks do not
	// know yet: finished is the count of figures.episodes at the last exchange. stop is the same on all ranks.
	asked    context.Context
	episodes []envs.Episode // ended here since the last exchange
	finished int64          // of those that t.episodes counts, how many the others know
	spent    time.Duration  // in operations of the ranks before the last update's end
	stop     error          // why all ranks end the run at this timestep
}

// ownSettings lists the trainer's settings that may differ between ranks: those of files and pictures, which only rank
// 0 writes, and those of the process itself. All other settings must be equal, or the ranks would do different work.
var ownSettings = []string{"directory", "name", "trackers", "write_interval", "checkpoint_interval", "keep", "headless",
	"render_interval", "video_interval", "video_length", "disable_progressbar", "close_environment_at_exit",
	"environment_info", "seed", "stop_timeout"}

// rankOf returns the trainer's part in training on several ranks, or the zero value if the agent trains in one process.
// It returns an error if the settings of the ranks differ.
//
// rankOf changes cfg: it shifts the seed, and on ranks above 0 it removes files, pictures and the progress bar. numEnvs
// is the number of environments of each rank.
func rankOf(agent agents.Agent, cfg *Config, numEnvs int) (rank, error) {
	a, ok := agents.As[agents.Distributed](agent)
	if !ok || !a.Ranks().Several() {
		return rank{}, nil
	}
	r := rank{Group: a.Ranks()}
	settings := config.Dict(*cfg)
	for _, key := range ownSettings {
		delete(settings, key)
	}
	if err := r.RequireEqual(map[string]any{"trainer": settings, "environments of each rank": numEnvs}); err != nil {
		return r, fmt.Errorf("trainers: %w", err)
	}
	if cfg.SaveBuffers {
		return r, fmt.Errorf("trainers: \"save_buffers\" is true, and %d ranks train the agent, of which rank 0 "+
			"saves what all have in common; set it to false", r.Size())
	}
	// Each rank's environments play episodes of their own: those that one process with the environments of all ranks
	// would play.
	if cfg.Seed >= 0 {
		cfg.Seed += int64(r.Rank() * numEnvs)
	}
	if r.Rank() > 0 {
		cfg.Directory, cfg.Name, cfg.Trackers, cfg.Progress = "", "", nil, nil
		cfg.WriteInterval, cfg.CheckpointInterval, cfg.Keep = agents.Interval{}, agents.Interval{}, 0
		cfg.VideoInterval = agents.Interval{}
	}
	return r, nil
}

// batch returns the number of environment steps of a timestep, on all ranks together.
func (l *loop) batch() int64 { return int64(l.world.env.NumEnvs() * l.rank.Size()) }

// Steps returns the number of environment steps trained: timesteps × environments of all ranks.
func (t *Trainer) Steps() int64 { return t.timestep * t.batch() }

// cancelled returns why a run ends before its next timestep, or nil. A single process ends with its context. Several
// ranks end only after they have agreed to stop (exchange): a rank that stopped alone would leave the others waiting.
func (r *rank) cancelled(ctx context.Context) error {
	if r.Several() {
		return r.stop
	}
	return withCause(ctx, ctx.Err())
}

// withCause adds the context's cause to err if err wraps the context's error, which alone does not say who cancelled.
func withCause(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || ctx.Err() == nil || !errors.Is(err, ctx.Err()) || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// runContext returns the context for the timesteps of a run. The caller must call the second result at the end. With
// several ranks, cancelling ctx does not interrupt a timestep: all ranks stop together after the next update. If that
// update does not come within the timeout of an operation of the ranks, the result is cancelled after all.
func (r *rank) runContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if !r.Several() {
		return ctx, func() {}
	}
	later, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		// This goroutine ends when the caller calls the second result, which cancels later.
		late := time.NewTimer(r.Config().Timeout)
		defer late.Stop()
		select {
		case <-late.C:
			cancel(context.Cause(ctx))
		case <-later.Done():
		}
	})
	return later, func() { stop(); cancel(nil) }
}

// rankReport is what a rank sends to the others after an update.
type rankReport struct {
	// Timestep is the sender's. All ranks exchange at the same timestep, or their programs differ.
	Timestep int64
	// Episodes are the counted episodes that ended on this rank since the last exchange.
	Episodes []envs.Episode
	// Totals are return and length of the episodes that ended since then, as tracking.Episodes counts them: with the
	// rewards that the agent gets, after reward wrappers.
	Totals [][2]float64
	// Stop is why this rank is to stop, empty for no reason; Cancelled says that its context has ended.
	Stop      string
	Cancelled bool
}

// exchange sends the other ranks what has happened here since the last update, and receives the same from them. update
// calls it on all ranks at the same timestep. It sets rank.stop if a rank has to stop.
func (l *loop) exchange() error {
	r := &l.rank
	if !r.Several() {
		return nil
	}
	own := rankReport{Timestep: l.timestep, Episodes: r.episodes,
		Totals: l.figures.episodes.Last(l.figures.episodes.Finished() - r.finished)}
	if l.calls.stop != nil {
		own.Stop = l.calls.stop.Error()
	}
	if r.asked != nil && r.asked.Err() != nil {
		own.Stop, own.Cancelled = context.Cause(r.asked).Error(), true
	}
	// Every rank gathers the reports of all, its own too, in the order of the ranks: figures are counted in the same
	// order everywhere, and come to the same.
	all, err := distributed.Gather(r.Group, own)
	if err != nil {
		return fmt.Errorf("trainers: timestep %d: %w", l.timestep, err)
	}
	for from, report := range all {
		if report.Timestep != l.timestep {
			return fmt.Errorf("trainers: rank %d is at timestep %d, this one at %d: all ranks must run the same "+
				"program with the same settings", from, report.Timestep, l.timestep)
		}
		for _, e := range report.Episodes {
			l.figures.metrics.episode("", e)
		}
		// This rank has counted its own totals already (note).
		if from != r.Rank() {
			for _, x := range report.Totals {
				l.figures.episodes.Add(x[0], x[1])
			}
		}
		// The reports come in the same order on all ranks, so all choose the same reason.
		switch {
		case report.Stop == "" || r.stop != nil:
		case report.Cancelled:
			r.stop = fmt.Errorf("rank %d was stopped (%s): %w", from, report.Stop, context.Canceled)
		default:
			r.stop = fmt.Errorf("%w: rank %d: %s", ErrStop, from, report.Stop)
		}
	}
	r.know(l.figures.episodes)
	return nil
}

// know marks the episodes counted so far as known to all ranks. It is called after an exchange, and when the figures of
// all ranks were reset or restored.
func (r *rank) know(counted *tracking.Episodes) { r.episodes, r.finished = nil, counted.Finished() }

// share returns the result of f on rank 0 on all ranks. Only rank 0 calls f. If f fails there, rank 0 sends nothing:
// the other ranks learn of it when rank 0 leaves.
func share[T any](r rank, f func() (T, error)) (x T, err error) {
	if r.Rank() == 0 {
		if x, err = f(); err != nil {
			return x, err
		}
	}
	all, err := distributed.Gather(r.Group, x)
	if err != nil {
		return x, err
	}
	return all[0], nil
}

// shareSnapshot returns rank 0's snapshot on all ranks, nil if it is nil. The other ranks have no checkpoints.
func (r rank) shareSnapshot(snap *checkpoint.Snapshot) (*checkpoint.Snapshot, error) {
	if !r.Several() {
		return snap, nil
	}
	var b bytes.Buffer
	if snap != nil { // on rank 0
		if err := checkpoint.EncodeSafetensors(&b, snap); err != nil {
			return nil, err
		}
	}
	data, err := r.BroadcastBytes(0, b.Bytes())
	if err != nil || r.Rank() == 0 || len(data) == 0 {
		return snap, err
	}
	return checkpoint.DecodeSafetensors(data)
}

// diverged records an update whose losses are not finite. All ranks know of it by flags that travel with the gradients
// and stop by themselves, so left need not report it.
func (r *rank) diverged(err error) {
	var d *agents.DivergedError
	if r.Several() && errors.As(err, &d) {
		r.stop = err
	}
}

// left ends what Train began. It notifies the other ranks why this one ends, unless all end for the same reason.
// Otherwise the others would wait for this rank until their timeout.
func (r *rank) left(err error) {
	r.asked = nil
	if r.Several() && err != nil && r.stop == nil {
		r.Leave(err)
	}
}
