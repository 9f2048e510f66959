package motions

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

func ExampleLoad() {
	clip, err := Load("testdata/hop.txt")
	fmt.Println(clip.Name(), clip.NumFrames(), clip.Width(), clip.Loop(), err)
	// Output: hop 4 2 none <nil>
}

func ExampleBuiltin() {
	walk, err := Builtin("humanoid_walk")
	fmt.Printf("%d frames, %.2f s, %.2f m, %v\n", walk.NumFrames(), walk.Duration(), walk.LoopTravel()[0], err)
	// Output: 32 frames, 1.03 s, 1.58 m, <nil>
}

func ExampleNewClip() {
	clip, err := NewClip(ClipConfig{
		Name: "nod", Loop: LoopWrap,
		Frames:      [][]float64{{0, 0.0}, {0.1, 0.4}, {0.2, 0.0}},
		Durations:   []float64{0.5, 0.5, 0},
		Description: &Description{Columns: []Column{{Name: "x", Kind: Travel}, {Name: "neck", Kind: Hinge}}},
	})
	if err != nil {
		panic(err)
	}
	pos := make([]float64, clip.Width())
	clip.At(2.25, pos, nil)
	fmt.Printf("x %.2f m, neck %.2f rad\n", pos[0], pos[1])
	// Output: x 0.45 m, neck 0.20 rad
}

func ExampleCheck() {
	clip, err := NewClip(ClipConfig{
		Name: "nod", Durations: []float64{.1, .1, .1, .1, .1, .1, .1, 0},
		Frames:      [][]float64{{0}, {0}, {0.2}, {0.2}, {0.4}, {0.4}, {0.6}, {0.6}},
		Description: &Description{Columns: []Column{{Name: "neck", Kind: Hinge}}},
	})
	if err != nil {
		panic(err)
	}
	for _, f := range Check(clip).Faults {
		fmt.Println(f.Kind, strings.Fields(f.Text)[:6])
	}
	// Output: doubled frames [only one frame in 2 moves;]
}

func ExampleLoadDeepMimic() {
	description := &Description{Columns: []Column{{Name: "hip", Kind: Hinge}, {Name: "height", Kind: Linear}}}
	clip, err := LoadDeepMimic("testdata/hop.txt", description)
	fmt.Println(clip.Raw(), clip.Frame(1), err)
	// Output: false [0.6 -1] <nil>
}

func ExampleNewSource() {
	walk := Gait()
	source, err := NewSource(SourceConfig{History: 2, TimeStep: 0.02, Features: StateFeatures(walk)}, walk)
	if err != nil {
		panic(err)
	}
	rows, err := source.CollectReferenceMotions(512, rand.New(rand.NewPCG(1, 2)))
	fmt.Println(source.Width(), len(rows), err)
	// Output: 34 17408 <nil>
}

func ExampleClip_Retarget() {
	walk, err := Builtin("humanoid_walk")
	if err != nil {
		panic(err)
	}
	child := HumanoidSkeleton() // any skeleton, for example mujoco.LoadSkeleton's of a robot
	for i := range child.Bodies {
		for k := range 3 {
			child.Bodies[i].Offset[k] *= 0.6
		}
	}
	small, err := walk.Retarget(child, RetargetConfig{})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.1f m instead of %.1f m, faults: %d\n", small.LoopTravel()[0], walk.LoopTravel()[0],
		len(Check(small).Faults))
	// Output: 1.0 m instead of 1.6 m, faults: 0
}
