package trainers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/trainers"
)

// sequential is trainers.New where nothing is wrong. The trainer is closed with the test, if not before.
func sequential(t testing.TB, env envs.Env, agent agents.Agent, cfg trainers.Config) *trainers.Trainer {
	t.Helper()
	trainer := value(trainers.New(env, agent, cfg))(t)
	t.Cleanup(func() { must(t, trainer.Close()) })
	return trainer
}

// start makes a trainer of a scene. A trainer made anew, as a new process would, is closed by the returned function.
func (s scene) start(t testing.TB, cfg trainers.Config) (*trainers.Trainer, func()) {
	t.Helper()
	env, agent := s.make(t)
	cfg.CloseEnvironmentAtExit = true
	tr := sequential(t, env, agent, cfg)
	return tr, func() {
		must(t, errors.Join(tr.Close(), tr.Close(), agent.Close()))
	}
}

// open is start for a trainer that is closed with the test.
func (s scene) open(t testing.TB, cfg trainers.Config) *trainers.Trainer {
	t.Helper()
	tr, done := s.start(t, cfg)
	t.Cleanup(done)
	return tr
}

// trained is open for a trainer that has trained to the end of its run.
func (s scene) trained(t testing.TB, cfg trainers.Config) *trainers.Trainer {
	t.Helper()
	tr := s.open(t, cfg)
	must(t, tr.Train(t.Context()))
	return tr
}

// run is a configuration of a run in a folder of its own, which continues.
func run(t testing.TB, timesteps int) trainers.Config {
	return trainers.Config{Timesteps: timesteps, Directory: t.TempDir(), Name: "run", SaveBuffers: true, Resume: true,
		Seed: 11}
}

// countdown is a context that is cancelled when it has been asked so many times.
type countdown struct {
	context.Context
	left int
}

func (c *countdown) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

const length = 44

// whole trains a scene without a break.
func whole(t testing.TB, s scene) (*checkpoint.Snapshot, map[string]float64) {
	t.Helper()
	tr := s.trained(t, trainers.Config{Timesteps: length, Seed: 11})
	return agenttest.Snapshot(t, tr.Agent()), episodes(tr)
}

// episodes are the figures of finished episodes.
func episodes(tr *trainers.Trainer) map[string]float64 {
	out := map[string]float64{}
	for name, x := range tr.Metrics() {
		if strings.HasPrefix(name, "episode.") {
			out[name] = x
		}
	}
	return out
}

// A run that ends and is resumed by a new trainer is the run that never ended, bit for bit.
func TestResumeIsExact(t *testing.T) {
	for _, s := range slices.Concat(scenes, seats, overlapping, []scene{recurrent, terminating}) {
		t.Run(s.name, func(t *testing.T) {
			want, figures := whole(t, s)
			if len(figures) < 2 {
				t.Fatalf("no episode ended: %v", figures)
			}
			for _, half := range []int{8, 21, 22, 40} { // after an update, within a rollout
				cfg := run(t, half)
				train(t, s, cfg)
				cfg.Timesteps = length
				tr, done := s.start(t, cfg)
				must(t, tr.Train(context.Background()))
				if d := agenttest.Differences(want, agenttest.Snapshot(t, tr.Agent())); len(d) > 0 ||
					!maps.Equal(episodes(tr), figures) {
					t.Errorf("resumed at %d: %q differ; episodes %v, want %v", half, d, episodes(tr), figures)
				}
				done()
			}
		})
	}
}

// Cancelled at any moment, within an update too, a run saves and goes on, in the same trainer or in a new one, to where
// it would have come without.
func TestInterrupted(t *testing.T) {
	for _, s := range slices.Concat(scenes, seats[:1], overlapping) {
		t.Run(s.name, func(t *testing.T) {
			want, _ := whole(t, s)
			r := rand.New(rand.NewPCG(1, 2))
			for try := range 6 {
				cfg := run(t, length)
				breaks := 0
				tr, done := s.start(t, cfg)
				for {
					err := tr.Train(&countdown{context.Background(), r.IntN(40)})
					if err == nil {
						break
					}
					if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(),
						fmt.Sprintf("timestep %d", tr.Timestep())) {
						t.Fatal(err)
					}
					if breaks++; breaks > 200 {
						t.Fatal("the run does not come to an end")
					}
					if try%2 == 0 { // as a new process
						done()
						tr, done = s.start(t, cfg)
					}
				}
				if d := agenttest.Differences(want, agenttest.Snapshot(t, tr.Agent())); len(d) > 0 {
					t.Errorf("after %d interruptions %q differ", breaks, d)
				}
				if tr.Timestep() != length || breaks == 0 {
					t.Errorf("%d timesteps after %d interruptions", tr.Timestep(), breaks)
				}
				done()
			}
		})
	}
}

func checkpoints(t testing.TB, dir string) []string {
	t.Helper()
	names := value(filepath.Glob(filepath.Join(dir, "checkpoints", "*.safetensors")))(t)
	slices.Sort(names)
	return names
}

