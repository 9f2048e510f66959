package wrappers_test

import (
	"bufio"
	"encoding/json"
	"image"
	"image/color"
	"image/gif"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/wrappers"
)

// line is what a line of episode-N.jsonl must hold.
type line struct {
	Step            int       `json:"step"`
	Observation     []float32 `json:"observation"`
	State           []float32 `json:"state"`
	Action          []float32 `json:"action"`
	Reward          float32   `json:"reward"`
	NextObservation []float32 `json:"next_observation"`
	NextState       []float32 `json:"next_state"`
	AMPObservation  []float32 `json:"amp_observation"`
	Terminated      bool      `json:"terminated"`
	Truncated       bool      `json:"truncated"`
}

func readLines(t *testing.T, path string) []line {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []line
	for s := bufio.NewScanner(f); s.Scan(); {
		var l line
		d := json.NewDecoder(strings.NewReader(s.Text()))
		d.DisallowUnknownFields()
		if err := d.Decode(&l); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		out = append(out, l)
	}
	return out
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Name())
	}
	return out
}

func TestRecordTransitions(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "runs")
	// Environment 1 of 3, whose episodes last 3 steps.
	env, err := wrappers.NewRecord(probes(t, 3, wrappers.ParallelOptions{Workers: 2}, nil), wrappers.RecordOptions{Dir: dir, Env: 1, Transitions: true})
	if err != nil {
		t.Fatal(err)
	}
	must(t)(env.Reset(0))
	for k := range 7 {
		must(t)(env.Step([]float32{9, 9, float32(k), -1, 9, 9}))
	}
	if err := env.Close(); err != nil {
		t.Fatal(err)
	}
	want := []string{"episode-000000.jsonl", "episode-000001.jsonl", "episode-000002.jsonl"}
	if d := cmp.Diff(want, names(t, dir)); d != "" {
		t.Fatal(d)
	}
	k := 0
	for episode, name := range want {
		lines := readLines(t, filepath.Join(dir, name))
		if wantLines := []int{3, 3, 1}[episode]; len(lines) != wantLines {
			t.Fatalf("%s has %d lines, want %d", name, len(lines), wantLines)
		}
		for i, l := range lines {
			number := []float32{float32(episode + 1)}
			random, nextRandom := l.Observation[2], l.NextObservation[2]
			if d := cmp.Diff(line{
				Step: i + 1, Observation: []float32{1, float32(i), random}, State: number, Action: []float32{float32(k), -1}, Reward: float32(k),
				NextObservation: []float32{1, float32(i + 1), nextRandom}, NextState: number, AMPObservation: []float32{float32(10 * (i + 1))}, Terminated: i == 2,
			}, l); d != "" {
				t.Errorf("%s, line %d: %s", name, i, d)
			}
			if i > 0 && !slices.Equal(l.Observation, lines[i-1].NextObservation) {
				t.Errorf("%s: line %d begins with %v, the one before ends with %v", name, i, l.Observation, lines[i-1].NextObservation)
			}
			k++
		}
	}
}

func TestRecordGIF(t *testing.T) {
	dir := t.TempDir()
	pendulum, err := classic.NewPendulum(classic.Config{NumEnvs: 2, MaxEpisodeSteps: 6})
	if err != nil {
		t.Fatal(err)
	}
	scaled, err := wrappers.NewRewardScale(pendulum, 2) // the renderer is found through wrappers
	if err != nil {
		t.Fatal(err)
	}
	env, err := wrappers.NewRecord(scaled, wrappers.RecordOptions{Dir: dir, GIF: true, Transitions: true, Every: 2, MaxSteps: 4, FPS: 20})
	if err != nil {
		t.Fatal(err)
	}
	must(t)(env.Reset(0))
	for range 24 { // four episodes, of which 0 and 2 are recorded
		must(t)(env.Step([]float32{2, 0}))
	}
	must(t)(env.Reset(-1))
	if err := env.Close(); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"episode-000000.gif", "episode-000000.jsonl", "episode-000001.gif", "episode-000001.jsonl"}, names(t, dir)); d != "" {
		t.Fatal(d)
	}
	if lines := readLines(t, filepath.Join(dir, "episode-000001.jsonl")); len(lines) != 4 {
		t.Errorf("%d lines, want the first 4", len(lines))
	}
	g := readGIF(t, filepath.Join(dir, "episode-000001.gif"))
	if len(g.Image) != 5 || g.Delay[0] != 5 || g.Config.Width != 200 {
		t.Errorf("%d pictures of width %d with delays %v", len(g.Image), g.Config.Width, g.Delay)
	}
	if slices.Equal(g.Image[0].Pix, g.Image[4].Pix) {
		t.Error("nothing moves")
	}
}

