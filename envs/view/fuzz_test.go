package view

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// FuzzMessages sends messages, one a line, to sessions of characters without clips, with commands and with clips. No
// message that is accepted ends a session, or leaves it with a frame that cannot be sent.
func FuzzMessages(f *testing.F) {
	for _, do := range []string{
		`{"do":"pause"}`, `{"do":"go"}`, `{"do":"step"}`, `{"do":"reset"}`, `{"do":"task"}`,
		`{"do":"rate","rate":0.05}`,
		`{"do":"push","impulse":[10000,-10000,10000]}`, `{"do":"command","direction":1e308,"speed":20}`,
		`{"do":"clip","clip":-1}`, `{"do":"clip","clip":1}`, `{"do":"clip","clip":9223372036854775807}`,
		`null`, `[]`, `{"do":null}`, `{"DO":"reset","clip":-1}`, `"step"`, `{"do":"step"`,
	} {
		f.Add([]byte(do + "\n" + do + "\n" + `{"do":"step"}`))
	}
	f.Add([]byte(strings.Repeat(`{"do":"push","impulse":[10000,10000,10000]}`+"\n", 8) + `{"do":"step"}`))
	var viewers []*Viewer
	for _, env := range []envs.Env{walker(f), humanoid(f, mujoco.Command), quadruped(f)} {
		v := must.Get(New(Config{Env: env, Act: zero(env)}))(f)
		viewers = append(viewers, v)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, v := range viewers {
			play(t, v, bytes.SplitN(text, []byte("\n"), 16))
		}
	})
}

// play sends messages to a session, with a control step after each.
func play(t *testing.T, v *Viewer, messages [][]byte) {
	s := &session{Viewer: v, frame: Frame{Rate: 1}, clip: -1}
	if v.clips != nil {
		must.Do(t, v.clips.SetClip(-1))
	}
	must.Do(t, s.reset(1))
	for _, text := range messages {
		r, err := v.parse(text)
		if err != nil {
			continue
		}
		for what, f := range []func() error{func() error { return s.serve(&r) }, s.show, s.advance, s.show} {
			if err := f(); err != nil {
				t.Fatalf("%T, call %d after %q: %v", v.cfg.Env, what, text, err)
			}
		}
		must.Not(t, s.interval() <= 0, "after %q a step takes %v", text, s.interval())
		if x := s.frame.Return; math.IsNaN(x) || math.IsInf(x, 0) {
			t.Fatalf("after %q the return is %g", text, x)
		}
	}
}

// quadruped has three clips.
func quadruped(t testing.TB) *mujoco.Character {
	t.Helper()
	return must.Open(mujoco.NewQuadruped(mujoco.CharacterConfig{EpisodeLength: 2}))(t)
}
