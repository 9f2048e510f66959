package mujoco

import (
	"cmp"
	"image/color"
	"math"
	"slices"
)

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
	for ch := range 3 {
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
	var r, g, bl, n int
	for _, c := range b.colors {
		r, g, bl, n = r+int(c.R)*c.n, g+int(c.G)*c.n, bl+int(c.B)*c.n, n+c.n
	}
	n = max(n, 1)
	return color.RGBA{uint8((r + n/2) / n), uint8((g + n/2) / n), uint8((bl + n/2) / n), 0xff}
}

func (c weighted) channel(i int) uint8 { return [3]uint8{c.R, c.G, c.B}[i] }
