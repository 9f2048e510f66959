//go:build unix

package cli

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/commandline"
)

// startProcess is the program, training for long; its messages can be read from err.
func startProcess(t *testing.T, args ...string) (command *exec.Cmd, err *os.File) {
	t.Helper()
	program := built(t)
	here(t, "long.yaml", short)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // where the test runs under nohup, what it starts would ignore SIGHUP, too
	defer signal.Stop(hangups)
	// a process that goes on is ended, and the test fails
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	command = exec.CommandContext(ctx, program,
		append([]string{"train", "-c", "long.yaml", "--timesteps", "10000000", "-s", "trainer.checkpoint_interval=64"},
			args...)...)
	read, write, wrong := os.Pipe()
	if wrong != nil {
		t.Fatal(wrong)
	}
	command.Stderr = write
	must(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	write.Close()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if found, _ := filepath.Glob("runs/pole/checkpoints/*.json"); len(found) > 0 {
			return command, read
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing was saved in a minute")
		}
	}
}

// Ctrl-C saves a run even if no program reads its messages any longer. tee ends at Ctrl-C, too, and a terminal may be
// closed.
func TestTrainOutlivesItsTerminal(t *testing.T) {
	command, stderr := startProcess(t)
	if _, err := bufio.NewReader(stderr).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	stderr.Close()
	// Another process may not go on with it meanwhile.
	status, _, words := use(t.Context(), "train", "--resume", "runs/pole")
	if status != commandline.WrongUse || !strings.Contains(words, "runs/pole is being trained by another process") {
		t.Errorf("going on with a run that trains ends with %d and says %q", status, words)
	}
	must(t, command.Process.Signal(syscall.SIGHUP))
	_ = command.Wait()
	if got := command.ProcessState.ExitCode(); got != commandline.Stopped {
		t.Errorf("it ends with %v, want status %d", command.ProcessState, commandline.Stopped)
	}
	gorl(t, 0, "inspect", "--tensors=false", "runs/pole")
	gorl(t, 0, "train", "--resume", "runs/pole", "--timesteps", "10", "-q")
}
