package plot

import (
	"fmt"
	"image/color"
	"math"
	"strings"
)

// Ink is a colour that differs between light and dark pages. PNG pictures use the light one. In an SVG element an ink
// is a class, and the page sets its colour with [Styles].
type Ink struct {
	class       string
	light, dark color.NRGBA
}

// NewInk returns an ink of a CSS class, which must be its own, from two colours such as 0xff8000.
func NewInk(class string, light, dark uint32) Ink {
	rgb := func(hex uint32) color.NRGBA {
		return color.NRGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 0xff}
	}
	return Ink{class: class, light: rgb(light), dark: rgb(dark)}
}

// Class returns the CSS class of the ink.
func (k Ink) Class() string { return k.class }

// The inks of every picture.
var (
	Text  = NewInk("tx", 0x1f2328, 0xe6e6e6)
	Muted = NewInk("mu", 0x6a737d, 0x9aa4ae)
	Grid  = NewInk("gr", 0xe6e6e6, 0x30363d)
	Paper = NewInk("pa", 0xffffff, 0x15191e)
)

// palette are the colours of Okabe and Ito (https://jfly.uni-koeln.de/color/), which colour-blind readers can
// distinguish, adapted to light and dark pages. Brown replaces their yellow, which is too light on white.
var palette = []Ink{
	NewInk("k0", 0x0072b2, 0x4aa8e0), // blue
	NewInk("k1", 0xe69f00, 0xf0a830), // orange
	NewInk("k2", 0x009e73, 0x2fc79b), // green
	NewInk("k3", 0xb8578f, 0xdf8fba), // purple
	NewInk("k4", 0xd55e00, 0xff8440), // vermilion
	NewInk("k5", 0x2f9fd0, 0x7cccf0), // sky blue
	NewInk("k6", 0x8a7a4a, 0xbfae7c), // brown
	NewInk("k7", 0x4c5fb0, 0x8f9fe8), // indigo
}

// Color returns the k-th colour, from 0: first those of the palette, then hues far from the ones before.
func Color(k int) Ink {
	if k < len(palette) {
		return palette[k]
	}
	hue := math.Mod(float64(k)*137.508, 360) // the golden angle
	return Ink{class: fmt.Sprintf("k%d", k), light: hsl(hue, 0.55, 0.42), dark: hsl(hue, 0.55, 0.66)}
}

// hsl returns a colour from hue in degrees, and saturation and lightness from 0 to 1.
func hsl(hue, saturation, lightness float64) color.NRGBA {
	a := saturation * min(lightness, 1-lightness)
	channel := func(n float64) uint8 {
		k := math.Mod(n+hue/30, 12)
		return uint8(math.Round(255 * (lightness - a*max(-1, min(k-3, 9-k, 1)))))
	}
	return color.NRGBA{channel(0), channel(8), channel(4), 0xff}
}

// RGBA implements color.Color with the ink of light pages.
func (k Ink) RGBA() (r, g, b, a uint32) { return k.light.RGBA() }

// Fade returns the ink with an opacity from 0 to 1.
func (k Ink) Fade(opacity float64) Ink {
	k.light.A = uint8(math.Round(255 * opacity))
	return k
}

// Styles returns the CSS rules that give inks their colours on light or dark pages.
func Styles(dark bool, inks ...Ink) string {
	var b strings.Builder
	for _, k := range append([]Ink{Text, Muted, Grid, Paper}, inks...) {
		c := k.light
		if dark {
			c = k.dark
		}
		fmt.Fprintf(&b, ".%s{color:#%02x%02x%02x}", k.class, c.R, c.G, c.B)
	}
	return b.String()
}

// pale mixes a colour with three parts of white.
func pale(c color.Color) color.Color {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	mix := func(v uint8) uint8 { return uint8((int(v) + 3*255) / 4) }
	return color.NRGBA{mix(n.R), mix(n.G), mix(n.B), n.A}
}
