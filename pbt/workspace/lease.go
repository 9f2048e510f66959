package workspace

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/gorl-dev/gorl/internal/durable"
)

// A member's leases are numbered files, lease-000001.json and so on, of which the one with the highest number counts. A
// process takes a member over by creating the file of the next number, which the file system lets exactly one process
// do (O_EXCL), and fills it in. So there is no lock to break first. Numbers are never used again.
//
// The owner keeps its lease open with an advisory lock on it, and at every Beat and Publish rewrites it with the same
// bytes, which sets its time by the file server's clock. A lease has ended, and the next number may be created, when
//
//   - it says that it was released, or
//   - its lock is free and its Domain is this machine's: the process has died here, which is noticed at once, or
//   - its time is LeaseTTL old by the file server's clock, or did not change for LeaseTTL by this process's own clock,
//     which helps where the server's was set back.
//
// A crash between creating and filling in leaves a lease that cannot be read, which ends LeaseTTL later like any other.
const (
	leaseSchema = 1
	maxLease    = 1 << 16 // bytes; a longer file is no lease
)

// leaseFileText is the JSON of a lease's file. "policy" is the member; keys are older than the names in Go.
type leaseFileText struct {
	Schema int `json:"schema"`
	// Member and Number repeat the file's folder and name, so that a file which was copied from elsewhere is noticed.
	Member int   `json:"policy"`
	Number int64 `json:"number"`
	// Token is random and new for every lease. It tells two leases of one number apart, and names temporary files.
	Token string `json:"token"`
	// Owner is for people, as in a heartbeat.
	Owner string `json:"owner"`
	// Domain is the machine on which the owner's lock can be seen; empty if it has none.
	Domain string `json:"domain,omitempty"`
	// Released is set when the owner has given the lease back. The file stays, because its number counts.
	Released bool   `json:"released,omitempty"`
	Check    string `json:"check"` // of all the above, see durable.Seal
}

// decodeLease reads the text of a lease, and refuses one that was copied from another member or number.
func decodeLease(text []byte, member int, number int64) (leaseFileText, error) {
	var l leaseFileText
	if err := durable.UnsealSchema(text, leaseSchema, &l, &l.Check); err != nil {
		return l, err
	}
	if l.Member != member || l.Number != number || l.Token == "" {
		return l, fmt.Errorf("it is lease %d of member %d", l.Number, l.Member)
	}
	return l, nil
}

// leaseFileName is the name of a lease's file below the store's folder.
func leaseFileName(folder string, number int64) string {
	return fmt.Sprintf("%s/lease-%06d.json", folder, number)
}

// createLease creates the lease of that number, and fills it in. It returns fs.ErrExist if another process was faster.
func (f *Folder) createLease(member int, folder string, number int64) (*folderLease, error) {
	if err := f.root.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	l := &folderLease{store: f, member: member, folder: folder, lost: make(chan struct{}),
		text: leaseFileText{Schema: leaseSchema, Member: member, Number: number, Token: token(), Owner: f.owner}}
	var err error
	if l.file, err = f.root.OpenFile(l.name(), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
		return nil, err
	}
	// The lock is taken before the contents exist: a lease that can be read and is unlocked has ended.
	if f.domain != "" && lockFile(l.file) {
		l.text.Domain = f.domain
	}
	if l.bytes, err = durable.Seal(&l.text, &l.text.Check); err == nil {
		_, err = l.file.Write(l.bytes)
	}
	if err = errors.Join(err, l.file.Sync()); err != nil {
		return nil, errors.Join(err, l.file.Close(), f.root.Remove(l.name()))
	}
	return l, nil
}

// token returns a name that no other lease has.
func token() string {
	b := make([]byte, 12)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// name is that of the lease's file below the store's folder.
func (s *folderLease) name() string { return leaseFileName(s.folder, s.text.Number) }

// verify returns ErrLeaseLost if the lease no longer has the highest number, and another error if it cannot find out.
// It looks for the next number first, which costs one request: numbers have no gaps.
func (s *folderLease) verify() error {
	_, err := s.store.root.Lstat(leaseFileName(s.folder, s.text.Number+1))
	if err == nil {
		return ErrLeaseLost
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The next one may be history already; then so is this.
	text, _, err := s.store.readFile(s.name(), maxLease)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(text, s.bytes) && !s.same() {
		return ErrLeaseLost
	}
	return err
}

// same reports whether the lease's name still stands for the file that this process created. Then other contents are
// damage, which renew repairs, and not another owner's.
func (s *folderLease) same() bool {
	named, err := s.store.root.Lstat(s.name())
	if err != nil {
		return false
	}
	open, err := s.file.Stat()
	return err == nil && os.SameFile(named, open)
}

// renew gives the lease the file server's present time, so that no other process takes the member over for another
// LeaseTTL. It writes what stands there already: a change of the time alone would carry this machine's.
func (s *folderLease) renew() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released || s.gone {
		return nil
	}
	file, err := s.store.root.OpenFile(s.name(), os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return s.noticed(ErrLeaseLost)
	}
	if err != nil {
		return err
	}
	_, err = file.WriteAt(s.bytes, 0)
	return errors.Join(err, file.Close()) // a network file system writes when it closes
}

// Release marks the lease as given back, for processes on other machines, which cannot see its lock, and frees the
// lock. A lease that is lost is another's and stays as it is.
func (s *folderLease) Release() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return nil
	}
	s.released = true
	if s.gone {
		return s.file.Close() // the name is another's by now
	}
	err := s.verify()
	if err == nil {
		s.text.Released = true
		var text []byte
		if text, err = durable.Seal(&s.text, &s.text.Check); err == nil {
			err = s.store.writeAside(s.name(), s.temporary("lease"), text, false, s.verify)
		}
	}
	if errors.Is(err, ErrLeaseLost) {
		err = nil // another's already
	}
	return s.did("releasing", errors.Join(err, s.file.Close()))
}

