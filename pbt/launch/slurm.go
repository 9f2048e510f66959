package launch

// This file turns a population's file into a Slurm job array, one task a member. No launcher runs: the batch script
// restarts its member after failures, and puts the task back into the queue when the member yields or its time is
// nearly up. A task that is requeued keeps its number, so it continues the same member.

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"time"
	"unicode"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/process"
)

// SlurmJob is a population as a job array: every array task is one member, with a task of srun for each of its ranks
// where it has several. Slurm queues the tasks, which need not run at the same time, and no launcher has to stay alive
// for them.
//
// Back-off times are those of the launcher, but in whole seconds and without jitter, and failures are counted in each
// run of a task again.
type SlurmJob struct {
	// Script is the batch script.
	Script string
	// Path is where Write puts it: <name>.sbatch beside the canonical file. Cancel is scancel.sh there.
	Path, Cancel string

	file *File
	logs string
}

// Slurm makes the job array of a population. Members work in the folder in which this process does, which all nodes
// must see, as they must the population's folder. Nothing is written.
func Slurm(f *File) (*SlurmJob, error) {
	d := f.Launcher
	if len(d.Command) == 0 {
		return nil, errors.New("launch: \"launcher.command\" is empty: give the member program and its arguments")
	}
	// Tasks start on other nodes and are requeued days later, so every path in the script is absolute.
	var err error
	here, dir, logs := ".", f.Dir(), f.logs()
	for _, path := range []*string{&here, &dir, &logs} {
		if *path, err = filepath.Abs(*path); err != nil {
			return nil, fmt.Errorf("launch: %w", err)
		}
		// Refuse paths that the script cannot hold, rather than submit one that reads another path.
		if strings.ContainsFunc(*path, unicode.IsControl) {
			return nil, fmt.Errorf("launch: %q holds a control character, which a batch script cannot; choose "+
				"another folder", *path)
		}
	}
	if strings.Contains(logs, `\`) {
		return nil, fmt.Errorf("launch: %q holds a backslash, behind which Slurm does not number outputs; choose "+
			"another folder, or \"launcher.logs\"", logs)
	}
	job := &SlurmJob{Path: filepath.Join(dir, d.Name+".sbatch"), Cancel: filepath.Join(dir, "scancel.sh"), file: f,
		logs: logs}
	options, err := d.slurmOptions(here, logs)
	if err != nil {
		return nil, err
	}
	job.Script, err = d.batchScript(options, filepath.Join(dir, ConfigFile))
	return job, err
}

// slurmOptions are the lines for sbatch, quoted as it reads them. USR1 a minute before the time is up goes to the batch
// shell (B:), which hands it on, so that the member saves and the job goes back into the queue.
func (c Config) slurmOptions(here, logs string) ([]string, error) {
	s := c.Slurm
	array := fmt.Sprintf("0-%d", c.NumPolicies-1)
	// Slurm then runs at most n tasks at a time (0-7%4).
	if n := c.parallel(); n < c.NumPolicies {
		array += fmt.Sprintf("%%%d", n)
	}
	// --requeue lets a task go back into the queue, and append keeps the log of its earlier runs.
	options := []string{
		"--job-name=" + c.Name, "--array=" + array, "--requeue", "--open-mode=append", "--signal=B:USR1@60",
		"--chdir=" + quoteOption(here),
		// Slurm replaces %A and %a; a percent sign of the path's own is doubled.
		"--output=" + quoteOption(strings.ReplaceAll(logs, "%", "%%")+"/%A_%a.log"),
		fmt.Sprintf("--nodes=%d", s.Nodes), fmt.Sprintf("--cpus-per-task=%d", c.cpusPerRank()),
	}
	gpus := s.GPUsPerMember
	if n := c.RanksPerMember; n > 1 {
		options = append(options, fmt.Sprintf("--ntasks=%d", n), fmt.Sprintf("--ntasks-per-node=%d", n/s.Nodes))
		gpus /= s.Nodes // of each node
	}
	if gpus > 0 {
		options = append(options, fmt.Sprintf("--gres=gpu:%d", gpus))
	}
	for _, o := range []struct{ name, value string }{{"partition", s.Partition}, {"mem", s.Memory}, {"time", s.Time}} {
		if o.value == "" {
			continue
		}
		if strings.ContainsFunc(o.value, unicode.IsControl) {
			return nil, fmt.Errorf("launch: \"slurm\": %s is %q: want one line", o.name, o.value)
		}
		options = append(options, "--"+o.name+"="+quoteOption(o.value))
	}
	for i, o := range s.Extra {
		if !strings.HasPrefix(o, "-") || strings.ContainsFunc(o, unicode.IsControl) {
			return nil, fmt.Errorf("launch: \"slurm.extra[%d]\" is %q: want one option of sbatch, like "+
				"\"--account=robots\"", i, o)
		}
		options = append(options, o)
	}
	return options, nil
}

// cpusPerRank are the processors of each rank.
func (c Config) cpusPerRank() int {
	return (c.Slurm.CPUsPerMember + c.RanksPerMember - 1) / c.RanksPerMember
}

// slurmCommand is the member program as the batch script runs it. Several ranks are the tasks of a step. srun waits for
// all of them, and ends with the highest of their exit statuses: they end alike, unless one has failed, which the
// others notice and then end, too.
func (c Config) slurmCommand() string {
	command := quoteWords(c.Command)
	if c.RanksPerMember == 1 {
		return command
	}
	return fmt.Sprintf("srun --ntasks=%d --cpus-per-task=%d --kill-on-bad-exit=0 --wait=0 %s", c.RanksPerMember,
		c.cpusPerRank(), command)
}

// quoteOption writes a value so that sbatch reads it whole from its line of a script: in double quotes, within which a
// backslash takes the meaning from what follows.
func quoteOption(s string) string {
	if process.PlainWord(s) {
		return s
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// quoteWords writes words so that a shell reads them as they are.
func quoteWords(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = process.QuoteWord(word)
	}
	return strings.Join(quoted, " ")
}

// batchScript returns the script that Slurm runs for each member. The shell does what the member's exit status asks
// for, and forwards Slurm's signals to the member.
func (c Config) batchScript(options []string, config string) (string, error) {
	env := []string{EnvConfig + "=" + process.QuoteWord(config), EnvMember + `="$SLURM_ARRAY_TASK_ID"`,
		fmt.Sprintf("%s=%d", EnvSlice, c.slice())}
	if c.RanksPerMember > 1 {
		env = append(env, fmt.Sprintf("%s=%d", EnvRanks, c.RanksPerMember))
	}
	var own []string
	for _, v := range c.Env.list() {
		name, value, _ := strings.Cut(v, "=")
		own = append(own, name+"="+process.QuoteWord(value))
	}
	var b strings.Builder
	err := slurmTemplate.Execute(&b, map[string]any{
		"Members": c.NumPolicies, "Name": c.Name, "Options": options, "Env": append(own, env...),
		"Setup":   c.Slurm.Setup,
		"Command": c.slurmCommand(), "Max": c.Restarts.Max, "Backoff": ceilSeconds(c.Restarts.Backoff),
		"MaxBackoff": ceilSeconds(c.Restarts.MaxBackoff), "Yielded": StatusYielded, "Restart": StatusRestart,
		"Stopped": StatusStopped,
	})
	if err != nil {
		return "", fmt.Errorf("launch: %w", err)
	}
	return b.String(), nil
}

// ceilSeconds rounds up to whole seconds, which bash and Kubernetes count in.
func ceilSeconds(d time.Duration) int { return int(d.Seconds() + 0.999) }

//go:embed slurm.sh.tmpl
var slurmText string

// slurmTemplate is the batch script. It runs the member in the background and waits for it, because bash handles a
// trapped signal only between commands or in wait.
var slurmTemplate = template.Must(template.New("").Parse(slurmText))

// Write writes the canonical file, the folder of the logs and the batch script. Nothing is submitted. The file comes
// first: it refuses a folder that belongs to another run.
func (j *SlurmJob) Write() error {
	if _, err := j.file.Install(); err != nil {
		return err
	}
	if err := os.MkdirAll(j.logs, 0o755); err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	return writeText(j.Path, j.Script)
}

// Submit writes everything, submits the script, and writes scancel.sh, which ends the array. id is the array's job.
func (j *SlurmJob) Submit(ctx context.Context) (id string, err error) {
	if err := j.Write(); err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	sbatch := exec.CommandContext(ctx, "sbatch", "--parsable", j.Path)
	sbatch.Stdout, sbatch.Stderr = &stdout, &stderr
	if err := sbatch.Run(); err != nil {
		return "", fmt.Errorf("launch: sbatch %s: %w: %s", j.Path, err, strings.TrimSpace(stderr.String()))
	}
	id, cluster, err := parseJob(stdout.String())
	if err != nil {
		return "", err
	}
	// The job is submitted by now, so the errors below return its number too: the user must be able to cancel it.
	argv := []string{"scancel"}
	if cluster != "" {
		argv = append(argv, "--clusters="+cluster)
	}
	script := fmt.Sprintf("#!/bin/sh\n# Ends the job array of the population %s; its members save.\nexec %s\n",
		j.file.Launcher.Name, quoteWords(append(argv, id)))
	if err = writeText(j.Cancel, script); err == nil {
		err = os.Chmod(j.Cancel, 0o755)
	}
	if err != nil {
		err = fmt.Errorf("launch: job %s is submitted: %w", id, err)
	}
	return id, err
}

// parseJob reads what sbatch --parsable says: a job, or a job and a cluster. Both go into a shell script, so anything
// else is refused.
func parseJob(text string) (id, cluster string, err error) {
	id, cluster, _ = strings.Cut(strings.TrimSpace(text), ";")
	if n, err := strconv.ParseUint(id, 10, 32); err != nil || n == 0 {
		return "", "", fmt.Errorf("launch: sbatch said %q: want the number of a job", strings.TrimSpace(text))
	}
	if cluster != "" && !plainName.MatchString(cluster) {
		return "", "", fmt.Errorf("launch: sbatch named the cluster %q: want a plain name", cluster)
	}
	return id, cluster, nil
}

// writeText replaces a file as a whole, so that a crash never leaves half a script.
func writeText(path, text string) error {
	write := func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
	if err := durable.WriteFile(path, write); err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	return nil
}
