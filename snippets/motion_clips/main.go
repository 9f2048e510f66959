// Command motion_clips reads reference motion, shows what is in it, and makes of it what an AMP agent imitates. Name
// clip files (DeepMimic, Isaac Lab, BVH, AMASS, MimicKit, CSV) on the command line; without any it makes the gait.
//
//	go run ./snippets/motion_clips humanoid3d_walk.txt
package main

import (
	"flag"
	"fmt"
	"log"
	"math/rand/v2"
	"os"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/motions"
	"github.com/gorl-dev/gorl/tracking"
)

func main() {
	samples := flag.Int("samples", 4, "moments shown of each clip")
	seed := flag.Int64("seed", 1, "seed of the moments drawn")
	flag.Parse()
	if err := run(flag.Args(), *samples, *seed); err != nil {
		log.Fatal(err)
	}
}

func run(paths []string, samples int, seed int64) error {
	clips, err := load(paths)
	if err != nil {
		return err
	}
	for _, clip := range clips {
		if err := show(clip, samples); err != nil {
			return err
		}
		source, err := discriminatorRows(clip)
		if err != nil {
			return err
		}
		rows, err := source.CollectReferenceMotions(8, rand.New(rand.NewPCG(uint64(seed), 0)))
		if err != nil {
			return err
		}
		fmt.Printf("8 rows of AMP observations: %d values each, the first begins with %.3f\n\n", len(rows)/8,
			rows[:min(4, len(rows))])
	}
	return nil
}

func load(paths []string) ([]*motions.Clip, error) {
	if len(paths) == 0 {
		clip, err := motions.Gait(motions.DefaultGaitConfig())
		return []*motions.Clip{clip}, err
	}
	var clips []*motions.Clip
	for _, path := range paths {
		clip, err := motions.Load(path) // the content decides the format
		if err != nil {
			return nil, err
		}
		clips = append(clips, clip)
	}
	return clips, nil
}

// show prints a clip, and the first values of positions at moments spread over it: between frames they are
// interpolated.
func show(clip *motions.Clip, samples int) error {
	known := "known columns"
	if clip.Raw() {
		known = "raw: give a description to LoadDeepMimicAs to name the columns"
	}
	fmt.Printf("%s: %d frames, %.3f s, loop %v, %d positions and %d velocities a frame (%s)\n",
		clip.Name(), clip.NumFrames(), clip.Duration(), clip.Loop(), clip.Width(), clip.VelocityWidth(), known)
	columns := clip.Description().Columns
	header := []string{"time"}
	for _, c := range columns[:min(6, len(columns))] {
		header = append(header, c.Name)
	}
	position, velocity := make([]float64, clip.Width()), make([]float64, clip.VelocityWidth())
	var rows [][]string
	for i := range samples {
		t := clip.Duration() * float64(i) / float64(samples)
		clip.At(t, position, velocity)
		row, at := []string{fmt.Sprintf("%.3f", t)}, 0
		for _, c := range columns[:len(header)-1] {
			cell := fmt.Sprintf("%.3f", position[at:at+c.Kind.Width()])
			row = append(row, cell[1:len(cell)-1])
			at += c.Kind.Width()
		}
		rows = append(rows, row)
	}
	return tracking.Table(os.Stdout, header, rows)
}

// discriminatorRows makes the source that amp.Options.Motions takes: rows of two consecutive moments, 0.02 s apart, of
// everything but the distance travelled. What an environment shows the discriminator must mean the same.
func discriminatorRows(clip *motions.Clip) (amp.MotionSource, error) {
	library, err := motions.NewLibrary(clip)
	if err != nil {
		return nil, err
	}
	return library.Source(motions.SourceConfig{History: 2, TimeStep: 0.02, Features: motions.StateFeatures(clip)})
}
