package models

import "math/rand/v2"

// Random draws an edit as AgileRL does: with probability newLayer one of the head's layer edits, otherwise one of all
// node edits, each uniformly; widths change by 16, 32 or 64, the latent and channels by 8, 16 or 32. Edits of channels
// and kernels, and of the nodes of recurrent layers, count as node edits. Kernels change in the second to fourth
// convolution, to 1 up to a quarter of the shorter side of its result, at most 9.
func (a Architecture) Random(rng *rand.Rand, newLayer float64) Edit {
	var e Edit
	if rng.Float64() < newLayer {
		e = Edit{Kind: []EditKind{AddLayer, RemoveLayer}[rng.IntN(2)], Module: "head"}
	} else {
		var choices []Edit
		if a.Latent > 0 {
			choices = append(choices, Edit{Kind: AddLatentNode}, Edit{Kind: RemoveLatentNode})
			for _, p := range a.Parts {
				module := "encoder." + p.Name
				if len(p.Picture) > 0 {
					choices = append(choices, Edit{Kind: AddChannel, Module: module}, Edit{Kind: RemoveChannel, Module: module},
						Edit{Kind: ChangeKernel, Module: module})
				}
				if len(p.Encoder.Hidden) > 0 {
					choices = append(choices, Edit{Kind: AddNode, Module: module}, Edit{Kind: RemoveNode, Module: module})
				}
			}
		}
		if !a.Recurrent.none() {
			choices = append(choices, Edit{Kind: AddNode, Module: memoryModule}, Edit{Kind: RemoveNode, Module: memoryModule})
		}
		choices = append(choices, Edit{Kind: AddNode, Module: "head"}, Edit{Kind: RemoveNode, Module: "head"})
		e = choices[rng.IntN(len(choices))]
	}
	size := rng.IntN(3) // always two draws, so that what an edit becomes never shifts later draws
	place := rng.Float64()
	e.Nodes = []int{16, 32, 64}[size]
	p := a.picture(e.Module)
	switch {
	case e.Kind == ChangeKernel && len(p.Convolutions) > 1:
		e.Layer = 1 + int(place*float64(min(4, len(p.Convolutions))-1))
		sizes := p.kernels(e.Layer)
		e.Kernel, e.Nodes = sizes[rng.IntN(len(sizes))], 0
	case e.Kind == AddChannel || e.Kind == RemoveChannel || e.Kind == ChangeKernel:
		e.Layer = int(place * float64(len(p.Convolutions)))
		e.Nodes = []int{8, 16, 32}[size]
	case e.Module == memoryModule:
	case e.Module == "":
		e.Nodes = []int{8, 16, 32}[size]
	default:
		e.Layer = int(place * float64(len(a.stack(e.Module).Hidden)))
	}
	return e
}
