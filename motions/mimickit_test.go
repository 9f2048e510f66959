package motions

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// pickled writes a value as Python's pickle of protocol 4 does.
func pickled(v any) []byte {
	var put func(out []byte, v any) []byte
	put = func(out []byte, v any) []byte {
		switch v := v.(type) {
		case float64:
			return binary.BigEndian.AppendUint64(append(out, 'G'), math.Float64bits(v))
		case int:
			return append(out, 'K', byte(v))
		case string:
			return append(append(out, 0x8c, byte(len(v))), v...)
		case []float64:
			out = append(out, ']', '(')
			for _, x := range v {
				out = put(out, x)
			}
			return append(out, 'e')
		case [][]float64:
			out = append(out, ']', '(')
			for _, x := range v {
				out = put(out, x)
			}
			return append(out, 'e')
		case map[string]any:
			out = append(out, '}', '(')
			for k, x := range v {
				out = put(put(out, k), x)
			}
			return append(out, 'u')
		}
		panic(fmt.Sprintf("%T", v))
	}
	return append(put([]byte{0x80, 4}, v), '.')
}

func mimicKitFrames() [][]float64 {
	rng := rand.New(rand.NewPCG(7, 1))
	frames := make([][]float64, 3)
	for k := range frames {
		frames[k] = []float64{0.1 * float64(k), 0, 0.9}
		for range 31 {
			frames[k] = append(frames[k], 0.3*rng.NormFloat64())
		}
	}
	return frames
}

func TestMimicKit(t *testing.T) {
	frames := mimicKitFrames()
	data := pickled(map[string]any{"loop_mode": 1, "fps": 30, "frames": frames})
	c, err := ReadMimicKit(bytes.NewReader(data), "m", nil)
	if err != nil {
		t.Fatal(err)
	}
	if c.NumFrames() != 3 || c.Loop() != LoopWrap || math.Abs(c.Duration()-2./30) > 1e-12 || c.Skeleton() == nil {
		t.Fatalf("%d frames, %v, %g s", c.NumFrames(), c.Loop(), c.Duration())
	}
	f := c.Frame(1)
	for i, at := range []int{3, 6, 9, 12} { // root, abdomen, neck, right shoulder, each a map of three
		if off := quatOf(f[3+4*i:]).angleTo(exponential(frames[1][at:])); off > 1e-9 {
			t.Errorf("rotation %d is %g rad off", i, off)
		}
	}
	near(t, "right elbow", f[19:20], frames[1][15])
	// The same as hinges of another skeleton, and as nameless hinges.
	c, err = ReadMimicKit(bytes.NewReader(data), "m", HumanoidSkeleton())
	if err != nil {
		t.Fatal(err)
	}
	if off := hingeRotation(c.Frame(2)[13:]).angleTo(exponential(frames[2][12:])); off > 1e-9 {
		t.Errorf("shoulder: %g rad off", off)
	}
	seven := pickled(map[string]any{"loop_mode": 0, "fps": 30.0, "frames": [][]float64{{1, 2, 3, 0, 0, 0, 0.5}}})
	c, err = ReadMimicKit(bytes.NewReader(seven), "m", nil)
	if err != nil || fmt.Sprint(c.Joints(), c.Frame(0)) != "[joint_0] [1 2 3 1 0 0 0 0.5]" {
		t.Errorf("%v", err)
	}
	for want, v := range map[string]any{
		"the pickle is no dictionary":                                   frames,
		"fps must be a positive number, and is <nil>":                   map[string]any{"frames": frames},
		"fps must be a positive number, and is 0":                       map[string]any{"fps": 0, "frames": frames},
		"loop_mode must be 0 or 1, and is 2":                            map[string]any{"fps": 1, "loop_mode": 2, "frames": frames},
		"frames must be a list":                                         map[string]any{"fps": 1, "frames": 3},
		"frame 1 must be a list of numbers as long as frame 0":          map[string]any{"fps": 1, "frames": [][]float64{{1, 2, 3, 4, 5, 6}, {1, 2}}},
		"frame 0: value 2 is NaN":                                       map[string]any{"fps": 1, "frames": [][]float64{{1, 2, math.NaN(), 4, 5, 6}}},
		"MimicKit's pickle: torchfile: the file is damaged":             "",
		"MimicKit's pickle: torchfile: the file is refused: its pickle": nil,
	} {
		var data []byte
		switch v {
		case "":
			data = pickled(map[string]any{"fps": 1})[:4]
		case nil:
			data = []byte("\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R.")
		default:
			data = pickled(v)
		}
		if _, err := ReadMimicKit(bytes.NewReader(data), "bad", nil); err == nil || !strings.HasPrefix(err.Error(), "motions: bad: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if _, err := ReadMimicKit(bytes.NewReader(data), "bad", QuadrupedSkeleton()); err == nil || !strings.Contains(err.Error(), "frames have 34 numbers; those of the skeleton quadruped have 18") {
		t.Error(err)
	}
}

func FuzzReadMimicKit(f *testing.F) {
	f.Add(pickled(map[string]any{"loop_mode": 1, "fps": 30, "frames": mimicKitFrames()}))
	f.Add(pickled(map[string]any{"fps": 30.0, "frames": [][]float64{{1, 2, 3, 0, 0, 0, 0.5}}}))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := ReadMimicKit(bytes.NewReader(data), "fuzz", nil); err == nil {
			Check(c)
		}
	})
}

func ExampleReadMimicKit() {
	file := pickled(map[string]any{"fps": 30, "loop_mode": 0, "frames": [][]float64{{0, 0, 0.9, 0, 0, 0, 0.5}, {0.1, 0, 0.9, 0, 0, 0, 0.6}}})
	clip, err := ReadMimicKit(bytes.NewReader(file), "step", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(clip.NumFrames(), clip.Joints(), clip.Frame(1))
	// Output: 2 [joint_0] [0.1 0 0.9 1 0 0 0 0.6]
}
