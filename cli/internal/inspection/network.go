package inspection

import (
	"fmt"
	"strings"

	"github.com/gorl-dev/gorl/models/description"
)

// network writes a chain of layers, for example "4 → gru 64 → 64 tanh → 2". Of any other network it writes the number
// of operations.
func network(n description.Network) string {
	parts, last := []string{fmt.Sprint(n.Inputs)}, 0 // last is the result that the next layer must read
	for i, s := range n.Steps {
		from := n.Sources(i)
		scaled := s.Op == description.Div && len(from) == 2 && from[0] == last && from[1] > 0 &&
			n.Steps[from[1]-1].Op == description.Number
		chained := len(from) == 1 && from[0] == last
		switch {
		case s.Op == description.Number:
			continue
		case scaled:
			parts[len(parts)-1] += fmt.Sprintf(" / %g", n.Steps[from[1]-1].Number)
		case !chained:
			return fmt.Sprintf("%d inputs, %d operations", n.Inputs, len(n.Steps))
		case s.Op == description.Linear:
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d %s", s.Outputs, s.Activation)))
		case s.Op == description.Conv2d:
			parts = append(parts, strings.TrimSpace(fmt.Sprintf("%d of %d×%d %s", s.Outputs, s.Kernel[0], s.Kernel[1],
				s.Activation)))
		case s.Recurrent():
			parts = append(parts, fmt.Sprintf("%s %d", s.Op, s.Outputs))
			if layers := len(s.Weights) / 4; layers > 1 {
				parts[len(parts)-1] += fmt.Sprintf(" × %d", layers)
			}
		case s.Op == description.Activate:
			parts[len(parts)-1] += " " + s.Activation
		case s.Op != description.Permute: // which leaves the same pixels
			return fmt.Sprintf("%d inputs, %d operations", n.Inputs, len(n.Steps))
		}
		last = i + 1
	}
	return strings.Join(parts, " → ")
}
