// Package picture draws what [motions.Check] has found out about a clip. Only programs that draw link it.
package picture

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"io"
	"math"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/gofont/goregular"
	"golang.org/x/image/font/opentype"
	"golang.org/x/image/math/fixed"
	"golang.org/x/image/vector"
	"gonum.org/v1/gonum/num/quat"
	"gonum.org/v1/gonum/spatial/r3"

	"github.com/gorl-dev/gorl/motions"
)

var (
	inkColor   = color.RGBA{0x33, 0x3b, 0x44, 0xff}
	paleColor  = color.RGBA{0xd6, 0xdc, 0xe2, 0xff}
	rightColor = color.RGBA{0xc4, 0x4e, 0x2d, 0xff}
	leftColor  = color.RGBA{0x2b, 0x6c, 0xb0, 0xff}
	faultColor = color.RGBA{0xd0, 0x1c, 0x1c, 0xff}
)

// sheet is a picture of lines and text, in pixels.
type sheet struct {
	*image.RGBA
	face font.Face
}

// Write writes the picture that Draw draws, as a PNG.
func Write(w io.Writer, r *motions.Report) error {
	if err := png.Encode(w, Draw(r)); err != nil {
		return fmt.Errorf("motions: the picture of %s: %w", cmp.Or(r.Name, "clip"), err)
	}
	return nil
}

// Draw draws a checked clip, 1000 pixels wide: the skeleton from its left side at moments spread over the clip
// (right limbs red, left ones blue), the height of each foot's sole and the speed of the fastest joint over time, and
// the faults, with red lines at their frames. A clip without a skeleton has the speeds and faults only.
func Draw(r *motions.Report) image.Image {
	clip := r.Clip()
	skeleton := clip.Skeleton()
	parsed, err := opentype.Parse(goregular.TTF)
	if err != nil {
		panic("motions: the built-in font: " + err.Error())
	}
	face, err := opentype.NewFace(parsed, &opentype.FaceOptions{Size: 14, DPI: 72, Hinting: font.HintingFull})
	if err != nil {
		panic("motions: the built-in font: " + err.Error())
	}
	lines := faultLines(r)
	height := 240 + 18*len(lines)
	if skeleton != nil {
		height += 470
	}
	s := &sheet{image.NewRGBA(image.Rect(0, 0, 1000, height)), face}
	draw.Draw(s, s.Bounds(), image.White, image.Point{}, draw.Src)
	y := 24.0
	s.text(20, y, inkColor, fmt.Sprintf("%s: %d frames, %.2f s, loop %s", cmp.Or(r.Name, "clip"), r.Frames, r.Duration, r.Loop))
	if skeleton != nil {
		s.figures(clip, skeleton, image.Rect(20, 40, 980, 290))
		s.curves(r, image.Rect(60, 320, 980, 480), "feet, cm", -3, footCurves(r))
		y += 470
	}
	s.curves(r, image.Rect(60, int(y)+26, 980, int(y)+166), "joint, rad/s", 0, []polyline{{r.Speeds(), inkColor}})
	y += 200
	for i, line := range lines {
		c := faultColor
		if len(r.Faults) == 0 {
			c = inkColor
		}
		s.text(20, y+18*float64(i), c, line)
	}
	return s.RGBA
}

// faultLines are the faults, broken to the picture's width.
func faultLines(r *motions.Report) []string {
	if len(r.Faults) == 0 {
		return []string{"no faults found"}
	}
	var out []string
	for _, f := range r.Faults {
		line := f.Kind + ":"
		for _, word := range strings.Fields(f.Text) {
			if len(line)+len(word) > 130 {
				out, line = append(out, line), "     "
			}
			line += " " + word
		}
		out = append(out, line)
	}
	return out
}

// figures draws the skeleton at ten moments, from the left of the way that it goes.
func (s *sheet) figures(c *motions.Clip, skeleton *motions.Skeleton, box image.Rectangle) {
	const moments = 10
	n := len(skeleton.Bodies)
	row, positions, rotations := make([]float64, c.Width()), make([]float64, 3*n), make([]float64, 4*n)
	first, last := c.Frame(0), c.Frame(c.NumFrames()-1)
	heading := math.Atan2(last[1]-first[1], last[0]-first[0])
	if math.Hypot(last[1]-first[1], last[0]-first[0]) < 0.1 {
		forward := rotation(first[3:]).Rotate(r3.Vec{X: 1})
		heading = math.Atan2(forward.Y, forward.X)
	}
	sin, cos := math.Sincos(heading)
	top := 0.5
	for k := range c.NumFrames() {
		skeleton.Forward(c.Frame(k), positions, rotations)
		for i := range n {
			top = max(top, positions[3*i+2])
		}
	}
	scale := float64(box.Dy()-20) / (top * 1.1)
	floor := float64(box.Max.Y) - 14
	s.line(float64(box.Min.X), floor, float64(box.Max.X), floor, 1.5, inkColor)
	for m := range moments {
		at := c.Duration() * float64(m) / moments
		c.At(at, row, nil)
		skeleton.Forward(row, positions, rotations)
		middle := float64(box.Min.X) + (float64(m)+0.5)/moments*float64(box.Dx())
		pixel := func(p [3]float64) (x, y float64) {
			along := (p[0]-row[0])*cos + (p[1]-row[1])*sin
			return middle + along*scale, floor - p[2]*scale
		}
		for i, b := range skeleton.Bodies {
			place := [3]float64(positions[3*i : 3*i+3])
			x, y := pixel(place)
			col := sideColor(b.Name)
			if b.Parent >= 0 {
				px, py := pixel([3]float64(positions[3*b.Parent : 3*b.Parent+3]))
				s.line(px, py, x, y, 3, col)
			}
			for _, contact := range b.Contacts {
				o := rotation(rotations[4*i:]).Rotate(r3.Vec{X: contact.At[0], Y: contact.At[1], Z: contact.At[2]})
				cx, cy := pixel([3]float64{place[0] + o.X, place[1] + o.Y, place[2] + o.Z})
				s.line(x, y, cx, cy, 1.5, col)
				if place[2]+o.Z-contact.Radius < -motions.FloorLimit {
					s.line(cx-4, cy, cx+4, cy, 3, faultColor)
				}
			}
		}
		s.text(middle-16, float64(box.Max.Y)+4, inkColor, fmt.Sprintf("%.2f s", at))
	}
}

