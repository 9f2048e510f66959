package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"time"
)

// watched is what a waiting process has seen of a lease.
type watched struct {
	number int64
	time   time.Time
	since  time.Time // by this process's own clock
}

// acquire waits for a member's lease.
func (f *Folder) acquire(ctx context.Context, member int) (*heldLease, error) {
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

// claim tries once to take a member. Without a lease and an error it returns the owner.
func (f *Folder) claim(member int, w *watched) (l *heldLease, owner string, err error) {
	folder := folderOf(member, false)
	for range 100 {
		last, err := f.lastLease(folder)
		if err != nil {
			return nil, "", fmt.Errorf("workspace: member %d: %s: %w", member, f.path(folder), err)
		}
		if last > 0 {
			free, owner, err := f.ended(member, folder, last, w)
			if errors.Is(err, fs.ErrNotExist) {
				continue // there is a later one by now
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
		if !errors.Is(err, fs.ErrExist) { // there another process was faster
			return nil, "", fmt.Errorf("workspace: member %d: %w", member, err)
		}
	}
	return nil, "somebody who comes and goes", nil
}

// take creates the lease of that number, or returns fs.ErrExist where it is another's or history.
func (f *Folder) take(member int, folder string, number int64) (*heldLease, error) {
	l, err := f.createLease(member, folder, number)
	if err != nil {
		return nil, err
	}
	// Where the listing was out of date, a later lease has been there all the time.
	highest, err := f.lastLease(folder)
	if err == nil && highest == number {
		// The one before is left, so that a listing made meanwhile does not miss both.
		f.dropLeases(folder, number-1)
		return l, nil
	}
	l.file.Close()
	if removed := f.root.Remove(leaseFileName(folder, number)); !errors.Is(removed, fs.ErrNotExist) { // dropped as history
		err = errors.Join(err, removed)
	}
	if err == nil {
		err = fs.ErrExist
	}
	return nil, err
}

// lastLease is the highest number of a lease in a folder, 0 where there is none.
func (f *Folder) lastLease(folder string) (last int64, err error) {
	names, err := f.list(folder)
	for _, name := range names {
		if n, kind := parseName(name); kind == leaseFile {
			last = max(last, n)
		}
	}
	return last, err
}

// dropLeases removes all leases before a number as far as it can; they count for nothing.
func (f *Folder) dropLeases(folder string, number int64) {
	names, _ := f.list(folder)
	for _, name := range names {
		if n, kind := parseName(name); kind == leaseFile && n < number {
			f.root.Remove(folder + "/" + name)
		}
	}
}

// ended reports whether a lease no longer holds, and whose it is.
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
		owner = l.Owner
		if l.Released || l.Domain != "" && l.Domain == f.domain && unlocked(file) {
			return true, owner, nil
		}
	}
	// What cannot be read may be in the making, on a file system without links; it has as much time as any.
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
