package launch

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/gorl-dev/gorl/internal/durable"
	"github.com/gorl-dev/gorl/internal/process"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// population is a population of three members, which are a few lines of shell. $dir is the population's folder, $n
// counts the starts of the member, and beat writes its heartbeat after so many intervals.
func population(t *testing.T, settings, member string) *File {
	t.Helper()
	self := must.Get(os.Executable())(t)
	return job(t, "restarts: {backoff: 1ms, max_backoff: 2ms, max: 2}"+settings, `
dir=${GORL_PBT_CONFIG%/*} member=$GORL_PBT_POLICY_IDX
echo x >>"$dir/starts-$member"; n=$(wc -l <"$dir/starts-$member")
beat() { `+process.QuoteWord(self)+` beat "$1"; }
`+member)
}

// buffer may be written and read at once.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func written(t *testing.T, f *File, name string) string {
	t.Helper()
	return string(must.Read(t, filepath.Join(f.Dir(), name)))
}

func wantIn(t *testing.T, what, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

func TestRunToTheEnd(t *testing.T) {
	f := population(t, ", env: {GREETING: hello}, gpus: 2, members_per_gpu: 2", `beat 2
echo "$GREETING on $CUDA_VISIBLE_DEVICES, $GORL_PBT_SLICE, $GORL_PBT_LOCAL_IDX, $GORL_PBT_CONFIG"`)
	t.Setenv("CUDA_VISIBLE_DEVICES", "5,GPU-7,9")
	var out buffer
	if err := Run(context.Background(), f, Options{Out: &out}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	wantIn(t, "the output", out.String(), "member 0: started as process", "on GPU 5", "on GPU GPU-7",
		"member 2: finished", "member  phase",
		"     0  finished          3                200          2       -         0    -")
	wantIn(t, "the launcher's log", written(t, f, "logs/launcher.log"), "member 1: finished")
	config := must.Get(filepath.Abs(filepath.Join(f.Dir(), ConfigFile)))(t)
	for member, gpu := range []string{"5", "GPU-7", "5"} {
		wantIn(t, "a member's log", written(t, f, fmt.Sprintf("logs/%03d.log", member)),
			"hello on "+gpu+", 0, 0, "+config+"\n")
	}
	// A second run finds everything done and adds to the logs.
	must.Do(t, Run(context.Background(), f, Options{}))
	must.Is(t, strings.Count(written(t, f, "logs/000.log"), "hello"), 2, "greetings in the member's log after two runs")
}

// A member that is started again takes the free place among those that run, and the restarts that it may have are
// counted.
func TestRunRestarts(t *testing.T) {
	f := population(t, "", `echo "place $GORL_PBT_LOCAL_IDX"
case $n in 1) exit 76 ;; 2) exit 1 ;; 3) exit 3 ;; esac`)
	must.Do(t, Run(context.Background(), f, Options{}))
	for member := range 3 {
		if log := written(t, f, fmt.Sprintf("logs/%03d.log", member)); strings.Count(log, "place ") != 4 ||
			!strings.HasPrefix(log, strings.Repeat(fmt.Sprintf("place %d\n", member), 2)) {
			t.Errorf("member %d has, in its starts,\n%s", member, log)
		}
	}
	wantIn(t, "the launcher's log", written(t, f, "logs/launcher.log"),
		"member 0: restarts for a setting that needs it", "member 2: exit status 1; restart 1 of 2",
		"member 2: exit status 3; restart 2 of 2", "member 2: finished")
}

func TestRunNamesWhoGaveUp(t *testing.T) {
	f := population(t, "", `[ $member != 1 ] || { echo out of luck; exit 9; }`)
	err := Run(context.Background(), f, Options{})
	must.Refuse(t, err, "member 1 gave up: exit status 9; failed 3 times", "001.log", "\tout of luck")
	if errors.Is(err, ErrStopped) || strings.Contains(err.Error(), "member 0") {
		t.Errorf("the error is %v, want one about member 1 alone", err)
	}
}

func TestRunLetsMembersTakeTurns(t *testing.T) {
	f := population(t, ", max_parallel: 1, slice: 2", `echo $member >>"$dir/order"
[ $GORL_PBT_SLICE = 2 ] && beat $((2 * n)) || exit 1
[ $n = 3 ] || exit 75`)
	must.Do(t, Run(context.Background(), f, Options{}))
	must.Is(t, strings.Join(strings.Fields(written(t, f, "order")), ""), "012012012", "the turns")
}

// held is a named pipe, and the line of a member that opens it: the pipe says that the process is there, and by its end
// that it has gone, whatever ended it.
func held(t *testing.T) (path, hold string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "pipe")
	must.Do(t, syscall.Mkfifo(path, 0o600))
	return path, "exec 9>" + process.QuoteWord(path) + "; echo here >&9\n"
}

// lines opens a named pipe and reads so many lines, one from each process that holds it; then the rest.
func lines(t *testing.T, path string, n int) (rest func() string) {
	t.Helper()
	file := must.Get(os.Open(path))(t)
	r := bufio.NewReader(file)
	for range n {
		must.Get(r.ReadString('\n'))(t)
	}
	return func() string {
		defer file.Close()
		text, _ := r.ReadString(0) // returns when nobody holds the pipe any more
		return text
	}
}

// stubborn is the end of a member that signals do not end.
const stubborn = "exec sleep 300"

func TestRunStops(t *testing.T) {
	for _, behind := range []string{"", "a shell that does not hand signals on"} {
		t.Run("behind "+behind, func(t *testing.T) {
			p, hold := held(t)
			f := population(t, "", "trap 'echo saved; exit 78' TERM\n"+hold+"while :; do sleep 0.05; done")
			if behind != "" {
				f.Launcher.Command = []string{"/bin/sh", "-c", quoteWords(f.Launcher.Command) + "; exit $?"}
			}
			ctx, cancel := context.WithCancelCause(context.Background())
			why := errors.New("the machine is wanted back")
			go func() {
				gone := lines(t, p, 3)
				cancel(why)
				gone()
			}()
			err := Run(ctx, f, Options{})
			if !errors.Is(err, ErrStopped) || !errors.Is(err, why) {
				t.Fatalf("error %v, want one that wraps ErrStopped and the cause", err)
			}
			wantIn(t, "the error", err.Error(), "members 0, 1, 2")
			wantIn(t, "a member's log", written(t, f, "logs/002.log"), "saved\n")
		})
	}
}

func TestRunKillsWhoDoesNotEnd(t *testing.T) {
	p, hold := held(t)
	f := population(t, ", grace: 1ms", "trap '' TERM\n"+hold+stubborn)
	ctx, cancel := context.WithCancel(context.Background())
	go func() { defer cancel(); lines(t, p, 3) }()
	if err := Run(ctx, f, Options{}); !errors.Is(err, ErrStopped) {
		t.Fatalf("error %v, want ErrStopped", err)
	}
	wantIn(t, "the launcher's log", written(t, f, "logs/launcher.log"), "ended by signal: killed")
}

// A process that a member started and that does not end with it is killed, also one that holds the member's output.
func TestNothingOutlivesAMember(t *testing.T) {
	for _, output := range []string{">/dev/null 2>&1", ""} {
		p, hold := held(t)
		f := population(t, ", grace: 1ms", "[ $member = 1 ] || exit 0\n(trap '' TERM\n"+hold+`>"$dir/there"
`+stubborn+") "+output+` &
until [ -e "$dir/there" ]; do sleep 0.01; done`)
		var all sync.WaitGroup
		all.Go(func() { lines(t, p, 1)() })
		must.Do(t, Run(context.Background(), f, Options{}))
		all.Wait() // returns only if the helper is gone
	}
}

func TestNoMemberOutlivesItsLauncher(t *testing.T) {
	p, hold := held(t)
	f := population(t, "", "trap '' TERM\n"+hold+stubborn)
	path := must.Get(f.Install())(t)
	launcher := exec.Command(os.Args[0], "launcher", path)
	launcher.Dir = f.Directory
	must.Do(t, launcher.Start())
	gone := lines(t, p, 3)
	must.Do(t, launcher.Process.Kill())
	launcher.Wait()
	gone() // returns only if all members are gone
}

func TestRunRefuses(t *testing.T) {
	for want, spoil := range map[string]func(f *File){
		"preset: nothing there, raytune here": func(f *File) { f.sections["preset"] = "raytune" },
		"launcher.command":                    func(f *File) { f.Launcher.Command = nil },
		"/nowhere/member":                     func(f *File) { f.Launcher.Command = []string{"/nowhere/member"} },
		"CUDA_VISIBLE_DEVICES has 1":          func(f *File) { f.Launcher.GPUs = 2 },
	} {
		f := population(t, "", "")
		must.Get(f.Install())(t)
		t.Setenv("CUDA_VISIBLE_DEVICES", "3")
		spoil(f)
		must.Refuse(t, Run(context.Background(), f, Options{}), want)
	}
	// A second launcher.
	f := population(t, "", "")
	must.Do(t, os.MkdirAll(f.Dir(), 0o755))
	unlock := must.Get(durable.Lock(f.Dir(), LockFile))(t)
	defer unlock()
	must.Refuse(t, Run(context.Background(), f, Options{}), "another launcher")
	// A program that does not know of ranks must not train one member several times at once.
	must.Refuse(t, Program{}.Train(t.Context(), Process{Ranks: 2}), "multirank.Train")
}
