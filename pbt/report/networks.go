package report

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// describe notes the networks that a member has after an event. An event without a description changes nothing.
func (f *facts) describe(e journal.Event) {
	if m := e.Member; e.Architecture != "" && e.Architecture != f.architectures[m] {
		f.architectures[m] = e.Architecture
		f.sizes[m] = append(f.sizes[m], journal.Point{Iteration: e.Iteration, Steps: e.Steps,
			Value: float64(hiddenNodes(e.Architecture))})
	}
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
