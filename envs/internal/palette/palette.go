// Package palette reduces pictures to the at most 256 colours that a frame of a GIF has.
package palette

import (
	"cmp"
	"image"
	"image/color"
	"image/draw"
	"math"
	"slices"
)

// Palette is a choice of colours for some pictures.
type Palette struct {
	colors color.Palette
	index  map[color.RGBA]uint8 // of the colours that pictures have
}

// New chooses at most 256 colours for pictures, which are the pictures' own where these have no more. Of them the first
// reserved ones are transparent and no picture has them: films use one for what does not change.
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

// Convert returns one of the pictures in the palette's colours, each the nearest.
func (p *Palette) Convert(img *image.RGBA) *image.Paletted {
	out := image.NewPaletted(img.Rect, p.colors)
	for i := range out.Pix {
		out.Pix[i] = p.index[color.RGBA{img.Pix[4*i], img.Pix[4*i+1], img.Pix[4*i+2], img.Pix[4*i+3]}]
	}
	return out
}

// RGBA copies any picture into one whose corner is at (0, 0).
func RGBA(img image.Image) *image.RGBA {
	out := image.NewRGBA(image.Rectangle{Max: img.Bounds().Size()})
	draw.Draw(out, out.Rect, img, img.Bounds().Min, draw.Src)
	return out
}

// colorBox is a set of colours that become one.
type colorBox struct {
	colors []weighted
	total  int
}

type weighted struct {
	color.RGBA
	n int
}

// medianCut returns at most n colours that stand for the counted ones: the box with the largest spread, weighted by the
// square root of its pixels (or thin edges would be lost in the background), is cut at the median until there are n.
func medianCut(count map[color.RGBA]int, n int) []color.RGBA {
	all := colorBox{}
	for c, k := range count {
		all.colors = append(all.colors, weighted{c, k})
		all.total += k
	}
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

// widest returns the channel with the largest range, and the range.
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

func (b *colorBox) score() float64 {
	if len(b.colors) < 2 {
		return 0
	}
	_, spread := b.widest()
	return float64(spread) * math.Sqrt(float64(b.total))
}

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

func (b *colorBox) mean() color.RGBA {
	var r, g, bl, a, n int
	for _, c := range b.colors {
		r, g, bl, a, n = r+int(c.R)*c.n, g+int(c.G)*c.n, bl+int(c.B)*c.n, a+int(c.A)*c.n, n+c.n
	}
	n = max(n, 1)
	return color.RGBA{uint8((r + n/2) / n), uint8((g + n/2) / n), uint8((bl + n/2) / n), uint8((a + n/2) / n)}
}

func (c weighted) channel(i int) uint8 { return [4]uint8{c.R, c.G, c.B, c.A}[i] }
