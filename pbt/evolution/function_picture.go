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

// encoder is the edited encoder after the edit.
func (w *wiring) encoder() (m description.Module) {
	for _, each := range w.to.Modules() {
		if each.Name == w.edit.Module {
			m = each
		}
	}
	return m
}

// kernel gives a convolution the kernels of the new architecture. A kernel keeps its leading rows and columns, and new
// ones are zeros. Where the last picture has another size, the layer that reads it keeps what it read of every pixel,
// and reads nothing of new pixels. A larger kernel, whose new rows see the pixels and zeros behind its old ones,
// computes what it did.
func (w *wiring) kernel(layers map[string]matrix, m description.Module) {
	to := w.encoder()
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

// convolve adds a convolution behind the last one of the encoder m that passes on what it reads: every kernel is 1 in
// its middle for its own channel and 0 elsewhere. Shifts of biases are as in identity.
func (w *wiring) convolve(layers map[string]matrix, m description.Module) {
	n := len(m.Convolutions)
	width, side := m.Pictures[n][0], w.encoder().Convolutions[n].Kernel
	out := m.Layers()[0].Name
	weight, bias := zeros(width, width*side*side, form{kernel: side}), zeros(width, 1, form{vector: true})
	outer := layers[out+".weight"]
	if w.holds == values {
		_, shift := identityAfter(m.Convolutions[n-1].Activation)
		for i := range width {
			weight.data[i*weight.cols+(i*side+side/2)*side+side/2], bias.data[i] = 1, float32(shift)
		}
		shifts := zeros(outer.cols, 1, form{vector: true})
		shifts.fill(func() float32 { return float32(shift) })
		layers[out+".bias"] = layers[out+".bias"].plus(outer.times(shifts), -1)
	} else {
		last := convolution(m, n-1)
		weight.fill(w.begin(layers[last+".weight"], nil))
		bias.fill(w.begin(layers[last+".bias"], nil))
	}
	layers[convolution(m, n)+".weight"], layers[convolution(m, n)+".bias"] = weight, bias
}

// deconvolve drops the last convolution of the encoder m. The layer that read its pixels then reads the picture before
// it, through the dropped convolution as if its activation were a straight line, as in compose. It undoes convolve.
func (w *wiring) deconvolve(layers map[string]matrix, m description.Module) {
	n := len(m.Convolutions) - 1
	last, out, c := convolution(m, n), m.Layers()[0].Name, m.Convolutions[n]
	from, to := m.Pictures[n], m.Pictures[n+1]
	inner, bias, outer := layers[last+".weight"], layers[last+".bias"], layers[out+".weight"]
	fresh := zeros(outer.rows, from[0]*from[1]*from[2], form{})
	if w.holds == values {
		slope, offset := tangent(c.Activation)
		reaches := zeros(outer.cols, 1, form{vector: true})
		for i := range reaches.data {
			reaches.data[i] = slope*bias.data[i/(to[1]*to[2])] + offset
		}
		layers[out+".bias"] = layers[out+".bias"].plus(outer.times(reaches), 1)
		sums := make([]float64, fresh.cols)
		for r := range outer.rows {
			clear(sums)
			scatter(sums, outer.data[r*outer.cols:(r+1)*outer.cols], inner, c, from, to)
			for i, x := range sums {
				fresh.data[r*fresh.cols+i] = slope * float32(x)
			}
		}
	} else {
		fresh.fill(w.begin(outer, nil))
	}
	layers[out+".weight"] = fresh
	delete(layers, last+".weight")
	delete(layers, last+".bias")
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
