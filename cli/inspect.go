package cli

import (
	"errors"
	"fmt"
	"image/png"
	"io"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/cli/internal/inspection"
	"github.com/gorl-dev/gorl/envs/catalog"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/durable"
)

func inspectCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "inspect PATH...",
		Short: "describe checkpoints, runs, populations, clips and models",
		Long: `
Describes each PATH, and whether it is complete:

  a checkpoint   agent_1000.safetensors or its manifest, also without extension
  a run          its folder or that of its checkpoints: all checkpoints, and the
                 best one (or without it the newest) in detail
  a population   its folder or a journal: members, copies, history of the best
                 weights, checkpoints
  a clip         of reference motion, in any format, with its faults
  a model        an MJCF file of MuJoCo, and what is missing for the environment
                 Character, also with the settings of --config
  another file   .pt, .npz, .safetensors: values and tensors

If a checkpoint differs from the SHA-256 in its manifest, the exit status is 1.
Pickles in .pt files are not executed.`,
		Example: `
gorl inspect runs/cartpole
gorl inspect --key '' runs/cartpole/checkpoints/agent_2048    # no tensors
gorl inspect --key 'policy/*' runs/cartpole
gorl inspect --json runs/cartpole | jq .checkpoint.trainer.metrics
gorl inspect humanoid3d_walk.txt
gorl inspect g1.xml --config g1.yaml --image g1.png`,
		Args: commandline.Arguments(1, 0,
			"a checkpoint, a clip, a model, or the folder of a run or of a population"),
	}
	asJSON := c.Flags().Bool("json", false, "print one JSON object for each PATH")
	keys := c.Flags().StringArrayP("key", "k", nil,
		"list only tensors whose names match this `pattern`, with * for anything (may be repeated)")
	config := c.Flags().StringP("config", "c", "", "run `file` whose environment Character has the settings of a model")
	picture := c.Flags().String("image", "", "PNG `file` to write: the model in its default pose")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		o := inspection.Options{}
		if *config != "" {
			sections, err := readConfiguration(*config, nil)
			if err == nil {
				o.Body, err = catalog.Body(sections.Section("environment"))
			}
			if err != nil {
				return fmt.Errorf("%s: %w", *config, err)
			}
		}
		if len(*keys) > 0 {
			o.Tensor = commandline.Globs(*keys)
		}
		damaged := 0
		for i, path := range args {
			if err := cmd.Context().Err(); err != nil {
				return err
			}
			r, err := inspection.Of(path, o)
			if err != nil {
				return err
			}
			damaged += r.Damaged()
			if *picture != "" {
				if err := pictureOf(path, *picture, r.Model); err != nil {
					return err
				}
			}
			if *asJSON {
				if err := writeJSON(cmd.OutOrStdout(), r); err != nil {
					return fmt.Errorf("%s: %w", path, err)
				}
				continue
			}
			if i > 0 {
				fmt.Fprintln(cmd.OutOrStdout())
			}
			if err := inspection.Write(cmd.OutOrStdout(), r); err != nil {
				return err
			}
		}
		switch damaged {
		case 0:
			return nil
		case 1:
			return errors.New("1 checkpoint is damaged")
		}
		return fmt.Errorf("%d checkpoints are damaged", damaged)
	}
	return c
}

// pictureOf draws the model of a path in its default pose.
func pictureOf(path, out string, m *mujoco.ModelReport) error {
	if m == nil {
		return commandline.Usagef("%s: --image draws a model, an MJCF file", path)
	}
	model, err := mujoco.LoadScene(path)
	if err != nil {
		return err
	}
	defer func() { _ = model.Close() }() // freeing memory cannot fail
	pictures, err := model.Pictures([][]float64{m.Pose}, mujoco.RenderConfig{Width: 640, Height: 480})
	if err != nil {
		return err
	}
	return durable.WriteFile(out, func(w io.Writer) error { return png.Encode(w, pictures[0]) })
}
