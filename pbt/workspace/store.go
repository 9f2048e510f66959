// Package workspace is what the processes of a decentralised population share: a store on which every member publishes
// its weights and how good they are, and reads those of the others. [Folder] is a store in a shared folder, the only
// thing that processes on several machines need in common; [Memory] is one for goroutines.
package workspace

import (
	"context"
	"errors"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
)

// ErrLeaseLost is returned, wrapped, by a Lease whose member another process has taken over, or whose folder was deleted.
var ErrLeaseLost = errors.New("another process has taken over this member, or its folder was deleted")

// ErrTaken is returned, wrapped, by Join while another process holds the member.
var ErrTaken = errors.New("the member is held by another process")

// Store is shared by the members 0 to Members-1 of one population. Its methods may be called by several goroutines.
type Store interface {
	// Members is the number of members.
	Members() int
	// Join takes a member's lease. While another live process holds it, Join waits until the context ends, and then
	// returns an error that wraps ErrTaken and names the owner.
	Join(ctx context.Context, member int) (Lease, error)
	// View is everything published by all members, in order of their numbers. What is damaged is listed, not skipped.
	View() (View, error)
	// Fetch reads the weights of a record. Weights whose size or checksum differ from the record's are an error that
	// wraps a *checkpoint.DamagedError; weights that have been pruned meanwhile one that wraps fs.ErrNotExist.
	Fetch(r Record) (*checkpoint.Snapshot, error)
	// Best is the best record there ever was over all members, compared by number: by its evaluation where it has one,
	// else by its objective; figures that are not finite never count. Of equals it is the one of the lowest iteration,
	// then of the lowest member. Damaged ones, which View lists, are passed over. ok is false where there is none.
	Best(minimise bool) (best Record, ok bool, err error)
	// FetchBest reads the weights of what Best returned. Where the member has replaced them meanwhile the error wraps
	// fs.ErrNotExist: ask Best again.
	FetchBest(r Record) (*checkpoint.Snapshot, error)
}

// Lease is one member's place on a store, held by one process at a time. It is used by one goroutine at a time, but
// Beat and Lost may be called by another.
type Lease interface {
	// Member is the lease's member.
	Member() int
	// Dir is the member's own folder, for its state and journal; empty on a store in memory. In it the names that
	// begin with six digits, "heartbeat.json" and "lease-..." are the store's, which also deletes them.
	Dir() string
	// Publish makes weights durable and visible to others first, then the record that refers to them; it returns the
	// record with Weights set. A record of the same member and iteration is replaced. A nil snapshot publishes a
	// record without weights, for a member that has diverged.
	Publish(r Record, weights *checkpoint.Snapshot) (Record, error)
	// PublishBest offers weights for the best of the population and keeps them where they beat this member's best so
	// far. A figure that is not finite beats nothing.
	PublishBest(r Record, weights *checkpoint.Snapshot, minimise bool) error
	// Beat writes a heartbeat, with Member and, where it is empty, Owner filled in. It returns an error that wraps
	// ErrLeaseLost once the lease is another's. A lease that neither beats nor publishes for long may be taken over.
	Beat(h Heartbeat) error
	// Lost is closed when the lease has been found to be another's. From then on the lease writes nothing.
	Lost() <-chan struct{}
	// Prune deletes what nobody needs any more; see Keep.
	Prune(k Keep) error
	// Release gives the lease back. It may be called twice.
	Release() error
}

// Keep says what Prune leaves: all records newer than Oldest minus Back, thinned out to at most Most of which the newest
// Newest are all kept, and the others lie as evenly as can be, so that slow members still find peers of their age.
type Keep struct {
	// Oldest is the least iteration among the newest records of all live members.
	Oldest int64
	// Back, Most and Newest are 20, 25 and 10 by default (0).
	Back, Most, Newest int64
}

// View is what stands on a store.
type View struct {
	// Now is the time by the store's own clock, to compare heartbeats with.
	Now     time.Time
	Members []MemberView
}

// MemberView is what is known of one member.
type MemberView struct {
	Member int
	// Heartbeat is the last one; nil where the member never started. Seen is when it was written, by the store's clock.
	Heartbeat *Heartbeat
	Seen      time.Time
	// Records are those of the present weights, newest first: records from before the member took over other weights
	// are stale and left out.
	Records []Record
	// Stale are the records from before, newest first, as far as they have not been pruned. They rank nobody; but who is
	// late for a common interval finds here what those who were early and have gone on had published at its end.
	Stale []Record
	// Damaged says what could not be read.
	Damaged []error
}

// Record is what a member publishes at the end of an interval.
type Record struct {
	Member int
	// Iteration counts the member's intervals from 1.
	Iteration int64
	// Copies is the number of times that the member had taken over weights; it tells records of present weights from
	// stale ones.
	Copies int64
	// Steps is the member's own number of environment steps, WeightSteps that behind the weights, ancestors included,
	// and SinceCopy the member's own since it started or last took over weights.
	Steps, WeightSteps, SinceCopy int64
	// SinceChange is the member's own since it mutated itself, where it has done so since SinceCopy began; else 0.
	SinceChange int64
	// Objective is the figure as measured (it may be NaN), Peak the best one within the interval.
	Objective    float64
	HasObjective bool
	Peak         float64
	HasPeak      bool
	// Evaluation is the result of a separate evaluation, where there was one.
	Evaluation    float64
	HasEvaluation bool
	// Samples is the number of measurements behind the objective.
	Samples int
	// Parent is the member whose weights were last taken over, -1 for none.
	Parent int
	// Hyperparameters are the hyperparameters that the weights were trained with.
	Hyperparameters map[string]float64
	// Failure says why there are no weights.
	Failure string
	// Experiment is the run's name.
	Experiment string
	// Weights refer to the file; nil where there are none. Publish sets them.
	Weights *Weights
	// Foreign is set for the record of another program (Isaac Lab's plain seven keys). It can be compared with, but its
	// weights have no checksum and Fetch refuses them. Publish ignores it.
	Foreign bool
}

// Weights refer to a snapshot's file.
type Weights struct {
	// Path is relative to the store's folder, with forward slashes.
	Path string
	// Size is in bytes, SHA256 in lower-case hexadecimal digits.
	Size   int64
	SHA256 string
}

// Phase is what a member's process is doing.
type Phase string

// The phases.
const (
	Training Phase = "training"
	// Waiting is for others, at the end of an interval.
	Waiting Phase = "waiting"
	// Yielded has ended its process so that another member may use the machine; it comes back.
	Yielded Phase = "yielded"
	// Stopped was asked to stop and can be continued.
	Stopped  Phase = "stopped"
	Finished Phase = "finished"
	// Failed has given up.
	Failed Phase = "failed"
)

// Heartbeat is a sign of life.
type Heartbeat struct {
	Member int
	// Owner names the process, for people: host and process number.
	Owner string
	Phase Phase
	// Iteration is the interval in progress, Copies as in Record, Steps the member's own steps, Total what it trains in all.
	Iteration, Copies, Steps, Total int64
	// Objective is the latest, where known.
	Objective    float64
	HasObjective bool
	// Hyperparameters are the hyperparameters in effect.
	Hyperparameters map[string]float64
	// Parent is as in Record.
	Parent int
	// Note is for people: the last decision, or why it failed.
	Note string
}
