package workspace

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/gorl-dev/gorl/internal/durable"
)

// A member's leases are numbered files, of which the one with the highest number counts. Taking a member over is creating
// the next number, which exactly one process can do, with the lease complete in it: there is nothing to break or to clean
// up first, and no moment at which a crash would leave the member locked. Numbers are never used again.
//
// The owner holds an advisory lock on its lease, and rewrites it, byte for byte the same, at every sign of life, which sets
// its time by the file server's clock. A lease ends when it is released, when its lock has gone with the process on the same
// machine, or when it has been silent for LeaseTTL.
const (
	leaseSchema = 1
	maxLease    = 1 << 16
)

type leaseFileText struct {
	Schema int    `json:"schema"`
	Member int    `json:"policy"`
	Number int64  `json:"number"`
	Token  string `json:"token"`
	Owner  string `json:"owner"`
	// Domain is where the owner's lock can be seen; empty where it has none.
	Domain   string `json:"domain,omitempty"`
	Released bool   `json:"released,omitempty"`
	Check    string `json:"check"`
}

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

// heldLease is one that this process holds.
type heldLease struct {
	folder string
	text   leaseFileText
	bytes  []byte   // the file's contents
	file   *os.File // open for the lock
}

func leaseFileName(folder string, number int64) string {
	return fmt.Sprintf("%s/lease-%06d.json", folder, number)
}

// createLease makes a lease of that number appear, complete and locked, or returns fs.ErrExist.
func (f *Folder) createLease(member int, folder string, number int64) (*heldLease, error) {
	if err := f.root.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	l := &heldLease{folder: folder, text: leaseFileText{Schema: leaseSchema, Member: member, Number: number, Token: token(), Owner: f.opt.Owner}}
	name, temp := leaseFileName(folder, number), folder+"/.lease-"+l.text.Token
	file, err := f.root.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return nil, err
	}
	err = f.fillLease(l, file)
	if err == nil {
		err = f.link(temp, name)
	}
	f.root.Remove(temp)
	if err == nil {
		return l, nil
	}
	file.Close()
	if errors.Is(err, fs.ErrExist) || !unsupported(err) {
		return nil, err
	}
	// A file system without links: whoever creates the name has it, and then fills it in.
	if file, err = f.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o644); err != nil {
		return nil, err
	}
	if err := f.fillLease(l, file); err != nil {
		file.Close()
		return nil, errors.Join(err, f.root.Remove(name))
	}
	return l, nil
}

// fillLease locks a new file and writes the lease into it.
func (f *Folder) fillLease(l *heldLease, file *os.File) (err error) {
	l.file, l.text.Domain = file, ""
	if f.domain != "" && lockFile(file) {
		l.text.Domain = f.domain
	}
	if l.bytes, err = durable.Seal(&l.text, &l.text.Check); err != nil {
		return err
	}
	_, err = file.Write(l.bytes)
	return errors.Join(err, file.Sync())
}

func token() string {
	b := make([]byte, 12)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// verify returns ErrLeaseLost where the lease is not the last one any more, and other errors where that cannot be told.
func (f *Folder) verify(l *heldLease) error {
	_, err := f.root.Lstat(leaseFileName(l.folder, l.text.Number+1))
	if err == nil {
		return ErrLeaseLost
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// The next one may be history already; then so is this.
	text, _, err := f.readFile(leaseFileName(l.folder, l.text.Number), maxLease)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Equal(text, l.bytes) && !f.same(l) {
		return ErrLeaseLost
	}
	return err
}

// same reports whether the lease's name still stands for the file that was created. A damaged one is restored by renew.
func (f *Folder) same(l *heldLease) bool {
	named, err := f.root.Lstat(leaseFileName(l.folder, l.text.Number))
	if err != nil {
		return false
	}
	open, err := l.file.Stat()
	return err == nil && os.SameFile(named, open)
}

// renew gives the lease the file server's present time, by writing what stands there already.
func (f *Folder) renew(l *heldLease) error {
	file, err := f.root.OpenFile(leaseFileName(l.folder, l.text.Number), os.O_WRONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return ErrLeaseLost
	}
	if err != nil {
		return err
	}
	_, err = file.WriteAt(l.bytes, 0)
	return errors.Join(err, file.Close()) // a network file system writes when it closes
}

// release marks the lease as given back, for those who cannot see its lock.
func (f *Folder) release(l *heldLease) error {
	err := f.verify(l)
	if err == nil {
		l.text.Released = true
		var text []byte
		if text, err = durable.Seal(&l.text, &l.text.Check); err == nil {
			err = f.writeAside(leaseFileName(l.folder, l.text.Number), ".lease-"+l.text.Token, text, false, func() error { return f.verify(l) })
		}
	}
	if errors.Is(err, ErrLeaseLost) {
		err = nil // another's already
	}
	return errors.Join(err, l.file.Close())
}
