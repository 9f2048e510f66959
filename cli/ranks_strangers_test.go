//go:build linux

package cli

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/runfile"
)

// byHand starts a rank of two that meet at a port of this machine.
func byHand(t *testing.T, rank int, port string, args ...string) *launched {
	t.Helper()
	return start(t, slices.Concat([]string{"env", fmt.Sprintf("RANK=%d", rank), "WORLD_SIZE=2", "MASTER_ADDR=127.0.0.1",
		"MASTER_PORT=" + port, os.Args[0], "train", "-c", "pair.yaml", "-s", "distributed.join_timeout=60s"}, args)...)
}

// Ranks whose settings differ do not begin, and each says which key differs.
func TestRanksDiffer(t *testing.T) {
	here(t, "pair.yaml", pair)
	for args, want := range map[string]string{
		"-s agent.learning_rate=0.1": `"agent.learning_rate" is 0.001 on rank 0 and 0.1 on rank 1`,
		"-s models.mlp=[9]":          `"models.mlp" is [16] on rank 0 and [9] on rank 1`,
		"-s environment.id=Pendulum": `"environment.id" is CartPole on rank 0 and Pendulum on rank 1`,
		"--num-envs 8":               `"environments of each rank" is 4 on rank 0 and 8 on rank 1`,
	} {
		os.Remove("stderr")
		port := strconv.Itoa(20000 + rand.IntN(10000))
		zero, one := byHand(t, 0, port), byHand(t, 1, port, strings.Fields(args)...)
		zero.end(commandline.WrongUse)
		one.end(commandline.WrongUse)
		if got := text("stderr"); strings.Count(got, want) != 2 {
			t.Errorf("with %s the ranks say\n%s\nwant twice %s", args, got, want)
		}
	}
	absent(t, "runs")
}

// What rank 0 alone finds wrong is said at once, whichever rank ends first.
func TestRankZeroRefuses(t *testing.T) {
	here(t, "pair.yaml", pair)
	busy := start(t, "GORL", "train", "-c", "pair.yaml", "--timesteps", "10000000", "-s",
		"trainer.checkpoint_interval=32", "-q")
	busy.until("the first checkpoint", func() bool { return newestOf("pole") > 0 })
	os.Remove("stderr")
	start(t, "GORL", "train", "--resume", "runs/pole", "--nproc", "2").end(commandline.WrongUse)
	if got := text("stderr"); strings.Contains(got, "again (restart") ||
		!strings.Contains(got, "rank 0 of 2 was called wrongly") {
		t.Errorf("the launcher says\n%s\nwant rank 0's error, and no restart", got)
	}
	must(t, busy.command.Process.Signal(os.Interrupt))
	busy.end(commandline.Stopped)
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
