package workspace

// This file deletes records and weights that no member will look for. Without it a population fills the disk with a
// snapshot an interval and member.

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/durable"
)

// Keep says which records Prune leaves. The defaults follow Isaac Lab, which deletes what lies 20 iterations behind,
// and IsaacGymEnvs, which thins out to 25 of which the newest 10 are safe. The newest record, and the newest with
// weights, always stay: a member that has diverged goes back to it.
type Keep struct {
	// Oldest is the least iteration among the newest records of all live members: that of the slowest.
	Oldest int64
	// Back is how many iterations before Oldest records are kept. Default 20 (0). A larger value keeps peers of their
	// own age for members that are far behind or come back late; a smaller one saves disk, one snapshot a record and
	// member.
	Back int64
	// Most is how many records are kept in all. Default 25 (0). Above it records are deleted so that the rest lie as
	// evenly as can be. A larger value lets slow members find a peer nearer to their age; a smaller one saves disk.
	Most int64
	// Newest is how many of the newest are safe from Most. Default 10 (0). Give more where members differ by more
	// intervals than that, so that the records they look for are not thinned out.
	Newest int64
}

// Prune deletes what no member needs any more, see [Lease].
func (s *folderLease) Prune(k Keep) error {
	k, err := k.withDefaults()
	if err != nil {
		return err
	}
	return s.did("pruning", s.prune(k))
}

// prune lists the records by their names alone, so that damaged ones count as records too and are deleted in their
// turn, and lets [Keep] choose.
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
		case m != nil && m[2] != s.text.Token, saving.MatchString(name),
			joins.MatchString(name) && f.abandoned(folder+"/"+name):
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

// abandoned reports whether the process that wrote the temporary file of a lease has ended: its lock has gone, or,
// where locks cannot be seen, the file is older than a lease may be silent.
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
	if err == nil && durable.UnsealSchema(text, leaseSchema, &l, &l.Check) == nil && f.died(l, file) {
		return true
	}
	now, ok := f.now()
	return ok && now.Sub(info.ModTime()) > max(f.opt.LeaseTTL, DefaultLeaseTTL)
}

// withDefaults fills in the defaults and refuses negative numbers.
func (k Keep) withDefaults() (Keep, error) {
	if min(k.Oldest, k.Back, k.Most, k.Newest) < 0 {
		return k, fmt.Errorf("workspace: %+v has a negative number; want 0 for the default, or more", k)
	}
	k.Back, k.Most, k.Newest = cmp.Or(k.Back, 20), cmp.Or(k.Most, 25), cmp.Or(k.Newest, 10)
	return k, nil
}

// superfluous returns which of the iterations are not to be kept; both lists ascend. It never returns the last one.
//
// First the iterations that lie Back or more before Oldest go. Of the rest, while there are more than Most, one goes at
// a time: that whose absence leaves the smallest gap between its neighbours, the first of equals, except for the Newest
// newest ones and both ends of the others. What stays so lies as evenly as can be over the time that is left. The
// answer depends on nothing but the numbers, so that a process which was interrupted goes on where it was.
func (k Keep) superfluous(iterations []int64) []int64 {
	var gone []int64
	rest := slices.Clone(iterations)
	for len(rest) > 1 && rest[0] <= k.Oldest-k.Back {
		gone, rest = append(gone, rest[0]), rest[1:]
	}
	for int64(len(rest)) > k.Most {
		// old are the records that may go: all but the newest ones. With fewer than three there is none between two
		// others.
		old := rest[:max(0, int64(len(rest))-max(1, k.Newest))]
		if len(old) < 3 {
			break
		}
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
