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

	"github.com/gorl-dev/gorl/internal/test/must"
)

// population writes a population's file whose members are fakes, and reads it.
func population(t *testing.T, settings string, script ...string) (*File, string) {
	t.Helper()
	dir := t.TempDir()
	self, err := os.Executable()
	must.Do(t, err)
	words := append([]string{self, "member"}, script...)
	if command, ok := strings.CutPrefix(settings, "shell"); ok { // behind a shell that does not hand signals on
		settings = command
		words = []string{"/bin/sh", "-c", quoteWords(words) + "; exit $?"}
	}
	for i, word := range words {
		words[i] = fmt.Sprintf("%q", word)
	}
	if !strings.Contains(settings, "restarts") {
		settings += ", restarts: {backoff: 1ms, max_backoff: 2ms, max: 2}"
	}
	settings = strings.TrimPrefix(settings, ", ")
	text := fmt.Sprintf("pbt: {directory: %q, workspace: w, num_policies: 3}\nlauncher: {command: [%s], %s}\n", dir,
		strings.Join(words, ", "), settings)
	path := filepath.Join(dir, "population.yaml")
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	f, err := ReadFile(path)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return f, path
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
	data, err := os.ReadFile(filepath.Join(f.Dir(), name))
	must.Do(t, err)
	return string(data)
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
	f, _ := population(t, "env: {GREETING: hello}, gpus: 2, members_per_gpu: 2", "train=2", "env=GREETING",
		"env=CUDA_VISIBLE_DEVICES", "env=GORL_PBT_SLICE", "env=GORL_PBT_LOCAL_IDX", "env=GORL_PBT_CONFIG")
	t.Setenv("CUDA_VISIBLE_DEVICES", "5,GPU-7,9")
	var out buffer
	if err := Run(context.Background(), f, Options{Out: &out}); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	wantIn(t, "the output", out.String(), "member 0: started as process", "on GPU 5", "on GPU GPU-7",
		"member 2: finished", "member  phase",
		"     0  finished          3                200          2       -         0    -")
	wantIn(t, "the launcher's log", written(t, f, "logs/launcher.log"), "member 1: finished")
	config, err := filepath.Abs(filepath.Join(f.Dir(), ConfigFile))
	must.Do(t, err)
	for member, gpu := range []string{"5", "GPU-7", "5"} {
		wantIn(t, "a member's log", written(t, f, fmt.Sprintf("logs/%03d.log", member)), "GREETING=hello\n",
			"CUDA_VISIBLE_DEVICES="+gpu+"\n", "GORL_PBT_SLICE=0\n", "GORL_PBT_LOCAL_IDX=0\n",
			"GORL_PBT_CONFIG="+config+"\n")
	}
	// A second run finds everything done and adds to the logs.
	must.Do(t, Run(context.Background(), f, Options{}))
	if n := strings.Count(written(t, f, "logs/000.log"), "GREETING=hello"); n != 2 {
		t.Errorf("the member's log has %d greetings after two runs, want 2", n)
	}
}

// Members that see all devices know their places among those that run: one that is started again takes the free one.
func TestRunTellsPlaces(t *testing.T) {
	f, _ := population(t, "", "env=GORL_PBT_LOCAL_IDX", "1:restart", "train=1")
	must.Do(t, Run(context.Background(), f, Options{}))
	for member := range 3 {
		log := written(t, f, fmt.Sprintf("logs/%03d.log", member))
		if strings.Count(log, fmt.Sprintf("GORL_PBT_LOCAL_IDX=%d\n", member)) != 2 {
			t.Errorf("member %d has, in two starts,\n%s", member, log)
		}
	}
	wantIn(t, "the launcher's log", written(t, f, "logs/launcher.log"),
		"member 0: restarts for a setting that needs it")
}

func TestRunRestartsWhatFails(t *testing.T) {
	f, _ := population(t, "", "1:fail=the first time", "2:exit=3", "train=1")
	must.Do(t, Run(context.Background(), f, Options{}))
	if got := written(t, f, "starts-1"); got != "x\nx\nx\n" {
		t.Errorf("member 1 was started %d times, want 3", strings.Count(got, "x"))
	}
	wantIn(t, "the launcher's log", written(t, f, "logs/launcher.log"), "member 2: exit status 1; restart 1 of 2",
		"member 2: exit status 3; restart 2 of 2", "member 2: finished")
}

