package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/convert"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/cli/internal/inspection"
	"github.com/gorl-dev/gorl/internal/capacity"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/durable"
)

// converted is the writer in the manifests of checkpoints that gorl convert has written.
const converted = "gorl convert"

// conversion holds the flags.
type conversion struct {
	from, to        *string
	like            *string
	force, partial  *bool
	rest            *bool
	member, numEnvs *int
	env             *string
}

func convertCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "convert FROM TO",
		Short: "convert checkpoints and files of tensors",
		Long: `
Converts FROM into the format of TO's extension: .pt (PyTorch), .safetensors or
.npz (NumPy). FROM is a file, or the folder of a run, which stands for its best
checkpoint, or without one the newest. A checkpoint of gorl keeps its manifest.

--to skrl writes what skrl's agent.load reads. --from skrl writes a checkpoint
from which gorl's trainers resume; --like gives the gorl agent to continue: a
checkpoint, or a configuration for a new agent. A YAML file of rl_games becomes a
configuration of gorl that trains the same (docs/reference/rl-games.md).

Pickles are not executed. One that asks for anything but tensors and plain values
is refused.`,
		Example: `
gorl convert model.pt model.safetensors
gorl convert runs/cartpole weights.npz
gorl convert rl_games_ppo_cfg.yaml gorl.yaml
gorl convert --to skrl runs/cartpole agent.pt
gorl convert --to skrl --like theirs.pt runs/cartpole agent.pt      # named as in that file
gorl convert --from skrl --like runs/cartpole theirs.pt runs/more/checkpoints/agent_0.safetensors`,
		Args: commandline.Arguments(2, 2, "two files, the one to read and the one to write"),
	}
	k := conversion{
		from: commandline.Choice(c, "from", "",
			"`program` that wrote FROM, if not gorl: skrl", "skrl"),
		to: commandline.Choice(c, "to", "", "`program` that shall read TO, if not gorl: skrl",
			"skrl"),
		like: c.Flags().String("like", "", "a `checkpoint` of the agent that shall read TO, or with --from skrl its "+
			"configuration (.yaml)"),
		force: c.Flags().BoolP("force", "f", false, "replace TO if it exists"),
		partial: c.Flags().Bool("partial", false,
			"with --from skrl: take what both agents have, and the rest from --like"),
		rest:    c.Flags().Bool("without-rest", false, "with --to skrl: leave out what skrl cannot hold"),
		member:  c.Flags().Int("member", -1, "`number` of an agent in a group's checkpoint, from 0"),
		env:     c.Flags().StringP("env", "e", "", "for a YAML file: the environment's `id`"),
		numEnvs: c.Flags().Int("num-envs", 0, "for a YAML file: `number` of parallel environments"),
	}
	commandline.AtLeast(c, 0, "num-envs")
	c.RunE = func(cmd *cobra.Command, args []string) error {
		convert := k.tensors
		if isYAML(args[0]) {
			convert = k.configuration
		}
		said, err := convert(cmd, args[0], args[1])
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
		return err
	}
	return c
}

// check refuses flags and names that exclude each other, before anything is read.
func (k conversion) check(cmd *cobra.Command, from, to string) error {
	if *k.from != "" && *k.to != "" {
		return commandline.Usagef("--from and --to exclude each other: between two files of skrl's there is nothing " +
			"to convert")
	}
	for _, flag := range []string{"env", "num-envs"} {
		if cmd.Flags().Changed(flag) && !isYAML(*k.like) {
			return commandline.Usagef("--%s is for a FROM that is a YAML file of rl_games, or a --like "+
				"that is one", flag)
		}
	}
	switch {
	case *k.rest && *k.to != "skrl":
		return commandline.Usagef("--without-rest needs --to skrl")
	case *k.partial && *k.from != "skrl":
		return commandline.Usagef("--partial needs --from skrl")
	case *k.member >= 0 && *k.from == "skrl":
		return commandline.Usagef("--member is of a group's checkpoint, and FROM is one of skrl's")
	case *k.from == "skrl" && *k.like == "":
		return commandline.Usagef("--like is missing: give the configuration (.yaml) or a checkpoint of the gorl " +
			"agent that is to go on with FROM")
	case *k.from == "skrl" && filepath.Ext(to) != ".safetensors":
		return commandline.Usagef("TO is %s: a checkpoint of gorl's is named *.safetensors", to)
	case *k.from == "" && *k.to == "" && *k.like != "":
		return commandline.Usagef("--like needs --from skrl or --to skrl")
	case *k.to == "skrl" && filepath.Ext(to) != ".pt":
		return commandline.Usagef("TO is %s: a checkpoint of skrl's is named *.pt", to)
	}
	if _, err := convert.FormatOf(to); err != nil {
		return commandline.Usagef("TO is %s: want a name that ends in .pt, .safetensors or .npz", to)
	}
	if sameFile(from, to) || sameFile(from+".safetensors", to) {
		return commandline.Usagef("FROM and TO are the same file")
	}
	if err := vacant(to, *k.force); err != nil || filepath.Ext(to) != ".safetensors" {
		return err
	}
	return vacant(manifest(to), *k.force)
}

