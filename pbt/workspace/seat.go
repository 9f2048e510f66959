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

// folderSeat is a seat on a Folder.
type folderSeat struct {
	board *Folder
	// folder is the policy's, bestFolder that of its best.
	policy             int
	folder, bestFolder string
	store              *checkpoint.Store
	lease              *lease
	temporaries        atomic.Int64
	lost               chan struct{}

	mu       sync.Mutex
	gone     bool // lost is closed
	released bool
}

// Join takes a policy's seat, see Board.
func (f *Folder) Join(ctx context.Context, policy int) (Seat, error) {
	if err := checkPolicy(policy, f.policies); err != nil {
		return nil, err
	}
	if f.opt.ReadOnly {
		return nil, fmt.Errorf("workspace: %s was opened to be read only; open it without ReadOnly to take part", f.dir)
	}
	l, err := f.acquire(ctx, policy)
	if err != nil {
		return nil, err
	}
	s := &folderSeat{
		board: f, policy: policy, folder: folderOf(policy, false), bestFolder: folderOf(policy, true), lease: l,
		lost: make(chan struct{}),
	}
	if s.store, err = checkpoint.NewStore(s.Dir(), checkpoint.Options{}); err != nil {
		return nil, errors.Join(fmt.Errorf("workspace: %w", err), s.Release())
	}
	return s, nil
}

func (s *folderSeat) Policy() int           { return s.policy }
func (s *folderSeat) Dir() string           { return s.board.path(s.folder) }
func (s *folderSeat) Lost() <-chan struct{} { return s.lost }

// mine returns an error unless the seat is still this process's.
func (s *folderSeat) mine() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return released(s.policy)
	}
	if s.gone {
		return ErrLeaseLost
	}
	err := s.board.verify(s.lease)
	if errors.Is(err, ErrLeaseLost) {
		s.gone = true
		close(s.lost)
	}
	return err
}

// did says what did not succeed.
func (s *folderSeat) did(what string, err error) error {
	if err == nil || strings.HasPrefix(err.Error(), "workspace: ") {
		return err
	}
	return fmt.Errorf("workspace: policy %d: %s: %w", s.policy, what, err)
}

// temporary returns a name that no other write has, and that tells whose it is.
func (s *folderSeat) temporary(base string) string {
	return fmt.Sprintf(".%s-%s-%d", base, s.lease.text.Token, s.temporaries.Add(1))
}

func (s *folderSeat) Publish(r Record, weights *checkpoint.Snapshot) (Record, error) {
	r, err := prepare(r, s.policy, s.board.policies)
	if err != nil {
		return r, err
	}
	if err := s.mine(); err != nil {
		return r, s.did("publishing", err)
	}
	if err := s.publish(&r, weights, s.store, s.folder); err != nil {
		return r, s.did("publishing", err)
	}
	return r, s.did("renewing the lease", s.renew())
}

// publish writes weights and then their record into a folder.
func (s *folderSeat) publish(r *Record, weights *checkpoint.Snapshot, store *checkpoint.Store, folder string) error {
	if weights != nil {
		file, err := store.Save(fmt.Sprintf("%06d", r.Iteration), r.Frame, weights)
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
	return s.board.writeAside(folder+"/"+name, s.temporary(name), text, true, s.mine)
}

func (s *folderSeat) Beat(h Heartbeat) error {
	h, err := h.prepare(s.policy, s.board.policies, s.board.opt.Owner)
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
	if err := s.board.writeAside(s.folder+"/"+heartbeatName, s.temporary(heartbeatName), text, false, s.mine); err != nil {
		return s.did("heartbeat", err)
	}
	return s.did("renewing the lease", s.renew())
}

// renew tells others that this process lives.
func (s *folderSeat) renew() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released || s.gone {
		return nil
	}
	err := s.board.renew(s.lease)
	if errors.Is(err, ErrLeaseLost) {
		s.gone = true
		close(s.lost)
	}
	return err
}

func (s *folderSeat) Release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return nil
	}
	s.released = true
	if s.gone {
		return s.lease.file.Close()
	}
	return s.did("releasing", s.board.release(s.lease))
}
