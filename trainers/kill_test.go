package trainers_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/trainers"
)

const childDir = "GORL_TRAINERS_TEST_CHILD"

// TestMain lets the test binary be the process that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv(childDir); dir != "" {
		fmt.Fprintln(os.Stderr, trainInFolder(dir, 1_000_000, func(tr *trainers.Trainer) error {
			fmt.Println(tr.Timestep())
			return nil
		}))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func newPPO(env envs.Env) (agents.Agent, error) {
	return ppo.New(ppo.Options{Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{8}, "tanh"),
		Dict: map[string]any{"rollouts": 8, "learning_epochs": 1, "mini_batches": 2}, Seed: 1})
}

// killed is the configuration of the run that is killed.
func killed(dir string, timesteps int) trainers.Config {
	return trainers.Config{Timesteps: timesteps, Directory: dir, Name: "run", Resume: true, SaveBuffers: true, Keep: 3, WriteInterval: every(7), CheckpointInterval: every(3)}
}

func trainInFolder(dir string, timesteps int, onStep func(tr *trainers.Trainer) error) error {
	env, err := classic.NewCartPole(classic.Config{NumEnvs: 4})
	if err != nil {
		return err
	}
	defer env.Close()
	agent, err := newPPO(env)
	if err != nil {
		return err
	}
	defer agent.Close()
	cfg := killed(dir, timesteps)
	if onStep != nil {
		cfg.Callbacks = after(onStep)
	}
	tr, err := trainers.New(env, agent, cfg)
	if err != nil {
		return err
	}
	return errors.Join(tr.Train(context.Background()), tr.Close())
}

// A run that is killed at any moment goes on from its last checkpoint, and comes where it would have come.
func TestKillNine(t *testing.T) {
	dir := t.TempDir()
	r := rand.New(rand.NewPCG(uint64(os.Getpid()), 1))
	last := int64(0)
	for range 6 {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childDir+"="+dir)
		var complaints strings.Builder
		child.Stderr = &complaints
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		first, reached, left := int64(0), int64(0), 1+r.IntN(40)
		for lines.Scan() {
			at, err := strconv.ParseInt(lines.Text(), 10, 64)
			if err != nil {
				t.Fatalf("the child printed %q", lines.Text())
			}
			if first == 0 {
				first = at
			}
			reached = at
			if left--; left == 0 {
				child.Process.Kill()
			}
		}
		if err := child.Wait(); err == nil || child.ProcessState.ExitCode() != -1 {
			t.Fatalf("the child ended by itself: %v\n%s", err, complaints.String())
		}
		// At step 3k the checkpoint is made before the step is reported.
		if saved := last / 3 * 3; first <= saved {
			t.Errorf("the run was at %d, and went on from %d", last, first-1)
		}
		last = max(last, reached)
	}
	store, err := checkpoint.NewStore(dir+"/run/checkpoints", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, damaged, err := store.Latest(); err != nil {
		t.Fatal(err, damaged)
	}
	timesteps := int(last + 5)
	if err := trainInFolder(dir, timesteps, nil); err != nil {
		t.Fatal(err)
	}
	got, _, err := store.Latest()
	if err != nil {
		t.Fatal(err)
	}
	whole := t.TempDir()
	if err := trainInFolder(whole, timesteps, nil); err != nil {
		t.Fatal(err)
	}
	other, err := checkpoint.NewStore(whole+"/run/checkpoints", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want, _, err := other.Latest()
	if err != nil {
		t.Fatal(err)
	}
	if d := agenttest.Differences(want.Snapshot, got.Snapshot, "trainer"); len(d) > 0 {
		t.Errorf("%q differ from the run that was not killed", d)
	}
	t.Logf("%d timesteps with 6 kills", timesteps)
}
