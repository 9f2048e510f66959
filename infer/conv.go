package infer

// maxPatches is about how many values of pictures are laid out at a time: few enough to stay near the processor.
const maxPatches = 1 << 15

// conv computes n rows of a Conv2d: every patch that the kernel sees is laid out as a row, and a channel of the result
// is the inner products of one row of weights with the patches.
func (p *workspace) conv(s *step, x, y []float32, n int) {
	picture, shape := s.Picture(), s.KernelShape()
	positions, size := picture[1]*picture[2], shape[1]*shape[2]*shape[3]
	outputs, plane := s.Outputs/s.Groups, s.Shape[1]*s.Shape[2]
	v, w := len(x)/n, len(y)/n
	for r := range n {
		for g := range s.Groups {
			in := x[r*v+g*shape[1]*plane:][:shape[1]*plane]
			for at := 0; at < positions; at += s.tile {
				count := min(s.tile, positions-at)
				patches := p.patches[:count*size]
				for i := range count {
					s.patch(in, patches[i*size:(i+1)*size], (at+i)/picture[2], (at+i)%picture[2])
				}
				for o := g * outputs; o < (g+1)*outputs; o++ {
					row(s.weight[o*size:(o+1)*size], patches, nil, y[r*w+o*positions+at:][:count])
				}
			}
		}
		for o, b := range s.bias {
			channel := y[r*w+o*positions:][:positions]
			for i := range channel {
				channel[i] += b
			}
		}
	}
	activate(s.Activation, y)
}

// patch lays out what the kernel sees for the pixel (i, j) of the result; around the picture it sees zeros.
func (s *step) patch(picture, to []float32, i, j int) {
	height, width, rows, columns := s.Shape[1], s.Shape[2], s.Kernel[0], s.Kernel[1]
	top, left := i*s.Stride[0]-s.Padding[0], j*s.Stride[1]-s.Padding[1]
	inside := s.Dilation[1] == 1 && left >= 0 && left+columns <= width
	for ; len(picture) > 0; picture = picture[height*width:] {
		for k := range rows {
			part := to[k*columns : (k+1)*columns]
			at := top + k*s.Dilation[0]
			switch {
			case at < 0 || at >= height:
				clear(part)
			case inside:
				copy(part, picture[at*width+left:])
			default:
				for l := range part {
					part[l] = 0
					if c := left + l*s.Dilation[1]; c >= 0 && c < width {
						part[l] = picture[at*width+c]
					}
				}
			}
		}
		to = to[rows*columns:]
	}
}

// tiles is how many patches of so many values are laid out at a time.
func tiles(positions, size int) int { return min(positions, max(4, maxPatches/size)) }

// order says for every value of a permuted row where it was before.
func order(shape, dims []int) []int32 {
	from := []int32{0}
	for _, d := range dims {
		stride := 1
		for _, n := range shape[d+1:] {
			stride *= n
		}
		wider := make([]int32, 0, len(from)*shape[d])
		for _, at := range from {
			for i := range shape[d] {
				wider = append(wider, at+int32(i*stride))
			}
		}
		from = wider
	}
	return from
}
