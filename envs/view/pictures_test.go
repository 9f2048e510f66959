package view

import (
	"bytes"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/coder/websocket/wsjson"

	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// An environment that is no character is shown by pictures, and cannot be pushed.
func TestPictures(t *testing.T) {
	pole := must.Open(classic.NewCartPole(classic.Config{NumEnvs: 1}))(t)
	s := open(t, pole)
	must.Not(t, !s.scene.Pictures || s.scene.Step != 0.02 || len(s.scene.Shapes) != 0, "the scene is %+v", s.scene)
	before := s.ask(Request{Do: "pause"}).Picture
	must.Is(t, must.Get(png.Decode(bytes.NewReader(before)))(t).Bounds().Dx(), 300, "the picture")
	if f := s.ask(Request{Do: "step"}); bytes.Equal(f.Picture, before) || math.Abs(f.Time-0.02) > 1e-9 {
		t.Error("a step changes no picture")
	}
	must.Do(t, wsjson.Write(s.ctx, s.conn, Request{Do: "push"}))
	if _, _, err := s.conn.Read(s.ctx); err == nil || !strings.Contains(err.Error(), "no character") {
		t.Errorf("a push: %v", err)
	}
}

// A mesh that several shapes have is sent once.
func TestMeshesOnce(t *testing.T) {
	a, b := []float32{1, 2, 3}, []float32{1, 2, 3}
	shapes, meshes := shared([]mujoco.Shape{{Kind: "mesh", Vertices: a}, {Kind: "box"}, {Kind: "mesh", Vertices: b},
		{Kind: "mesh", Vertices: a}})
	must.Not(t, len(meshes) != 2 || *shapes[0].Mesh != 0 || shapes[1].Mesh != nil || *shapes[2].Mesh != 1 ||
		*shapes[3].Mesh != 0 || shapes[3].Vertices != nil, "%+v, %+v", shapes, meshes)
}
