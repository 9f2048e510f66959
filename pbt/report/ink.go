package report

import (
	"fmt"
	"image/color"
	"math"
	"strings"
)

// ink is a colour by what it means, since it is another one on dark pages: 0 and up are lineages.
type ink int

const (
	inkText ink = -1 - iota
	inkMuted
	inkGrid
	inkBad
	inkBest
	inkPaper
	inkArchitecture // mutations
	inkWeights
	inkActivation
	inkHyperparameter
)

// shades of an ink on light and on dark pages.
type shades struct{ light, dark color.NRGBA }

func rgb(hex uint32) color.NRGBA {
	return color.NRGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 0xff}
}

var meanings = map[ink]shades{
	inkText:  {rgb(0x1f2328), rgb(0xe6e6e6)},
	inkMuted: {rgb(0x6a737d), rgb(0x9aa4ae)},
	inkGrid:  {rgb(0xe4e7ea), rgb(0x30363d)},
	inkBad:   {rgb(0xcf222e), rgb(0xff6b6b)},
	inkBest:  {rgb(0xb58900), rgb(0xf2c037)},
	inkPaper: {rgb(0xffffff), rgb(0x15191e)},

	inkArchitecture: {rgb(0x0072b2), rgb(0x4aa8e0)}, inkWeights: {rgb(0x009e73), rgb(0x2fc79b)},
	inkActivation: {rgb(0xb8578f), rgb(0xdf8fba)}, inkHyperparameter: {rgb(0xd98200), rgb(0xf0a830)},
}

// lineages are the colours of Okabe and Ito, which the common forms of colour blindness can tell apart, made legible on
// both papers; grey-brown and teal stand for their yellow and black.
var lineages = []shades{
	{rgb(0x0072b2), rgb(0x4aa8e0)},
	{rgb(0xd98200), rgb(0xf0a830)},
	{rgb(0x009e73), rgb(0x2fc79b)},
	{rgb(0xb8578f), rgb(0xdf8fba)},
	{rgb(0xd55e00), rgb(0xff8440)},
	{rgb(0x2f9fd0), rgb(0x7cccf0)},
	{rgb(0x8a7a4a), rgb(0xbfae7c)},
	{rgb(0x4c5fb0), rgb(0x8f9fe8)},
}

// maxInks is the number of lineages after which colours begin again.
const maxInks = 2 * maxLanes

func (k ink) shades() shades {
	if s, ok := meanings[k]; ok {
		return s
	}
	if n := int(k); n < len(lineages) {
		return lineages[max(0, n)]
	}
	hue := math.Mod(float64(k)*137.508, 360) // the golden angle
	return shades{hsl(hue, 0.55, 0.42), hsl(hue, 0.55, 0.66)}
}

// hsl is a colour from hue in degrees, saturation and lightness from 0 to 1.
func hsl(hue, saturation, lightness float64) color.NRGBA {
	a := saturation * min(lightness, 1-lightness)
	channel := func(n float64) uint8 {
		k := math.Mod(n+hue/30, 12)
		return uint8(math.Round(255 * (lightness - a*max(-1, min(k-3, 9-k, 1)))))
	}
	return color.NRGBA{channel(0), channel(8), channel(4), 0xff}
}

func (k ink) class() string {
	switch k {
	case inkText:
		return "tx"
	case inkMuted:
		return "mu"
	case inkGrid:
		return "gr"
	case inkBad:
		return "ba"
	case inkBest:
		return "be"
	case inkPaper:
		return "pa"
	case inkArchitecture:
		return "ma"
	case inkWeights:
		return "mw"
	case inkActivation:
		return "mt"
	case inkHyperparameter:
		return "mh"
	}
	return fmt.Sprintf("k%d", int(k))
}

// styles are the rules of all inks up to a number of lineages, for light or dark pages.
func styles(lineages int, dark bool) string {
	var b strings.Builder
	for k := inkHyperparameter; int(k) < lineages; k++ {
		c := k.shades().light
		if dark {
			c = k.shades().dark
		}
		fmt.Fprintf(&b, ".%s{color:#%02x%02x%02x}", k.class(), c.R, c.G, c.B)
	}
	return b.String()
}