// rotation is a quaternion w, x, y, z.
func rotation(q []float64) r3.Rotation {
	return r3.Rotation(quat.Number{Real: q[0], Imag: q[1], Jmag: q[2], Kmag: q[3]})
}

// sideColor tells right from left by the body's name.
func sideColor(name string) color.RGBA {
	lower := strings.ToLower(name)
	switch {
	case strings.HasPrefix(lower, "right") || strings.HasPrefix(lower, "r_") || strings.HasPrefix(name, "FR") || strings.HasPrefix(name, "RR"):
		return rightColor
	case strings.HasPrefix(lower, "left") || strings.HasPrefix(lower, "l_") || strings.HasPrefix(name, "FL") || strings.HasPrefix(name, "RL"):
		return leftColor
	}
	return inkColor
}

// polyline is a named curve over the frames.
type polyline struct {
	values []float64 // one a frame, or a step
	color  color.RGBA
}

// footCurves are the heights of all feet, in centimetres.
func footCurves(r *motions.Report) []polyline {
	var out []polyline
	names, heights := r.Soles()
	for i, name := range names {
		line := polyline{color: sideColor(name)}
		for _, h := range heights[i] {
			line.values = append(line.values, 100*h)
		}
		out = append(out, line)
	}
	return out
}

// curves draws lines over the frames, on an axis that begins at low or below, with the faults' frames.
func (s *sheet) curves(r *motions.Report, box image.Rectangle, label string, low float64, lines []polyline) {
	high := 3.0
	for _, l := range lines {
		for _, v := range l.values {
			low, high = min(low, v), max(high, v)
		}
	}
	x := func(k float64) float64 {
		return float64(box.Min.X) + k/float64(max(1, r.Clip().NumFrames()-1))*float64(box.Dx())
	}
	y := func(v float64) float64 { return float64(box.Max.Y) - (v-low)/(high-low)*float64(box.Dy()) }
	for _, v := range []float64{low, 0, high} {
		s.line(float64(box.Min.X), y(v), float64(box.Max.X), y(v), 1, paleColor)
		if v == 0 || math.Abs(y(v)-y(0)) > 16 {
			s.text(18, y(v)+5, inkColor, fmt.Sprintf("%.0f", v))
		}
	}
	s.text(float64(box.Min.X), float64(box.Min.Y)-6, inkColor, label)
	for _, f := range r.Faults {
		if f.Frame >= 0 {
			s.line(x(float64(f.Frame)), float64(box.Min.Y), x(float64(f.Frame)), float64(box.Max.Y), 1, faultColor)
		}
	}
	for _, l := range lines {
		for k := 1; k < len(l.values); k++ {
			s.line(x(float64(k-1)), y(l.values[k-1]), x(float64(k)), y(l.values[k]), 1.6, l.color)
		}
	}
}

// line draws a straight line of a width.
func (s *sheet) line(x0, y0, x1, y1, width float64, c color.Color) {
	dx, dy := x1-x0, y1-y0
	length := math.Hypot(dx, dy)
	if length < 1e-6 {
		dx, dy, length = 1, 0, 1
	}
	nx, ny := -dy/length*width/2, dx/length*width/2
	left, top := math.Floor(min(x0, x1)-width), math.Floor(min(y0, y1)-width)
	box := image.Rect(int(left), int(top), int(max(x0, x1)+width+2), int(max(y0, y1)+width+2))
	if !box.Overlaps(s.Bounds()) || box.Dx() > 4000 || box.Dy() > 4000 {
		return
	}
	raster := vector.NewRasterizer(box.Dx(), box.Dy())
	for i, p := range [][2]float64{{x0 + nx, y0 + ny}, {x1 + nx, y1 + ny}, {x1 - nx, y1 - ny}, {x0 - nx, y0 - ny}} {
		px, py := float32(p[0]-left), float32(p[1]-top)
		if i == 0 {
			raster.MoveTo(px, py)
		} else {
			raster.LineTo(px, py)
		}
	}
	raster.ClosePath()
	raster.Draw(s, box, image.NewUniform(c), image.Point{})
}

func (s *sheet) text(x, y float64, c color.Color, text string) {
	d := font.Drawer{Dst: s, Src: image.NewUniform(c), Face: s.face,
		Dot: fixed.Point26_6{X: fixed.Int26_6(x * 64), Y: fixed.Int26_6(y * 64)}}
	d.DrawString(text)
}