// died reports whether the process of a lease has died on this machine: the lock on its file is free.
func (f *Folder) died(l leaseFileText, file *os.File) bool {
	return l.Domain != "" && l.Domain == f.domain && unlocked(file)
}

// watched is what a waiting process remembers of the lease that it waits for.
type watched struct {
	number int64
	time   time.Time // the file's
	since  time.Time // when it was first seen with that time, by this process's own clock
}

// acquire waits for a member's lease. It looks ever more rarely, at most every twentieth of LeaseTTL or second: a
// population of hundreds of waiting processes must not keep the file server busy.
func (f *Folder) acquire(ctx context.Context, member int) (*folderLease, error) {
	var w watched
	longest := min(f.opt.LeaseTTL/20, time.Second)
	for pause := 5 * time.Millisecond; ; pause = max(pause, min(2*pause, longest)) {
		l, owner, err := f.claim(member, &w)
		if l != nil || err != nil {
			return l, err
		}
		select {
		case <-ctx.Done():
			return nil, taken(ctx, member, owner)
		case <-time.After(pause):
		}
	}
}

// claim tries once to take a member. It returns the lease, or the name of the owner where another process holds it. The
// loop is for processes that take the member and release it between two looks.
func (f *Folder) claim(member int, w *watched) (l *folderLease, owner string, err error) {
	folder := folderOf(member, false)
	for range 100 { // each turn of the loop is another process's lease that came or went since the last look
		last, err := f.lastLease(folder)
		if err != nil {
			return nil, "", fmt.Errorf("workspace: member %d: %s: %w", member, f.path(folder), err)
		}
		if last > 0 {
			free, owner, err := f.ended(member, folder, last, w)
			if errors.Is(err, fs.ErrNotExist) {
				continue // it was dropped, because there is a later one by now
			}
			if err != nil {
				return nil, "", fmt.Errorf("workspace: member %d: %w", member, err)
			}
			if !free {
				return nil, owner, nil
			}
		}
		l, err := f.take(member, folder, last+1)
		if err == nil {
			return l, "", nil
		}
		if !errors.Is(err, fs.ErrExist) { // another process was faster: look at its lease
			return nil, "", fmt.Errorf("workspace: member %d: %w", member, err)
		}
	}
	return nil, "processes that take it and release it again", nil
}

// take creates the lease of that number. It returns fs.ErrExist if another process has it, or if the number is
// history: a network file system may list a folder as it was some time ago.
func (f *Folder) take(member int, folder string, number int64) (*folderLease, error) {
	l, err := f.createLease(member, folder, number)
	if err != nil {
		return nil, err
	}
	// The listing that chose the number may have been out of date, and a later lease have been there all the time. Now
	// that the file exists, a second listing that shows it is not older than the file.
	highest, err := f.lastLease(folder)
	if err == nil && highest == number {
		// The lease before is left: another process that lists the folder at this moment may miss the new file, and
		// must not find a folder without leases, which it would take for a member that never began.
		f.dropLeases(folder, number-1)
		return l, nil
	}
	l.file.Close()
	// The later lease counts; this one goes. If it is gone already, the later owner has dropped it as history.
	if removed := f.root.Remove(leaseFileName(folder, number)); !errors.Is(removed, fs.ErrNotExist) {
		err = errors.Join(err, removed)
	}
	if err == nil {
		err = fs.ErrExist
	}
	return nil, err
}

// lastLease returns the highest number of a lease in a folder, 0 if there is none.
func (f *Folder) lastLease(folder string) (last int64, err error) {
	names, err := f.list(folder)
	for _, name := range names {
		if n, kind := parseName(name); kind == leaseFile {
			last = max(last, n)
		}
	}
	return last, err
}

// dropLeases removes all leases before a number as far as it can. Errors are ignored, because only the highest number
// counts.
func (f *Folder) dropLeases(folder string, number int64) {
	names, _ := f.list(folder)
	for _, name := range names {
		if n, kind := parseName(name); kind == leaseFile && n < number {
			f.root.Remove(folder + "/" + name)
		}
	}
}

// ended reports whether a lease has ended, by the rules at the top of this file, and who owns or owned it.
func (f *Folder) ended(member int, folder string, number int64, w *watched) (free bool, owner string, err error) {
	name := leaseFileName(folder, number)
	info, err := f.root.Lstat(name)
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", f.path(name), errIrregular)
	}
	if err != nil {
		return false, "", err
	}
	file, err := f.root.Open(name)
	if err != nil {
		return false, "", err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxLease))
	if err != nil {
		return false, "", err
	}
	owner = "a process that is not known"
	if l, err := decodeLease(text, member, number); err == nil {
		if owner = l.Owner; l.Released || f.died(l, file) {
			return true, owner, nil
		}
	}
	// A lease that cannot be read may be in the making. It has as much time as any other.
	if w.number != number || !w.time.Equal(info.ModTime()) {
		*w = watched{number: number, time: info.ModTime(), since: time.Now()}
	}
	now, ok := f.now()
	if ok && now.Sub(info.ModTime()) >= f.opt.LeaseTTL {
		return true, owner, nil
	}
	// The other clock helps where the server's has been set back or cannot be read.
	return time.Since(w.since) >= f.opt.LeaseTTL, owner, nil
}
