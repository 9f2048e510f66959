package plot

import (
	"fmt"
	"html/template"
	"image"
	"image/color"
	"math"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// SVG returns the picture as an element of an HTML page. The page has the [Styles] of its inks, and rules for the
// classes l (lines, stroked in the current colour), f (areas and texts, filled with it) and t (lines with a tooltip).
// gonum/plot's own SVG has no tooltips, and no classes, which dark pages need. All text is escaped.
func (p Picture) SVG() template.HTML {
	c := &svg{height: p.Height, stack: []svgState{{color: Text}}}
	fmt.Fprintf(&c.b, `<svg viewBox="0 0 %s %s" role="img" aria-label="%s">`+"\n",
		decimal(p.Width), decimal(p.Height), template.HTMLEscapeString(Plain(p.Label, 300)))
	p.Draw(draw.NewCanvas(c, p.Width, p.Height))
	c.b.WriteString("</svg>")
	return template.HTML(c.b.String()) // every text went through HTMLEscapeString, the rest are numbers
}

// svg implements vg.Canvas. Coordinates are rounded to a tenth of a pixel. y grows downwards.
type svg struct {
	b      strings.Builder
	height vg.Length
	tip    string
	stack  []svgState
}

type svgState struct {
	color  color.Color
	width  vg.Length
	dashed bool
	turn   float64 // counterclockwise, around the origin, in radians
}

func (c *svg) now() *svgState { return &c.stack[len(c.stack)-1] }

// SetLineWidth implements vg.Canvas, as do all methods below.
func (c *svg) SetLineWidth(w vg.Length)                    { c.now().width = w }
func (c *svg) SetLineDash(dashes []vg.Length, _ vg.Length) { c.now().dashed = len(dashes) > 0 }
func (c *svg) SetColor(k color.Color)                      { c.now().color = k }
func (c *svg) Rotate(turn float64)                         { c.now().turn += turn }
func (c *svg) Push()                                       { c.stack = append(c.stack, *c.now()) }
func (c *svg) Pop()                                        { c.stack = c.stack[:len(c.stack)-1] }

// Translate, Scale and DrawImage are not used by the drawings of this package.
func (c *svg) Translate(vg.Point)                  { panic("plot: SVG pictures are not moved") }
func (c *svg) Scale(float64, float64)              { panic("plot: SVG pictures are not scaled") }
func (c *svg) DrawImage(vg.Rectangle, image.Image) { panic("plot: SVG pictures have no images") }

func (c *svg) Stroke(p vg.Path) {
	now := c.now()
	if now.width <= 0 {
		return
	}
	attributes := fmt.Sprintf(` d="%s" stroke-width="%s"`, c.path(p), decimal(now.width))
	if now.dashed {
		attributes += ` stroke-dasharray="4 3"`
	}
	class := "l"
	if c.tip != "" {
		class = "l t"
	}
	c.element("path", class, attributes, "")
}

func (c *svg) Fill(p vg.Path) {
	for _, s := range p {
		if s.Type == vg.ArcComp { // circles are the only arcs
			x, y := c.place(s.Pos)
			c.element("circle", "f", fmt.Sprintf(` cx="%s" cy="%s" r="%s"`, x, y, decimal(s.Radius)), "")
			return
		}
	}
	c.element("path", "f", ` d="`+c.path(p)+`"`, "")
}

func (c *svg) FillString(face font.Face, at vg.Point, words string) {
	x, y := c.place(at)
	attributes := fmt.Sprintf(` x="%s" y="%s" font-size="%s"`, x, y, decimal(face.Font.Size))
	if face.Font.Weight > 0 {
		attributes += ` font-weight="600"`
	}
	if turn := c.now().turn; turn != 0 {
		attributes += fmt.Sprintf(` transform="rotate(%s %s %s)"`, decimal(vg.Length(-turn*180/math.Pi)), x, y)
	}
	c.element("text", "f", attributes, template.HTMLEscapeString(Plain(words, 200)))
}

// element writes an element with the class of its ink, and with the tooltip if there is one.
func (c *svg) element(name, class, attributes, content string) {
	k := c.now().color
	if ink, ok := k.(Ink); ok {
		attributes = fmt.Sprintf(` class="%s %s"`, ink.class, class) + attributes
	} else {
		n := color.NRGBAModel.Convert(k).(color.NRGBA)
		attributes = fmt.Sprintf(` class="%s" color="#%02x%02x%02x"`, class, n.R, n.G, n.B) + attributes
	}
	if _, _, _, a := k.RGBA(); a < 0xffff {
		attributes += ` opacity="` + strconv.FormatFloat(float64(a)/0xffff, 'g', 2, 64) + `"`
	}
	if c.tip != "" {
		content = "<title>" + template.HTMLEscapeString(Plain(c.tip, 300)) + "</title>" + content
	}
	if content == "" {
		fmt.Fprintf(&c.b, "<%s%s/>\n", name, attributes)
	} else {
		fmt.Fprintf(&c.b, "<%s%s>%s</%s>\n", name, attributes, content, name)
	}
}

// place returns the coordinates of a point in the SVG element.
func (c *svg) place(p vg.Point) (x, y string) {
	sin, cos := math.Sincos(c.now().turn)
	return decimal(vg.Length(cos)*p.X - vg.Length(sin)*p.Y),
		decimal(c.height - vg.Length(sin)*p.X - vg.Length(cos)*p.Y)
}

// path returns a path of lines and cubic curves. Pictures have no others.
func (c *svg) path(p vg.Path) string {
	var b strings.Builder
	for _, s := range p {
		if s.Type == vg.CloseComp {
			b.WriteByte('Z')
			continue
		}
		b.WriteByte(map[int]byte{vg.MoveComp: 'M', vg.LineComp: 'L', vg.CurveComp: 'C'}[s.Type])
		for _, at := range s.Control {
			x, y := c.place(at)
			b.WriteString(x + " " + y + " ")
		}
		x, y := c.place(s.Pos)
		b.WriteString(x + " " + y)
	}
	return b.String()
}

// decimal formats a number with at most one digit after the point.
func decimal(x vg.Length) string {
	s := strings.TrimSuffix(strconv.FormatFloat(float64(x), 'f', 1, 64), ".0")
	if s == "-0" {
		return "0"
	}
	return s
}

// Plain returns the first n characters of a text, on one line and without control characters.
func Plain(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError:
			return '�'
		case unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029':
			return ' '
		}
		return r
	}, s)
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
