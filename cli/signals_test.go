//go:build linux

package cli

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/commandline"
)

// Ctrl-C saves a run even if no program reads its messages any longer. tee ends at Ctrl-C, too, and a terminal may be
// closed.
func TestTrainOutlivesItsTerminal(t *testing.T) {
	here(t, "long.yaml", short)
	asChild(t)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP) // where the test runs under nohup, what it starts would ignore SIGHUP, too
	defer signal.Stop(hangups)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, os.Args[0], "train", "-c", "long.yaml", "--timesteps", "10000000", "-s",
		"trainer.checkpoint_interval=64")
	stderr := get(command.StderrPipe())(t)
	must(t, command.Start())
	for deadline := time.Now().Add(time.Minute); newestOf("pole") < 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("nothing was saved in a minute")
		}
	}
	get(bufio.NewReader(stderr).ReadString('\n'))(t)
	must(t, stderr.Close())
	// Another process may not go on with it meanwhile.
	_, words := gorl(t, commandline.WrongUse, "train", "--resume", "runs/pole")
	has(t, words, "runs/pole is being trained by another process")
	must(t, command.Process.Signal(syscall.SIGHUP))
	_ = command.Wait()
	same(t, "the status", commandline.Stopped, command.ProcessState.ExitCode())
	gorl(t, 0, "train", "--resume", "runs/pole", "--timesteps", "10", "-q")
}