// A damaged newest checkpoint is passed over and reported. If none is good the run does not begin again in silence.
// Timestep is that of the newest valid checkpoint before anything else happens, and reading it changes nothing.
func TestDamagedCheckpoints(t *testing.T) {
	cfg := run(t, 30)
	cfg.CheckpointInterval = agents.Interval{Steps: 10}
	train(t, scenes[0], cfg)
	dir := filepath.Join(cfg.Directory, "run")
	saved := checkpoints(t, dir)
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	for i, damage := range []func(data []byte) []byte{
		func(data []byte) []byte { data[len(data)/2] ^= 4; return data },
		func(data []byte) []byte { return data[:len(data)-9] },
		func([]byte) []byte { return []byte("something else") },
	} {
		file, want := saved[2-i], int64(20-10*i)
		must(t, os.WriteFile(file, damage(value(os.ReadFile(file))(t)), 0o644))
		before := files(t, dir)
		tr, done := scenes[0].start(t, cfg)
		if tr.Timestep() != want || files(t, dir) != before {
			t.Errorf("timestep %d, want %d; files changed: %t", tr.Timestep(), want, files(t, dir) != before)
		}
		err := tr.Train(cancelled)
		if i == 2 {
			wantError(t, "without a good checkpoint", err, "no checkpoint in", "agent_")
		}
		if damaged := tr.Damaged(); errors.Is(err, context.Canceled) != (i < 2) || tr.Timestep() != want ||
			len(damaged) != i+1 || damaged[0].Path != saved[2] {
			t.Errorf("resumed at %d, want %d: %v; damaged: %v", tr.Timestep(), want, err, damaged)
		}
		done()
	}
}

// The best checkpoint is of the greatest figure, also over a resumption, and can be loaded by itself.
func TestBestCheckpoint(t *testing.T) {
	cfg := run(t, 60)
	cfg.CheckpointInterval, cfg.Keep = every(10), 2
	greatest := 0.0
	cfg.Callbacks = after(func(tr *trainers.Trainer) error {
		if tr.Timestep()%10 == 0 {
			greatest = max(greatest, tr.Metrics()["episode.return"])
		}
		return nil
	})
	for _, cfg.Timesteps = range []int{30, 60} {
		tr, done := scenes[0].start(t, cfg)
		must(t, tr.Train(context.Background()))
		saved := best(t, tr)
		if got := value(saved.Snapshot.Float("trainer", "best"))(t); got != greatest ||
			len(checkpoints(t, tr.Dir())) != 2 {
			t.Errorf("the best checkpoint is of %g, the best figure was %g; %q are kept", got, greatest,
				checkpoints(t, tr.Dir()))
		}
		if err := tr.Restore(saved.Snapshot); err != nil || tr.Timestep() != saved.Manifest.Step {
			t.Errorf("restored to %d: %v", tr.Timestep(), err)
		}
		done()
	}
}

// Hidden states go with the environment's state: a snapshot that is restored without it begins them from zero.
func TestMemoriesBeginAnew(t *testing.T) {
	tr := recurrent.trained(t, trainers.Config{Timesteps: 10, Seed: 11})
	remembers := func() bool {
		t.Helper()
		state := value(agenttest.Snapshot(t, tr.Agent()).Arrays[layout.Hidden(layout.Policy)].Float32s())(t)
		return slices.ContainsFunc(state, func(x float32) bool { return x != 0 })
	}
	// A snapshot with memories and the environment's state, which a trainer without SaveBuffers does not put back.
	other := recurrent.trained(t, run(t, 10))
	before := remembers()
	if must(t, tr.Restore(value(other.Snapshot())(t))); !before || remembers() {
		t.Errorf("the agent remembered %t, restored it remembers %t", before, remembers())
	}
}

// A run that is killed at any timestep and resumed writes the figures of an uninterrupted run, each once: also if it is
// killed before its first checkpoint, if updates overlap, and if figures are written at other timesteps than
// checkpoints.
func TestFiguresOfResumedRuns(t *testing.T) {
	for _, s := range []scene{scenes[0], overlapping[0]} {
		for _, interval := range []int{8, 5, 24} {
			dir := t.TempDir()
			cfg := trainers.Config{Timesteps: 52, Directory: dir, Name: "whole", Seed: 11, SaveBuffers: true,
				Resume:        true,
				WriteInterval: every(interval), CheckpointInterval: every(8), EvaluationInterval: every(20),
				EvaluationEpisodes: 4}
			killed := []int64{3, 11, 26, 40, 52}
			cfg.Callbacks = []trainers.Callback{trainers.StepFunc(func(tr *trainers.Trainer, _ *envs.Step) error {
				for _, at := range killed {
					if tr.Timestep() == at { // the files that a kill leaves
						return os.CopyFS(filepath.Join(dir, fmt.Sprint(at)), os.DirFS(tr.Dir()))
					}
				}
				return nil
			})}
			train(t, s, cfg)
			want := figures(t, filepath.Join(dir, "whole"))
			for _, at := range killed {
				resumed := cfg
				resumed.Name, resumed.Callbacks = fmt.Sprint(at), nil
				train(t, s, resumed)
				if d := cmp.Diff(want, figures(t, filepath.Join(dir, resumed.Name))); d != "" {
					t.Errorf("%s, written every %d timesteps, killed at %d: %s", s.name, interval, at, d)
				}
			}
		}
	}
}

// train runs a scene to its end.
func train(t *testing.T, s scene, cfg trainers.Config) {
	t.Helper()
	tr, done := s.start(t, cfg)
	defer done()
	must(t, tr.Train(t.Context()))
}

// figures returns a run's rows in order, without measured times.
func figures(t *testing.T, run string) (rows []string) {
	t.Helper()
	scalars := value(tracking.ReadRun(run))(t)
	for _, s := range scalars {
		if !strings.HasPrefix(s.Tag, "Stats / ") {
			rows = append(rows, fmt.Sprintf("%d %s %v", s.Step, s.Tag, s.Value))
		}
	}
	return rows
}
