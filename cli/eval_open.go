package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/cli/internal/inspection"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/launch"
)

// savedRun is a checkpoint with the configuration that it was trained with.
type savedRun struct {
	*checkpoint.Saved
	config string   // the path
	notes  []string // for example that a damaged checkpoint was skipped
}

// open finds a checkpoint and its configuration.
func (f *evalFlags) open(target string) (*savedRun, error) {
	info, err := os.Stat(target)
	if errors.Is(err, fs.ErrNotExist) { // perhaps without its extension
		if found, e := inspection.Find(target); e == nil {
			target = found
			info, err = os.Stat(target)
		}
	}
	if err != nil {
		return nil, commandline.Usagef("%w", err)
	}
	var run *savedRun
	dir := target
	if info.IsDir() {
		if run, err = f.choose(target); err != nil {
			return nil, err
		}
	} else {
		if f.checkpoint != "best" { // the default
			return nil, commandline.Usagef("%s is a checkpoint already; leave out --checkpoint, or give the run's "+
				"folder", target)
		}
		saved, err := checkpoint.Load(target)
		if errors.Is(err, checkpoint.ErrUncommitted) {
			return nil, commandline.Usagef("%s has no manifest (%s): it holds tensors, or its save was interrupted. "+
				"%s convert --from skrl --like CONFIG.yaml makes a checkpoint with a manifest of one of skrl's (.pt)",
				target, manifest(target), program)
		}
		if err != nil {
			return nil, commandline.Usagef("%w", err)
		}
		run, dir = &savedRun{Saved: saved}, filepath.Dir(target)
	}
	if run.config = f.config; run.config == "" {
		if run.config, err = findRunFile(dir); err != nil {
			return nil, err
		}
	}
	return run, nil
}

// findRunFile looks for the configuration of a run in a folder and the three above it, because checkpoints are in
// checkpoints/best, 000/state or best/000. The configuration is run.yaml or, in the folder of a population of
// processes, the file that its members read.
func findRunFile(dir string) (string, error) {
	at, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	up := dir
	for range 4 {
		path := filepath.Join(up, runFile)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return path, err
		}
		if path = filepath.Join(up, launch.ConfigFile); isPopulation(up) {
			if _, err := os.Stat(path); err == nil {
				return path, nil
			}
		}
		if filepath.Dir(at) == at {
			break
		}
		at, up = filepath.Dir(at), filepath.Join(up, "..")
	}
	return "", commandline.Usagef("there is no %s in %s or above it; give the configuration that it was trained with: "+
		"--config FILE", runFile, dir)
}

// isPopulation reports whether a folder is a population's.
func isPopulation(dir string) bool { return exists(dir, "000", journal.File) }

// choose loads the checkpoint of a run's folder that --checkpoint names.
func (f *evalFlags) choose(dir string) (*savedRun, error) {
	latest := filepath.Join(dir, "checkpoints")
	_, one := os.Stat(latest)
	if isPopulation(dir) && one != nil {
		latest = ""
	} else if one != nil {
		if runs, _ := filepath.Glob(filepath.Join(dir, "*", runFile)); len(runs) > 0 {
			return nil, commandline.Usagef("%s is the folder of other runs; give one of them, for instance %s", dir,
				filepath.Dir(runs[0]))
		}
		return nil, commandline.Usagef("%s has no checkpoints; want the folder of a run, or a checkpoint "+
			"(.safetensors)", dir)
	}
	switch {
	case f.checkpoint == "best":
		path, err := inspection.Find(dir) // which knows the best member of a population
		if err != nil {
			return nil, err
		}
		saved, err := checkpoint.Load(path)
		run := &savedRun{Saved: saved}
		if err == nil && filepath.Base(filepath.Dir(path)) == filepath.Base(latest) {
			why := ", as no episode had ended by then"
			if saved.Manifest.WrittenBy == converted {
				why = ""
			}
			run.notes = []string{"there is no best checkpoint" + why + "; this is the latest"}
		}
		return run, err
	case f.checkpoint == "latest" && latest == "":
		return nil, commandline.Usagef(
			"%s is a population, which keeps its best member; give a file of 000/, 001/ and so on for another", dir)
	case f.checkpoint == "latest":
		return newest(latest)
	case strings.Trim(f.checkpoint, "0123456789") == "" && f.checkpoint != "" && latest != "":
		return atStep(latest, f.checkpoint)
	}
	path := f.checkpoint
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && latest != "" && !strings.ContainsAny(path, `/\`) {
		path = filepath.Join(latest, strings.TrimSuffix(path, ".safetensors")+".safetensors") // by its name in the run
	}
	saved, err := checkpoint.Load(path)
	if err != nil {
		return nil, commandline.Usagef("--checkpoint %s: want best, latest, a timestep or a file: %w", f.checkpoint,
			err)
	}
	return &savedRun{Saved: saved}, nil
}

// newest loads the newest valid snapshot in a folder, with notes about the damaged ones that it skipped.
func newest(dir string) (*savedRun, error) {
	if _, err := os.Stat(dir); err != nil { // a store would be made
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

// atStep loads the snapshot of a timestep.
func atStep(dir, text string) (*savedRun, error) {
	step, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return nil, commandline.Usagef("--checkpoint %s: %w", text, err)
	}
	store, err := checkpoint.NewStore(dir, checkpoint.Options{})
	if err != nil {
		return nil, err
	}
	manifests, _, err := store.List()
	if err != nil {
		return nil, err
	}
	var steps []string
	for i := range manifests { // the latest first
		if m := manifests[i]; m.Step == step {
			saved, err := store.Load(m.File)
			if err != nil {
				return nil, err
			}
			return &savedRun{Saved: saved}, nil
		}
		steps = append([]string{fmt.Sprint(manifests[i].Step)}, steps...)
	}
	return nil, commandline.Usagef("there is no checkpoint of timestep %s in %s; there are those of %s", text, dir,
		strings.Join(steps, ", "))
}
