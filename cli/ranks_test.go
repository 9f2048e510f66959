//go:build linux

package cli

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/runfile"
)

var kills = flag.Int("kills", 2, "how often tests of ranks kill one")

// beGorl makes the tests' program the command gorl, also as a rank that a launcher starts.
const beGorl = "GORL_CLI_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(beGorl) != "" {
		Main()
	}
	os.Exit(m.Run())
}

// pair is a configuration that two ranks train in a moment.
var pair = strings.Replace(short, ", save_buffers: true", "", 1)

// launched is a launcher with its ranks, in a folder of its own.
type launched struct {
	*testing.T
	command *exec.Cmd
	mark    string // in the environment of all its processes
	ended   chan struct{}
}

// start starts words in the test's folder, with gorl in place of GORL.
func start(t *testing.T, words ...string) *launched {
	t.Helper()
	for i := range words {
		if words[i] == "GORL" {
			words[i] = os.Args[0]
		}
	}
	l := &launched{T: t, command: exec.Command(words[0], words[1:]...), ended: make(chan struct{})}
	l.mark = fmt.Sprintf("GORL_TEST_MARK=%d-%d", os.Getpid(), rand.Int64())
	l.command.Env = append(os.Environ(), beGorl+"=1", l.mark, "OMP_NUM_THREADS=1")
	// In a group of its own, so that a test that ends early leaves nothing behind.
	l.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	for name, to := range map[string]*io.Writer{"stdout": &l.command.Stdout, "stderr": &l.command.Stderr} {
		file := get(os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644))(t)
		defer file.Close()
		*to = file
	}
	must(t, l.command.Start())
	go func() {
		defer close(l.ended)
		_ = l.command.Wait()
	}()
	t.Cleanup(func() {
		_ = l.command.Process.Kill()
		<-l.ended
		for _, pid := range l.processes() {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		if t.Failed() {
			t.Logf("the launcher said\n%s%s", text("stdout"), text("stderr"))
		}
	})
	return l
}

// processes are the ranks that run, by rank; the launcher and others that have none are numbered from -1 downwards.
func (l *launched) processes() map[int]int {
	found := map[int]int{}
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, file := range files {
		values := strings.Split(text(file), "\x00")
		if !slices.Contains(values, l.mark) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		rank := -1 - len(found)
		for _, v := range values {
			if n, err := strconv.Atoi(strings.TrimPrefix(v, "RANK=")); err == nil {
				rank = n
			}
		}
		found[rank] = pid
	}
	return found
}

// until waits for something, and fails when the launcher ends before.
func (l *launched) until(what string, happened func() bool) {
	l.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !happened(); time.Sleep(
		time.Duration(1+rand.IntN(20)) * time.Millisecond) {
		select {
		case <-l.ended:
			if !happened() {
				l.Fatalf("before %s, the launcher ended: %v", what, l.command.ProcessState)
			}
			return
		default:
		}
		if time.Now().After(deadline) {
			l.Fatalf("%s has not happened in two minutes", what)
		}
	}
}

// end waits for the launcher's end with a status, and that it has left no process behind.
func (l *launched) end(status int) {
	l.Helper()
	select {
	case <-l.ended:
	case <-time.After(2 * time.Minute):
		l.Fatal("the launcher does not end")
	}
	if got := l.command.ProcessState.ExitCode(); got != status {
		l.Errorf("the launcher ended with %v, want status %d", l.command.ProcessState, status)
	}
	// What a launcher has ended may take a moment to go.
	for deadline := time.Now().Add(20 * time.Second); len(l.processes()) > 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			l.Fatalf("processes are left: %v", l.processes())
		}
	}
}

// newestOf is the timestep of the newest checkpoint of a run, -1 where there is none.
func newestOf(run string) int {
	at := -1
	names, _ := filepath.Glob(filepath.Join("runs", run, "checkpoints", "agent_*.json"))
	for _, name := range names {
		n, _ := strconv.Atoi(regexp.MustCompile(`\d+`).FindString(filepath.Base(name)))
		at = max(at, n)
	}
	return at
}

