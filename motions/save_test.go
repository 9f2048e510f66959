package motions

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/npz"
)

// A saved clip is the clip, to float32.
func TestSave(t *testing.T) {
	walk := stroll(t, 40)
	trot, err := Trot(TrotConfig{Speed: 1})
	if err != nil {
		t.Fatal(err)
	}
	closed, err := NewClip(ClipConfig{Name: "closed", Loop: LoopWrap, Skeleton: QuadrupedSkeleton(), Frames: trot.rows()[:20], Durations: trot.durations()[:20]})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []*Clip{walk, trot, closed} {
		var file bytes.Buffer
		if err := c.Save(&file, "who made it"); err != nil {
			t.Fatal(err)
		}
		back, err := load(file.Bytes(), c.Name(), c.Name())
		if err != nil {
			t.Fatal(err)
		}
		sameMotion(t, back, c, 1e-6)
		if back.Loop() != c.Loop() || back.Skeleton().Name != c.Skeleton().Name {
			t.Errorf("%s: %v, %s", c.Name(), back.Loop(), back.Skeleton().Name)
		}
	}
	uneven, err := NewClip(ClipConfig{Skeleton: QuadrupedSkeleton(), Frames: trot.rows()[:3], Durations: []float64{.1, .2, 0}})
	if err != nil {
		t.Fatal(err)
	}
	for want, c := range map[string]*Clip{"evenly apart": uneven, "only clips on HumanoidSkeleton": spin(t, LoopNone)} {
		if err := c.Save(&bytes.Buffer{}, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	good := map[string]*npz.Array{"qpos": npz.New("qpos", make([]float32, 19), 1, 19), "fps": npz.New("fps", []float64{30}), "duration": npz.New("duration", []float64{1}),
		"loop": npz.NewString("loop", []string{"wrap"}), "skeleton": npz.NewString("skeleton", []string{"quadruped"})}
	for want, change := range map[string]*npz.Array{
		"missing array joints":                npz.New("other", []float64{1}),
		"skeleton must be a word":             npz.New("skeleton", []float64{1}),
		`the skeleton "dog" is not known`:     npz.NewString("skeleton", []string{"dog"}),
		"qpos has shape [19], want":           npz.New("qpos", make([]float32, 19), 19),
		"the joints are [a]; the skeleton":    npz.NewString("joints", []string{"a"}, 1),
		"fps must be positive":                npz.New("fps", []float64{0}),
		`loop is "circle"; want none or wrap`: npz.NewString("loop", []string{"circle"}),
	} {
		var joints []string
		for _, j := range QuadrupedSkeleton().Joints() {
			joints = append(joints, j.Name)
		}
		arrays := []*npz.Array{change}
		for name, a := range good {
			if name != change.Name {
				arrays = append(arrays, a)
			}
		}
		if change.Name != "joints" && change.Name != "other" {
			arrays = append(arrays, npz.NewString("joints", joints, 12))
		}
		if _, err := load(npzOf(t, arrays...), "bad", "bad"); err == nil || !strings.HasPrefix(err.Error(), "motions: bad: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
