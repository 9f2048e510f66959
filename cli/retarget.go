package cli

import (
	"fmt"
	"image"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/envs/film"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/motions"
)

func retargetCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "retarget CLIP",
		Short: "carry a clip over to a robot",
		Long: `
Carries CLIP, a file in any format or humanoid_walk or humanoid_run, over to the
robot of an MJCF file, and prints what is wrong with the clip before and after.

--propose prints pairs of bodies with equal names as YAML. Correct them, and give the
file with --mapping. A clip of the robot itself is only converted; with --mapping its
feet, limits and contacts are repaired, too. The formats mjlab, isaaclab and mimickit
are for mjlab's tracking task, Isaac Lab's AMP task and MimicKit.`,
		Example: `
gorl retarget humanoid_walk --model g1.xml --propose > map.yaml
gorl retarget humanoid_walk --model g1.xml --mapping map.yaml --out walk.npz --image walk.png
gorl retarget walk.npz --model g1.xml --out tracked.npz --format mjlab --seconds 20`,
		Args: commandline.Arguments(1, 1, "a clip"),
	}
	var o retargeting
	c.Flags().StringVarP(&o.model, "model", "m", "", "the robot's MJCF `file`")
	c.Flags().StringVarP(&o.out, "out", "o", "", "`file` to write")
	c.Flags().StringVar(&o.mapping, "mapping", "", "YAML `file` of pairs of bodies")
	c.Flags().BoolVar(&o.propose, "propose", false, "print the pairs of bodies, and do nothing else")
	c.Flags().StringVar(&o.image, "image", "", "PNG `file` to write")
	format := commandline.Choice(c, "format", "gorl", "`format` of OUT: gorl, mjlab, isaaclab or mimickit", "gorl",
		"mjlab", "isaaclab", "mimickit")
	c.Flags().Float64Var(&o.export.Rate, "rate", 50, "frames a second, for formats of others")
	c.Flags().Float64Var(&o.export.Seconds, "seconds", 0,
		"length, for formats of others; clips that wrap go on (default: the clip's)")
	c.Flags().StringVar(&o.credit, "credit", "", "`text` on the motion's origin, for gorl's format")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		o.export.Format = *format
		return o.run(cmd.OutOrStdout(), args[0])
	}
	return c
}

// retargeting are the command's flags.
type retargeting struct {
	model, out, mapping, image, credit string
	propose                            bool
	export                             motions.ExportConfig
}

func (o *retargeting) run(w io.Writer, path string) error {
	if o.model == "" {
		return commandline.Usagef("--model is missing: want the robot's MJCF file")
	}
	var bodies map[string]string
	if o.mapping != "" {
		text, err := os.ReadFile(o.mapping)
		if err != nil {
			return err
		}
		if err := yaml.Unmarshal(text, &bodies); err != nil || len(bodies) == 0 {
			return fmt.Errorf("%s: want lines \"body of the robot: body of the clip\": %w", o.mapping, err)
		}
	}
	clip, err := motions.Builtin(path)
	if err != nil {
		if clip, err = motions.Load(path); err != nil {
			return err
		}
	}
	if o.propose {
		return o.print(w, clip)
	}
	result, err := catalog.Retarget(clip, o.model, bodies)
	if err != nil {
		return err
	}
	for _, c := range []*motions.Clip{clip, result} {
		r := motions.Check(c)
		r.Repairs = nil
		if c == result {
			r.Repairs = result.Repairs()[len(clip.Repairs()):]
		}
		fmt.Fprintf(w, "%s, %s\n", r.Name, map[bool]string{true: "retargeted", false: "the clip"}[c == result])
		if err := r.Write(w); err != nil {
			return err
		}
	}
	if o.image != "" {
		if err := o.draw(clip, result); err != nil {
			return err
		}
	}
	if o.out == "" {
		return nil
	}
	return durable.WriteFile(o.out, func(w io.Writer) error {
		if o.export.Format == "gorl" {
			return result.Save(w, o.credit)
		}
		return result.Export(w, o.export)
	})
}

// print prints the proposed pairs in the order of the robot's bodies.
func (o *retargeting) print(w io.Writer, clip *motions.Clip) error {
	target, err := mujoco.LoadSkeleton(o.model)
	if err != nil {
		return err
	}
	source := clip.Skeleton()
	if source == nil {
		human, err := motions.Humanoid(clip)
		if err != nil {
			return err
		}
		source = human.Skeleton()
	}
	pairs, err := motions.ProposeBodies(source, target)
	if err != nil {
		return err
	}
	for _, b := range target.Bodies {
		if from, ok := pairs[b.Name]; ok {
			fmt.Fprintf(w, "%s: %s\n", b.Name, from)
		}
	}
	return nil
}

// moments is the number of pictures of each clip.
const moments = 6

// draw writes a picture of both clips at the same moments.
func (o *retargeting) draw(clip, result *motions.Clip) error {
	if human, err := motions.Humanoid(clip); clip.Skeleton() == nil && err == nil {
		clip = human
	}
	robot, err := mujoco.LoadScene(o.model)
	if err != nil {
		return err
	}
	defer func() { _ = robot.Close() }() // pictures are copies
	models, clips := []*mujoco.Model{robot}, []*motions.Clip{result}
	if s := clip.Skeleton(); s != nil {
		source, err := mujoco.SkeletonModel(s)
		if err != nil {
			return err
		}
		defer func() { _ = source.Close() }()
		models, clips = []*mujoco.Model{source, robot}, []*motions.Clip{clip, result}
	}
	cfg := mujoco.RenderConfig{Width: 240, Height: 320, Camera: mujoco.Camera{Azimuth: 115, Distance: 3.5}}
	var strip []image.Image
	for i, c := range clips {
		var rows [][]float64
		for k := range moments {
			row := make([]float64, c.Width())
			c.At(c.Duration()*float64(k)/moments, row, nil)
			rows = append(rows, row)
		}
		pictures, err := models[i].Pictures(rows, cfg)
		if err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(o.image), err)
		}
		strip = append(strip, pictures...)
	}
	return film.SaveStrip(o.image, strip, len(strip), moments)
}
