package mujoco

import (
	"image/color"
	"image/gif"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/envtest"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

// still is a task for models that only stand there.
type still struct{}

func (still) Init(*Model) (Spec, error) {
	return Spec{Spaces: spaces.Set{Observation: spaces.Unbounded(1), Action: spaces.NewBox(-1, 1, 1)}}, nil
}
func (still) Reset(*State, *rand.Rand)       {}
func (still) Act(*State, []float32)          {}
func (still) Reward(*State) (float64, bool)  { return 0, false }
func (still) Observe(s *State, out envs.Row) { out.Observation[0] = 0 }

const shapesXML = `<mujoco>
  <asset><mesh name="tet" vertex="0 0 0 .4 0 0 0 .4 0 0 0 .4"/></asset>
  <worldbody>
    <geom type="plane" size="5 5 1" rgba=".5 .5 .5 1"/>
    <body pos="0 0 .5"><freejoint/>
      <geom type="sphere" size=".2" rgba="1 0 0 1"/>
      <geom type="box" size=".2 .2 .2" pos="1 0 0" rgba="0 1 0 1"/>
      <geom type="capsule" fromto="-1 0 -.2 -1 0 .2" size=".1" rgba="0 0 1 1"/>
      <geom type="cylinder" size=".2 .1" pos="2 0 0" rgba="1 1 0 1"/>
      <geom type="ellipsoid" size=".1 .2 .3" pos="-2 0 0" rgba="0 1 1 1"/>
      <geom type="mesh" mesh="tet" pos="0 0 .8" rgba="1 0 1 1"/>
      <geom type="sphere" size=".1" pos="0 1 0" rgba="0 0 0 1"/>
    </body>
  </worldbody>
</mujoco>`

// TestShapes looks at geoms along y. In the plane of their middles 100 pixels are a metre. Each must be where it is in
// the model, in its colour.
func TestShapes(t *testing.T) {
	const height = 300
	camera := Camera{Azimuth: 90, Elevation: 1, Distance: 1.5 / slope}
	e := must.Open(New(Config{XML: shapesXML, Render: RenderConfig{Width: 600, Height: height, Title: "shapes",
		Camera: camera}}, still{}))(t)
	envtest.Reset(t, e, 0)
	img := must.Get(e.Render(0))(t)
	middle := e.drawing.scene.middle
	at := func(x, z float64) color.RGBA {
		return img.At(300+int(math.Round(100*x)), height/2-int(math.Round(100*(z-middle)))).(color.RGBA)
	}
	for _, c := range []struct {
		what    string
		x, z    float64
		r, g, b bool
	}{
		{"sphere, before the black one", 0, .5, true, false, false},
		{"sphere's edge", 0.17, .5, true, false, false},
		{"box's corner", 1.17, .67, false, true, false},
		{"capsule's end", -1, .77, false, false, true},
		{"cylinder from the side", 2.17, .57, true, true, false},
		{"ellipsoid's top", -2, .77, false, true, true},
		{"mesh", .1, 1.4, true, false, true},
	} {
		got := at(c.x, c.z)
		must.Not(t, (got.R > 100) != c.r || (got.G > 100) != c.g || (got.B > 100) != c.b, "%s: %v", c.what, got)
	}
	if sky := at(0.25, .5); sky.R < 200 || sky.G < 200 {
		t.Errorf("beside the sphere: %v", sky)
	}
	must.Refused(e.Render(1))(t, "")
	must.Refused(e.Model().Pictures([][]float64{make([]float64, 3)}, RenderConfig{}))(t, "row 0 has 3 positions")
}

func TestWalkerFilm(t *testing.T) {
	path := filepath.Join(t.TempDir(), "walk.gif")
	rest := func(_, _ []float32) error { return nil }
	must.Do(t, WalkerFilm(path, "policy", 0.4, 3, rest))
	g := must.Get(gif.DecodeAll(must.Open(os.Open(path))(t)))(t)
	must.Not(t, len(g.Image) != 10 || g.Delay[0] != 4 || g.Config.Width != 644 || g.Config.Height != 320,
		"%d frames of %d × %d, delay %d", len(g.Image), g.Config.Width, g.Config.Height, g.Delay[0])
}
