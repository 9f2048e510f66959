package plot

import (
	"image/color"
	"math"
	"unicode/utf8"

	"golang.org/x/image/font"
	"gonum.org/v1/plot"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"

	"github.com/gorl-dev/gorl/tracking/internal/column"
)

// rgb returns an opaque colour from a number such as 0xff8000.
func rgb(hex uint32) color.NRGBA {
	return color.NRGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 0xff}
}

var black, muted, gridColor = rgb(0x1f2328), rgb(0x6a737d), rgb(0xe6e6e6)

// palette are the colours of Okabe and Ito (https://jfly.uni-koeln.de/color/), which colour-blind readers can
// distinguish. Brown replaces their yellow, which is too light on white.
var palette = []color.NRGBA{
	rgb(0x0072b2), rgb(0xe69f00), rgb(0x009e73), rgb(0xb8578f),
	rgb(0xd55e00), rgb(0x2f9fd0), rgb(0x8a7a4a), rgb(0x4c5fb0),
}

// fade returns a colour with an opacity from 0 to 1.
func fade(c color.Color, opacity float64) color.NRGBA {
	n := color.NRGBAModel.Convert(c).(color.NRGBA)
	n.A = uint8(math.Round(255 * opacity))
	return n
}

// textStyle returns a style of text by its size in points. The text begins at its place, above it.
func textStyle(size vg.Length, ink color.Color, bold bool) text.Style {
	weight := font.WeightNormal
	if bold {
		weight = font.WeightBold
	}
	return text.Style{
		Color: ink, Handler: plot.DefaultTextHandler, XAlign: text.XLeft, YAlign: text.YBottom,
		Font: plotfont.Font{Typeface: "Liberation", Variant: "Sans", Weight: weight, Size: size},
	}
}

// clean returns the first n characters of a text, on one line.
func clean(s string, n int) string {
	s = column.OneLine(s)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
