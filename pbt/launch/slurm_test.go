package launch

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/process"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// job makes a population whose members are a few lines of shell.
func job(t *testing.T, settings, member string) *File {
	t.Helper()
	command := must.Get(json.Marshal([]string{"/bin/sh", "-c", member}))(t)
	f := must.Get(Parse(fmt.Appendf(nil, "pbt: {num_policies: 3, workspace: w}\nlauncher: {command: %s, %s}", command,
		settings)))(t)
	f.Directory = t.TempDir()
	return f
}

// blocked is the end of a member that waits for signals: it sleeps until the test closes descriptor 3, which the test's
// own end does too. Traps run while it waits, which a read would not promise for a signal that comes just before it.
const blocked = "cat <&3 >/dev/null 2>&1 & while kill -0 $! 2>/dev/null; do wait $!; done; exit 1"

// again is a member that has itself told to save three times, and finishes. It asks once the script sleeps in wait,
// because bash may lose a signal that comes while it runs the trap of the one before.
const again = "hits=0; trap 'hits=$((hits+1))' USR1; while test $hits -lt 3; do was=$hits; " +
	"until grep -q 'State:.S' /proc/$PPID/status; do :; done; kill -USR1 $PPID; while test $hits = $was; do :; " +
	"done; done; exit 0"

// The batch script does what the member's exit status asks for. Bash runs it here as Slurm would.
func TestBatchScript(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash")
	}
	for name, c := range map[string]struct {
		member   string // $n counts its starts
		settings string
		status   int
		starts   int
		scontrol string
		stderr   string
	}{
		"yielded":   {member: "exit 75", status: 75, starts: 1, scontrol: "requeue 40_2"},
		"restarted": {member: "test $n = 3 || exit 76", starts: 3},
		"failed once": {member: "test $n = 2 || exit 9", starts: 2,
			stderr: "member 2 failed with status 9; restart 1 of 5 in 1 s"},
		"gave up": {member: "exit 9", settings: "restarts: {max: 0}", status: 9,
			starts: 1, stderr: "member 2 gave up after 1 failures, the last with status 9"},
		"told to end": {member: "trap 'exit 78' TERM; kill -TERM $PPID; " + blocked,
			status: 78, starts: 1},
		"told to save": {member: "trap 'exit 78' USR1; kill -USR1 $PPID; " + blocked,
			status: 78, starts: 1},
		"told to save again and again": {member: again, starts: 1},
		"told to end while it waits": {member: "test $n = 1 || exit 0; exit 9",
			settings: "restarts: {backoff: 30m, max_backoff: 1h}", status: 78, starts: 1},
		"told to save while it waits": {member: "test $n = 1 || exit 0; exit 9",
			settings: "restarts: {backoff: 30m, max_backoff: 1h}", status: 78, starts: 1, scontrol: "requeue 40_2"},
		"told to save and then to end": {member: "trap '' USR1; kill -USR1 $PPID; kill -TERM $PPID; " +
			blocked, status: 78, starts: 1},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			starts, told := filepath.Join(dir, "starts"), filepath.Join(dir, "told")
			ends, end, err := os.Pipe()
			must.Do(t, err)
			defer ends.Close()
			defer end.Close()
			script(t, "scontrol", `echo "$@" >>`+process.QuoteWord(told))
			signal := "TERM"
			if strings.Contains(name, "save") {
				signal = "USR1"
			}
			script(t, "sleep", "kill -"+signal+" $PPID; exec cat <&3 >/dev/null 2>&1")
			if !strings.Contains(name, "while it waits") {
				script(t, "sleep", "exit 0") // no test waits
			}
			member := "echo x >>" + process.QuoteWord(starts) + "; n=$(wc -l <" + process.QuoteWord(starts) + "); " +
				c.member
			job := must.Get(Slurm(job(t, c.settings, member)))(t)
			path := filepath.Join(dir, "it's a job.sbatch")
			must.Do(t, os.WriteFile(path, []byte(job.Script), 0o644))
			command := exec.CommandContext(t.Context(), bash, path)
			command.Env = append(os.Environ(), "SLURM_ARRAY_JOB_ID=40", "SLURM_ARRAY_TASK_ID=2")
			command.ExtraFiles = []*os.File{ends}
			var stderr strings.Builder
			command.Stderr = &stderr
			command.Run()
			if got := command.ProcessState.ExitCode(); got != c.status {
				t.Errorf("exit status %d, want %d\n%s", got, c.status, stderr.String())
			}
			must.Is(t, strings.Count(string(must.Read(t, starts)), "x"), c.starts, "starts")
			if text, _ := os.ReadFile(told); strings.TrimSpace(string(text)) != c.scontrol {
				t.Errorf("scontrol was told %q, want %q", text, c.scontrol)
			}
			if !strings.Contains(stderr.String(), c.stderr) {
				t.Errorf("it says %q, want %q", stderr.String(), c.stderr)
			}
		})
	}
}

func TestSubmit(t *testing.T) {
	said := filepath.Join(t.TempDir(), "said")
	script(t, "sbatch", `printf '%s\n' "$@" >`+process.QuoteWord(said)+"; echo '4711;north'")
	f := job(t, "", "true")
	f.Directory = filepath.Join(f.Directory, `it's "here"`)
	j := must.Get(Slurm(f))(t)
	must.Is(t, must.Get(j.Submit(t.Context()))(t), "4711", "the job")
	must.Equal(t, "what sbatch was told", "--parsable\n"+j.Path+"\n", string(must.Read(t, said)))
	must.Equal(t, "the script", j.Script, string(must.Read(t, j.Path)))
	must.Get(os.Stat(filepath.Join(f.Dir(), "logs")))(t)
	script(t, "scancel", `printf '%s\n' "$@" >`+process.QuoteWord(said))
	must.Run(t, exec.Command(j.Cancel))
	must.Equal(t, "what scancel was told", "--clusters=north\n4711\n", string(must.Read(t, said)))

	script(t, "sbatch", "echo 'no such partition' >&2; exit 1")
	must.Refused(j.Submit(t.Context()))(t, "no such partition")
	script(t, "sbatch", "echo welcome")
	must.Refused(j.Submit(t.Context()))(t, `said "welcome"`)
}
