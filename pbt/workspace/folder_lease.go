package workspace

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gorl-dev/gorl/checkpoint"
)

// folderLease is a lease on a Folder.
type folderLease struct {
	store *Folder
	// folder is the member's, bestFolder that of its best.
	member             int
	folder, bestFolder string
	weights            *checkpoint.Store
	lease              *heldLease
	temporaries        atomic.Int64
	lost               chan struct{}

	mu       sync.Mutex
	gone     bool // lost is closed
	released bool
}

// Join takes a member's lease, see Store.
func (f *Folder) Join(ctx context.Context, member int) (Lease, error) {
	if err := checkMember(member, f.members); err != nil {
		return nil, err
	}
	if f.opt.ReadOnly {
		return nil, fmt.Errorf("workspace: %s was opened to be read only; open it without ReadOnly to take part", f.dir)
	}
	l, err := f.acquire(ctx, member)
	if err != nil {
		return nil, err
	}
	s := &folderLease{
		store: f, member: member, folder: folderOf(member, false), bestFolder: folderOf(member, true), lease: l,
		lost: make(chan struct{}),
	}
	if s.weights, err = checkpoint.NewStore(s.Dir(), checkpoint.Options{}); err != nil {
		return nil, errors.Join(fmt.Errorf("workspace: %w", err), s.Release())
	}
	return s, nil
}

func (s *folderLease) Member() int           { return s.member }
func (s *folderLease) Dir() string           { return s.store.path(s.folder) }
func (s *folderLease) Lost() <-chan struct{} { return s.lost }

// mine returns an error unless the lease is still this process's.
func (s *folderLease) mine() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return released(s.member)
	}
	if s.gone {
		return ErrLeaseLost
	}
	err := s.store.verify(s.lease)
	if errors.Is(err, ErrLeaseLost) {
		s.gone = true
		close(s.lost)
	}
	return err
}

// did says what did not succeed.
func (s *folderLease) did(what string, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), "workspace: ") {
		return err
	}
	return fmt.Errorf("workspace: member %d: %s: %w", s.member, what, err)
}

// temporary returns a name that no other write has, and that tells whose it is.
func (s *folderLease) temporary(base string) string {
	return fmt.Sprintf(".%s-%s-%d", base, s.lease.text.Token, s.temporaries.Add(1))
}

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

// publish writes weights and then their record into a folder.
func (s *folderLease) publish(r *Record, weights *checkpoint.Snapshot, store *checkpoint.Store, folder string) error {
	if weights != nil {
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
	text, err := encodeRecord(*r, folder)
	if err != nil {
		return err
	}
	name := recordName(r.Iteration)
	return s.store.writeAside(folder+"/"+name, s.temporary(name), text, true, s.mine)
}

func (s *folderLease) Beat(h Heartbeat) error {
	h, err := h.prepare(s.member, s.store.members, s.store.opt.Owner)
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
	if err := s.store.writeAside(s.folder+"/"+heartbeatName, s.temporary(heartbeatName), text, false, s.mine); err != nil {
		return s.did("heartbeat", err)
	}
	return s.did("renewing the lease", s.renew())
}

// renew tells others that this process lives.
func (s *folderLease) renew() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released || s.gone {
		return nil
	}
	err := s.store.renew(s.lease)
	if errors.Is(err, ErrLeaseLost) {
		s.gone = true
		close(s.lost)
	}
	return err
}

func (s *folderLease) Release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return nil
	}
	s.released = true
	if s.gone {
		return s.lease.file.Close()
	}
	return s.did("releasing", s.store.release(s.lease))
}
