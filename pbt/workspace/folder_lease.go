package workspace

// This file is the publishing side of a Folder: what the process that holds a member's lease writes. Each method
// looks at the lease first and immediately before the rename that commits; view.go is the reading side, lease.go the
// lease itself.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gorl-dev/gorl/checkpoint"
)

// folderLease is a [Lease] of a Folder.
type folderLease struct {
	store *Folder
	// folder is the member's below the store's, with forward slashes.
	member int
	folder string
	text   leaseFileText
	bytes  []byte   // the contents of the lease's file, which renew writes again
	file   *os.File // the lease's, open, because closing it would free the lock
	// weights stores the snapshots in folder, each with a manifest of its own.
	weights *checkpoint.Store
	// temporaries counts files written aside, for their names.
	temporaries atomic.Int64
	// lost is closed when another process is found to have taken the member over.
	lost chan struct{}

	// mu guards what the goroutine that sends heartbeats shares with the one that trains.
	mu       sync.Mutex
	gone     bool // lost is closed
	released bool
}

// Join takes a member's lease, see [Store]. It waits in steps of at most a second, and does not hold up other methods.
func (f *Folder) Join(ctx context.Context, member int) (Lease, error) {
	if err := checkMember(member, f.members); err != nil {
		return nil, err
	}
	if f.opt.ReadOnly {
		return nil, fmt.Errorf("workspace: %s was opened to be read only; open it without ReadOnly to take part", f.dir)
	}
	s, err := f.acquire(ctx, member)
	if err != nil {
		return nil, err
	}
	if s.weights, err = checkpoint.NewStore(s.Dir(), checkpoint.Options{}); err != nil {
		return nil, errors.Join(fmt.Errorf("workspace: %w", err), s.Release())
	}
	return s, nil
}

func (s *folderLease) Dir() string           { return s.store.path(s.folder) }
func (s *folderLease) Lost() <-chan struct{} { return s.lost }

// mine returns an error unless the lease is still this process's. Publish and Beat call it immediately before each
// rename. The first call that finds the lease lost closes Lost.
func (s *folderLease) mine() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return released(s.member)
	}
	if s.gone {
		return ErrLeaseLost
	}
	return s.noticed(s.verify())
}

// noticed closes Lost where err says that the lease is lost, and returns err. s.mu is held.
func (s *folderLease) noticed(err error) error {
	if errors.Is(err, ErrLeaseLost) {
		s.gone = true
		close(s.lost)
	}
	return err
}

// did adds the member and what was being done to an error that does not name them.
func (s *folderLease) did(what string, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), "workspace: ") {
		return err
	}
	return fmt.Errorf("workspace: member %d: %s: %w", s.member, what, err)
}

// temporary returns a name for a file aside that no other write has. The lease's token in it tells Prune of a later
// process that the file is not its own.
func (s *folderLease) temporary(base string) string {
	return fmt.Sprintf(".%s-%s-%d", base, s.text.Token, s.temporaries.Add(1))
}

// Publish makes weights and their record visible; [Folder] lists the steps. The lease is renewed last, so that a record
// counts as a sign of life.
func (s *folderLease) Publish(r Record, weights *checkpoint.Snapshot) (Record, error) {
	r, err := prepare(r, s.member, s.store.members)
	if err != nil {
		return r, err
	}
	if err := s.mine(); err != nil {
		return r, s.did("publishing", err)
	}
	if err := s.publish(&r, weights, s.weights, s.folder); err != nil {
		return r, s.did("publishing", err)
	}
	return r, s.did("renewing the lease", s.renew())
}

// publish writes weights and then the record that refers to them into a folder.
func (s *folderLease) publish(r *Record, weights *checkpoint.Snapshot, store *checkpoint.Store, folder string) error {
	if weights != nil { // durable before the record can refer to them
		file, err := store.Save(fmt.Sprintf("%06d", r.Iteration), r.Steps, weights)
		if err != nil {
			return err
		}
		m, err := checkpoint.ReadManifest(file)
		if err != nil {
			return err
		}
		r.Weights = &Weights{Path: folder + "/" + filepath.Base(file), Size: m.Size, SHA256: m.SHA256}
	}
	name := recordName(r.Iteration)
	return s.store.writeAside(folder+"/"+name, s.temporary(name), encodeRecord(*r, folder), true, s.mine)
}

// Beat replaces the member's heartbeat and renews the lease. It does not sync: the next heartbeat follows soon.
func (s *folderLease) Beat(h Heartbeat) error {
	h, err := h.prepare(s.member, s.store.members, s.store.owner)
	if err != nil {
		return err
	}
	text, err := encodeHeartbeat(h)
	if err != nil {
		return err
	}
	if err := s.mine(); err != nil {
		return s.did("heartbeat", err)
	}
	if err := s.store.writeAside(s.folder+"/"+heartbeatName, s.temporary(heartbeatName), text, false,
		s.mine); err != nil {
		return s.did("heartbeat", err)
	}
	return s.did("renewing the lease", s.renew())
}

// PublishBest stores weights in the folder of the member's best, see [Lease]. It writes the new one before it deletes
// the old one, so that a crash leaves one of them, or both, of which Best chooses the better.
func (s *folderLease) PublishBest(r Record, weights *checkpoint.Snapshot, minimise bool) error {
	if weights == nil {
		return errNoBest
	}
	r, err := prepare(r, s.member, s.store.members)
	if err != nil {
		return err
	}
	return s.did("publishing the best", s.publishBest(r, weights, minimise))
}

// publishBest does the work of PublishBest. A record that is not better is no error: members offer every interval.
func (s *folderLease) publishBest(r Record, weights *checkpoint.Snapshot, minimise bool) error {
	if err := s.mine(); err != nil {
		return err
	}
	if _, ok := r.score(); !ok {
		return nil
	}
	s.store.mu.Lock()
	records, _ := s.store.records(s.member, true)
	s.store.mu.Unlock()
	best, ok := bestOf(records, minimise)
	// First what a process that died in between left, so that names do not depend on it.
	folder := folderOf(s.member, true)
	if err := s.sweep(folder, func(iteration int64) bool { return ok && iteration == best.Iteration }); err != nil {
		return err
	}
	if ok && !r.beats(best, minimise) {
		return nil
	}
	store, err := checkpoint.NewStore(s.store.path(folder), checkpoint.Options{})
	if err != nil {
		return err
	}
	if err := s.publish(&r, weights, store, folder); err != nil {
		return err
	}
	return s.sweep(folder, func(iteration int64) bool { return iteration == r.Iteration })
}
