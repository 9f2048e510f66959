package cli

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/cli/internal/inspection"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/infer/onnx"
	"github.com/gorl-dev/gorl/internal/capacity"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tracking"
)

func exportCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "export CHECKPOINT OUT",
		Short: "write a policy for use without gorl",
		Long: `
Writes the policy of a checkpoint, with its observation normalizer and its rules for
actions, to OUT:

  OUT.onnx         a model for onnxruntime, TensorRT, browsers, game engines
  OUT.safetensors  the policy alone, a small file that package infer reads in Go
  OUT.xml          the model that a run of a character simulates, for MuJoCo 3

CHECKPOINT is a file, or the folder of a run or of a population, which stands for
its best checkpoint, or without one the newest. A damaged one is an error.

The policy includes the wrappers normalize_observation and clip_observation, and not
rescale_action and clip_action: apply these to what it returns. A recurrent policy
has its state as a second input and output in OUT.onnx. If the run's folder has
robot.json, OUT says for which robot the policy is (docs/deploying.md).`,
		Example: `
gorl export runs/cartpole cartpole.onnx
gorl export --member 2 runs/group/checkpoints/agent_2048 third.onnx
gorl export runs/cartpole cartpole.safetensors`,
		Args: commandline.Arguments(2, 2, "a checkpoint, or the folder of a run, and the file to write"),
	}
	which := c.Flags().String("checkpoint", "best",
		"which of the run's `checkpoints`: best, latest, a timestep or a file")
	member := c.Flags().String("member", "", "`name` or number (from 0) of an agent in the checkpoint of several")
	force := c.Flags().BoolP("force", "f", false, "replace OUT if it exists")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		out := args[1]
		format := filepath.Ext(out)
		if format != ".onnx" && format != ".safetensors" && format != ".xml" {
			return commandline.Usagef("OUT is %s: want a name that ends in .onnx, .safetensors or .xml", out)
		}
		if err := cmp.Or(vacant(out, *force), spoils(out)); err != nil {
			return err
		}
		if format == ".xml" {
			return exportModel(args[0], out, cmd.OutOrStdout())
		}
		path, err := checkpointOf(args[0], *which, consoleOf(cmd))
		if err != nil {
			return err
		}
		p, err := policyOf(path, *member)
		if err != nil {
			return err
		}
		if err := try(p); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		p, run, err := withRobot(p, path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(out), 0o777); err != nil {
			return err
		}
		write := p.WriteFile
		if format == ".onnx" {
			o := onnx.Options{}
			if run != "" {
				o.Metadata = map[string]string{"run_path": run}
			}
			write = func(path string) error { return onnx.WriteFile(path, p, o) }
		}
		if err := write(out); err != nil {
			return err
		}
		info, err := os.Stat(out)
		if err != nil {
			return err
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s → %s: %s\n\n", path, out, capacity.Size(float64(info.Size())))
		return tracking.Table(cmd.OutOrStdout(), []string{"", "name", "shape", "type", "what"}, ports(p, format))
	}
	return c
}

