package report

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// network is what a member's networks are from an interval's end on, in the words of package evolution.
type network struct {
	steps, iteration int64
	architecture     string
}

// describeNetworks collects the descriptions of networks by member. An event without a description changes nothing.
func (f *facts) describeNetworks() {
	f.networks = make([][]network, len(f.Members))
	for _, e := range f.Events {
		own := f.networks[e.Member]
		if e.Architecture == "" || len(own) > 0 && own[len(own)-1].architecture == e.Architecture {
			continue
		}
		f.networks[e.Member] = append(own, network{e.Steps, e.Iteration, e.Architecture})
	}
}

// sizes returns the number of hidden nodes of a member's networks over steps. It is empty if none is described.
func (f *facts) sizes(member int) (points []journal.Point) {
	for _, n := range f.networks[member] {
		points = append(points, journal.Point{Iteration: n.iteration, Steps: n.steps,
			Value: float64(hiddenNodes(n.architecture))})
	}
	return points
}

var (
	layers = regexp.MustCompile(`\[[^\[\]]*\]`) // what stands between brackets: hidden layers, separated by spaces
	width  = regexp.MustCompile(`[0-9]+`)       // of a layer, before the colon and the layer's own activation
)

// hiddenNodes returns the number of nodes in all hidden layers of a description, convolutions with their channels and
// recurrent layers with their values among them: 160 of "policy 4→[64 64:elu] tanh, value 4→[32] tanh", whose layers
// have 64, 64 and 32. A description of another kind has none. Widths that no network has are left out, and the sum
// stops growing beyond 2^30, so that a hostile journal cannot make it overflow.
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