// runs are the folders in runs.
func runs(t *testing.T) (names []string) {
	t.Helper()
	for _, e := range get(os.ReadDir("runs"))(t) {
		names = append(names, e.Name())
	}
	return names
}

// Two processes train one run, in one folder, and go on with it.
func TestRanksTrain(t *testing.T) {
	here(t, "pair.yaml", pair)
	// The configuration may come from the standard input, and has the same seed in run.yaml as the one that was drawn.
	start(t, "sh", "-c", `"$0" train -c - --nproc 2 <pair.yaml`, os.Args[0]).end(0)
	matches(t, text("stdout"), `\n +768 +\d+ .*timestep \d+`, "The run is in runs/pole")
	var r struct {
		Run  string
		Size int
	}
	must(t, json.Unmarshal([]byte(text("runs/pole/"+ranksFile)), &r))
	if r.Size != 2 || r.Run == "" || newestOf("pole") != 96 {
		t.Errorf("%s has %+v, the newest checkpoint is of timestep %d, want 96", ranksFile, r, newestOf("pole"))
	}
	start(t, "GORL", "train", "--resume", "runs/pole", "--timesteps", "128", "--nproc", "2").end(0)
	same(t, "runs", []string{"pole"}, runs(t))
	same(t, "the timestep of the newest checkpoint", 128, newestOf("pole"))
	// Evaluation, inspection and one process alone take what ranks have written.
	gorl(t, 0, "train", "--resume", "runs/pole", "--timesteps", "160", "-q")
	gorl(t, 0, "eval", "runs/pole", "--episodes", "2")
}

// A rank that is killed at a random moment is started again with all others, and the run goes on from its newest
// checkpoint. Ctrl-C ends all ranks saved. go test -run Killed -kills 50 does it often.
func TestRanksKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some ten seconds for every kill")
	}
	here(t, "pair.yaml", pair)
	l := start(t, "GORL", "train", "-c", "pair.yaml", "--nproc", "2", "--max-restarts", "1000", "--timesteps",
		"10000000", "-s", "trainer.checkpoint_interval=32")
	l.killsRanks("pole")
	must(t, l.command.Process.Signal(os.Interrupt))
	l.end(commandline.Stopped)
	matches(t, text("stderr"), fmt.Sprintf(`starting all ranks again \(restart %d of 1000\)`, *kills),
		`rank 0: \S+: stopped at timestep \d+ of 10000000; the run is saved in runs/pole. Go on with: \S+ train `+
			`--nproc 2 --resume runs/pole`)
}

// Ranks whose settings differ do not begin, and each says which key differs.
func TestRanksDiffer(t *testing.T) {
	here(t, "pair.yaml", pair)
	for args, want := range map[string]string{
		"-s agent.learning_rate=0.1": `"agent.learning_rate" is 0.001 on rank 0 and 0.1 on rank 1`,
		"--num-envs 8":               `"environments of each rank" is 4 on rank 0 and 8 on rank 1`,
	} {
		os.Remove("stderr")
		port := strconv.Itoa(20000 + rand.IntN(10000))
		rank := func(rank int, args ...string) *launched { // without a launcher
			return start(t, slices.Concat([]string{"env", fmt.Sprintf("RANK=%d", rank), "WORLD_SIZE=2",
				"MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port, "GORL", "train", "-c", "pair.yaml", "-s",
				"distributed.join_timeout=60s"}, args)...)
		}
		zero, one := rank(0), rank(1, strings.Fields(args)...)
		zero.end(commandline.WrongUse)
		one.end(commandline.WrongUse)
		if got := text("stderr"); strings.Count(got, want) != 2 {
			t.Errorf("with %s the ranks say\n%s\nwant twice %s", args, got, want)
		}
	}
	absent(t, "runs")
}

