package catalog

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	of := func(path string) (*motions.Clip, error) {
		env, err := fromYAML(t, "{id: Walker, motion: "+path+"}")
		if err != nil {
			return nil, err
		}
		w, _ := envs.As[*mujoco.Walker](env)
		return w.Motion(), nil
	}
	gait := motions.Gait()
	frames := make([][]float64, gait.NumFrames())
	for k := range frames {
		frames[k] = append([]float64{1.25 * (gait.FrameTime(k+1) - gait.FrameTime(k))}, gait.Frame(k)...)
	}
	text := must.Get(json.Marshal(map[string]any{"Loop": "wrap", "Frames": frames}))(t)
	got := must.Get(of(write("slow.txt", string(text))))(t)
	if got.Name() != "slow" || got.NumFrames() != gait.NumFrames() || got.Loop() != motions.LoopWrap {
		t.Errorf("the motion is %v", got)
	}
	frame := func(x string) string {
		leg := "1,0,0,0, -0.2, 1,0,0,0, 1,0,0,0, 0"
		return "[0.5, " + x + ", 0.85, 0, 1,0,0,0, 1,0,0,0, 1,0,0,0, " + leg + ", " + leg + "]"
	}
	got = must.Get(of(write("human.txt", `{"Loop": "wrap", "Frames": [`+frame("0")+","+frame("0.5")+`]}`)))(t)
	if got.Width() != 9 || got.LoopTravel()[0] != 0.5 {
		t.Error("a humanoid's clip is not the walker's motion")
	}
	for want, text := range map[string]string{
		"has 2 numbers a frame beside the duration; the walker wants 9": `{"Loop": "wrap",
			"Frames": [[0.1, 1, 2], [0.1, 1, 2]]}`,
		"not DeepMimic's humanoid": `{"LoopMode": "Wrap", "FrameDuration": 0.1, "Frames": [[0,0,0,0,0,0,1` +
			strings.Repeat(",0", 12) + `]]}`,
	} {
		must.Refused(of(write("bad.txt", text)))(t, want, "bad.txt")
	}
}

func TestReadMotions(t *testing.T) {
	dir := t.TempDir()
	write := func(name string, write func(f *os.File) error) string {
		t.Helper()
		f, err := os.Create(filepath.Join(dir, name))
		if err == nil {
			err = errors.Join(write(f), f.Close())
		}
		must.Do(t, err)
		return f.Name()
	}
	archive := func(arrays ...*npz.Array) string {
		name := fmt.Sprint(len(arrays), rand.Uint64(), ".npz")
		return write(name, func(f *os.File) error { return npz.Write(f, arrays...) })
	}
	want, one := []float32{1, 2, 3, 4, 5, 6}, []int64{1}
	rows, width, err := readMotions(archive(npz.New(motionsArray, want, 3, 2), npz.New("other", one, 1)))
	if err != nil || width != 2 || !slices.Equal(rows, want) {
		t.Errorf("%v of width %d, %v", rows, width, err)
	}
	nan := float32(math.NaN())
	for words, path := range map[string]string{
		"no such file":              filepath.Join(dir, "none"),
		"empty":                     write("empty", func(*os.File) error { return nil }),
		"shape [6]":                 archive(npz.New(motionsArray, want, 6)),
		"row 0 has NaN in column 1": archive(npz.New(motionsArray, []float32{1, nan}, 1, 2)),
		"it has the arrays [a, b]":  archive(npz.New("a", one, 1), npz.New("b", one, 1)),
		"holds no numbers":          archive(npz.NewString("a", []string{"b"}, 1, 1)),
	} {
		_, _, err := readMotions(path)
		must.Refuse(t, err, words)
	}
	m := &imitating{rows: want, width: 2}
	drawn := must.Get(m.CollectReferenceMotions(50, rand.New(rand.NewPCG(1, 1))))(t)
	must.Is(t, len(drawn), 100, "numbers")
	seen := map[[2]float32]bool{}
	for row := range slices.Chunk(drawn, 2) {
		seen[[2]float32(row)] = true
	}
	if len(seen) != 3 || !seen[[2]float32{1, 2}] || !seen[[2]float32{3, 4}] {
		t.Errorf("the rows drawn are %v", seen)
	}
	must.Refused(m.CollectReferenceMotions(0, nil))(t, "")
}
