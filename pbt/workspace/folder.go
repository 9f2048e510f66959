package workspace

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/durable"
)

// FolderOptions configure a [Folder]. The zero value is usable.
type FolderOptions struct {
	// LeaseTTL is the time without a heartbeat or a record after which another process may take the member over.
	// Default one minute (0). A larger value tolerates longer pauses of a process and outages of the file system. A
	// smaller one replaces a process that died on another machine sooner. All processes of a population give the same
	// value, and beat at least three times as often. A process that died on the same machine is replaced at once,
	// whatever the value.
	LeaseTTL time.Duration
	// ReadOnly opens an existing folder for reading: nothing is written, and Join is refused. View then uses this
	// machine's clock, because asking the file server for the time means writing a file.
	ReadOnly bool
}

// DefaultLeaseTTL is used where FolderOptions.LeaseTTL is 0.
const DefaultLeaseTTL = time.Minute

// Folder is a store in a folder that several processes share, on one machine or, over a network file system, on many.
// Its layout is Isaac Lab's, and its records can be read by tools for Isaac Lab's workspaces:
//
//	000/000001.yaml          what member 0 published at the end of interval 1 (see Record)
//	000/000001.safetensors   its weights, with their manifest 000001.json
//	000/heartbeat.json       its last heartbeat
//	000/lease-000002.json    who holds the member: the lease of the highest number counts
//	best/000/                the best that member 0 ever offered, in files like those above
//	clock                    an empty file whose time is the file server's
//
// # Commit order and crashes
//
// Publish does the following in this order. A crash after each step leaves:
//
//  1. Weights and manifest are written by a checkpoint.Store, which describes how. Crash: weights that no
//     record refers to. No reader looks at them; Prune deletes them.
//  2. The record is written and synced under a temporary name (".000001.yaml-<token>-<n>"). Crash: a temporary file
//     that Prune of the next process deletes, because it has another token.
//  3. The lease is looked at. If another process has taken it over, the temporary file is removed and the call
//     fails.
//  4. The record is renamed to its name. This commits it: from here on every reader finds it, and its weights with it.
//  5. The folder is synced, so that the name survives a power failure of the file server, and the lease is renewed.
//
// Beat does steps 2 to 4 for heartbeat.json without syncing: a heartbeat that is lost in a power failure is followed by
// the next. A process that is paused between steps 3 and 4, and wakes up after it has been taken over, still writes one
// complete file of its own; no file system can rule that out. The new owner's next file of that name replaces it.
//
// # What is read
//
// View lists every member's folder that has changed since the last View, and reads the records and heartbeats that
// have changed. Only Fetch reads weights. So an interval of n members costs each process at most n listings and 2n
// small files, whatever the size of the networks. Records, heartbeats and leases carry checksums, and records the size
// and SHA-256 of their weights. Links, and paths that lead out of the member's folder, are refused, so that a record
// cannot make a reader open another file. All times are those of the file server, taken from the files' own.
type Folder struct {
	sharedFiles
	members int
	opt     FolderOptions // with defaults
	// owner names this process for people: host and process number.
	owner string
	// domain names the machine within which advisory locks are seen by all processes; empty if that cannot be told.
	domain string

	mu    sync.Mutex              // guards the fields below: two calls of View do not read the same files twice
	cache map[string]*folderCache // by a member's folder
	clock time.Time               // when the last View began, by the store's clock
}

var _ Store = (*Folder)(nil)

// OpenFolder opens the store in dir for the members 0 to members-1, and creates the folder where it does not exist. It
// takes no lease: several processes may open one folder, and one that only looks needs no more. It is an error if
// members is less than 1, dir is empty, LeaseTTL is negative, or the folder cannot be opened. All processes of a
// population give the same number of members; a record of another member than these is reported as damaged.
func OpenFolder(dir string, members int, opt FolderOptions) (*Folder, error) {
	if err := checkMembers(members); err != nil {
		return nil, err
	}
	if dir == "" {
		return nil, errors.New("workspace: the folder's name is empty; name one that all processes share")
	}
	if opt.LeaseTTL < 0 {
		return nil, fmt.Errorf("workspace: LeaseTTL is %v; want the longest silence of a living process, or 0 for %v",
			opt.LeaseTTL, DefaultLeaseTTL)
	}
	opt.LeaseTTL = cmp.Or(opt.LeaseTTL, DefaultLeaseTTL)
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	if !opt.ReadOnly {
		if err := durable.MkdirAll(dir, 0o755); err != nil {
			return nil, fmt.Errorf("workspace: %w", err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("workspace: %w", err)
	}
	return &Folder{
		sharedFiles: sharedFiles{dir: dir, root: root, readOnly: opt.ReadOnly},
		members:     members, opt: opt, owner: owner(), domain: lockDomain(), cache: make(map[string]*folderCache),
	}, nil
}

// owner names this process.
func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return cut(fmt.Sprintf("%s:%d", host, os.Getpid()))
}

// Members is the number of members.
func (f *Folder) Members() int { return f.members }

// Dir is the store's folder, as an absolute path.
func (f *Folder) Dir() string { return f.dir }

// Fetch reads the weights of a record, see Store. If reading fails it looks at the record again: if that is no longer
// the one given, the weights were replaced, which is not damage.
func (f *Folder) Fetch(r Record) (*checkpoint.Snapshot, error) {
	if err := noWeights(r); err != nil {
		return nil, err
	}
	folder := folderOf(r.Member, strings.HasPrefix(r.Weights.Path, bestFolder))
	data, _, err := f.readFile(r.Weights.Path, r.Weights.Size)
	if err == nil {
		var snap *checkpoint.Snapshot
		if snap, err = decodeWeights(data, *r.Weights); err == nil {
			return snap, nil
		}
	}
	path := f.path(r.Weights.Path)
	if errors.Is(err, fs.ErrNotExist) || f.replaced(r, folder) {
		return nil, fmt.Errorf("workspace: %s: %w; it has been pruned or replaced, look at the store again", path,
			fs.ErrNotExist)
	}
	return nil, fmt.Errorf("workspace: %w", &checkpoint.DamagedError{Path: path, Reason: err.Error(), Err: err})
}

// decodeWeights verifies size and checksum and decodes the weights. The snapshot shares data's memory.
func decodeWeights(data []byte, want Weights) (*checkpoint.Snapshot, error) {
	sum := sha256.Sum256(data)
	switch {
	case int64(len(data)) != want.Size:
		return nil, fmt.Errorf("%d bytes, where the record says %d", len(data), want.Size)
	case hex.EncodeToString(sum[:]) != want.SHA256:
		return nil, errors.New("the checksum is not the record's")
	}
	return checkpoint.DecodeSafetensors(data)
}

// replaced reports whether a record is no longer the one of its iteration, so that what lies under its weights' name
// may be another's.
func (f *Folder) replaced(r Record, folder string) bool {
	text, _, err := f.readFile(folder+"/"+recordName(r.Iteration), maxRecord)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	now, err := decodeRecord(text, r.Member, f.members, folder, r.Iteration)
	return err == nil && (now.Weights == nil || *now.Weights != *r.Weights)
}