// killsRanks kills one rank after another, each at a random moment after the run has got on since the last.
func (l *launched) killsRanks(run string) {
	l.Helper()
	last := -1
	for range *kills {
		l.until(fmt.Sprintf("a checkpoint after that of timestep %d", last),
			func() bool { return newestOf(run) > last })
		rank, victim := rand.IntN(2), 0
		l.until("the victim runs", func() bool { victim = l.processes()[rank]; return victim != 0 })
		last = newestOf(run)
		must(l.T, syscall.Kill(victim, syscall.SIGKILL))
		l.until("it is started again", func() bool { pid := l.processes()[rank]; return pid != 0 && pid != victim })
		if at := newestOf(run); at < last { // no other process saves now
			l.Errorf("the newest checkpoint was of timestep %d, and is of %d", last, at)
		}
		last = newestOf(run)
	}
	l.until("the run goes on", func() bool { return newestOf(run) > last })
	same(l.T, "runs", []string{run}, runs(l.T))
}

// torchrun starts ranks and starts them again, with and without a store of its own at the port that it names.
func TestTorchrun(t *testing.T) {
	folder := os.Getenv("GORL_PYTORCH")
	if folder == "" {
		t.Skip("needs GORL_PYTORCH, the folder of `make pytorch`, whose PyTorch has torchrun")
	}
	for name, flags := range map[string][]string{
		"static":     {"--master-addr=127.0.0.1", "--master-port=" + strconv.Itoa(20000+rand.IntN(10000))},
		"standalone": {"--standalone"},
		"own store":  {"--standalone", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"},
	} {
		t.Run(name, func(t *testing.T) {
			here(t, "pair.yaml", pair)
			words := []string{"env"}
			if i := len(flags) - 1; strings.Contains(flags[i], "TORCH") {
				words, flags = append(words, flags[i]), flags[:i]
			}
			words = append(words, filepath.Join(folder, "bin", "python"), "-m", "torch.distributed.run", "--no-python",
				"--nproc-per-node=2", "--max-restarts=1000")
			l := start(t, slices.Concat(words, flags,
				[]string{os.Args[0], "train", "-c", "pair.yaml", "--timesteps", "10000000", "-s",
					"trainer.checkpoint_interval=32"})...)
			l.killsRanks("pole")
			must(t, l.command.Process.Signal(syscall.SIGTERM))
			l.end(1) // torchrun's, after a signal
			matches(t, text("stderr"), `stopped at timestep \d+ of 10000000; the run is saved in runs/pole`)
		})
	}
}

// What is wrong is said once, and nothing is started again.
func TestRanksRefuse(t *testing.T) {
	here(t, "pair.yaml", pair)
	write(t, "population.yaml", populations["isaaclab"].text)
	refuses(t, commandline.WrongUse, [][2]string{
		{"train -c pair.yaml --nproc 0", "--nproc is 0"},
		{"train -c pair.yaml --nproc 2 -s agent.rolouts=3", "rolouts"},
		{"train -c population.yaml -s distributed.timeout=1s", "it belongs to a run of one agent"},
		{"train -c population.yaml --nproc 2", "a population that trains in one process has no ranks"},
	})
	t.Setenv("RANK", "0")
	refuses(t, commandline.WrongUse, [][2]string{{"train -c pair.yaml", "WORLD_SIZE is not set"}})
	t.Setenv("WORLD_SIZE", "2")
	t.Setenv("MASTER_ADDR", "127.0.0.1")
	refuses(t, commandline.WrongUse, [][2]string{
		{"train -c population.yaml", "has no ranks"},
		{"train -c pair.yaml --nproc 2 --max-restarts 1",
			"restarts of ranks on several machines are for RANK and WORLD_SIZE to do"},
	})
	// Within a launcher's environment --check and what is switched off train alone.
	gorl(t, 0, "train", "-c", "pair.yaml", "--check")
	t.Setenv("GORL_DISTRIBUTED", "off")
	gorl(t, 0, "train", "-c", "pair.yaml", "-q")
}

// A population whose members have several ranks may set their timeouts, another one may not.
func TestRanksOfMembersHaveTimeouts(t *testing.T) {
	for ranks, ok := range map[int]bool{1: false, 2: true} {
		c := get(runfile.Parse(fmt.Appendf(nil, "environment: {id: CartPole}\nagent: {class: PPO}\npbt: {}\n"+
			"launcher: {ranks_per_member: %d}\ndistributed: {timeout: 20s}\n", ranks)))(t)
		if err := check(c); (err == nil) != ok {
			t.Errorf("with %d ranks: %v", ranks, err)
		}
	}
}
