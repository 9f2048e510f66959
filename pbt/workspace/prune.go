package workspace

import (
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/durable"
)

// Prune deletes what nobody needs any more, see Lease.
func (s *folderLease) Prune(k Keep) error {
	k, err := k.withDefaults()
	if err != nil {
		return err
	}
	return s.did("pruning", s.prune(k))
}

func (s *folderLease) prune(k Keep) error {
	if err := s.mine(); err != nil {
		return err
	}
	names, err := s.store.list(s.folder)
	if err != nil {
		return err
	}
	var iterations []int64
	for _, name := range names {
		if n, kind := parseName(name); kind == recordFile {
			iterations = append(iterations, n)
		}
	}
	slices.Sort(iterations)
	gone := k.superfluous(iterations)
	s.store.mu.Lock()
	records, _ := s.store.records(s.member, false)
	s.store.mu.Unlock()
	byIteration := make(map[int64]Record)
	for _, r := range records {
		byIteration[r.Iteration] = r
	}
	last := newestWithWeights(byIteration)
	return s.sweep(s.folder, func(iteration int64) bool { return iteration == last || !slices.Contains(gone, iteration) })
}

// sweep deletes the records that are not wanted, then the weights that no record refers to, and what processes that are
// gone have left unfinished. Files of other kinds are left alone.
func (s *folderLease) sweep(folder string, wanted func(iteration int64) bool) error {
	f := s.store
	names, err := f.list(folder)
	if err != nil {
		return err
	}
	refers := make(map[string]bool) // by the weights' name without a suffix
	unknown := make(map[int64]bool) // iterations whose record cannot be read, but might be repaired
	var errs []error
	remove := func(name string) {
		err := f.root.Remove(folder + "/" + name)
		if info, gone := f.root.Lstat(folder + "/" + name); err != nil && gone == nil && !info.IsDir() { // folders are not the store's
			errs = append(errs, err)
		}
	}
	for _, name := range names {
		iteration, kind := parseName(name)
		switch {
		case kind != recordFile:
		case !wanted(iteration):
			remove(name)
		default:
			text, _, err := f.readFile(folder+"/"+name, maxRecord)
			var r Record
			if err == nil {
				r, err = decodeRecord(text, s.member, f.members, folder, iteration)
			}
			if err != nil || r.Foreign {
				unknown[iteration] = true
			} else if r.Weights != nil {
				refers[stem(r.Weights.Path[len(folder)+1:])] = true
			}
		}
	}
	// Records first and manifests before data, so that whatever is left is not taken for damaged.
	for _, kind := range []fileKind{manifestFile, weightsFile, foreignFile} {
		for _, name := range names {
			if n, k := parseName(name); k == kind && !unknown[n] && !refers[stem(name)] {
				remove(name)
			}
		}
	}
	for _, name := range names {
		if m := ours.FindStringSubmatch(name); m != nil && m[2] != s.lease.text.Token || saving.MatchString(name) || joins.MatchString(name) && f.abandoned(folder+"/"+name) {
			remove(name)
		}
	}
	return errors.Join(errs...)
}

func stem(name string) string {
	name, _, _ = strings.Cut(name, ".")
	return name
}

// abandoned reports whether nobody will finish the temporary file of a process that wanted to join.
func (f *Folder) abandoned(name string) bool {
	file, err := f.root.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return false
	}
	text, err := io.ReadAll(io.LimitReader(file, maxLease))
	var l leaseFileText
	if err == nil && durable.UnsealSchema(text, leaseSchema, &l, &l.Check) == nil && l.Domain != "" && l.Domain == f.domain && unlocked(file) {
		return true
	}
	now, ok := f.now()
	return ok && now.Sub(info.ModTime()) > max(f.opt.LeaseTTL, DefaultLeaseTTL)
}
