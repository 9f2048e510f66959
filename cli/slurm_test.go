//go:build slurm && linux

package cli

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	test "github.com/gorl-dev/gorl/internal/test/must"
)

// These tests need a Slurm that this process may do anything with: run them with `make test-slurm`.

// slurm runs one of Slurm's programs.
func slurm(t *testing.T, words ...string) string {
	t.Helper()
	if os.Getenv("SLURM_CONF") == "" {
		t.Fatal("SLURM_CONF is not set: run make test-slurm")
	}
	return test.Run(t, exec.Command(words[0], words[1:]...))
}

// Two tasks of srun train one run; a batch script without srun, and a shell in an allocation, train alone.
func TestSlurmRanks(t *testing.T) {
	here(t, "pair.yaml", pair)
	start(t, "srun", "-n", "2", "GORL", "train", "-c", "pair.yaml", "-q").end(0)
	if got := text("stdout"); got != "runs/pole\n" || newestOf("pole") != 96 {
		t.Errorf("it wrote %q, and its newest checkpoint is of timestep %d; want that of 96", got, newestOf("pole"))
	}
	start(t, "sbatch", "--wait", "-n", "2", "--output=job.log", "--wrap",
		os.Args[0]+" train -c pair.yaml --name batch -q").end(0)
	start(t, "salloc", "-n", "2", "GORL", "train", "-c", "pair.yaml", "--name", "shell", "-q").end(0)
	if got := strings.Join(runs(t), " "); got != "batch pole shell" || text("runs/batch/"+ranksFile) != "" ||
		text("runs/shell/"+ranksFile) != "" {
		t.Errorf("there are the runs %s, and files of ranks in those that trained alone: %q, %q", got,
			text("runs/batch/"+ranksFile), text("runs/shell/"+ranksFile))
	}
}

// A job that goes back into the queue goes on with its run.
func TestSlurmRequeuesRanks(t *testing.T) {
	here(t, "pair.yaml", pair)
	write(t, "job.sh", fmt.Sprintf("#!/bin/sh\nexec srun -n 2 --kill-on-bad-exit %s train -c pair.yaml --timesteps "+
		"10000000 -s trainer.checkpoint_interval=32\n", os.Args[0]))
	// sbatch --wait would end when the job goes back into the queue.
	l := start(t, "sh", "-c", "sbatch --requeue --open-mode=append -n 2 --output=job.log job.sh && exec sleep 1000")
	l.until("the first checkpoint", func() bool { return newestOf("pole") > 0 })
	job := regexp.MustCompile(`\d+`).FindString(text("stdout"))
	slurm(t, "scontrol", "requeue", job)
	l.until("the ranks have saved", func() bool { return strings.Contains(text("job.log"), "stopped at timestep") })
	last := newestOf("pole")
	l.until("the run goes on", func() bool { return newestOf("pole") > last })
	slurm(t, "scancel", job)
	l.until("the end", func() bool { return !strings.Contains(slurm(t, "squeue", "-h", "-o", "%i"), job) })
	if left := l.processes(); len(left) != 1 { // the one that waits here
		t.Errorf("processes are left: %v", left)
	}
	if got := runs(t); len(got) != 1 {
		t.Errorf("there are the runs %q, want one:\n%s", got, text("job.log"))
	}
	if n := strings.Count(text("job.log"), "stopped at timestep"); n != 2 {
		t.Errorf("it was stopped and saved %d times, want twice:\n%s", n, text("job.log"))
	}
}
