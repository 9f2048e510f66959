package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/cli/internal/inspection"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/pbt/launch"
)

// savedRun is a checkpoint with the configuration that it was trained with.
type savedRun struct {
	*checkpoint.Saved
	config   string           // the path
	notes    []string         // for example that a damaged checkpoint was skipped
	sections runfile.Sections // of the file at config
}

// open finds a checkpoint and its configuration.
func (f *evalFlags) open(target string) (*savedRun, error) {
	if !exists(target) { // perhaps without its extension
		if found, err := inspection.Find(target); err == nil {
			target = found
		}
	}
	info, err := os.Stat(target)
	if err != nil {
		return nil, commandline.Usagef("%w", err)
	}
	run, dir := &savedRun{}, target
	switch {
	case info.IsDir():
		run, err = f.choose(target)
	case f.checkpoint != "best": // the default
		err = commandline.Usagef("%s is a checkpoint already; leave out --checkpoint, or give the run's folder", target)
	default:
		dir = filepath.Dir(target)
		run.Saved, err = checkpoint.Load(target)
		if errors.Is(err, checkpoint.ErrUncommitted) {
			err = fmt.Errorf("%s has no manifest (%s): it holds tensors, or its save was interrupted. %s convert "+
				"--from skrl --like CONFIG.yaml makes a checkpoint with a manifest of one of skrl's (.pt)", target,
				manifest(target), program)
		}
		err = wrong(err)
	}
	if err != nil {
		return nil, err
	}
	if run.config = f.config; run.config == "" {
		run.config, err = findRunFile(dir)
	}
	return run, err
}

// findRunFile looks for the configuration of a run in a folder and the three above it, because checkpoints are in
// checkpoints/best, 000/state or best/000. The configuration is run.yaml or, in the folder of a population of
// processes, the file that its members read.
func findRunFile(dir string) (string, error) {
	for up, level := dir, 0; level < 4; up, level = filepath.Join(up, ".."), level+1 {
		if exists(up, runFile) {
			return filepath.Join(up, runFile), nil
		}
		if runfile.In(up).Population && exists(up, launch.ConfigFile) {
			return filepath.Join(up, launch.ConfigFile), nil
		}
	}
	return "", commandline.Usagef("there is no %s in %s or above it; give the configuration that it was trained with: "+
		"--config FILE", runFile, dir)
}

// choose loads the checkpoint of a run's folder that --checkpoint names.
func (f *evalFlags) choose(dir string) (*savedRun, error) {
	latest, population := filepath.Join(dir, "checkpoints"), false
	if !exists(latest) {
		runs, _ := fs.Glob(os.DirFS(dir), "*/"+runFile) // the pattern is valid
		population = runfile.In(dir).Population
		switch {
		case population:
		case len(runs) > 0:
			return nil, commandline.Usagef("%s is the folder of other runs; give one of them, for instance %s", dir,
				filepath.Join(dir, filepath.Dir(runs[0])))
		default:
			return nil, commandline.Usagef("%s has no checkpoints; want the folder of a run, or a checkpoint "+
				"(.safetensors)", dir)
		}
	}
	switch {
	case f.checkpoint == "best":
		path, err := inspection.Find(dir) // which knows the best member of a population
		if err != nil {
			return nil, err
		}
		saved, err := checkpoint.Load(path)
		run := &savedRun{Saved: saved}
		if filepath.Base(filepath.Dir(path)) == filepath.Base(latest) {
			run.notes = []string{"there is no best checkpoint; this is the latest"}
		}
		return run, err
	case f.checkpoint == "latest" && population:
		return nil, commandline.Usagef(
			"%s is a population, which keeps its best member; give a file of 000/, 001/ and so on for another", dir)
	case f.checkpoint == "latest":
		return newest(latest)
	}
	path := f.checkpoint
	if step, err := strconv.ParseInt(path, 10, 64); err == nil && !population {
		list, err := manifests(latest)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(list, func(m checkpoint.Manifest) bool { return m.Step == step })
		if i < 0 {
			var steps []string
			for _, m := range slices.Backward(list) {
				steps = append(steps, fmt.Sprint(m.Step))
			}
			return nil, commandline.Usagef("there is no checkpoint of timestep %s in %s; there are those of %s", path,
				latest, strings.Join(steps, ", "))
		}
		saved, err := checkpoint.Load(filepath.Join(latest, list[i].File))
		return &savedRun{Saved: saved}, err // a damaged file is no wrong use
	}
	saved, err := checkpoint.Load(path)
	if err != nil {
		return nil, commandline.Usagef("--checkpoint %s: want best, latest, a timestep or a file: %w", f.checkpoint,
			err)
	}
	return &savedRun{Saved: saved}, nil
}

// manifests returns the manifests in a folder of checkpoints, the latest first. There is at least one.
func manifests(dir string) ([]checkpoint.Manifest, error) {
	store, err := checkpoint.NewStore(dir, checkpoint.Options{})
	if err != nil {
		return nil, err
	}
	list, _, err := store.List()
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("%w in %s", checkpoint.ErrNone, dir)
	}
	return list, err
}

// newest loads the newest valid snapshot in a folder, with notes about the damaged ones that it skipped.
func newest(dir string) (*savedRun, error) {
	if !exists(dir) { // a store would be made
		return nil, fmt.Errorf("%w in %s", checkpoint.ErrNone, dir)
	}
	store, err := checkpoint.NewStore(dir, checkpoint.Options{})
	if err != nil {
		return nil, err
	}
	saved, damaged, err := store.Latest()
	if err != nil {
		return nil, err
	}
	return &savedRun{Saved: saved, notes: passedOver(damaged)}, nil
}

// passedOver returns notes about damaged checkpoints, except those whose save was interrupted.
func passedOver(damaged []*checkpoint.DamagedError) (notes []string) {
	for _, d := range damaged {
		if !errors.Is(d, checkpoint.ErrUncommitted) {
			notes = append(notes, fmt.Sprintf("passed over: %v", d))
		}
	}
	return notes
}
