package tracking

import (
	"errors"
	"fmt"
	"image/color"
	"io"
	"math"

	"github.com/gorl-dev/gorl/internal/durable"
)

// Series is one curve: the points (X[i], Y[i]) in the order in which they are joined. Where a coordinate is NaN or
// infinite, or not positive on a logarithmic axis, the curve has a gap.
type Series struct {
	// Name is shown in the legend; curves of one name have one colour in all panels. "" is left out of the legend.
	Name string
	X, Y []float64
	// Color overrides the palette's.
	Color color.Color
	// Dashed draws a broken line, e.g. for a reference.
	Dashed bool
	// Steps holds every value until the next point, as hyperparameters do.
	Steps bool
	// Markers draws a dot at every point.
	Markers bool
	// Faint draws a thin, pale line behind the others, and leaves it out of the legend: the raw values behind a smoothed
	// curve of the same name.
	Faint bool
}

// Link is an arrow at X from the curve Series[From] to the curve Series[To] of its panel, for "To continued with a copy
// of From". It is left out where one of the two has no value yet.
type Link struct {
	From, To int
	X        float64
}

// Event is a vertical line at X with a label.
type Event struct {
	X     float64
	Label string
}

// Panel is one pair of axes.
type Panel struct {
	Title, XLabel, YLabel string
	// LogY makes the vertical axis logarithmic.
	LogY   bool
	Series []Series
	Links  []Link
	Events []Event
}

// SeriesOf picks the values of one tag as a curve over steps, named after the tag.
func SeriesOf(scalars []Scalar, tag string) Series {
	s := Series{Name: tag}
	for _, v := range scalars {
		if v.Tag == tag {
			s.X, s.Y = append(s.X, float64(v.Step)), append(s.Y, v.Value)
		}
	}
	return s
}

// WritePNG draws the panels row by row in a grid with the given number of columns (chosen by their number if < 1),
// under one title and one legend, and puts the picture at path, which holds either the old content or the new one.
// Colours are told apart by the colour-blind too.
func WritePNG(path, title string, panels []Panel, columns int) error {
	if err := checkPanels(panels); err != nil {
		return fmt.Errorf("tracking: plot %s: %w", path, err)
	}
	if err := durable.WriteFile(path, func(w io.Writer) error { return drawPNG(w, title, panels, columns) }); err != nil {
		return fmt.Errorf("tracking: plot %s: %w", path, err)
	}
	return nil
}

// EncodePNG is [WritePNG] into w.
func EncodePNG(w io.Writer, title string, panels []Panel, columns int) error {
	if err := checkPanels(panels); err != nil {
		return fmt.Errorf("tracking: plot: %w", err)
	}
	if err := drawPNG(w, title, panels, columns); err != nil {
		return fmt.Errorf("tracking: plot: %w", err)
	}
	return nil
}

// maxPanels bounds the size of the picture.
const maxPanels = 256

func checkPanels(panels []Panel) error {
	if len(panels) == 0 {
		return errors.New("there are no panels to draw")
	}
	if len(panels) > maxPanels {
		return fmt.Errorf("%d panels are too many for one picture; want at most %d", len(panels), maxPanels)
	}
	for i, p := range panels {
		for j, s := range p.Series {
			if len(s.X) != len(s.Y) {
				return fmt.Errorf("panel %d (%q), series %d (%q): %d x values and %d y values", i, p.Title, j, s.Name, len(s.X), len(s.Y))
			}
		}
		for j, l := range p.Links {
			if l.From < 0 || l.From >= len(p.Series) || l.To < 0 || l.To >= len(p.Series) {
				return fmt.Errorf("panel %d (%q), link %d: from series %d to series %d; there are %d", i, p.Title, j, l.From, l.To, len(p.Series))
			}
		}
	}
	return nil
}

// drawable reports whether a coordinate can be placed; the bound keeps differences of two of them finite.
func drawable(v float64) bool { return math.Abs(v) < 1e150 }

func (p *Panel) visible(x, y float64) bool {
	return drawable(x) && drawable(y) && (!p.LogY || y > 1e-150)
}

// at returns the value of a curve at x: between two points the straight line, or with Steps the earlier value. ok is
// false before the first visible point.
func (p *Panel) at(s *Series, x float64) (y float64, ok bool) {
	before, after := -1, -1
	for i := range s.X {
		if !p.visible(s.X[i], s.Y[i]) {
			continue
		}
		if s.X[i] <= x {
			before = i
		} else if after < before || after < 0 {
			after = i
		}
	}
	if before < 0 {
		return 0, false
	}
	y = s.Y[before]
	if s.Steps || after < before {
		return y, true
	}
	t := (x - s.X[before]) / (s.X[after] - s.X[before])
	if p.LogY {
		return y * math.Pow(s.Y[after]/y, t), true
	}
	return y + t*(s.Y[after]-y), true
}

// extent returns the ranges of all visible points, links and events; ok is false without any.
func (p *Panel) extent() (x, y [2]float64, ok bool) {
	x, y = [2]float64{math.Inf(1), math.Inf(-1)}, [2]float64{math.Inf(1), math.Inf(-1)}
	for _, s := range p.Series {
		for i := range s.X {
			if p.visible(s.X[i], s.Y[i]) {
				x = [2]float64{math.Min(x[0], s.X[i]), math.Max(x[1], s.X[i])}
				y = [2]float64{math.Min(y[0], s.Y[i]), math.Max(y[1], s.Y[i])}
			}
		}
	}
	if x[0] > x[1] {
		return x, y, false
	}
	for _, e := range p.Events {
		if drawable(e.X) {
			x = [2]float64{math.Min(x[0], e.X), math.Max(x[1], e.X)}
		}
	}
	return x, y, true
}
