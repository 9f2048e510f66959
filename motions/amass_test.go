package motions

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/npz"
)

// amassFile is a person who stands upright, turned left by a quarter, with the left knee bent by 1 rad.
func amassFile(t testing.TB) []*npz.Array {
	t.Helper()
	const n = 4
	poses, trans := make([]float64, n*156), make([]float64, n*3)
	for k := range n {
		// y up becomes z up, then half a turn about z (SMPL faces −y then), to face y: a quarter left of x.
		up := turnAbout([3]float64{0, 0, 1}, math.Pi).mul(turnAbout([3]float64{1, 0, 0}, math.Pi/2))
		v := logarithm(up)
		copy(poses[k*156:], v[:])
		poses[k*156+3*4] = 1 // left knee, about SMPL's x: the shin goes back
		trans[3*k+1], trans[3*k+2] = 0.1*float64(k), 0.9
	}
	return []*npz.Array{npz.New("poses", poses, n, 156), npz.New("trans", trans, n, 3), npz.New("mocap_framerate", []float64{120}),
		npz.NewBytes("gender", "|S6", []byte("female")), npz.New("betas", make([]float64, 16), 16)}
}

func TestAMASS(t *testing.T) {
	data := npzOf(t, amassFile(t)...)
	c, err := ReadAMASS(bytes.NewReader(data), int64(len(data)), "person")
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(c.Duration()-3./120) > 1e-9 || len(c.Joints()) != 21 {
		t.Fatalf("%g s, %v", c.Duration(), c.Joints())
	}
	s := c.Skeleton()
	positions := make([]float64, 3*len(s.Bodies))
	s.Forward(c.Frame(1), positions, nil)
	for name, want := range map[string][3]float64{
		"pelvis": {0, 0.1, 0.9}, "head": {0, 0.1, 0.9 + .118 + .118 + .05 + .174 + .09}, "left_wrist": {-(.06 + .123 + .2748 + .2589), 0.1 - .024, 0.9 + .286 + .193},
		"left_ankle":  {-.085, 0.1 - .4099*math.Sin(1), 0.9 - .4215 - .4099*math.Cos(1)}, // behind
		"right_ankle": {.085, 0.1, 0.9 - .4215 - .4099}, "right_foot": {.085, 0.1 + .09, 0.9 - .4215 - .4099 - .035},
	} {
		i := s.Body(name)
		near(t, name, positions[3*i:3*i+3], want[:]...)
	}
	for want, change := range map[string]func([]*npz.Array) []*npz.Array{
		"missing array trans": func(a []*npz.Array) []*npz.Array { return append(a[:1:1], a[2:]...) },
		"poses has shape [4 3]": func(a []*npz.Array) []*npz.Array {
			a[0] = npz.New("poses", make([]float64, 12), 4, 3)
			return a
		},
		"trans has shape [3 3], want [4 3]": func(a []*npz.Array) []*npz.Array {
			a[1] = npz.New("trans", make([]float64, 9), 3, 3)
			return a
		},
		"there is no mocap_framerate": func(a []*npz.Array) []*npz.Array { return append(a[:2:2], a[3:]...) },
		"mocap_framerate must be positive": func(a []*npz.Array) []*npz.Array {
			a[2] = npz.New("mocap_framerate", []float64{-1})
			return a
		},
		"frame 0: value 7 of poses and trans is +Inf": func(a []*npz.Array) []*npz.Array {
			v, _ := a[0].Float64s()
			v[7] = math.Inf(1)
			a[0] = npz.New("poses", v, 4, 156)
			return a
		},
	} {
		data := npzOf(t, change(amassFile(t))...)
		if _, err := ReadAMASS(bytes.NewReader(data), int64(len(data)), "bad"); err == nil || !strings.HasPrefix(err.Error(), "motions: bad: "+want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	// What Python would have to run is refused.
	header := "{'descr': '|O', 'fortran_order': False, 'shape': (), }\n"
	object := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), 0)
	object = append(append(object, header...), "\x80\x04."...)
	if _, err := ReadAMASS(bytes.NewReader(object), int64(len(object)), "objects"); err == nil || !strings.Contains(err.Error(), "Python objects") {
		t.Errorf("%v", err)
	}
}

func FuzzReadAMASS(f *testing.F) {
	f.Add(npzOf(f, amassFile(f)...))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := ReadAMASS(bytes.NewReader(data), int64(len(data)), "fuzz"); err == nil {
			Check(c)
		}
	})
}

func ExampleReadAMASS() {
	const frames = 2
	var file bytes.Buffer
	if err := npz.Write(&file, npz.New("poses", make([]float64, frames*156), frames, 156), npz.New("trans", []float64{0, 0, 0.9, 0.1, 0, 0.9}, frames, 3),
		npz.New("mocap_framerate", []float64{120})); err != nil {
		fmt.Println(err)
		return
	}
	clip, err := ReadAMASS(bytes.NewReader(file.Bytes()), int64(file.Len()), "person")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d frames, %d joints, %.1f m/s\n", clip.NumFrames(), len(clip.Joints()), clip.FrameVelocity(0)[0])
	// Output: 2 frames, 21 joints, 12.0 m/s
}
