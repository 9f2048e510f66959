package workspace

// This file says what a record is, which records are valid, and which of two is better. record_file.go writes and
// reads its file.

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/internal/number"
)

// Limits that keep what people and programs write readable again. Publish and Beat cut texts and refuse the rest; a
// file that exceeds a limit is damaged.
const (
	maxText = 1 << 14 // bytes of a failure, a note or a name; longer ones are cut
	maxKey  = 1000    // bytes of a hyperparameter's name, quoted

	// maxIteration has 16 digits: numbers up to it are exact as floats too, which tools for YAML may read them as.
	maxIteration = 1_000_000_000_000_000
)

// Record is what a member publishes at the end of an interval: how good it is, what it was trained with, and where its
// weights lie. Other members rank it by the objective and, to copy it, fetch the weights.
type Record struct {
	// Member is the member's number.
	Member int
	// Iteration counts the member's intervals from 1.
	Iteration int64
	// Copies is how often the member had copied weights by then. It tells records of its present weights from stale
	// ones: only those of the highest count are compared.
	Copies int64
	// Steps are the environment steps that the member has trained, unaffected by copies.
	Steps int64
	// WeightSteps are the environment steps behind the weights: those of this member and, before its last copy, of the
	// members that the weights came from.
	WeightSteps int64
	// SinceCopy are the member's own environment steps since it last copied weights, or since it began.
	SinceCopy int64
	// SinceChange are the member's own environment steps since it last mutated its hyperparameters without copying. It
	// is 0 if the member has not done so since SinceCopy began.
	SinceChange int64
	// Objective is the figure as it was measured, where HasObjective is set; it may be NaN. Peak is the best figure
	// within the interval.
	Objective    float64
	HasObjective bool
	Peak         float64
	HasPeak      bool
	// Samples is the number of measurements behind the objective.
	Samples int
	// Parent is the member whose weights were last copied, -1 for none.
	Parent int
	// Hyperparameters are those that the weights were trained with. They are finite.
	Hyperparameters map[string]float64
	// Failure says why there are no weights. Long texts are cut.
	Failure string
	// Experiment is the run's name, for people.
	Experiment string
	// Weights refer to the file; nil if there are none. Publish sets them.
	Weights *Weights
}

// Weights refer to a snapshot's file.
type Weights struct {
	// Path is relative to the store's folder, with forward slashes.
	Path string
	// Size is in bytes, SHA256 in lower-case hexadecimal digits. A file that differs in either is damaged.
	Size   int64
	SHA256 string
}

// prepare checks a record that the member is about to publish, and returns a copy that shares nothing with it. Figures
// that are not known become 0, so that the same record always gives the same file.
func prepare(r Record, member, members int) (Record, error) {
	if r.Member != member {
		return r, fmt.Errorf("workspace: a record of member %d on the lease of member %d; publish it on its own",
			r.Member, member)
	}
	r.Failure, r.Experiment = cut(r.Failure), cut(r.Experiment)
	r.Weights = nil
	if !r.HasObjective {
		r.Objective = 0
	}
	if !r.HasPeak {
		r.Peak = 0
	}
	if err := r.check(members); err != nil {
		return r, fmt.Errorf("workspace: member %d: %w", member, err)
	}
	return r.clone(), nil
}

// check reports numbers that no member of so many can have arrived at. It is applied to what is published and to what
// is read: what passes it here is not refused there.
func (r Record) check(members int) error {
	if r.Member < 0 || r.Member >= members {
		return fmt.Errorf("member %d, where there are 0 to %d", r.Member, members-1)
	}
	if r.Iteration < 1 || r.Iteration > maxIteration {
		return fmt.Errorf("iteration %d; the first is 1, the last %d", r.Iteration, int64(maxIteration))
	}
	if r.Parent < -1 || r.Parent >= members {
		return fmt.Errorf("iteration %d: parent %d, where there are members 0 to %d, and -1 for none", r.Iteration,
			r.Parent, members-1)
	}
	if err := checkParams(r.Hyperparameters); err != nil {
		return fmt.Errorf("iteration %d: %w", r.Iteration, err)
	}
	return nil
}

