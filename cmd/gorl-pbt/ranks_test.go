package main

import (
	"context"
	"fmt"
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

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// walkers writes the file of a population of two members with two ranks each, which learn to walk by AMP. gorl is the
// member program.
func walkers(t *testing.T, intervals int) (path, dir string) {
	t.Helper()
	if testing.Short() {
		t.Skip("builds gorl and starts processes that train")
	}
	dir = t.TempDir()
	gorl := filepath.Join(dir, "gorl")
	must.Run(t, exec.Command("go", "build", "-o", gorl, "../gorl"))
	path = filepath.Join(dir, "walkers.yaml")
	text := fmt.Sprintf(`
environment: {id: Walker, num_envs: 4}
pbt: {directory: %q, workspace: w, num_policies: 2, objective: episode.return, threshold_std: 0,
  threshold_abs: 0, synchronous: true,
  mutation_rate: 1, mutation: {learning_rate: mutate_float}, interval_steps: 512, total_steps: %d, seed: 1}
launcher: {command: [%q, member], ranks_per_member: 2, restarts: {backoff: 10ms}}
models: {mlp: [32, 32]}
agent: {class: AMP, rollouts: 16, learning_epochs: 1, mini_batches: 2,
  amp_batch_size: 64, motion_dataset_size: 200, reply_buffer_size: 200}
`, dir, 512*intervals, gorl)
	must.Do(t, os.WriteFile(path, []byte(text), 0o644))
	return path, filepath.Join(dir, "w")
}

// text is a file's.
func text(t *testing.T, path string) string {
	t.Helper()
	return string(must.Read(t, path))
}

// whole checks by a population's journal that every member went through all intervals once, and ended after so many
// steps.
func whole(t *testing.T, dir string, members, intervals int, steps int64) {
	t.Helper()
	all := must.Get(journal.Read(dir))(t)
	var want []int64
	for i := range intervals {
		want = append(want, int64(i+1))
	}
	for member := range members {
		var seen []int64
		var last journal.Event
		for _, e := range all { // events of other kinds than those of a member that goes on would be intervals too many
			if e.Member == member && e.Kind != journal.Start {
				seen, last = append(seen, e.Iteration), e
			}
		}
		must.Equal(t, fmt.Sprintf("intervals of member %d", member), want, seen)
		if last.Kind != journal.Final || last.Steps != steps {
			t.Errorf("member %d ended with %s after %d steps, want the end of training after %d", member, last.Kind,
				last.Steps, steps)
		}
	}
}

// started are the process numbers of a member's starts, by the launcher's log.
func started(t *testing.T, dir string, member int) (starts [][]string) {
	t.Helper()
	for _, m := range regexp.MustCompile(fmt.Sprintf(`member %d: started as process (\d+), (\d+)`, member)).
		FindAllStringSubmatch(text(t, filepath.Join(dir, "logs", "launcher.log")), -1) {
		starts = append(starts, m[1:])
	}
	return starts
}

// A rank is killed: its member goes on from its private state in new processes, and nothing is lost or left.
func TestRankKilled(t *testing.T) {
	const intervals = 12
	path, dir := walkers(t, intervals)
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	done := make(chan string)
	go func() {
		status, out, errs := use(ctx, "run", "--config", path)
		done <- fmt.Sprintf("status %d\n%s%s", status, out, errs)
	}()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for training := false; !training; {
		select {
		case said := <-done:
			t.Fatalf("it ended before a rank was killed: %s", said)
		case <-ticker.C:
		}
		if store, err := workspace.OpenFolder(dir, 2, workspace.FolderOptions{ReadOnly: true}); err == nil {
			view, err := store.View()
			training = err == nil && view.Members[0].Heartbeat != nil && view.Members[0].Heartbeat.Iteration >= 3
		}
	}
	pid := must.Get(strconv.Atoi(started(t, dir, 0)[0][1]))(t)
	must.Do(t, syscall.Kill(pid, syscall.SIGKILL))
	if said := <-done; !strings.HasPrefix(said, "status 0") {
		t.Fatal(said)
	}
	whole(t, dir, 2, intervals, 512*intervals)
	if log := text(t, filepath.Join(dir, "logs", "launcher.log")); !strings.Contains(log,
		"member 0: rank 1: ended by signal: killed; restart 1 of 5") {
		t.Errorf("the launcher's log is\n%s", log)
	}
	if log := text(t, filepath.Join(dir, "logs", "000.log")); !strings.Contains(log,
		"member 0 continues in interval") || strings.Count(log, ": start") != 1 {
		t.Errorf("member 0 did not go on from its state:\n%s", log)
	}
	if starts := started(t, dir, 0); len(starts) != 2 || slices.Contains(starts[1], starts[0][0]) ||
		len(started(t, dir, 1)) != 1 {
		t.Errorf("member 0 was started as %v, want twice as others, and member 1 once", starts)
	}
	for _, pid := range slices.Concat(slices.Concat(started(t, dir, 0), started(t, dir, 1))...) {
		if _, err := os.Stat("/proc/" + pid); err == nil {
			t.Errorf("process %s is left", pid)
		}
	}
}
