package workspace

// This file is the reading side of a Folder: View and Best list the members' folders and read what has changed. Other
// processes write, prune and replace files meanwhile, so a file that disappears is normal, and one that changes is
// read again.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
)

// folderCache is what was read of a member's folder. Every process reads every member's folder at every interval, so
// files are read again only when their size, time or identity have changed.
type folderCache struct {
	// records are those read last, by the names of their files.
	records   map[string]cachedRecord
	heartbeat *Heartbeat  // the last good one
	info      fs.FileInfo // of the heartbeat that was read last
	damage    error       // of that file
	seen      time.Time   // of the last good one
	// found and damaged are what the folder held at the time of listed.
	found   []Record
	damaged []error
	listed  stamp
}

// stamp is a folder as it was before it was read, not earlier than at by the store's clock. The zero value is of no
// folder.
type stamp struct {
	folder fs.FileInfo
	at     time.Time
}

// settle is the age from which a folder's time tells that nothing was added, replaced or removed since: file systems
// may keep times in steps of two seconds.
const settle = 2 * time.Second

// holds reports whether a folder, by what is known of it now, is still as it was read. Every file of the store is
// written aside and renamed, which changes the folder's time.
func (s stamp) holds(now fs.FileInfo) bool {
	return unchanged(s.folder, now) && s.at.Sub(now.ModTime()) > settle
}

// cachedRecord is a record as it was read, or the error of a damaged one, which is not read again either.
type cachedRecord struct {
	info   fs.FileInfo
	record Record
	err    error // what is wrong with the contents
}

// unchanged reports whether two looks at a name saw the same file with the same contents, as far as that shows without
// reading.
func unchanged(a, b fs.FileInfo) bool {
	return a != nil && b != nil && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime()) && os.SameFile(a, b)
}

// errMoved says that a record's file changed while its weights were looked for, so that both must be looked at again.
var errMoved = errors.New("it changes all the time")

// View returns everything published by all members, see [Store]. It reads no weights, but compares their sizes, so that
// a record whose weights are missing or cut off is listed as damaged before a member decides to copy them.
func (f *Folder) View() (View, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.view(func(member int, pv *MemberView) {
		// The heartbeat is read first: a member that says it is in interval n has published n-1, which the listing
		// that follows then finds. In the other order a record could seem to be missing.
		damage := f.heartbeat(member, pv)
		var records []Record
		records, pv.Damaged = f.records(member, false)
		pv.Records, pv.Stale = present(records, pv.Heartbeat)
		if damage != nil {
			pv.Damaged = append(pv.Damaged, damage)
		}
		_, damaged := f.records(member, true)
		pv.Damaged = append(pv.Damaged, damaged...)
	})
}

// Heartbeats returns what View returns, but no records: it reads one small file a member.
func (f *Folder) Heartbeats() (View, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.view(func(member int, pv *MemberView) {
		if err := f.heartbeat(member, pv); err != nil {
			pv.Damaged = []error{err}
		}
	})
}

// view makes a view of what read finds of each member. f.mu is held.
func (f *Folder) view(read func(member int, pv *MemberView)) (View, error) {
	if err := f.mounted(); err != nil {
		return View{}, err
	}
	v := View{Members: make([]MemberView, f.members)}
	f.clock, _ = f.now()
	for member := range v.Members {
		v.Members[member].Member = member
		read(member, &v.Members[member])
	}
	v.Now, _ = f.now()
	return v, nil
}

// mounted returns an error if the store's folder is not there.
func (f *Folder) mounted() error {
	if _, err := os.Stat(f.dir); err != nil {
		return fmt.Errorf("workspace: %w; is the shared folder mounted?", err)
	}
	return nil
}

// cached returns the cache of a folder. f.mu is held.
func (f *Folder) cached(folder string) *folderCache {
	c := f.cache[folder]
	if c == nil {
		c = &folderCache{records: make(map[string]cachedRecord)}
		f.cache[folder] = c
	}
	return c
}

// records returns the records in a member's folder, in any order, and the errors of damaged ones. It reads the folder
// if it has changed, and begins again while files change under it. f.mu is held.
func (f *Folder) records(member int, best bool) (records []Record, damage []error) {
	folder := folderOf(member, best)
	cache := f.cached(folder)
	var err error
	for range 20 {
		var info fs.FileInfo
		if info, err = f.folder(folder); err != nil || info == nil {
			break
		}
		if cache.listed.holds(info) {
			return slices.Clone(cache.found), slices.Clone(cache.damaged)
		}
		cache.listed = stamp{}
		if records, damage, err = f.recordsOnce(member, folder, cache); err == nil {
			cache.listed, cache.found, cache.damaged = stamp{info, f.clock}, records, damage
			return slices.Clone(records), slices.Clone(damage)
		}
		if !errors.Is(err, errMoved) {
			break
		}
	}
	if err != nil {
		damage = append(damage, fmt.Errorf("workspace: %s: %w", f.path(folder), err))
	}
	return records, damage
}

