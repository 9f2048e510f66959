// Package workspace is what the processes of a population share when every member trains in a process of its own: a
// [Store] in which each member publishes its weights and how good they are, and from which it reads those of the
// others. [Folder] is a store in a shared folder, the only thing that processes on several machines need in common;
// [Memory] is one for the goroutines of one process. There is no server and no leader: every member decides for itself,
// from what it reads.
//
// # Protocol
//
// A process takes part as one member at a time, in these steps:
//
//  1. Join takes the member's [Lease]. A second process that wants the same member waits until the first has released
//     its lease, has died on the same machine, or has been silent for LeaseTTL.
//  2. While it trains it calls Beat every few seconds. A heartbeat says what the process is doing, and renews the
//     lease.
//  3. At the end of every interval it calls Publish: first the weights are made durable, then the [Record] that refers
//     to them. A reader that sees the record finds the weights.
//  4. It reads View and decides. To copy another member it calls Fetch with the record that it decided by, and from
//     then on publishes a higher number of Copies: records of a lower number are of weights that were given up.
//  5. Prune deletes records that no member will compare itself with, and what crashed processes left.
//  6. Release gives the lease back, so that the next process need not wait.
//
// A process that crashes between two of these steps leaves what the last one published; its next process continues from
// the member's own state, which package pbt keeps in Lease.Dir. See [Folder] for what a crash within a step leaves.
//
// # Who notices a dead member?
//
// Three parties, independently:
//
//   - the other members, which must not wait for it: package pbt compares MemberView.Seen with View.Now, in
//     Filter.silent (pbt/internal/peers); ProcessOptions.Silence is the silence after which a member counts as dead;
//   - a process that wants the member's place: Join, by the lease (Folder.ended in lease.go);
//   - on its own machine the launcher that started it, by its exit (pbt/launch/run.go).
//
// This package only stores heartbeats and says when they came; Pulse sends them.
package workspace

import (
	"context"
	"errors"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
)

// ErrLeaseLost is returned, wrapped, by a Lease whose member another process has taken over, or whose folder was
// deleted. The process that gets it should end without saving: the other one continues from the member's last saved
// state.
var ErrLeaseLost = errors.New("another process has taken over this member, or its folder was deleted")

// ErrTaken is returned, wrapped, by Join when its context ends while another process holds the member. The error names
// the owner: end that process, wait for longer, or join as another member.
var ErrTaken = errors.New("the member is held by another process")

// Store is shared by the members 0 to Members-1 of one population. Its methods may be called by several goroutines.
type Store interface {
	// Members is the number of members.
	Members() int
	// Join takes a member's lease. While another live process holds it, Join waits until the context ends, and then
	// returns an error that wraps ErrTaken and names the owner.
	Join(ctx context.Context, member int) (Lease, error)
	// View returns everything that all members have published, in order of their numbers. A damaged file is listed in
	// its member's Damaged and does not make View fail.
	View() (View, error)
	// Fetch reads the weights of a record that View or Best returned. Weights whose size or checksum differ from the
	// record's are an error that wraps a *checkpoint.DamagedError. Weights that have been pruned or replaced since the
	// record was read are one that wraps fs.ErrNotExist: call View or Best again.
	Fetch(r Record) (*checkpoint.Snapshot, error)
	// Best returns the record of the best objective that any member offered with PublishBest. Objectives that are not
	// finite never count. Of equal records it returns the one of the lowest iteration, then of the lowest member. It
	// skips damaged records, which View lists. ok is false if there is no record.
	Best(minimise bool) (best Record, ok bool, err error)
}

// Lease is the right to publish as one member, which one process holds at a time. It is used by one goroutine at a
// time, but Beat and Lost may be called by another.
//
// A lease is lost when another process takes the member over, which it may do once this one has neither called Beat nor
// Publish for the store's LeaseTTL: after a pause of the whole process, or when the shared folder could not be reached.
// Its methods then return an error that wraps [ErrLeaseLost], and write nothing more.
type Lease interface {
	// Dir is the member's own folder, in which package pbt keeps the member's state and journal; empty for a store in
	// memory. Names in it that begin with six digits, "heartbeat.json" and "lease-..." are the store's, which also
	// deletes them.
	Dir() string
	// Publish makes the weights durable first, then the record that refers to them. It returns the record with Weights
	// set, and replaces an earlier record of the same member and iteration. A nil snapshot publishes a record without
	// weights, for a member that has diverged.
	Publish(r Record, weights *checkpoint.Snapshot) (Record, error)
	// PublishBest stores weights for Best if r is better than this member's best so far, and deletes the weights of the
	// best before. Prune leaves them alone. A figure that is not finite is never better.
	PublishBest(r Record, weights *checkpoint.Snapshot, minimise bool) error
	// Beat writes a heartbeat and renews the lease. It sets Member, and Owner if that is empty.
	Beat(h Heartbeat) error
	// Lost is closed when the lease has been found to be lost.
	Lost() <-chan struct{}
	// Prune deletes records and weights that no member needs any more. oldest is the least iteration among the newest
	// records of all live members: that of the slowest. Records 20 or more iterations before it go. Of those left, 25
	// are kept, the newest 10 and others as evenly spread as can be. The newest record, and the newest with weights,
	// always stay: a member that has diverged goes back to it.
	Prune(oldest int64) error
	// Release gives the lease back. It may be called twice.
	Release() error
}

// View is what a store holds at one moment.
type View struct {
	// Now is the time by the store's own clock, to compare MemberView.Seen with. On a folder it is the file server's,
	// so that the clocks of the machines need not agree.
	Now time.Time
	// Members are all members in order of their numbers, also those that have never joined.
	Members []MemberView
}

// MemberView is what is known of one member.
type MemberView struct {
	// Member is its number.
	Member int
	// Heartbeat is the last one; nil for a member that never joined. Seen is when it was written, by the store's clock:
	// Now minus Seen is how long the member has been silent.
	Heartbeat *Heartbeat
	Seen      time.Time
	// Records are those of the present weights, newest first. Records from before the member last copied weights are in
	// Stale.
	Records []Record
	// Stale are the records of earlier weights, newest first, unless they were pruned. They rank no member, because
	// their weights were given up. But when all members decide at a common interval, a slow process still finds here
	// what the fast members had published at the end of that interval before they copied.
	Stale []Record
	// Damaged are the errors of files that could not be read; each names its file and what to do.
	Damaged []error
}
