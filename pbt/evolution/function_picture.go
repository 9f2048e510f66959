package evolution

import (
	"fmt"

	"github.com/gorl-dev/gorl/models/description"
)

// convolution is the name of convolution i of the encoder m.
func convolution(m description.Module, i int) string { return fmt.Sprintf("%s.conv.%d", m.Name, i) }

// channels is what reads the channels of convolution i of the encoder m: the next convolution, with all weights of a
// kernel for each, or the first layer after the last one, with all pixels for each.
func channels(m description.Module, i int) reader {
	if i+1 < len(m.Convolutions) {
		k := m.Convolutions[i+1].Kernel
		return reader{convolution(m, i+1) + ".weight", 0, k * k}
	}
	p := m.Pictures[i+1]
	return reader{m.Layers()[0].Name + ".weight", 0, p[1] * p[2]}
}

// kernel gives a convolution the kernels of the new architecture. A kernel keeps its leading rows and columns, and new
// ones are zeros. Where the last picture has another size, the layer that reads it keeps what it read of every pixel,
// and reads nothing of new pixels. A larger kernel, whose new rows see the pixels and zeros behind its old ones,
// computes what it did.
func (w *wiring) kernel(layers map[string]matrix, m description.Module) {
	to := w.module(w.to)
	name := convolution(m, w.edit.Layer) + ".weight"
	weight := layers[name]
	side := to.Convolutions[w.edit.Layer].Kernel
	layers[name] = w.resized(weight, weight.cols/(weight.kernel*weight.kernel), [2]int{weight.kernel, weight.kernel},
		[2]int{side, side}, form{kernel: side})
	last := len(m.Convolutions)
	before, after := m.Pictures[last], to.Pictures[last]
	if before != after {
		name = m.Layers()[0].Name + ".weight"
		layers[name] = w.resized(layers[name], before[0], [2]int(before[1:]), [2]int(after[1:]), form{})
	}
}

// resized returns x, whose columns are so many grids of a size, row by row, with grids of another size, which have the
// leading rows and columns of the old ones.
func (w *wiring) resized(x matrix, grids int, before, after [2]int, f form) matrix {
	out := zeros(x.rows, grids*after[0]*after[1], f)
	out.fill(w.begin(x, nil))
	n := min(before[1], after[1])
	for r := range x.rows {
		for g := range grids {
			for y := range min(before[0], after[0]) {
				to, from := r*out.cols+(g*after[0]+y)*after[1], r*x.cols+(g*before[0]+y)*before[1]
				copy(out.data[to:to+n], x.data[from:from+n])
			}
		}
	}
	return out
}

// convolve adds a convolution behind the last one of the encoder m that passes on what it reads, see passOn.
func (w *wiring) convolve(layers map[string]matrix, m description.Module) {
	n := len(m.Convolutions)
	w.passOn(layers, convolution(m, n), m.Layers()[0].Name, convolution(m, n-1), m.Pictures[n][0],
		w.module(w.to).Convolutions[n].Kernel, m.Convolutions[n-1].Activation)
}

// deconvolve drops the last convolution of the encoder m, see bypass. The layer that read its pixels then reads the
// picture before it.
func (w *wiring) deconvolve(layers map[string]matrix, m description.Module) {
	n := len(m.Convolutions) - 1
	c, from, to := m.Convolutions[n], m.Pictures[n], m.Pictures[n+1]
	columns := from[0] * from[1] * from[2]
	w.bypass(layers, convolution(m, n), m.Layers()[0].Name, c.Activation, to[1]*to[2], columns,
		func(outer, inner matrix) matrix {
			product := zeros(outer.rows, columns, form{})
			sums := make([]float64, columns)
			for r := range outer.rows {
				clear(sums)
				scatter(sums, outer.data[r*outer.cols:(r+1)*outer.cols], inner, c, from, to)
				for i, x := range sums {
					product.data[r*columns+i] = float32(x)
				}
			}
			return product
		})
}

// scatter adds to sums, which has a number for every pixel before a convolution, what the row of numbers for every
// pixel after it amounts to there: the convolution's transpose.
func scatter(sums []float64, row []float32, kernels matrix, c description.Convolution, from, to [3]int) {
	for i, x := range row {
		channel, top, left := i/(to[1]*to[2]), i/to[2]%to[1]*c.Stride-c.Padding, i%to[2]*c.Stride-c.Padding
		if x == 0 {
			continue
		}
		for j, weight := range kernels.data[channel*kernels.cols : (channel+1)*kernels.cols] {
			k := kernels.kernel
			input, y, column := j/(k*k), top+j/k%k, left+j%k
			if y >= 0 && y < from[1] && column >= 0 && column < from[2] {
				sums[(input*from[1]+y)*from[2]+column] += float64(x) * float64(weight)
			}
		}
	}
}