// checkpointOf returns the path of the checkpoint of a run that --checkpoint names. It prints which damaged ones it
// skipped.
func checkpointOf(dir, which string, c console) (string, error) {
	if !c.given("checkpoint") {
		return inspection.Find(dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", commandline.Usagef("--checkpoint chooses among those of a run's folder, which %s is not", dir)
	}
	run, err := (&evalFlags{checkpoint: which}).choose(dir)
	if err != nil {
		return "", err
	}
	for _, note := range run.notes {
		fmt.Fprintln(c.stderr, note)
	}
	return run.Path, nil
}

// policyOf reads the policy of a checkpoint. member is the name or number of its agent in a checkpoint of several.
func policyOf(path, member string) (*infer.Policy, error) {
	if i, err := strconv.Atoi(member); err == nil {
		return infer.LoadMember(path, i)
	}
	saved, err := checkpoint.Load(path)
	if member == "" {
		p, failure := infer.Load(path)
		if failure != nil && err == nil {
			if n, err := saved.Snapshot.Int(layout.GroupSize); err == nil {
				which := cmp.Or(strings.Join(layout.NamesIn(saved.Snapshot), " or "), fmt.Sprint("one of 0 to ", n-1))
				return nil, commandline.Usagef("%s is of a group of %d agents: choose %s with --member", path, n, which)
			}
		}
		return p, failure
	}
	if err != nil {
		return nil, err
	}
	names := layout.NamesIn(saved.Snapshot)
	i := slices.Index(names, member)
	if i < 0 {
		return nil, commandline.Usagef("%s has no agent of the name %q%s; it has %s", path, member,
			config.Hint(member, names), cmp.Or(strings.Join(names, ", "), "no names"))
	}
	return infer.Member(saved.Snapshot, i)
}

// try asks the policy for an action for an observation of zeros.
func try(p *infer.Policy) error {
	s := p.Spaces()
	mask := s.ActionMask.Rows(1)
	for i := range mask {
		mask[i] = 1
	}
	observation, action := make([]float32, s.Observation.Width()), make([]float32, s.Action.Width())
	if err := p.ActMasked(observation, mask, nil, action); err != nil {
		return fmt.Errorf("the policy cannot act on an observation of zeros: %w", err)
	}
	return nil
}

// ports lists a policy's inputs and outputs.
func ports(p *infer.Policy, format string) (rows [][]string) {
	s, d := p.Spaces(), p.Describe()
	port := func(direction, name string, width int, kind, what string) {
		rows = append(rows, []string{direction, name, fmt.Sprintf("batch × %d", width), kind, what})
	}
	normalized := "raw"
	if d.Normalizer != nil || len(d.Transforms) > 0 {
		normalized = "raw; normalised within"
	}
	kind := "float32"
	if s.Action.Kind != spaces.Box && format == ".onnx" {
		kind = "int64"
	}
	port("input", "observations", s.Observation.Width(), "float32", fmt.Sprintf("%v, %s", s.Observation, normalized))
	port("output", "actions", s.Action.Width(), kind,
		strings.TrimSpace(fmt.Sprintf("%v, %s", s.Action, d.Distribution.Kind)))
	if n := s.ActionMask.Width(); n > 0 {
		port("input", "action_mask", n, "float32", "1 where a choice is allowed")
	}
	if format != ".onnx" {
		return rows
	}
	if n := p.HiddenSize(); n > 0 {
		port("input", "hidden_in", n, "float32", "zeros where an episode begins")
		port("output", "hidden_out", n, "float32", "hidden_in of the next step")
	}
	switch d.Distribution.Kind {
	case "gaussian":
		port("output", "mean", s.Action.Width(), "float32", "before clip_actions")
		port("output", "log_std", s.Action.Width(), "float32", "log standard deviation")
	case "categorical":
		port("output", "logits", s.Action.Outputs(), "float32", "index after index")
		port("output", "probabilities", s.Action.Outputs(), "float32", "index after index")
	}
	return rows
}

// robotFile is the name of the description of the robot that a run trains, in the run's folder.
const robotFile = "robot.json"

// withRobot returns a policy with the description of the robot in the folder of its run, if there is one. run is the
// name of that folder.
func withRobot(p *infer.Policy, checkpoint string) (described *infer.Policy, run string, err error) {
	config, err := findRunFile(filepath.Dir(checkpoint))
	path := filepath.Join(filepath.Dir(config), robotFile)
	if _, has := p.Robot(); has || err != nil || !exists(path) { // or a checkpoint away from its run
		return p, "", nil
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer file.Close()
	robot, err := envs.ReadRobot(file)
	if err == nil {
		described, err = p.WithRobot(robot)
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	return described, folderName(filepath.Dir(path)), nil
}

// exportModel writes the model that a run simulates. Its meshes go into a folder beside it.
func exportModel(target, out string, stdout io.Writer) error {
	config, err := findRunFile(target)
	if err != nil {
		return err
	}
	c, err := readConfiguration(config, nil)
	if err != nil {
		return err
	}
	section := c.Section("environment")
	section["num_envs"], section["workers"] = 1, 1
	env, err := makeEnvironment(c)
	if err != nil {
		return fmt.Errorf("%s: %w", config, err)
	}
	defer func() { _ = env.Close() }()
	model, ok := envs.As[interface {
		MJCF() (string, map[string][]byte)
	}](env)
	if !ok {
		return commandline.Usagef("%s: the environment %v has no model to export; Character, Humanoid and "+
			"Quadruped have", config, section["id"])
	}
	text, assets := model.MJCF()
	folder := strings.TrimSuffix(out, ".xml") + "_assets"
	if len(assets) > 0 {
		text = strings.Replace(text, ">", fmt.Sprintf(">\n  <compiler meshdir=%[1]q texturedir=%[1]q/>",
			filepath.Base(folder)), 1)
	}
	files := map[string][]byte{out: []byte(text)}
	for name, data := range assets {
		files[filepath.Join(folder, name)] = data
	}
	for path, data := range files {
		if err := writeFile(path, data); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(stdout, "%s → %s and %d files of meshes and textures\n", config, out, len(assets))
	return err
}
