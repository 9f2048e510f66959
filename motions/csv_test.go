package motions

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestCSV(t *testing.T) {
	text := "0,0,0.8,0,0,0.6,0.8,0.1\n0.1,0,0.8,0,0,0.6,0.8,0.2\r\n"
	c, err := ReadCSV(strings.NewReader(text), "rows", CSVConfig{})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "frame", c.Frame(1), 0.1, 0, 0.8, 0.8, 0, 0, 0.6, 0.2)
	if math.Abs(c.Duration()-1./30) > 1e-12 || fmt.Sprint(c.Joints()) != "[joint_0]" {
		t.Error(c.Duration(), c.Joints())
	}
	c, err = ReadCSV(strings.NewReader("x, y, z, qw, qx, qy, qz, knee\n"+text), "rows", CSVConfig{Rate: 50, WFirst: true})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "w first", c.Frame(0), 0, 0, 0.8, 0, 0, 0.6, 0.8, 0.1)
	if math.Abs(c.Duration()-1./50) > 1e-12 || fmt.Sprint(c.Joints()) != "[knee]" {
		t.Error(c.Duration(), c.Joints())
	}
	one := &Skeleton{Name: "one", Bodies: []Body{{Name: "a", Parent: -1}, {Name: "b", Parent: 0, Joints: []Joint{{Name: "knee", Kind: Hinge, Axis: [3]float64{0, 1, 0}}}}}}
	c, err = ReadCSV(strings.NewReader(text), "rows", CSVConfig{Skeleton: one, Loop: LoopWrap})
	if err != nil || c.Skeleton().Name != "one" || c.Loop() != LoopWrap {
		t.Fatal(err)
	}
	near(t, "on a skeleton", c.Frame(0), 0, 0, 0.8, 0.8, 0, 0, 0.6, 0.1)
	for _, x := range []struct {
		text, want string
		cfg        CSVConfig
	}{
		{"", "there are no rows of numbers", CSVConfig{}},
		{"a,b\nc,d\n", `line 2: column 1 is "c"`, CSVConfig{}},
		{"1,2,3\n", "line 1: it has 3 columns; want the root's position", CSVConfig{}},
		{text + "\n\n1,2,3,4,5,6,7\n", "line 5: it has 7 columns, the first row 8", CSVConfig{}},
		{"h\n" + text, "line 2: it has 8 columns, the header 1", CSVConfig{}},
		{strings.Replace(text, "0.2", "NaN", 1), `line 2: column 8 is "NaN"`, CSVConfig{}},
		{strings.Replace(text, "0.6,0.8,0.2", "0,0,0.2", 1), "frame 1: root_rotation is a zero quaternion", CSVConfig{}},
		{text, "CSVConfig.Rate must be positive", CSVConfig{Rate: -1}},
		{text, "there are 8 columns; the skeleton humanoid has 35 positions", CSVConfig{Skeleton: HumanoidSkeleton()}},
		{"1,\"2\n", "", CSVConfig{}},
	} {
		if _, err := ReadCSV(strings.NewReader(x.text), "bad", x.cfg); err == nil || !strings.HasPrefix(err.Error(), "motions: bad: "+x.want) {
			t.Errorf("%v, want %s", err, x.want)
		}
	}
}

func FuzzReadCSV(f *testing.F) {
	f.Add([]byte("0,0,0.8,0,0,0.6,0.8,0.1\n0.1,0,0.8,0,0,0.6,0.8,0.2\r\n"))
	f.Add([]byte("a,b,c,d,e,f,g\n1,2,3,4,5,6,7\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := ReadCSV(bytes.NewReader(data), "fuzz", CSVConfig{}); err == nil {
			Check(c)
		}
	})
}

func ExampleReadCSV() {
	clip, err := ReadCSV(strings.NewReader("0,0,0.8,0,0,0,1,0.1\n0.1,0,0.8,0,0,0,1,0.2\n"), "rows", CSVConfig{Rate: 50})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(clip.Joints(), clip.Duration(), clip.Frame(1))
	// Output: [joint_0] 0.02 [0.1 0 0.8 1 0 0 0 0.2]
}
