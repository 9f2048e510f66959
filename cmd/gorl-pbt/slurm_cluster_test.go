//go:build slurm

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// These tests need a Slurm that this process may do anything with: run them with `make test-slurm`.

// cluster is a working folder on a cluster.
type cluster struct {
	t        *testing.T
	programs string
	dir      string // of the user, with a name that needs quoting everywhere
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	if os.Getenv("SLURM_CONF") == "" {
		t.Fatal("SLURM_CONF is not set: run make test-slurm")
	}
	c := &cluster{t: t, programs: t.TempDir(), dir: filepath.Join(t.TempDir(), `it's 100% a "test" $HOME`)}
	must.Do(t, os.Mkdir(c.dir, 0o755))
	must.Run(t, exec.Command("go", "build", "-o", c.programs, ".", "../gorl", "../../snippets/pbt_processes"))
	return c
}

// run runs a program in the working folder.
func (c *cluster) run(name string, args ...string) string {
	c.t.Helper()
	command := exec.CommandContext(c.t.Context(), name, args...)
	command.Dir = c.dir
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		c.t.Fatalf("%s %q: %v\n%s%s", filepath.Base(name), args, err, out, stderr.String())
	}
	return string(out)
}

// submit submits four PPO agents with gorl-pbt and returns the array's job.
func (c *cluster) submit(workspace, pbtKeys, launcherKeys string) (job string) {
	c.t.Helper()
	return c.submitFile(workspace, fmt.Sprintf(`
pbt: {directory: runs, workspace: %s, num_policies: 4, threshold_std: 0.1, threshold_abs: 0.1,
  mutation_rate: 1, mutation: {learning_rate: mutate_float}, sample: {learning_rate: [1e-4, 1e-3]}, %s}
launcher: {name: %s, command: [%q, -envs, "4", -rollouts, "64"], env: {GREETING: "it's $HOME"}, %s}
`, workspace, pbtKeys, workspace, filepath.Join(c.programs, "pbt_processes"), launcherKeys))
}

// submitFile submits the population of a file's text.
func (c *cluster) submitFile(workspace, text string) (job string) {
	c.t.Helper()
	path := filepath.Join(c.dir, workspace+".yaml")
	must.Do(c.t, os.WriteFile(path, []byte(text), 0o644))
	out := c.run(filepath.Join(c.programs, "gorl-pbt"), "slurm", "--config", path, "--submit")
	found := regexp.MustCompile(`submitted: job (\d+) `).FindStringSubmatch(out)
	if found == nil {
		c.t.Fatalf("gorl-pbt slurm said %q", out)
	}
	return found[1]
}