func TestRunNamesWhoGaveUp(t *testing.T) {
	f, _ := population(t, "", "p1:say=out of luck", "p1:exit=9", "train=1")
	err := Run(context.Background(), f, Options{})
	if err == nil || errors.Is(err, ErrStopped) {
		t.Fatalf("error %v, want that member 1 gave up", err)
	}
	wantIn(t, "the error", err.Error(), "member 1 gave up: exit status 9; failed 3 times", "001.log", "\tout of luck")
	if strings.Contains(err.Error(), "member 0") {
		t.Errorf("the error is about member 0 too: %v", err)
	}
}

func TestRunLetsMembersTakeTurns(t *testing.T) {
	f, _ := population(t, "max_parallel: 1, slice: 2", "order=order", "train=5")
	must.Do(t, Run(context.Background(), f, Options{}))
	if got := strings.Join(strings.Fields(written(t, f, "order")), ""); got != "012012012" {
		t.Errorf("the turns were %s, want 012012012", got)
	}
}

// pipe makes a named pipe for members to hold.
func pipe(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "pipe")
	must.Do(t, syscall.Mkfifo(path, 0o600))
	return path
}

// lines opens a named pipe and reads so many lines, one from each process that holds it; then the rest.
func lines(t *testing.T, path string, n int) (rest func() string) {
	t.Helper()
	file, err := os.Open(path)
	must.Do(t, err)
	r := bufio.NewReader(file)
	for range n {
		if _, err := r.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	return func() string {
		defer file.Close()
		text, _ := r.ReadString(0) // returns when nobody holds the pipe any more
		return text
	}
}

func TestRunStops(t *testing.T) {
	for _, settings := range []string{"", "shell"} {
		t.Run("behind "+settings, func(t *testing.T) {
			p := pipe(t)
			f, _ := population(t, settings, "hold="+p, "wait")
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
	p := pipe(t)
	f, _ := population(t, "grace: 1ms", "stubborn", "hold="+p, "forever")
	ctx, cancel := context.WithCancel(context.Background())
	go func() { defer cancel(); lines(t, p, 3) }()
	if err := Run(ctx, f, Options{}); !errors.Is(err, ErrStopped) {
		t.Fatalf("error %v, want ErrStopped", err)
	}
	wantIn(t, "the launcher's log", written(t, f, "logs/launcher.log"), "killing members that have not ended",
		"ended by signal: killed")
}

func TestNothingOutlivesAMember(t *testing.T) {
	for _, helper := range []string{"helper", "loud-helper"} {
		t.Run(helper, func(t *testing.T) {
			p := pipe(t)
			f, _ := population(t, "grace: 1ms", "p1:"+helper+"="+p, "train=1")
			var all sync.WaitGroup
			all.Go(func() { lines(t, p, 1)() })
			must.Do(t, Run(context.Background(), f, Options{}))
			all.Wait() // returns only if the helper is gone
		})
	}
}

func TestNoMemberOutlivesItsLauncher(t *testing.T) {
	p := pipe(t)
	_, path := population(t, "", "stubborn", "hold="+p, "forever")
	launcher := exec.Command(os.Args[0], "launcher", path)
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
		f, _ := population(t, "", "train=1")
		if _, err := f.Install(); err != nil {
			t.Fatal(err)
		}
		t.Setenv("CUDA_VISIBLE_DEVICES", "3")
		spoil(f)
		if err := Run(context.Background(), f, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	// A second launcher.
	f, _ := population(t, "", "train=1")
	must.Do(t, os.MkdirAll(f.Dir(), 0o755))
	unlock, err := lockFolder(f.Dir())
	must.Do(t, err)
	defer unlock()
	if err := Run(context.Background(), f, Options{}); err == nil || !strings.Contains(err.Error(),
		"another launcher") {
		t.Errorf("error %v, want that there is another launcher", err)
	}
	// A program that does not know of ranks must not train one member several times at once.
	if err := (Program{}).Train(t.Context(), Process{Ranks: 2}); err == nil || !strings.Contains(err.Error(),
		"multirank.Train") {
		t.Errorf("a program of one process says %v", err)
	}
}
