package report

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// The journal describes networks and mutations in words, those of package evolution, which this package does not
// import. A description that is not understood is shown as it is; only the thickness of its band and the kind of its
// sign are lost.

// change is an event that changed a member's networks, or what they are trained with, in a population that evolves.
type change struct {
	steps, iteration int64  // the member's own, at the interval's end at which it was made
	architecture     string // afterwards
	mutation         string // as the journal has it; empty for a mere copy
	kind             mutation
	parent           int // the member that was copied, -1 for none
	nodes            int // of all hidden layers of all networks afterwards
}

// mutation is a kind of mutation. Each has a sign of its own. The order is that of the legend.
type mutation int

const (
	mutationAbsent         mutation = iota // nothing was to be mutated
	mutationArchitecture                   // layers, nodes, channels or kernels came or went
	mutationActivation                     // another activation function
	mutationParameters                     // noise on weights
	mutationHyperparameter                 // of a setting that the networks are trained with
	mutationNone                           // it was drawn that nothing happens, or a limit stopped it
	mutationOther                          // something that this package has no word for
)

// mutationOf returns the kind of an event's mutation, from the words that package evolution writes: the name of a
// hyperparameter, "none" with a reason, "param" with what got noise, or the edits of each network. The name of a
// hyperparameter comes first: it may be any word, also one of the others.
//
//	learning_rate                                hyperparameter, if the event has one of that name, or several
//	none (head.add_layer would go beyond ...)    none
//	param(3 of the policy's matrices)            weights
//	None, value: activation(elu)                 activation
//	head.add_node(layer 0, 16)                   architecture
func mutationOf(e journal.Event) mutation {
	text := e.Mutation
	first, _, _ := strings.Cut(text, ", ")
	_, before := e.Before[first]
	_, after := e.After[first]
	switch {
	case text == "":
		return mutationAbsent
	case before || after:
		return mutationHyperparameter
	case text == "none" || strings.HasPrefix(text, "none "):
		return mutationNone
	case text == "param" || strings.HasPrefix(text, "param("):
		return mutationParameters
	case strings.Contains(text, "activation("):
		return mutationActivation
	case slices.ContainsFunc([]string{"_layer", "_node", "_channel", "_kernel"},
		func(part string) bool { return strings.Contains(text, part) }):
		return mutationArchitecture
	}
	return mutationOther
}

// evolve collects what the journal says of networks, by member. An event without a description leaves the networks as
// they are. Everything stays empty for a population whose networks do not evolve.
func (f *facts) evolve() {
	f.changes = make([][]change, len(f.Members))
	now := make([]change, len(f.Members))
	for _, e := range f.Events {
		last := now[e.Member]
		c := change{
			steps: e.Steps, iteration: e.Iteration, parent: -1,
			architecture: e.Architecture, mutation: e.Mutation, kind: mutationOf(e),
		}
		if c.architecture == "" {
			c.architecture = last.architecture
		}
		if c.architecture == "" && c.kind == mutationAbsent {
			continue
		}
		f.evolves = true
		if e.Kind == journal.Replace {
			c.parent = e.Parent
		}
		c.nodes = hiddenNodes(c.architecture)
		if len(f.changes[e.Member]) == 0 || c.kind != mutationAbsent || c.architecture != last.architecture {
			f.changes[e.Member] = append(f.changes[e.Member], c)
		}
		f.mostNodes = max(f.mostNodes, c.nodes)
		now[e.Member] = c
	}
}

var (
	layers = regexp.MustCompile(`\[[^\[\]]*\]`) // what stands between brackets: hidden layers, separated by spaces
	width  = regexp.MustCompile(`[0-9]+`)       // of a layer, before the colon and the layer's own activation
)

// hiddenNodes returns the number of nodes in all hidden layers of a description, convolutions with their channels and
// recurrent layers with their values among them: 160 of "policy 4→[64 64:elu] tanh,
// value 4→[32] tanh", whose layers have 64, 64 and 32. A description of another kind has none. Widths that no network
// has are left out, and the sum stops growing beyond 2^30, so that a hostile journal cannot make it overflow.
func hiddenNodes(architecture string) int {
	sum := 0
	for _, stack := range layers.FindAllString(architecture, -1) {
		for _, layer := range strings.Fields(strings.Trim(stack, "[]")) {
			n, err := strconv.ParseInt(width.FindString(layer), 10, 32)
			if err != nil || sum > 1<<30 {
				continue
			}
			sum += int(n)
		}
	}
	return sum
}

// leading returns the first network of a description, without its name: "4→[64 64] tanh" of "policy 4→[64 64] tanh,
// value ...". It is the one whose mutations the others follow, and the only one that there is room for in a lane. Of
// several agents it returns the first network of each: "speaker 3→[16] tanh, listener 11→[16] tanh" of
// "speaker.policy 3→[16] tanh, speaker.value ...".
func leading(architecture string) string {
	first, _, _ := strings.Cut(architecture, ", ")
	name, shape, ok := strings.Cut(first, " ")
	if !ok || strings.Contains(name, "→") || !strings.Contains(shape, "→") {
		return first
	}
	if !strings.Contains(name, ".") {
		return shape
	}
	var all []string
	last := ""
	for network := range strings.SplitSeq(architecture, ", ") {
		name, shape, _ := strings.Cut(network, " ")
		if agent := name[:strings.LastIndex(name, ".")+1]; agent != last {
			all, last = append(all, strings.TrimSuffix(agent, ".")+" "+shape), agent
		}
	}
	return strings.Join(all, ", ")
}
