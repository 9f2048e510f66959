package report

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// change is what became of a member's networks, or of what they are trained with, in an event of a population that evolves.
type change struct {
	steps, iteration int64
	architecture     string // afterwards
	mutation         string // as the journal has it; empty for a mere copy
	kind             mutation
	parent           int // who was copied, -1 for nobody
	nodes            int // of all hidden layers afterwards
	first            bool
}

// mutation is a kind of them.
type mutation int

const (
	mutationAbsent mutation = iota // nothing was to be mutated
	mutationNone                   // it was drawn that nothing happens, or a limit stopped it
	mutationHyperparameter
	mutationArchitecture
	mutationParameters
	mutationActivation
	mutationOther
)

// mutationOrder is the legend's.
var mutationOrder = []mutation{
	mutationArchitecture, mutationActivation, mutationParameters, mutationHyperparameter, mutationNone, mutationOther,
}

// mutationNames are what the legend says.
var mutationNames = map[mutation]string{
	mutationArchitecture: "architecture", mutationParameters: "weights", mutationActivation: "activation",
	mutationHyperparameter: "hyperparameter", mutationNone: "none", mutationOther: "other mutation",
}

// mutationOf says of which kind an event's is, by the words of package evolution.
func mutationOf(e journal.Event) mutation {
	text := e.Mutation
	_, before := e.Before[text]
	_, after := e.After[text]
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
	case strings.Contains(text, "_layer") || strings.Contains(text, "_node"):
		return mutationArchitecture
	}
	return mutationOther
}

// evolve collects what the journal says of networks, by member. Everything stays empty for a population whose networks do
// not evolve.
func (f *facts) evolve() {
	f.changes, f.nodes = make([][]change, len(f.Members)), make([][]journal.Point, len(f.Members))
	now := make([]change, len(f.Members))
	for _, e := range f.Events {
		last := now[e.Member]
		c := change{steps: e.Steps, iteration: e.Iteration, architecture: e.Architecture, mutation: e.Mutation, kind: mutationOf(e), parent: -1}
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
		c.first = len(f.changes[e.Member]) == 0
		if c.first || c.kind != mutationAbsent || c.architecture != last.architecture {
			f.changes[e.Member] = append(f.changes[e.Member], c)
		}
		if f.mostNodes = max(f.mostNodes, c.nodes); c.nodes > 0 {
			if last.nodes > 0 { // as hyperparameters: the value before the decision, and the one after
				f.nodes[e.Member] = append(f.nodes[e.Member], journal.Point{Iteration: e.Iteration, Steps: e.Steps, Value: float64(last.nodes)})
			}
			f.nodes[e.Member] = append(f.nodes[e.Member], journal.Point{Iteration: e.Iteration, Steps: e.Steps, Value: float64(c.nodes)})
		}
		now[e.Member] = c
	}
}

var (
	layers = regexp.MustCompile(`\[[^\[\]]*\]`)
	width  = regexp.MustCompile(`[0-9]+`)
)

// hiddenNodes are the nodes of all hidden layers of a description such as "policy 4→[64 64:elu] tanh, value 4→[32] tanh": 160.
// A description of another kind has none.
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

// leading is the first network of a description, without its name: "4→[64 64] tanh" of "policy 4→[64 64] tanh, value ...".
func leading(architecture string) string {
	first, _, _ := strings.Cut(architecture, ", ")
	if name, shape, ok := strings.Cut(first, " "); ok && !strings.Contains(name, "→") && strings.Contains(shape, "→") {
		return shape
	}
	return first
}