// tensors converts a checkpoint or a file of tensors, and returns a report.
func (k conversion) tensors(cmd *cobra.Command, from, to string) (said string, err error) {
	if err := k.check(cmd, from, to); err != nil {
		return "", err
	}
	var snap *checkpoint.Snapshot
	note := ""
	if *k.from == "skrl" {
		snap, note, err = k.fromSkrl(from)
	} else if from, err = inspection.Find(from); err == nil && sameFile(from, to) {
		err = commandline.Usagef("FROM and TO are the same file, %s", from)
	} else if err == nil {
		snap, err = read(from)
	}
	if err != nil {
		return "", err
	}
	if *k.member >= 0 {
		own, ok := layout.MemberOf(snap, *k.member)
		if !ok {
			return "", fmt.Errorf("%s has no member %d: want a checkpoint of a group with such an agent", from,
				*k.member)
		}
		snap = own
	}
	if *k.to == "skrl" {
		return k.toSkrl(snap, from, to)
	}
	if err := k.write(to, snap); err != nil {
		return "", err
	}
	if filepath.Ext(to) == ".safetensors" && !exists(manifest(to)) {
		note += called("\nnote: the file holds tensors and is no checkpoint of an agent. From a file of skrl's, gorl " +
			"convert --from skrl --like CONFIG.yaml makes one.")
	}
	return fmt.Sprintf("%s → %s: %s%s", from, to, amount(snap, to), note), nil
}

// read reads a file of tensors, and verifies it if it is a checkpoint of gorl.
func read(path string) (*checkpoint.Snapshot, error) {
	if isKind(path, ".safetensors", ".json") {
		if saved, err := checkpoint.Load(path); err == nil {
			return saved.Snapshot, nil
		} else if !errors.Is(err, checkpoint.ErrUncommitted) {
			return nil, err
		}
	}
	return convert.Read(path)
}

// write writes a checkpoint of gorl with a manifest, and any other tensors without.
func (k conversion) write(to string, snap *checkpoint.Snapshot) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	if _, err := snap.Text(layout.Agent); err != nil || filepath.Ext(to) != ".safetensors" {
		if err := spoils(to); err != nil {
			return err
		}
		return convert.Write(to, snap)
	}
	aside, err := os.MkdirTemp(filepath.Dir(to), ".convert-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(aside) }() // empty by then, or not needed
	store, err := checkpoint.NewStore(aside, checkpoint.Options{WrittenBy: converted})
	if err != nil {
		return err
	}
	path, err := store.Save(strings.TrimSuffix(filepath.Base(to), ".safetensors"), step(snap), snap)
	if err != nil {
		return err
	}
	// Without its manifest a checkpoint does not count, so that it is never half replaced.
	if err := os.Remove(manifest(to)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(path, to); err != nil {
		return err
	}
	if err := os.Rename(manifest(path), manifest(to)); err != nil {
		return err
	}
	return durable.SyncDir(filepath.Dir(to))
}

// step returns the timestep of a checkpoint.
func step(snap *checkpoint.Snapshot) int64 {
	n, err := snap.Int("trainer", "timestep")
	if err != nil {
		n, _ = snap.Int("timestep")
	}
	return n
}

// amount describes how much was written.
func amount(snap *checkpoint.Snapshot, path string) string {
	var elements, bytes int64
	for _, a := range snap.Arrays {
		elements += a.Len()
		bytes += int64(len(a.Data))
	}
	said := fmt.Sprintf("%d tensors, %d elements, %s", len(snap.Arrays), elements, capacity.Size(float64(bytes)))
	if info, err := os.Stat(path); err == nil {
		said += fmt.Sprintf("; the file has %s", capacity.Size(float64(info.Size())))
	}
	return said
}
