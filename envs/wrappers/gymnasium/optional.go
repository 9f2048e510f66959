package gymnasium

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"math"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/envs"
)

// Supports reports whether the environments can be drawn, shaped or asked for reference motion, and whether they have a
// curriculum, see [envs.As].
func (e *Env) Supports(iface any) bool {
	switch iface.(type) {
	case *envs.Renderer:
		return e.options.RenderMode == "rgb_array"
	case *envs.RewardShaper:
		return e.about.RewardShaping
	case *envs.Curriculum:
		return e.about.Curriculum
	case *envs.MotionSource:
		return e.about.Motions
	}
	return true
}

// Render returns what environment i's render returns; Options.RenderMode must be "rgb_array".
func (e *Env) Render(i int) (image.Image, error) {
	if e.options.RenderMode != "rgb_array" {
		return nil, fmt.Errorf("gymnasium: render_mode is %q; pictures need \"rgb_array\": %w", e.options.RenderMode,
			errors.ErrUnsupported)
	}
	c, err := e.childOf(i)
	if err != nil {
		return nil, err
	}
	head, pixels, err := e.ask(c, map[string]any{"call": "render", "index": i - c.from})
	if err != nil {
		return nil, err
	}
	picture, err := parsePicture(head, pixels)
	if err != nil {
		return nil, c.fault(FaultData, err, "environment %d: the picture: %v", i, err)
	}
	return picture, nil
}

// StepDuration is 1/render_fps of the environments' metadata in seconds, 0 if they do not name it.
func (e *Env) StepDuration() float64 {
	if e.about.RenderFPS <= 0 {
		return 0
	}
	return 1 / e.about.RenderFPS
}

// parsePicture returns a picture from rows of 3 or 4 bytes a pixel, top row first. head holds its shape (height,
// width, depth). The bytes come from user code, so their number must fit the shape.
func parsePicture(head, pixels []byte) (image.Image, error) {
	shape, err := parseShape(head, 3)
	if err != nil {
		return nil, err
	}
	height, width, depth := shape[0], shape[1], shape[2]
	if height < 1 || width < 1 || depth != 3 && depth != 4 || width > 1<<15 || height > 1<<15 ||
		height*width*depth != len(pixels) {
		return nil, fmt.Errorf("it has the shape %v and %d bytes", shape, len(pixels))
	}
	picture := image.NewRGBA(image.Rect(0, 0, width, height))
	for p := range height * width {
		copy(picture.Pix[4*p:4*p+3], pixels[p*depth:])
		picture.Pix[4*p+3] = 0xff // the fourth byte is transparency, which pictures do not show
	}
	return picture, nil
}

// parseShape returns the "shape" of a message, which must have so many dimensions. It describes the bytes that follow
// the message.
func parseShape(head []byte, dimensions int) ([]int, error) {
	var said struct {
		Shape []int `json:"shape"`
	}
	if err := json.Unmarshal(head, &said); err != nil {
		return nil, err
	}
	if len(said.Shape) != dimensions {
		return nil, fmt.Errorf("it has the shape %v; there must be %d dimensions", said.Shape, dimensions)
	}
	return said.Shape, nil
}

// CollectReferenceMotions calls the method collect_reference_motions(n) of the first environment, as skrl does, which
// returns an array of shape (n, M). NumPy's global generator is seeded with a number from rng before.
func (e *Env) CollectReferenceMotions(n int, rng *rand.Rand) ([]float32, error) {
	width := e.amp.width
	if !e.about.Motions || width == 0 {
		return nil, fmt.Errorf("gymnasium: the environments have no method collect_reference_motions, or "+
			"amp_observations is not set: %w", errors.ErrUnsupported)
	}
	if n <= 0 || n > maxPayload/4/width {
		return nil, fmt.Errorf("gymnasium: %d rows of reference motion", n)
	}
	c := e.children[0]
	head, b, err := e.ask(c, map[string]any{"call": "motions", "n": n, "seed": rng.Uint32()})
	if err != nil {
		return nil, err
	}
	shape, err := parseShape(head, 2)
	if err != nil || shape[0] != n || shape[1] != width || len(b) != 4*n*width {
		return nil, c.fault(FaultData, err, "collect_reference_motions(%d) returned the shape %v; it must be (%d, %d)",
			n, shape, n, width)
	}
	rows := make([]float32, n*width)
	for i := range rows {
		rows[i] = math.Float32frombits(binary.NativeEndian.Uint32(b[4*i:]))
	}
	if err := e.set.AMPObservation.Check(rows, n); err != nil {
		return nil, c.fault(FaultData, err, "collect_reference_motions: %v", err)
	}
	return rows, nil
}
