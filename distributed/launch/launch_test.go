package launch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/distributed/launch"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// TestMain runs the tests, or a rank if a test has started this program as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "rank" {
		os.Exit(rank(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// rank executes the words of a script. A word with the prefix "0:" is for that rank only, with "a0:" for that attempt.
func rank(script []string) int {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, syscall.SIGTERM)
	p, ok, err := distributed.Detect(os.Getenv)
	if err != nil || !ok {
		fmt.Fprintln(os.Stderr, "no rank:", err)
		return 1
	}
	for _, word := range script {
		for {
			of, rest, ok := strings.Cut(word, ":")
			if !ok {
				break
			}
			if of != strconv.Itoa(p.Rank) && of != fmt.Sprintf("a%d", p.Attempt) {
				word = ""
				break
			}
			word = rest
		}
		verb, arg, _ := strings.Cut(word, "=")
		switch verb {
		case "place":
			host, _, _ := strings.Cut(p.Address, ":")
			if filepath.IsAbs(host) {
				host = "a socket"
			}
			fmt.Printf("%v, %d of %d here, attempt %d, %s, by %s\n", p, p.LocalRank, p.LocalSize, p.Attempt, host,
				p.Launcher)
		case "cry":
			fmt.Fprintln(os.Stderr, arg)
		case "part":
			fmt.Fprint(os.Stderr, arg)
		case "cat":
			text, err := io.ReadAll(os.Stdin)
			fmt.Printf("%q %v\n", text, err)
		case "wait":
			<-signals
			fmt.Fprintln(os.Stderr, "saved")
			return launch.StatusStopped
		case "ready":
			if err := os.WriteFile(arg+strconv.Itoa(p.Attempt), nil, 0o600); err != nil {
				panic(err)
			}
		case "await":
			await(arg + strconv.Itoa(p.Attempt))
		case "terminate": // itself
			_ = syscall.Kill(os.Getpid(), syscall.SIGTERM)
		case "fail": // at a signal
			<-signals
			fallthrough
		case "exit":
			status, err := strconv.Atoi(arg)
			if err != nil {
				panic(err)
			}
			return status
		case "kill":
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}
	return 0
}

// await waits for a file.
func await(path string) {
	for _, err := os.Stat(path); err != nil; _, err = os.Stat(path) {
		time.Sleep(time.Millisecond)
	}
}

// output may be written by several.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

// sorted are the lines.
func (o *output) sorted() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	lines := strings.SplitAfter(o.b.String(), "\n")
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// run runs ranks with a script.
func run(ctx context.Context, t *testing.T, o launch.Options, script ...string) (stdout, stderr string, err error) {
	t.Helper()
	var out, messages output
	if o.Stdout == nil {
		o.Stdout = &out
	}
	o.Stderr = &messages
	err = launch.Run(ctx, append([]string{os.Args[0], "rank"}, script...), o)
	return out.sorted(), messages.sorted(), err
}

func TestRanksFindTheirPlaces(t *testing.T) {
	t.Setenv("TORCHELASTIC_RUN_ID", "of somebody else")
	stdout, stderr, err := run(t.Context(), t, launch.Options{Count: 3, Stdin: []byte("a: 1\n")}, "place", "cat",
		"1:cry=half\na line", "1:part=no line break")
	must.Do(t, err)
	want := "\"a: 1\\n\" <nil>\nrank 0 of 3, 0 of 3 here, attempt 0, a socket, by gorl's launcher\n"
	if stdout != want {
		t.Errorf("rank 0 says %q, want %q", stdout, want)
	}
	want = `rank 1: "a: 1\n" <nil>
rank 1: a line
rank 1: half
rank 1: no line break
rank 1: rank 1 of 3, 1 of 3 here, attempt 0, a socket, by gorl's launcher
rank 2: "a: 1\n" <nil>
rank 2: rank 2 of 3, 2 of 3 here, attempt 0, a socket, by gorl's launcher
`
	if stderr != want {
		t.Errorf("the others say\n%swant\n%s", stderr, want)
	}
}

// A launcher on each of several machines starts the ranks of that machine.
func TestRanksOfSeveralMachines(t *testing.T) {
	within := distributed.Place{Rank: 1, Size: 2, LocalSize: 1, Address: "10.1.2.3:7000", Run: "7.0/3", Attempt: 3}
	_, stderr, err := run(t.Context(), t, launch.Options{Count: 2, Within: within}, "place")
	want := `rank 2: rank 2 of 4, 0 of 2 here, attempt 3, 10.1.2.3, by gorl's launcher
rank 3: rank 3 of 4, 1 of 2 here, attempt 3, 10.1.2.3, by gorl's launcher
`
	if err != nil || stderr != want {
		t.Errorf("%v,\n%swant\n%s", err, stderr, want)
	}
}

// When a rank fails all are ended and started again.
func TestRanksStartAgain(t *testing.T) {
	stdout, stderr, err := run(t.Context(), t, launch.Options{Count: 2, MaxRestarts: 2}, "a0:1:exit=9", "a1:0:kill",
		"a0:wait", "a1:wait", "place")
	must.Do(t, err)
	if !strings.HasPrefix(stdout, "rank 0 of 2, 0 of 2 here, attempt 2") {
		t.Errorf("rank 0 says %q", stdout)
	}
	for _, part := range []string{"rank 1 of 2: exit status 9; starting all ranks again (restart 1 of 2)\n",
		"rank 0 of 2: ended by signal: killed; starting all ranks again (restart 2 of 2)\n",
		"rank 1: rank 1 of 2, 1 of 2 here, attempt 2"} {
		if !strings.Contains(stderr, part) {
			t.Errorf("the others' output lacks %q:\n%s", part, stderr)
		}
	}
}

// The error names the first rank that failed, quotes it, and has its status.
func TestRanksGiveUp(t *testing.T) {
	var failure *launch.Failure
	_, _, err := run(t.Context(), t, launch.Options{Count: 3, MaxRestarts: 1}, "1:cry=out of luck", "1:exit=9", "wait")
	if !errors.As(err, &failure) || failure.Rank != 1 || failure.Status != 9 || failure.Restarts != 1 ||
		err.Error() != "rank 1 of 3: exit status 9 in attempt 2; its last lines:\n\tout of luck" {
		t.Errorf("the error is %v", err)
	}
	// One that was called wrongly would be again.
	_, stderr, err := run(t.Context(), t, launch.Options{Count: 2, MaxRestarts: 3}, "0:exit=2", "wait")
	if !errors.As(err, &failure) || failure.Rank != 0 || failure.Status != launch.StatusUsage ||
		failure.Restarts != 0 ||
		strings.Contains(stderr, "again") {
		t.Errorf("after wrong use the error is %v, and the output\n%s", err, stderr)
	}
}

// When the context ends, or a signal stops one rank, all ranks are asked once, save, and end.
func TestRanksStop(t *testing.T) {
	for last, reason := range map[string]string{"1:ready": "enough", "1:terminate": ""} {
		dir := t.TempDir()
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		if reason != "" {
			go func() {
				await(dir + "/1-0")
				cancel(errors.New(reason))
			}()
		}
		_, stderr, err := run(ctx, t, launch.Options{Count: 2, MaxRestarts: 3}, "0:ready="+dir+"/0-",
			"1:await="+dir+"/0-", last+"="+dir+"/1-", "wait")
		if !errors.Is(err, launch.ErrStopped) || !strings.Contains(err.Error(), reason) ||
			stderr != "rank 0: saved\nrank 1: saved\n" {
			t.Errorf("%s: the error is %v, the output\n%s", last, err, stderr)
		}
	}
}

// The error is that of the rank that failed, and not of one that ended before because it had lost the other.
func TestFirstFailureIsReported(t *testing.T) {
	for status, restarts := range map[int]int{launch.StatusUsage: 0, 5: 1} {
		ready := filepath.Join(t.TempDir(), "ready")
		_, stderr, err := run(t.Context(), t, launch.Options{Count: 2, MaxRestarts: 1}, "0:ready="+ready,
			"1:await="+ready,
			"1:exit="+strconv.Itoa(launch.StatusPeer), fmt.Sprintf("0:fail=%d", status))
		var f *launch.Failure
		if !errors.As(err, &f) || f.Rank != 0 || f.Status != status || f.Restarts != restarts {
			t.Errorf("status %d: %v after %d restarts, want %d\n%s", status, err, f.Restarts, restarts, stderr)
		}
	}
}

func TestRanksRefuse(t *testing.T) {
	apart := distributed.Place{Size: 2, LocalSize: 1, Address: "a:1", Launcher: "torchrun"}
	for want, o := range map[string]launch.Options{
		"the number of ranks is 0": {}, "the number of restarts is -1": {Count: 1, MaxRestarts: -1},
		"several machines are for torchrun to do": {Count: 2, Within: apart, MaxRestarts: 1},
	} {
		must.Refuse(t, launch.Run(t.Context(), []string{os.Args[0], "rank"}, o), want)
	}
	must.Refuse(t, launch.Run(t.Context(), []string{"no-such-program"}, launch.Options{Count: 1}), "executable file")
}

func ExampleRun() {
	// Usually the program itself, with its own arguments: os.Executable and os.Args[1:].
	err := launch.Run(context.Background(), []string{"sh", "-c", `test $RANK != 0 || echo "one of $WORLD_SIZE"`},
		launch.Options{Count: 2, Stdout: os.Stdout, Stderr: os.Stderr})
	fmt.Println(err)
	// Output:
	// one of 2
	// <nil>
}