// recordsOnce is one try of records, which returns errMoved if it must be repeated.
func (f *Folder) recordsOnce(member int, folder string, cache *folderCache) (records []Record, damage []error,
	err error) {
	dir, names, err := f.open(folder)
	if err != nil || dir == nil {
		return nil, nil, err
	}
	defer dir.Close()
	fresh := make(map[string]cachedRecord)
	for _, name := range names {
		iteration, kind := parseName(name)
		if kind != recordFile {
			continue
		}
		c, err := f.record(member, folder, dir, name, iteration, cache.records[name])
		if errors.Is(err, fs.ErrNotExist) {
			continue // its member has pruned it since the folder was listed, which is no damage
		}
		if err == nil {
			fresh[name] = c
			err = c.err
		}
		if err == nil {
			err = f.weightsAreThere(dir, name, c)
		}
		if errors.Is(err, errMoved) {
			return nil, nil, err // the records read so far may be of two moments: begin again
		}
		if err != nil {
			var d *checkpoint.DamagedError
			if !errors.As(err, &d) {
				err = &checkpoint.DamagedError{Path: f.path(folder + "/" + name), Reason: err.Error(), Err: err}
			}
			damage = append(damage,
				fmt.Errorf("workspace: member %d: %w; the one before is used, and this one can be deleted", member,
					err))
			continue
		}
		records = append(records, c.record)
	}
	cache.records = fresh // without those that have been pruned
	return records, damage, nil
}

// record reads one record unless it is unchanged. It returns the errors of reading, which may pass; an error of the
// contents is a part of the result.
func (f *Folder) record(member int, folder string, dir *os.Root, name string, iteration int64, last cachedRecord) (
	cachedRecord, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return cachedRecord{}, err
	}
	if unchanged(last.info, info) {
		return last, nil
	}
	text, info, err := f.readFile(folder+"/"+name, maxRecord)
	if err != nil {
		return cachedRecord{}, err
	}
	c := cachedRecord{info: info}
	c.record, c.err = decodeRecord(text, member, f.members, folder, iteration)
	return c, nil
}

// weightsAreThere compares the kind and the size of the file that a record in the folder dir refers to.
func (f *Folder) weightsAreThere(dir *os.Root, name string, c cachedRecord) error {
	w := c.record.Weights
	if w == nil {
		return nil
	}
	info, err := dir.Lstat(path.Base(w.Path))
	if err == nil && info.Mode().IsRegular() && info.Size() == w.Size {
		return nil
	}
	// They may have been replaced or pruned together with the record. Then the record's file has changed too, because
	// it is always written after the weights and deleted before them.
	if now, err := dir.Lstat(name); err != nil || !unchanged(c.info, now) {
		return errMoved
	}
	d := &checkpoint.DamagedError{Path: f.path(w.Path), Err: err}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.Reason = "the weights are missing"
	case err != nil:
		d.Reason = err.Error()
	case !info.Mode().IsRegular():
		d.Reason, d.Err = errIrregular.Error(), errIrregular
	default:
		d.Reason = fmt.Sprintf("%d bytes, where the record says %d", info.Size(), w.Size)
	}
	return d
}

// heartbeat reads a member's heartbeat into v unless it is unchanged. If the file is damaged it returns the error
// and uses the one read before: damage of one file must not make a living member seem dead. f.mu is held.
func (f *Folder) heartbeat(member int, v *MemberView) error {
	folder := folderOf(member, false)
	name, c := folder+"/"+heartbeatName, f.cached(folder)
	info, err := f.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		c.heartbeat, c.info, c.damage = nil, nil, nil
		return nil
	}
	if err != nil || !unchanged(c.info, info) {
		f.readHeartbeat(member, name, c, err)
	}
	if c.heartbeat != nil {
		h := c.heartbeat.clone()
		v.Heartbeat, v.Seen = &h, c.seen
	}
	return c.damage
}

// readHeartbeat reads a heartbeat into the cache. err says why it could not be looked at.
func (f *Folder) readHeartbeat(member int, name string, c *folderCache, err error) {
	var text []byte
	var info fs.FileInfo
	if err == nil {
		text, info, err = f.readFile(name, maxHeartbeat)
	}
	var h Heartbeat
	if err == nil {
		h, err = decodeHeartbeat(text, member, f.members)
	}
	if err == nil {
		c.info, c.damage, c.heartbeat, c.seen = info, nil, &h, info.ModTime()
		return
	}
	d := &checkpoint.DamagedError{Path: f.path(name), Reason: err.Error(), Err: err}
	c.info = nil
	c.damage = fmt.Errorf("workspace: member %d: %w; its next heartbeat replaces it", member, d)
}

// Best returns the best record that any member offered, see [Store]. Each member's folder of its best holds one, or two
// after a crash.
func (f *Folder) Best(minimise bool) (Record, bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.mounted(); err != nil {
		return Record{}, false, err
	}
	var all []Record
	for member := range f.members {
		records, _ := f.records(member, true)
		for _, r := range records {
			if r.Weights != nil {
				all = append(all, r)
			}
		}
	}
	best, ok := bestOf(all, minimise)
	return best, ok, nil
}