func readGIF(t *testing.T, path string) *gif.GIF {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	g, err := gif.DecodeAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// painted is a spy with a picture.
type painted struct {
	spy
	image image.Image
}

func (p *painted) Render(int) (image.Image, error) { return p.image, nil }

func TestRecordKeepsColours(t *testing.T) {
	few := image.NewRGBA(image.Rect(5, 5, 15, 15)) // 100 colours, and a corner that is not (0, 0)
	many := image.NewRGBA(image.Rect(0, 0, 40, 40))
	rng := rand.New(rand.NewPCG(1, 1))
	for _, img := range []*image.RGBA{few, many} {
		for i := range img.Pix {
			img.Pix[i] = byte(rng.UintN(256))
			if i%4 == 3 {
				img.Pix[i] = 255
			}
		}
	}
	indexed := image.NewPaletted(image.Rect(0, 0, 4, 4), color.Palette{color.Black, color.RGBA{1, 2, 3, 255}})
	indexed.Pix[5] = 1
	for name, img := range map[string]image.Image{"few": few, "many": many, "indexed": indexed, "part": indexed.SubImage(image.Rect(1, 1, 3, 3))} {
		dir := t.TempDir()
		env, err := wrappers.NewRecord(&painted{image: img}, wrappers.RecordOptions{Dir: dir, GIF: true})
		if err != nil {
			t.Fatal(err)
		}
		must(t)(env.Reset(0))
		must(t)(env.Step([]float32{0, 0}))
		if err := env.Close(); err != nil {
			t.Fatal(err)
		}
		got := readGIF(t, filepath.Join(dir, "episode-000000.gif")).Image[0]
		if got.Bounds().Size() != img.Bounds().Size() || got.Bounds().Min != (image.Point{}) {
			t.Errorf("%s: bounds are %v", name, got.Bounds())
			continue
		}
		tolerance := 0
		if name == "many" {
			tolerance = 64 // the nearest of 256 colours
		}
		for y := range got.Bounds().Dy() {
			for x := range got.Bounds().Dx() {
				a := color.RGBAModel.Convert(got.At(x, y)).(color.RGBA)
				b := color.RGBAModel.Convert(img.At(img.Bounds().Min.X+x, img.Bounds().Min.Y+y)).(color.RGBA)
				for _, d := range []int{int(a.R) - int(b.R), int(a.G) - int(b.G), int(a.B) - int(b.B)} {
					if max(d, -d) > tolerance {
						t.Fatalf("%s: pixel %d, %d is %v, want %v", name, x, y, a, b)
					}
				}
			}
		}
	}
}

func TestRecordGoesOnNumbering(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"episode-000007.gif", "episode-x.gif", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	env, err := wrappers.NewRecord(probes(t, 1, wrappers.ParallelOptions{}, nil), wrappers.RecordOptions{Dir: dir, Transitions: true})
	if err != nil {
		t.Fatal(err)
	}
	must(t)(env.Reset(0))
	must(t)(env.Step([]float32{0, 0}))
	must(t)(env.Reset(0)) // writes the episode it interrupts
	if got := names(t, dir); !slices.Contains(got, "episode-000008.jsonl") || len(got) != 4 {
		t.Errorf("files are %v", got)
	}
}

func TestRecordReportsWhatItCannotWrite(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	env, err := wrappers.NewRecord(probes(t, 1, wrappers.ParallelOptions{}, nil), wrappers.RecordOptions{Dir: dir, Transitions: true})
	if err != nil {
		t.Fatal(err)
	}
	must(t)(env.Reset(0))
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	must(t)(env.Step([]float32{0, 0}))
	if _, err := env.Step([]float32{0, 0}); err == nil || !strings.HasPrefix(err.Error(), "wrappers: recording: ") {
		t.Errorf("error %v", err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := wrappers.NewRecord(probes(t, 1, wrappers.ParallelOptions{}, nil), wrappers.RecordOptions{Dir: file, Transitions: true}); err == nil {
		t.Error("a file was taken for a folder")
	}
}

func TestRecordAndState(t *testing.T) {
	dir := t.TempDir()
	env, err := wrappers.NewRecord(probes(t, 1, wrappers.ParallelOptions{}, nil), wrappers.RecordOptions{Dir: dir, Transitions: true})
	if err != nil {
		t.Fatal(err)
	}
	must(t)(env.Reset(0))
	s, ok := envs.As[envs.Stateful](env)
	if !ok {
		t.Fatal("not stateful")
	}
	must(t)(env.Step([]float32{0, 0}))
	state, err := s.MarshalState()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.RestoreState(state); err != nil {
		t.Fatal(err)
	}
	for range 3 { // the rest of the restored episode, then one of two steps
		must(t)(env.Step([]float32{0, 0}))
	}
	if d := cmp.Diff([]string{"episode-000000.jsonl"}, names(t, dir)); d != "" {
		t.Fatal(d)
	}
	if lines := readLines(t, filepath.Join(dir, "episode-000000.jsonl")); len(lines) != 2 || lines[0].Observation[1] != 0 {
		t.Errorf("recorded %+v", lines)
	}
}
