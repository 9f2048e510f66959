package view

import (
	"bytes"
	"image/png"
	"math"
	"strings"
	"testing"

	"github.com/coder/websocket/wsjson"

	"github.com/gorl-dev/gorl/envs/classic"
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
