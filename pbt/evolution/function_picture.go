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
	regrid := func(name string, to, from [2]int, f form) {
		old := layers[name]
		layers[name] = zeros(old.rows, old.cols/(from[0]*from[1])*to[0]*to[1], f)
		layers[name].fill(w.begin(old, nil))
		layers[name].overlay(old, to, from)
	}
	to, last := w.module(w.to), len(m.Convolutions)
	name, side := convolution(m, w.edit.Layer)+".weight", to.Convolutions[w.edit.Layer].Kernel
	regrid(name, [2]int{side, side}, layers[name].grid(), form{kernel: side})
	if before, after := m.Pictures[last], to.Pictures[last]; before != after {
		regrid(m.Layers()[0].Name+".weight", [2]int(after[1:]), [2]int(before[1:]), form{})
	}
}

// scatter adds to sums, which has a number for every pixel before a convolution, what the row of numbers for every
// pixel after it amounts to there: the convolution's transpose.
func scatter(sums []float64, row []float32, kernels matrix, c description.Convolution, from, to [3]int) {
	k := kernels.grid()[0]
	for i, x := range row {
		channel, top, left := i/(to[1]*to[2]), i/to[2]%to[1]*c.Stride-c.Padding, i%to[2]*c.Stride-c.Padding
		if x == 0 {
			continue
		}
		for j, weight := range kernels.data[channel*kernels.cols : (channel+1)*kernels.cols] {
			input, y, column := j/(k*k), top+j/k%k, left+j%k
			if y >= 0 && y < from[1] && column >= 0 && column < from[2] {
				sums[(input*from[1]+y)*from[2]+column] += float64(x) * float64(weight)
			}
		}
	}
}
