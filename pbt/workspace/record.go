package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Limits that keep what people and programs write readable again.
const (
	maxText = 1 << 14 // bytes of a failure, a note or a name; longer ones are cut
	maxKey  = 1000    // bytes of a hyperparameter's name, quoted
	maxSize = 1 << 50 // bytes of weights

	maxIteration = 1_000_000_000_000_000
)

// prepare checks a record that is about to be published by a member, and returns a copy that shares nothing with it.
func prepare(r Record, member, members int) (Record, error) {
	if r.Member != member {
		return r, fmt.Errorf("workspace: a record of member %d on the lease of member %d; publish it on its own", r.Member, member)
	}
	r.Failure, r.Experiment = cut(r.Failure), cut(r.Experiment)
	r.Weights, r.Foreign = nil, false
	if !r.HasObjective {
		r.Objective = 0
	}
	if !r.HasPeak {
		r.Peak = 0
	}
	if !r.HasEvaluation {
		r.Evaluation = 0
	}
	if err := r.check(members); err != nil {
		return r, fmt.Errorf("workspace: member %d: %w", member, err)
	}
	return r.clone(), nil
}

// check reports numbers that no member can have arrived at.
func (r Record) check(members int) error {
	if r.Member < 0 || r.Member >= members {
		return fmt.Errorf("member %d, where there are 0 to %d", r.Member, members-1)
	}
	if r.Iteration < 1 || r.Iteration > maxIteration {
		return fmt.Errorf("iteration %d; the first is 1, the last %d", r.Iteration, int64(maxIteration))
	}
	for _, n := range []struct {
		name  string
		value int64
	}{
		{"copies", r.Copies}, {"steps", r.Steps}, {"weight steps", r.WeightSteps}, {"steps since copy", r.SinceCopy},
		{"steps since change", r.SinceChange}, {"samples", int64(r.Samples)},
	} {
		if n.value < 0 {
			return fmt.Errorf("iteration %d: %s %d; want 0 or more", r.Iteration, n.name, n.value)
		}
	}
	if r.Parent < -1 || r.Parent >= members {
		return fmt.Errorf("iteration %d: parent %d, where there are members 0 to %d, and -1 for none", r.Iteration, r.Parent, members-1)
	}
	if err := checkParams(r.Hyperparameters); err != nil {
		return fmt.Errorf("iteration %d: %w", r.Iteration, err)
	}
	if w := r.Weights; w != nil && !r.Foreign {
		if w.Size < 0 || w.Size > maxSize {
			return fmt.Errorf("iteration %d: weights of %d bytes", r.Iteration, w.Size)
		}
		if !isSHA256(w.SHA256) {
			return fmt.Errorf("iteration %d: %.80q is not a SHA-256 in 64 lower-case hexadecimal digits", r.Iteration, w.SHA256)
		}
	}
	return nil
}

func checkParams(params map[string]float64) error {
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if name == "" || len(strconv.Quote(name)) > maxKey {
			return fmt.Errorf("a hyperparameter's name of %d bytes; want 1 to about %d", len(name), maxKey)
		}
		if strings.ToValidUTF8(name, "") != name {
			return fmt.Errorf("the hyperparameter's name %.80q is not UTF-8", name)
		}
		if v := params[name]; math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("hyperparameter %s is %v; want a finite number", name, v)
		}
	}
	return nil
}

func isSHA256(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}

// cut makes a text fit into a file that YAML and JSON can read back.
func cut(text string) string {
	if len(text) > maxText {
		text = text[:maxText] + " ..."
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// clone returns a copy that shares nothing.
func (r Record) clone() Record {
	r.Hyperparameters = maps.Clone(r.Hyperparameters)
	if r.Weights != nil {
		w := *r.Weights
		r.Weights = &w
	}
	return r
}

func (h Heartbeat) clone() Heartbeat {
	h.Hyperparameters = maps.Clone(h.Hyperparameters)
	return h
}

// prepare checks a heartbeat and returns a copy, with the member and the owner filled in.
func (h Heartbeat) prepare(member, members int, owner string) (Heartbeat, error) {
	h.Member = member
	if h.Owner == "" {
		h.Owner = owner
	}
	h.Owner, h.Note = cut(h.Owner), cut(h.Note)
	if !h.HasObjective {
		h.Objective = 0
	}
	if err := h.check(members); err != nil {
		return h, fmt.Errorf("workspace: member %d: heartbeat: %w", member, err)
	}
	return h.clone(), nil
}

func (h Heartbeat) check(members int) error {
	if !slices.Contains([]Phase{Training, Waiting, Yielded, Stopped, Finished, Failed}, h.Phase) {
		return fmt.Errorf("unknown phase %.40q", h.Phase)
	}
	if h.Member < 0 || h.Member >= members || h.Parent < -1 || h.Parent >= members {
		return fmt.Errorf("member %d and parent %d, where there are members 0 to %d", h.Member, h.Parent, members-1)
	}
	if min(h.Iteration, h.Copies, h.Steps, h.Total) < 0 {
		return fmt.Errorf("iteration %d, copies %d, steps %d, total %d; want 0 or more", h.Iteration, h.Copies, h.Steps, h.Total)
	}
	return checkParams(h.Hyperparameters)
}

// present sorts records, newest first, into those of the present weights and stale ones.
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

// score is the figure that the best is chosen by; ok is false where it is no finite number.
func (r Record) score() (score float64, ok bool) {
	switch {
	case r.HasEvaluation:
		score = r.Evaluation
	case r.HasObjective:
		score = r.Objective
	default:
		return 0, false
	}
	return score, !math.IsNaN(score) && !math.IsInf(score, 0)
}

// beats reports whether r is strictly better than other.
func (r Record) beats(other Record, minimise bool) bool {
	a, ok := r.score()
	if !ok {
		return false
	}
	b, known := other.score()
	switch {
	case !known:
		return true
	case minimise:
		return a < b
	}
	return a > b
}

// bestOf chooses the best among the members' best.
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

// checkMembers is what every store demands of its size.
func checkMembers(members int) error {
	if members < 1 {
		return fmt.Errorf("workspace: a store for %d members; want 1 or more", members)
	}
	return nil
}

func checkMember(member, members int) error {
	if member < 0 || member >= members {
		return fmt.Errorf("workspace: there is no member %d; the store's are 0 to %d", member, members-1)
	}
	return nil
}

// noWeights says why a record's weights cannot be had, before any are looked for.
func noWeights(r Record) error {
	switch w := r.Weights; {
	case w == nil && r.Failure != "":
		return fmt.Errorf("workspace: member %d published no weights at iteration %d: %s", r.Member, r.Iteration, r.Failure)
	case w == nil:
		return fmt.Errorf("workspace: the record of member %d, iteration %d, refers to no weights", r.Member, r.Iteration)
	case r.Foreign || w.SHA256 == "":
		return fmt.Errorf("workspace: %s was written by another program and has no checksum: gorl ranks such members but does not take over their weights; convert them to a gorl checkpoint to begin from them", w.Path)
	}
	return nil
}

var errNoBest = errors.New("workspace: there are no weights to offer for the best")