// until waits for something that a job does, and looks a few times a second.
func (c *cluster) until(job, name, what string, happened func() bool) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), 4*time.Minute)
	defer cancel()
	ticker := time.NewTicker(200 * time.Millisecond)
	defer ticker.Stop()
	for !happened() {
		over := c.over(job)
		if over && happened() {
			return
		}
		if over || ctx.Err() != nil {
			c.t.Fatalf("it did not happen that %s\n%s\n%s", what, c.run("squeue", "-a"), c.log(job, name, 0))
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}

// over says that nothing of a job array is in the queue any more.
func (c *cluster) over(job string) bool {
	c.t.Helper()
	return strings.TrimSpace(c.run("squeue", "-h", "-j", job)) == ""
}

// heartbeats are those of a population's members.
func (c *cluster) heartbeats(name string) []*workspace.Heartbeat {
	c.t.Helper()
	beats := make([]*workspace.Heartbeat, 4)
	board, err := workspace.OpenFolder(c.path(name), 4, workspace.FolderOptions{ReadOnly: true})
	if errors.Is(err, fs.ErrNotExist) {
		return beats
	}
	must.Do(c.t, err)
	for _, p := range must.Get(board.View())(c.t).Members {
		if len(p.Damaged) > 0 {
			c.t.Error(errors.Join(p.Damaged...))
		}
		beats[p.Member] = p.Heartbeat
	}
	return beats
}

func (c *cluster) path(names ...string) string {
	return filepath.Join(append([]string{c.dir, "runs"}, names...)...)
}

// whole checks that all members went through all intervals, each once, and are finished, and how often Slurm started
// each task again.
func (c *cluster) whole(job, name string, intervals int, steps int64, restarts ...string) {
	c.t.Helper()
	whole(c.t, c.path(name), 4, intervals, steps)
	for member, h := range c.heartbeats(name) {
		if h == nil || h.Phase != workspace.Finished {
			c.t.Errorf("member %d ended with the heartbeat %+v, want that it is finished", member, h)
		}
		task := c.run("scontrol", "show", "job", fmt.Sprintf("%s_%d", job, member))
		want := regexp.MustCompile(`(?s)JobState=COMPLETED\s.*Restarts=` + restarts[member] + `\s`)
		if !want.MatchString(task) {
			c.t.Errorf("no match of %s in\n%s\n%s", want, task, c.log(job, name, member))
		}
	}
}

// second waits until two members are in their second interval.
func (c *cluster) second(job, name string, one, other int) {
	c.t.Helper()
	c.until(job, name, fmt.Sprintf("members %d and %d are in their second interval", one, other), func() bool {
		h := c.heartbeats(name)
		return h[one] != nil && h[one].Iteration >= 2 && h[other] != nil && h[other].Iteration >= 2
	})
}

func (c *cluster) log(job, name string, index int) string {
	c.t.Helper()
	return string(must.Read(c.t, c.path(name, "logs", fmt.Sprintf("%s_%d.log", job, index))))
}

// A member that is requeued by the administrator, and one that requeues itself when its time is nearly up, continue.
func TestSlurmRequeues(t *testing.T) {
	c := newCluster(t)
	const intervals, interval = 12, 4096
	job := c.submit("requeued", fmt.Sprintf("objective: episode.return, interval_steps: %d, total_steps: %d", interval,
		intervals*interval), "")
	c.second(job, "requeued", 1, 2)
	c.run("scontrol", "requeue", job+"_1")
	c.run("scancel", "--signal=USR1", "--batch", job+"_2")
	c.until(job, "requeued", "its end", func() bool { return c.over(job) })
	c.whole(job, "requeued", intervals, intervals*interval, "0", "1", "1", "0")
	for index, signal := range map[int]string{1: "terminated", 2: "user defined signal 1"} {
		log := c.log(job, "requeued", index)
		if !strings.Contains(log, "signal: "+signal) || strings.Count(log, ": start") != 1 ||
			!strings.Contains(log, fmt.Sprintf("member %d continues in interval", index)) {
			t.Errorf("member %d was not stopped and continued:\n%s", index, log)
		}
	}
}

// Members of two ranks: the tasks of a step train one member together, stop together when its time is nearly up, and go
// on together when Slurm starts the job again; a rank that is killed ends the others, and all are started again in the
// job.
func TestSlurmRanks(t *testing.T) {
	c := newCluster(t)
	const intervals, interval = 8, 2048
	job := c.submitFile("ranks", fmt.Sprintf(`
environment: {id: CartPole, num_envs: 4}
pbt: {directory: runs, workspace: ranks, num_policies: 4, objective: episode.return, threshold_std: 0, threshold_abs: 0,
  mutation_rate: 1, mutation: {learning_rate: mutate_float}, interval_steps: %d, total_steps: %d, seed: 1}
launcher: {name: ranks, command: [%q, member], ranks_per_member: 2,
  slurm: {cpus_per_member: 2}, restarts: {backoff: 1s}}
models: {mlp: [16]}
agent: {class: PPO, rollouts: 16}
`, interval, intervals*interval, filepath.Join(c.programs, "gorl")))
	c.second(job, "ranks", 0, 1)
	c.run("kill", "-9", c.process(job, 0, "gorl", "SLURM_PROCID=1"))
	c.run("kill", "-USR1", c.process(job, 1, "slurm_script", "")) // as Slurm does a minute before the time is up
	c.until(job, "ranks", "its end", func() bool { return c.over(job) })
	c.whole(job, "ranks", intervals, intervals*interval, "0", "1", "0", "0")
	for index, want := range []string{"restart 1 of 5 in 1 s", "signal: user defined signal 1"} {
		if log := c.log(job, "ranks", index); !strings.Contains(log, want) ||
			!strings.Contains(log, fmt.Sprintf("member %d continues in interval", index)) {
			t.Errorf("the log of member %d lacks %q, or that it continues:\n%s", index, want, log)
		}
	}
}

// process is the number of the process of an array's task that has a name, and a variable in its environment.
func (c *cluster) process(job string, index int, program, variable string) (pid string) {
	c.t.Helper()
	for _, path := range must.Get(filepath.Glob("/proc/[0-9]*/environ"))(c.t) {
		data, err := os.ReadFile(path)
		if err != nil { // it has ended
			continue
		}
		set := strings.Split(string(data), "\x00")
		name, err := os.ReadFile(filepath.Join(filepath.Dir(path), "comm"))
		if err == nil && string(name) == program+"\n" && slices.Contains(set, "SLURM_ARRAY_JOB_ID="+job) &&
			slices.Contains(set, fmt.Sprintf("SLURM_ARRAY_TASK_ID=%d", index)) && slices.Contains(set, variable) {
			return filepath.Base(filepath.Dir(path))
		}
	}
	c.t.Fatalf("task %d has no process %s with %s", index, program, variable)
	return ""
}
