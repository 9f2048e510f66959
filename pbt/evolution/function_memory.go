package evolution

import (
	"fmt"

	"github.com/gorl-dev/gorl/models/description"
)

// stack are the names of the arrays of layer k of the recurrent layers, and what reads its values besides itself.
func (w *wiring) stack(m description.Module, k int) (input, hidden string, biases [2]string, by reader) {
	name := func(part string, k int) string { return fmt.Sprintf("%s.%s_l%d", m.Name, part, k) }
	by = reader{name("weight_ih", k+1), 0, 1}
	if k == m.Recurrent.Layers-1 {
		modules := w.from.Modules()
		by.weight = modules[len(modules)-1].Layers()[0].Name + ".weight"
	}
	return name("weight_ih", k), name("weight_hh", k), [2]string{name("bias_ih", k), name("bias_hh", k)}, by
}

// remember adds w.edit.Nodes values to every recurrent layer, at the end of each gate. As in widen, what leads to them
// is drawn and what they lead to is zero: columns of the layer itself, and of what reads it. All other values are
// therefore computed as before, at every step.
func (w *wiring) remember(layers map[string]matrix, m description.Module) {
	n, size := w.edit.Nodes, m.Recurrent.HiddenSize
	drawn := w.fresh(size + n)
	for k := range m.Recurrent.Layers {
		input, hidden, biases, by := w.stack(m, k)
		for _, name := range []string{input, hidden, biases[0], biases[1]} {
			before := layers[name]
			for gate := before.rows / size; gate > 0; gate-- { // the last first, so that the others stay in place
				layers[name] = layers[name].insertRows(gate*size, n, w.begin(before, drawn))
			}
		}
		w.unread(layers, reader{hidden, 0, 1}, size)
		w.unread(layers, by, size)
	}
}

// forget drops w.edit.Nodes values of every recurrent layer, from all gates: those whose outgoing weights, to the layer
// itself and to what reads it, have the smallest sum of sizes. It undoes remember.
func (w *wiring) forget(layers map[string]matrix, m description.Module) {
	size := m.Recurrent.HiddenSize
	drops := make([][]int, m.Recurrent.Layers) // all are chosen before the first layer changes
	for k := range drops {
		input, hidden, _, by := w.stack(m, k)
		drops[k] = w.least(layers, input, size, by, reader{hidden, 0, 1})
	}
	for k, drop := range drops {
		input, hidden, biases, by := w.stack(m, k)
		var rows []int
		for gate := range layers[hidden].rows / size {
			for _, c := range drop {
				rows = append(rows, gate*size+c)
			}
		}
		for _, name := range []string{input, hidden, biases[0], biases[1]} {
			layers[name] = layers[name].withoutRows(rows)
		}
		for _, name := range []string{hidden, by.weight} {
			layers[name] = layers[name].withoutColumns(drop)
		}
	}
}
