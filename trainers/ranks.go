package trainers

import (
	"bytes"
	"context"
	"encoding/gob"
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

// Several ranks train one agent (package distributed), each with a trainer and environments of its own. They make the
// same number of timesteps, and meet in every update. Behind it they tell each other which episodes have ended, so that
// all have the same figures, and whether one of them is to stop, so that all stop at the same timestep. Rank 0 alone
// writes, draws, evaluates and saves; all get the checkpoint that a run continues from, and the result of an
// evaluation, from it.

// rank is a trainer's part in that. The zero value is one process alone.
type rank struct {
	*distributed.Group
	asked    context.Context // of the present Train, nil outside
	episodes []envs.Episode  // ended here since the last exchange
	finished int64           // of those that t.episodes counts, how many the others know
	spent    time.Duration   // in operations of the ranks before the last update's end
	stop     error           // why all ranks end the run at this timestep
}

// ownSettings lists the trainer's settings that may differ between ranks: those of files and pictures, which rank 0
// alone writes, and those of the process itself.
var ownSettings = []string{"directory", "name", "trackers", "write_interval", "checkpoint_interval", "keep", "headless",
	"render_interval", "disable_progressbar", "close_environment_at_exit", "environment_info", "seed", "stop_timeout"}

// rankOf returns the part of a trainer of the agent.
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
	// Each rank's environments play episodes of their own: those that one process would play with the environments of
	// all.
	if cfg.Seed >= 0 {
		cfg.Seed += int64(r.Rank() * numEnvs)
	}
	if r.Rank() > 0 {
		cfg.Directory, cfg.Name, cfg.Trackers, cfg.Progress, cfg.OnRender = "", "", nil, nil, nil
		cfg.WriteInterval, cfg.CheckpointInterval, cfg.Keep = agents.Interval{}, agents.Interval{}, 0
	}
	return r, nil
}

// batch returns how many environment steps a timestep has, of all ranks.
func (l *loop) batch() int64 { return int64(l.world.env.NumEnvs() * l.rank.Size()) }

// Steps returns the number of environment steps trained: timesteps × environments, of all ranks where there are
// several.
func (t *Trainer) Steps() int64 { return t.timestep * t.batch() }

// cancelled returns why a run ends before its next timestep: its context, or, if there are several ranks, that they
// have agreed to stop.
func (r *rank) cancelled(ctx context.Context) error {
	if r.Several() {
		return r.stop
	}
	return withCause(ctx, ctx.Err())
}

// withCause adds the context's cause to err if err wraps the context's error.
func withCause(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if err == nil || ctx.Err() == nil || !errors.Is(err, ctx.Err()) || errors.Is(err, cause) {
		return err
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// runContext returns the context of the timesteps of a run. With several ranks one that is cancelled waits for the
// next update, where all stop, but no longer than an operation of the ranks may take.
func (r *rank) runContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if !r.Several() {
		return ctx, func() {}
	}
	later, cancel := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
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
	Timestep int64
	Episodes []envs.Episode
	// Totals are return and length of the same episodes as tracking.Episodes counts them.
	Totals [][2]float64
	// Stop is why this rank is to stop, empty for no reason; Cancelled says that its context has ended.
	Stop      string
	Cancelled bool
}

// exchange sends the other ranks what has happened here since the last update, and receives the same from them.
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
	text, err := encode(own)
	if err != nil {
		return err
	}
	all, err := r.GatherBytes(text)
	if err != nil {
		return fmt.Errorf("trainers: timestep %d: %w", l.timestep, err)
	}
	for from, text := range all {
		var report rankReport
		if err := decode(text, &report); err != nil {
			return err
		}
		if report.Timestep != l.timestep {
			return fmt.Errorf("trainers: rank %d is at timestep %d, this one at %d: all ranks must run the same "+
				"program with the same settings", from, report.Timestep, l.timestep)
		}
		for _, e := range report.Episodes {
			l.figures.metrics.episode("", e)
		}
		if from != r.Rank() {
			for _, x := range report.Totals {
				l.figures.episodes.Add(x[0], x[1])
			}
		}
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

// know notes that the other ranks know the episodes counted so far, or have forgotten theirs as this one has.
func (r *rank) know(counted *tracking.Episodes) { r.episodes, r.finished = nil, counted.Finished() }

// share returns what rank 0 has made of f, on all ranks; the others do not call it.
func share[T any](r rank, f func() (T, error)) (x T, err error) {
	if !r.Several() {
		return f()
	}
	var text []byte
	if r.Rank() == 0 {
		if x, err = f(); err != nil {
			return x, err
		}
		if text, err = encode(x); err != nil {
			return x, err
		}
	}
	if text, err = r.BroadcastBytes(0, text); err == nil && r.Rank() > 0 {
		err = decode(text, &x)
	}
	return x, err
}

// encode and decode carry a value from rank to rank. JSON would not carry NaN.
func encode(x any) ([]byte, error) {
	var b bytes.Buffer
	if err := gob.NewEncoder(&b).Encode(x); err != nil {
		return nil, fmt.Errorf("trainers: what a rank tells the others: %w", err)
	}
	return b.Bytes(), nil
}

func decode(b []byte, x any) error {
	if err := gob.NewDecoder(bytes.NewReader(b)).Decode(x); err != nil {
		return fmt.Errorf("trainers: what another rank has told: %w", err)
	}
	return nil
}

// shareSnapshot returns rank 0's snapshot on all ranks; nil where it is nil.
func (r rank) shareSnapshot(snap *checkpoint.Snapshot) (*checkpoint.Snapshot, error) {
	if !r.Several() {
		return snap, nil
	}
	var b bytes.Buffer
	if r.Rank() == 0 && snap != nil {
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

// diverged notes an update whose losses are not finite: all ranks know, by the flags that travel with the gradients,
// and none leaves the others.
func (r *rank) diverged(err error) {
	var d *agents.DivergedError
	if r.Several() && errors.As(err, &d) {
		r.stop = err
	}
}

// left notifies the other ranks why this one ends, unless all end for the same reason.
func (r *rank) left(err error) {
	if r.Several() && err != nil && r.stop == nil {
		r.Leave(err)
	}
}
