// Package plot draws pictures of learning: panels of curves over steps, in a grid under one title and one legend, as
// PNG files. gonum/plot draws axes, text and pixels.
//
// It is separate from tracking so that programs which only train do not link gonum/plot and its fonts.
//
// plot.go is the data of a picture, figure.go its layout, curve.go what is drawn in a panel, scale.go and ticks.go the
// axes, ink.go colours and text.
package plot

import (
	"errors"
	"fmt"
	"math"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/tracking"
)

// Series is a curve through the points (X[i], Y[i]) in their order. The curve has a gap at a coordinate that is NaN or
// infinite, or that the panel's scale cannot show.
type Series struct {
	// Name is shown in the legend, unless it is empty. Curves of one name have one colour in all panels.
	Name string
	X, Y []float64
	// Low and High are the bounds of a shaded area around the curve, for example of a confidence interval. They are
	// empty, or as long as Y. The area has a gap at a bound that is NaN or that the scale cannot show.
	Low, High []float64
	// Dashed draws a dashed line, for example for a reference.
	Dashed bool
	// Faint draws a thin, pale line behind the others, which is not in the legend. Use it for the raw values of a
	// smoothed curve of the same name.
	Faint bool
}

// Panel is one pair of axes.
type Panel struct {
	Title, XLabel, YLabel string
	// Scale is the vertical axis': Linear by default.
	Scale  Scale
	Series []Series
}

// SeriesOf returns the values of a tag as a curve over steps. Its name is the tag.
func SeriesOf(scalars []tracking.Scalar, tag string) Series {
	s := Series{Name: tag}
	for _, v := range scalars {
		if v.Tag == tag {
			s.X, s.Y = append(s.X, float64(v.Step)), append(s.Y, v.Value)
		}
	}
	return s
}

// Smoothed returns the curve's exponential moving average, as TensorBoard shows it. Every value is weight times the
// average before it plus 1 − weight times the value, divided by 1 − weightⁿ after n values to correct the start at 0. A
// weight of 0 changes nothing. Values that are not finite stay, and do not change the average. Weights outside [0, 1)
// are an error.
func (s Series) Smoothed(weight float64) (Series, error) {
	if !(weight >= 0 && weight < 1) {
		return s, fmt.Errorf("plot: the weight of smoothing is %v; want a number from 0 to below 1", weight)
	}
	average, missing := 0.0, 1.0 // missing is weightⁿ
	y := make([]float64, len(s.Y))
	for i, v := range s.Y {
		if !number.Finite(v) {
			y[i] = v
			continue
		}
		average = weight*average + (1-weight)*v
		missing *= weight
		y[i] = average / (1 - missing)
	}
	s.Y = y
	return s, nil
}

// WritePNG draws the panels row by row in a grid under one title and one legend, and replaces the file at path
// atomically. If columns is below 1, the number of panels determines it. The colours suit colour-blind readers.
func WritePNG(path, title string, panels []Panel, columns int) error {
	err := checkPanels(panels)
	if err == nil {
		err = durable.WriteFile(path, newFigure(title, panels, columns).encodePNG)
	}
	if err != nil {
		return fmt.Errorf("plot: %s: %w", path, err)
	}
	return nil
}

func checkPanels(panels []Panel) error {
	if len(panels) == 0 {
		return errors.New("there are no panels to draw")
	}
	for i, p := range panels {
		for j, s := range p.Series {
			if n := len(s.Low); n != len(s.High) || n > 0 && n != len(s.Y) || len(s.X) != len(s.Y) {
				return fmt.Errorf("panel %d (%q), series %d (%q): %d x values and %d y values, %d lower and %d upper "+
					"bounds of %[6]d values", i, p.Title, j, s.Name, len(s.X), len(s.Y), len(s.Low), len(s.High))
			}
		}
	}
	return nil
}

// drawable reports whether a coordinate can be drawn. The limit keeps differences of two coordinates finite.
func drawable(v float64) bool { return math.Abs(v) < 1e150 }

// visible reports whether a point has a place in the panel.
func (p *Panel) visible(x, y float64) bool {
	return drawable(x) && drawable(y) && (p.Scale == Linear || y > 1e-150)
}
