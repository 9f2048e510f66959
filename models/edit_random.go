package models

import "math/rand/v2"

// Random draws an edit as AgileRL does: with probability newLayer one of the head's layer edits, otherwise one of all
// node edits, each uniformly; widths change by 16, 32 or 64, the latent by 8, 16 or 32.
func (a Architecture) Random(rng *rand.Rand, newLayer float64) Edit {
	var e Edit
	if rng.Float64() < newLayer {
		e = Edit{Kind: []EditKind{AddLayer, RemoveLayer}[rng.IntN(2)], Module: "head"}
	} else {
		var choices []Edit
		if a.Latent > 0 {
			choices = append(choices, Edit{Kind: AddLatentNode}, Edit{Kind: RemoveLatentNode})
			for _, p := range a.Parts {
				if len(p.Encoder.Hidden) > 0 {
					choices = append(choices, Edit{Kind: AddNode, Module: "encoder." + p.Name},
						Edit{Kind: RemoveNode, Module: "encoder." + p.Name})
				}
			}
		}
		choices = append(choices, Edit{Kind: AddNode, Module: "head"}, Edit{Kind: RemoveNode, Module: "head"})
		e = choices[rng.IntN(len(choices))]
	}
	size := rng.IntN(3) // always two draws, so that what an edit becomes never shifts later draws
	place := rng.Float64()
	e.Nodes = []int{16, 32, 64}[size]
	if stack := a.stack(e.Module); stack != nil {
		e.Layer = int(place * float64(len(stack.Hidden)))
	} else {
		e.Nodes = []int{8, 16, 32}[size]
	}
	return e
}