// checkParams reports names that files cannot hold and values that are not finite, by which no explorer could mutate.
func checkParams(params map[string]float64) error {
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if name == "" || len(strconv.Quote(name)) > maxKey {
			return fmt.Errorf("a hyperparameter's name of %d bytes; want 1 to about %d", len(name), maxKey)
		}
		if v := params[name]; !number.Finite(v) {
			return fmt.Errorf("hyperparameter %s is %v; want a finite number", name, v)
		}
	}
	return nil
}

// cut shortens a text to maxText bytes and makes it valid UTF-8, so that YAML and JSON read back what was written.
func cut(text string) string {
	if len(text) > maxText {
		text = text[:maxText] + " ..."
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// clone returns a copy that shares nothing with r, so that a caller may change what View gave it.
func (r Record) clone() Record {
	r.Hyperparameters = maps.Clone(r.Hyperparameters)
	if r.Weights != nil {
		w := *r.Weights
		r.Weights = &w
	}
	return r
}

// present sorts records, newest first, into those of the present weights and stale ones. The present weights are those
// of the highest number of copies that the records or the heartbeat h know: a member announces a copy by its heartbeat
// before it has published the first record of the new weights.
func present(records []Record, h *Heartbeat) (now, stale []Record) {
	var copies int64
	if h != nil {
		copies = h.Copies
	}
	for _, r := range records {
		copies = max(copies, r.Copies)
	}
	slices.SortFunc(records, func(a, b Record) int { return cmp.Compare(b.Iteration, a.Iteration) })
	for _, r := range records {
		if r.Copies < copies {
			stale = append(stale, r.clone())
		} else {
			now = append(now, r.clone())
		}
	}
	return now, stale
}

// score returns the objective, the figure that Best compares. ok is false if it is not known or not finite.
func (r Record) score() (score float64, ok bool) {
	return r.Objective, r.HasObjective && number.Finite(r.Objective)
}

// beats reports whether r is strictly better than other. Any finite score beats one that is not known.
func (r Record) beats(other Record, minimise bool) bool {
	a, ok := r.score()
	b, known := other.score()
	if minimise {
		a, b = -a, -b
	}
	return ok && (!known || a > b)
}

// bestOf chooses the best of records as [Store].Best defines it. It sorts them by iteration and member first, so that
// of equal ones the same is chosen whatever order a folder was listed in.
func bestOf(records []Record, minimise bool) (best Record, ok bool) {
	slices.SortStableFunc(records, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.Iteration, b.Iteration), cmp.Compare(a.Member, b.Member))
	})
	for _, r := range records {
		if _, sound := r.score(); sound && (!ok || r.beats(best, minimise)) {
			best, ok = r, true
		}
	}
	return best.clone(), ok
}

// checkMembers refuses a store without members.
func checkMembers(members int) error {
	if members < 1 {
		return fmt.Errorf("workspace: a store for %d members; want 1 or more", members)
	}
	return nil
}

// checkMember refuses the number of a member that a store of this size does not have.
func checkMember(member, members int) error {
	if member < 0 || member >= members {
		return fmt.Errorf("workspace: there is no member %d; the store's are 0 to %d", member, members-1)
	}
	return nil
}

// noWeights returns an error if a record refers to no weights that Fetch could verify, and nil otherwise.
func noWeights(r Record) error {
	if r.Weights != nil {
		return nil
	}
	return fmt.Errorf("workspace: member %d published no weights at iteration %d: %s", r.Member, r.Iteration,
		cmp.Or(r.Failure, "its record refers to none"))
}

// errNoBest is the error of PublishBest without weights, because Fetch would have nothing to return.
var errNoBest = errors.New("workspace: there are no weights to offer for the best")
