// Package palette reduces pictures to the at most 256 colours that a frame of a GIF has. wrappers.Record makes a
// palette for each picture, and films of characters make one for all pictures.
package palette

import (
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"math"
	"slices"
)

// Palette is a choice of colours for some pictures. A GIF stores an index into it for each pixel.
type Palette struct {
	// colors are the reserved transparent ones, then those chosen.
	colors color.Palette
	// index is the place in colors for every colour of the pictures, so that Convert searches nothing.
	index map[color.RGBA]uint8
}

// New chooses at most 256 colours for pictures. If the pictures have no more colours, these are their own. The first
// reserved of the 256 are transparent, and no picture uses them: films use one for pixels that do not change.
func New(reserved int, pictures ...*image.RGBA) *Palette {
	count := map[color.RGBA]int{}
	for _, img := range pictures {
		for at := 0; at < len(img.Pix); at += 4 {
			count[color.RGBA{img.Pix[at], img.Pix[at+1], img.Pix[at+2], img.Pix[at+3]}]++
		}
	}
	transparent := color.Palette{color.RGBA{}}
	p := &Palette{colors: slices.Repeat(transparent, reserved), index: map[color.RGBA]uint8{}}
	for _, c := range medianCut(count, 256-reserved) {
		p.colors = append(p.colors, c)
	}
	for c := range count {
		p.index[c] = uint8(reserved + p.colors[reserved:].Index(c))
	}
	return p
}

// Convert returns img in the palette's colours, the nearest for each pixel. img must be one of the pictures that New
// was given.
func (p *Palette) Convert(img *image.RGBA) *image.Paletted {
	out := image.NewPaletted(img.Rect, p.colors)
	for i := range out.Pix {
		out.Pix[i] = p.index[color.RGBA{img.Pix[4*i], img.Pix[4*i+1], img.Pix[4*i+2], img.Pix[4*i+3]}]
	}
	return out
}

// RGBA copies any picture into an *image.RGBA whose upper left corner is at (0, 0). New and Convert read the pixels
// of such pictures directly.
func RGBA(img image.Image) *image.RGBA {
	out := image.NewRGBA(image.Rectangle{Max: img.Bounds().Size()})
	draw.Draw(out, out.Rect, img, img.Bounds().Min, draw.Src)
	return out
}

// colorBox is a set of colours that become one. total is the number of their pixels.
type colorBox struct {
	colors []weighted
	total  int
}

// weighted is a colour and the number n of pixels that have it.
type weighted struct {
	color.RGBA
	n int
}

// medianCut returns at most n colours that stand for the counted ones (Heckbert, "Color image quantization for frame
// buffer display", 1982). It begins with one box of all colours. Again and again it cuts the box with the highest
// score at its median, until there are n boxes or none can be cut. Each box becomes its mean colour.
func medianCut(count map[color.RGBA]int, n int) []color.RGBA {
	all := colorBox{}
	for c, k := range count {
		all.colors = append(all.colors, weighted{c, k})
		all.total += k
	}
	// The order of a map is random. Sorted colours make the same pictures give the same file.
	slices.SortFunc(all.colors, func(a, b weighted) int {
		return cmp.Or(cmp.Compare(a.R, b.R), cmp.Compare(a.G, b.G), cmp.Compare(a.B, b.B))
	})
	boxes := []colorBox{all}
	for len(boxes) < n {
		best, score := -1, 0.0
		for i := range boxes {
			if s := boxes[i].score(); s > score {
				best, score = i, s
			}
		}
		if best < 0 {
			break
		}
		a, b := boxes[best].cut()
		boxes[best] = a
		boxes = append(boxes, b)
	}
	out := make([]color.RGBA, len(boxes))
	for i := range boxes {
		out[i] = boxes[i].mean()
	}
	return out
}

// widest returns the channel (0 to 3: red, green, blue, alpha) with the largest range of values in the box, and that
// range.
func (b *colorBox) widest() (channel int, spread int) {
	for ch := range 4 {
		lo, hi := 255, 0
		for _, c := range b.colors {
			v := int(c.channel(ch))
			lo, hi = min(lo, v), max(hi, v)
		}
		if hi-lo > spread {
			channel, spread = ch, hi-lo
		}
	}
	return channel, spread
}

// score says how much a cut of the box would help: its range times the square root of its pixels. By the number of
// pixels alone the background would take most colours, and thin edges would lose theirs. A box with a single colour
// has score 0.
func (b *colorBox) score() float64 {
	if len(b.colors) < 2 {
		return 0
	}
	_, spread := b.widest()
	return float64(spread) * math.Sqrt(float64(b.total))
}

// cut splits the box along its widest channel, so that each part has about half of the pixels. Neither part is empty;
// the box must have two colours.
func (b *colorBox) cut() (colorBox, colorBox) {
	ch, _ := b.widest()
	slices.SortStableFunc(b.colors, func(x, y weighted) int { return cmp.Compare(x.channel(ch), y.channel(ch)) })
	at, sum := 0, 0
	for at < len(b.colors)-1 && (at == 0 || sum+b.colors[at].n/2 < b.total/2) {
		sum += b.colors[at].n
		at++
	}
	return colorBox{b.colors[:at], sum}, colorBox{b.colors[at:], b.total - sum}
}

// mean returns the mean of the box's pixels, rounded; transparent black for no pixels.
func (b *colorBox) mean() color.RGBA {
	var r, g, bl, a, n int
	for _, c := range b.colors {
		r, g, bl, a, n = r+int(c.R)*c.n, g+int(c.G)*c.n, bl+int(c.B)*c.n, a+int(c.A)*c.n, n+c.n
	}
	n = max(n, 1)
	return color.RGBA{uint8((r + n/2) / n), uint8((g + n/2) / n), uint8((bl + n/2) / n), uint8((a + n/2) / n)}
}

// channel returns red, green, blue or alpha, for i from 0 to 3.
func (c weighted) channel(i int) uint8 { return [4]uint8{c.R, c.G, c.B, c.A}[i] }
