package workspace

// This file deletes records and weights that no member will look for. Without it a population fills the disk with a
// snapshot an interval and member.

import (
	"errors"
	"slices"
	"strings"
)

// How many records Prune leaves. The numbers are Isaac Lab's, which deletes what lies 20 iterations behind, and
// IsaacGymEnvs', which thins out to 25 of which the newest 10 are safe.
const (
	keepBack   = 20 // iterations before the oldest live member's within which records are kept
	keepMost   = 25 // records of a member in all
	keepNewest = 10 // of which the newest are never thinned out
)

// Prune deletes what no member needs any more, see [Lease].
func (s *folderLease) Prune(oldest int64) error { return s.did("pruning", s.prune(oldest)) }

// prune lists the records by their names alone, so that damaged ones count as records too and are deleted in their
// turn.
func (s *folderLease) prune(oldest int64) error {
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
	gone := superfluous(iterations, oldest)
	// Of records that can be read the newest with weights stays even where thinning would delete it.
	s.store.mu.Lock()
	records, _ := s.store.records(s.member, false)
	s.store.mu.Unlock()
	byIteration := make(map[int64]Record)
	for _, r := range records {
		byIteration[r.Iteration] = r
	}
	last := newestWithWeights(byIteration)
	keep := func(iteration int64) bool { return iteration == last || !slices.Contains(gone, iteration) }
	return s.sweep(s.folder, keep)
}

// sweep deletes the temporary files of processes that have ended, the records that are not wanted, and then the
// manifests and weights that no record refers to. Files that are not the store's are left alone, as are the
// weights of a record that cannot be read, which might be repaired. A crash within sweep leaves weights without a
// record, which no reader looks at and the next sweep deletes.
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
		info, gone := f.root.Lstat(folder + "/" + name)
		if err != nil && gone == nil && !info.IsDir() { // folders are not the store's
			errs = append(errs, err)
		}
	}
	for _, name := range names {
		iteration, kind := parseName(name)
		switch m := ours.FindStringSubmatch(name); {
		case m != nil && m[2] != s.text.Token, saving.MatchString(name):
			remove(name)
		case kind != recordFile:
		case !wanted(iteration):
			remove(name)
		default:
			text, _, err := f.readFile(folder+"/"+name, maxRecord)
			var r Record
			if err == nil {
				r, err = decodeRecord(text, s.member, f.members, folder, iteration)
			}
			if err != nil {
				unknown[iteration] = true
			} else if r.Weights != nil {
				refers[stem(r.Weights.Path[len(folder)+1:])] = true
			}
		}
	}
	// A manifest without its data would be reported as damaged, data without a manifest is not: manifests go first.
	for _, kind := range []fileKind{manifestFile, weightsFile} {
		for _, name := range names {
			if n, k := parseName(name); k == kind && !unknown[n] && !refers[stem(name)] {
				remove(name)
			}
		}
	}
	return errors.Join(errs...)
}

// stem is a file's name without suffixes, which weights and their manifest have in common.
func stem(name string) string {
	name, _, _ = strings.Cut(name, ".")
	return name
}

// superfluous returns which of the iterations are not to be kept; both lists ascend. It never returns the last one.
//
// First the iterations that lie keepBack or more before oldest go. Of the rest, while there are more than keepMost, one
// goes at a time: that whose absence leaves the smallest gap between its neighbours, the first of equals. The
// keepNewest newest ones and both ends of the others stay. What is left lies as evenly as can be over the time. The
// answer depends on nothing but the numbers, so that a process which was interrupted goes on where it was.
func superfluous(iterations []int64, oldest int64) []int64 {
	var gone []int64
	rest := slices.Clone(iterations)
	for len(rest) > 1 && rest[0] <= oldest-keepBack {
		gone, rest = append(gone, rest[0]), rest[1:]
	}
	for len(rest) > keepMost {
		old := rest[:len(rest)-keepNewest] // the records that may go
		least := 1
		for i := 2; i < len(old)-1; i++ {
			if old[i+1]-old[i-1] < old[least+1]-old[least-1] {
				least = i
			}
		}
		gone, rest = append(gone, rest[least]), slices.Delete(rest, least, least+1)
	}
	slices.Sort(gone)
	return gone
}
