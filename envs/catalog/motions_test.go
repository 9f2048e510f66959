package catalog

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/npz"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/motions"
)

// A clip in a file is the reference motion of the walker: its own nine columns, or what lies in the plane of a
// humanoid's.
func TestWalkerMotion(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		must.Do(t, os.WriteFile(path, []byte(text), 0o644))
		return path
	}
	of := func(path string) *motions.Clip {
		w, _ := envs.As[*mujoco.Walker](opened(t, "{id: Walker, motion: "+path+"}"))
		return w.Motion()
	}
	const leg = ", 1,0,0,0, -0.2, 1,0,0,0, 1,0,0,0, 0"
	gait := motions.Gait()
	frames := make([][]float64, gait.NumFrames())
	for k := range frames {
		frames[k] = append([]float64{1.25 * (gait.FrameTime(k+1) - gait.FrameTime(k))}, gait.Frame(k)...)
	}
	text := must.Get(json.Marshal(map[string]any{"Loop": "wrap", "Frames": frames}))(t)
	got := of(write("slow.txt", string(text)))
	must.Not(t, got.Name() != "slow" || got.NumFrames() != gait.NumFrames() || got.Loop() != motions.LoopWrap,
		"the motion is %v", got)
	const legs = ", 0.85, 0, 1,0,0,0, 1,0,0,0, 1,0,0,0" + leg + leg + "]"
	got = of(write("human.txt", `{"Loop": "wrap", "Frames": [[0.5, 0`+legs+", [0.5, 0.5"+legs+"]}"))
	must.Not(t, got.Width() != 9 || got.LoopTravel()[0] != 0.5, "a humanoid's clip is not the walker's motion")
	bad := write("bad.txt", `{"Loop": "wrap", "Frames": [[0.1, 1, 2], [0.1, 1, 2]]}`)
	must.Refused(fromYAML(t, "{id: Walker, motion: "+bad+"}"))(t,
		"has 2 numbers a frame beside the duration; the walker wants 9", "bad.txt")
}

func TestReadMotions(t *testing.T) {
	dir := t.TempDir()
	archive := func(arrays ...*npz.Array) string {
		f := must.Get(os.CreateTemp(dir, "*.npz"))(t)
		must.Do(t, errors.Join(npz.Write(f, arrays...), f.Close()))
		return f.Name()
	}
	want, one := []float32{1, 2, 3, 4, 5, 6}, []int64{1}
	rows, width, err := readMotions(archive(npz.New(motionsArray, want, 3, 2), npz.New("other", one, 1)))
	if err != nil || width != 2 || !slices.Equal(rows, want) {
		t.Errorf("%v of width %d, %v", rows, width, err)
	}
	nan := float32(math.NaN())
	for words, path := range map[string]string{
		"no such file":              filepath.Join(dir, "none"),
		"shape [6]":                 archive(npz.New(motionsArray, want, 6)),
		"row 0 has NaN in column 1": archive(npz.New(motionsArray, []float32{1, nan}, 1, 2)),
		"it has the arrays [a, b]":  archive(npz.New("a", one, 1), npz.New("b", one, 1)),
	} {
		_, _, err := readMotions(path)
		must.Refuse(t, err, words)
	}
	m := &imitating{rows: want, width: 2}
	drawn := must.Get(m.CollectReferenceMotions(50, rand.New(rand.NewPCG(1, 1))))(t)
	seen := map[[2]float32]bool{}
	for row := range slices.Chunk(drawn, 2) {
		seen[[2]float32(row)] = true
	}
	must.Match(t, map[[2]float32]bool{{1, 2}: true, {3, 4}: true, {5, 6}: true}, seen, "the rows drawn")
}
