package trainers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/envs"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/envs/mujoco"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/tracking"
	"github.com/gorl-dev/gorl/trainers"
)

// scene makes an environment and an agent of a run, always the same ones.
type scene struct {
	name string
	make func(t testing.TB) (envs.Env, agenttest.Agent)
}

var scenes = []scene{
	{"cartpole", func(t testing.TB) (envs.Env, agenttest.Agent) {
		env, err := classic.NewCartPole(classic.Config{NumEnvs: 4, MaxEpisodeSteps: 25})
		if err != nil {
			t.Fatal(err)
		}
		return env, smallPPO(t, env.Spaces(), 5, map[string]any{"learning_rate_scheduler": "KLAdaptiveLR", "value_preprocessor": "RunningStandardScaler"})
	}},
	{"walker", func(t testing.TB) (envs.Env, agenttest.Agent) {
		env, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 3, EpisodeLength: 20, Workers: 1, Stagger: 10})
		if err != nil {
			t.Fatal(err)
		}
		return env, smallAMP(t, env.Spaces(), env, 5, map[string]any{"observation_preprocessor": "RunningStandardScaler", "learning_rate": 1e-3})
	}},
}

// overlapping are scenes whose agents act while they learn.
var overlapping = []scene{
	{"cartpole overlap", func(t testing.TB) (envs.Env, agenttest.Agent) {
		env, err := classic.NewCartPole(classic.Config{NumEnvs: 4, MaxEpisodeSteps: 25})
		if err != nil {
			t.Fatal(err)
		}
		return env, smallPPO(t, env.Spaces(), 5, map[string]any{"learning_rate_scheduler": "KLAdaptiveLR",
			"value_preprocessor": "RunningStandardScaler", "overlap": true})
	}},
	{"walker overlap", func(t testing.TB) (envs.Env, agenttest.Agent) {
		env, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 3, EpisodeLength: 20, Workers: 1, Stagger: 10})
		if err != nil {
			t.Fatal(err)
		}
		return env, smallAMP(t, env.Spaces(), env, 5, map[string]any{"observation_preprocessor": "RunningStandardScaler",
			"learning_rate": 1e-3, "separate_critics": true, "overlap": true})
	}},
}

// recurrent are scenes whose agents have memory.
var recurrent = []scene{
	{"cartpole gru", func(t testing.TB) (envs.Env, agenttest.Agent) {
		env, err := classic.NewCartPole(classic.Config{NumEnvs: 4, MaxEpisodeSteps: 25})
		if err != nil {
			t.Fatal(err)
		}
		agent, err := ppo.New(ppo.Options{Spaces: env.Spaces(), Models: ppo.Recurrent(env.Spaces(), models.GRU(6),
			[]int{8}, "elu"),
			Dict: map[string]any{"rollouts": 8, "learning_epochs": 2, "sequence_length": 4,
				"value_preprocessor": "RunningStandardScaler"}, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		return env, agent
	}},
	{"walker lstm", func(t testing.TB) (envs.Env, agenttest.Agent) {
		env, err := mujoco.NewWalker(mujoco.WalkerConfig{NumEnvs: 3, EpisodeLength: 20, Workers: 1, Stagger: 10})
		if err != nil {
			t.Fatal(err)
		}
		agent, err := amp.New(amp.Options{Spaces: env.Spaces(), Models: amp.Recurrent(env.Spaces(), models.LSTM(6),
			[]int{8}, "elu"), Motions: env,
			Dict: map[string]any{"rollouts": 8, "learning_epochs": 2, "separate_critics": true, "amp_batch_size": 20,
				"motion_dataset_size": 50, "reply_buffer_size": 60}, Seed: 5})
		if err != nil {
			t.Fatal(err)
		}
		return env, agent
	}},
}

// sequential is trainers.New where nothing is wrong.
func sequential(t testing.TB, env envs.Env, agent agents.Agent, cfg trainers.Config) *trainers.Trainer {
	t.Helper()
	trainer, err := trainers.New(env, agent, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return trainer
}

// start makes a trainer of a scene. A trainer made anew, as a new process would, is closed by the returned function.
func (s scene) start(t testing.TB, cfg trainers.Config) (*trainers.Trainer, func()) {
	t.Helper()
	env, agent := s.make(t)
	cfg.CloseEnvironmentAtExit = true
	tr := sequential(t, env, agent, cfg)
	return tr, func() {
		if err := errors.Join(tr.Close(), tr.Close(), agent.Close()); err != nil {
			t.Error(err)
		}
	}
}

// run is a configuration of a run in a folder of its own, which continues.
func run(t testing.TB, timesteps int) trainers.Config {
	return trainers.Config{Timesteps: timesteps, Directory: t.TempDir(), Name: "run", SaveBuffers: true, Resume: true, Seed: 11}
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
	tr, done := s.start(t, trainers.Config{Timesteps: length, Seed: 11})
	defer done()
	if err := tr.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
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
	for _, s := range slices.Concat(scenes, recurrent, overlapping, []scene{terminating}) {
		t.Run(s.name, func(t *testing.T) {
			checkLiveTensors(t)
			want, figures := whole(t, s)
			if len(figures) < 2 {
				t.Fatalf("no episode ended: %v", figures)
			}
			for _, half := range []int{8, 21, 22, 40} { // after an update, within a rollout
				cfg := run(t, half)
				for _, timesteps := range []int{half, length} {
					cfg.Timesteps = timesteps
					tr, done := s.start(t, cfg)
					if err := tr.Train(context.Background()); err != nil {
						t.Fatal(err)
					}
					if timesteps == length {
						if d := agenttest.Differences(want, agenttest.Snapshot(t, tr.Agent())); len(d) > 0 {
							t.Errorf("resumed at %d: %q differ", half, d)
						}
						if got := episodes(tr); !maps.Equal(got, figures) {
							t.Errorf("resumed at %d: episodes %v, want %v", half, got, figures)
						}
					}
					done()
				}
			}
		})
	}
}

// What is written of episodes goes on, too: after a break come the values that would have come without.
func TestResumeTracksEpisodes(t *testing.T) {
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			written := func(halves ...int) map[string][]tracking.Scalar {
				cfg := run(t, length)
				cfg.WriteInterval = agents.Interval{Steps: 1}
				var dir string
				for _, timesteps := range halves {
					cfg.Timesteps = timesteps
					tr, done := s.start(t, cfg)
					if err := tr.Train(context.Background()); err != nil {
						t.Fatal(err)
					}
					dir = tr.Dir()
					done()
				}
				scalars, err := tracking.ReadRun(dir)
				if err != nil {
					t.Fatal(err)
				}
				out := map[string][]tracking.Scalar{}
				for _, x := range scalars {
					if strings.HasPrefix(x.Tag, tracking.TagTotalReward) || strings.HasPrefix(x.Tag, tracking.TagTotalTimesteps) {
						x.Time = time.Time{}
						out[x.Tag] = append(out[x.Tag], x)
					}
				}
				return out
			}
			want := written(length)
			if len(want) != 6 {
				t.Fatalf("tags: %v", want)
			}
			if got := written(22, 30, length); !reflect.DeepEqual(got, want) {
				t.Errorf("resumed %v\nwant %v", got, want)
			}
		})
	}
}

// A snapshot whose tracked episodes are missing or of something else is taken without them.
func TestResumeWithoutTrackedEpisodes(t *testing.T) {
	s := scenes[0]
	first, done := s.start(t, trainers.Config{Timesteps: 30, Seed: 11, SaveBuffers: true})
	defer done()
	if err := first.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*checkpoint.Snapshot){
		"missing": func(snap *checkpoint.Snapshot) {
			delete(snap.Arrays, "environment/returns")
			delete(snap.Values["trainer"].(map[string]any), "tracked_episodes")
		},
		"too few": func(snap *checkpoint.Snapshot) {
			snap.Arrays["environment/lengths"] = checkpoint.ArrayInt64([]int64{1}, []int64{7})
			snap.Values["trainer"].(map[string]any)["tracked_episodes"] = map[string]any{"finished": int64(9), "returns": []any{1.}}
		},
	} {
		snap, err := first.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		spoil(snap)
		second, done := s.start(t, trainers.Config{Timesteps: 40, Seed: 11, SaveBuffers: true})
		if err := second.Restore(snap); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := second.Train(context.Background()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		done()
	}
}

// Cancelled at any moment, within an update too, a run saves and goes on, in the same trainer or in a new one, to where it
// would have come without.
func TestInterrupted(t *testing.T) {
	for _, s := range slices.Concat(scenes, overlapping) {
		t.Run(s.name, func(t *testing.T) {
			checkLiveTensors(t)
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
					if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), fmt.Sprintf("timestep %d", tr.Timestep())) {
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
				if d := agenttest.Differences(want, newest(t, tr), "trainer", "environment/"); len(d) > 0 {
					t.Errorf("after %d interruptions %q differ in the last checkpoint", breaks, d)
				}
				if tr.Timestep() != length || breaks == 0 {
					t.Errorf("%d timesteps after %d interruptions", tr.Timestep(), breaks)
				}
				done()
			}
		})
	}
}

// In particular, an interruption of the very last update: the checkpoint that it leaves is not the last one.
func TestInterruptedLastUpdate(t *testing.T) {
	checkLiveTensors(t)
	s := scenes[0]
	tr, done := s.start(t, trainers.Config{Timesteps: 16, Seed: 11})
	defer done()
	if err := tr.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	for _, anew := range []bool{false, true} {
		cfg := run(t, 16)
		ctx, cancel := context.WithCancel(context.Background())
		cut, doneToo := s.start(t, cfg)
		env := &cancelling{Env: cut.Env(), at: 16, cancel: cancel}
		other := sequential(t, env, cut.Agent(), cfg)
		if err := other.Train(ctx); !errors.Is(err, context.Canceled) || other.Timestep() != 16 || !other.Agent().Ready() {
			t.Fatalf("%v at timestep %d", err, other.Timestep())
		}
		if anew {
			if err := other.Close(); err != nil {
				t.Fatal(err)
			}
			fresh, doneFresh := s.start(t, cfg)
			defer doneFresh()
			other = fresh
		}
		if err := other.Train(context.Background()); err != nil {
			t.Fatal(err)
		}
		agenttest.Same(t, tr.Agent(), other.Agent())
		if d := agenttest.Differences(agenttest.Snapshot(t, tr.Agent()), newest(t, other), "trainer", "environment/"); len(d) > 0 {
			t.Errorf("%q differ in the last checkpoint", d)
		}
		if !anew {
			if err := other.Close(); err != nil {
				t.Fatal(err)
			}
		}
		doneToo()
	}
}

// cancelling cancels the run's context in its at-th step, so that the update after it is interrupted.
type cancelling struct {
	envs.Env
	at     int
	cancel context.CancelFunc
}

func (c *cancelling) Unwrap() envs.Env { return c.Env }

func (c *cancelling) Step(actions []float32) (*envs.Step, error) {
	if c.at--; c.at == 0 {
		c.cancel()
	}
	return c.Env.Step(actions)
}

// newest reads the newest checkpoint of a run.
func newest(t testing.TB, tr *trainers.Trainer) *checkpoint.Snapshot {
	t.Helper()
	store, err := checkpoint.NewStore(filepath.Join(tr.Dir(), "checkpoints"), checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	saved, _, err := store.Latest()
	if err != nil {
		t.Fatal(err)
	}
	return saved.Snapshot
}

func checkpoints(t testing.TB, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "checkpoints", "*.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}

// A damaged newest checkpoint is passed over and reported; where none is good the run does not begin anew in silence.
func TestDamagedCheckpoints(t *testing.T) {
	checkLiveTensors(t)
	s := scenes[0]
	cfg := run(t, 30)
	cfg.CheckpointInterval = agents.Interval{Steps: 10}
	tr, done := s.start(t, cfg)
	if err := tr.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	dir := tr.Dir()
	done()
	files := checkpoints(t, dir)
	if len(files) != 3 {
		t.Fatalf("checkpoints %q, want those of 10, 20 and 30", files)
	}
	for i, damage := range []func(data []byte) []byte{
		func(data []byte) []byte { data[len(data)/2] ^= 4; return data },
		func(data []byte) []byte { return data[:len(data)-9] },
		func([]byte) []byte { return []byte("something else") },
	} {
		file := files[2-i]
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, damage(data), 0o644); err != nil {
			t.Fatal(err)
		}
		tr, done := s.start(t, cfg)
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		err = tr.Train(ctx)
		if i == 2 {
			if errors.Is(err, context.Canceled) || err == nil || !strings.Contains(err.Error(), "no checkpoint in") || !strings.Contains(err.Error(), "agent_") {
				t.Errorf("without a good checkpoint: %v", err)
			}
		} else {
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			if tr.Timestep() != int64(20-10*i) {
				t.Errorf("resumed at %d, want %d", tr.Timestep(), 20-10*i)
			}
		}
		damaged := tr.Damaged()
		if len(damaged) != i+1 || damaged[0].Path != files[2] {
			t.Errorf("damaged: %v, want %d", damaged, i+1)
		}
		done()
	}
}

// The best checkpoint is of the greatest figure, also over a resumption, and can be loaded by itself.
func TestBestCheckpoint(t *testing.T) {
	checkLiveTensors(t)
	s := scenes[0]
	cfg := run(t, 60)
	cfg.CheckpointInterval, cfg.Keep = agents.Interval{Steps: 10}, 2
	best := 0.0
	cfg.Callbacks = after(func(tr *trainers.Trainer) error {
		if tr.Timestep()%10 == 0 {
			best = max(best, tr.Metrics()["episode.return"])
		}
		return nil
	})
	for _, timesteps := range []int{30, 60} {
		cfg.Timesteps = timesteps
		tr, done := s.start(t, cfg)
		if err := tr.Train(context.Background()); err != nil {
			t.Fatal(err)
		}
		store, err := checkpoint.NewStore(filepath.Join(tr.Dir(), "checkpoints"), checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		saved, damaged, err := store.Best()
		if err != nil || len(damaged) > 0 {
			t.Fatal(err, damaged)
		}
		if got, err := saved.Snapshot.Float("trainer", "best"); err != nil || got != best {
			t.Errorf("the best checkpoint is of %g (%v), the best figure was %g", got, err, best)
		}
		if err := tr.Restore(saved.Snapshot); err != nil || tr.Timestep() != saved.Manifest.Step {
			t.Errorf("restored to %d: %v", tr.Timestep(), err)
		}
		if n := len(checkpoints(t, tr.Dir())); n != 2 {
			t.Errorf("%d checkpoints are kept, want 2", n)
		}
		done()
	}
}

// A trainer refuses a snapshot that is not one of its own, and stands as it did, its environment included.
func TestRestoreIsAllOrNothing(t *testing.T) {
	checkLiveTensors(t)
	for _, s := range scenes {
		t.Run(s.name, func(t *testing.T) {
			tr, done := s.start(t, trainers.Config{Timesteps: 10, SaveBuffers: true, Seed: 1})
			defer done()
			donor, doneToo := s.start(t, trainers.Config{Timesteps: 19, SaveBuffers: true, Seed: 2})
			defer doneToo()
			if err := errors.Join(tr.Train(context.Background()), donor.Train(context.Background())); err != nil {
				t.Fatal(err)
			}
			snapshot := func(tr *trainers.Trainer) *checkpoint.Snapshot {
				snap, err := tr.Snapshot()
				if err != nil {
					t.Fatal(err)
				}
				return snap
			}
			before := snapshot(tr)
			for name, spoil := range map[string]func(s *checkpoint.Snapshot){
				"no timestep":       func(s *checkpoint.Snapshot) { delete(s.Values, "trainer") },
				"negative timestep": func(s *checkpoint.Snapshot) { s.Values["trainer"] = map[string]any{"timestep": -1} },
				"no weights":        func(s *checkpoint.Snapshot) { delete(s.Arrays, "policy/net.0.weight") },
				"other environment": func(s *checkpoint.Snapshot) {
					s.Arrays["environment/state"] = checkpoint.ArrayBytes([]int64{3}, []byte("abc"))
				},
			} {
				bad := agenttest.Through(t, snapshot(donor))
				spoil(bad)
				if err := tr.Restore(bad); err == nil {
					t.Errorf("%s: restored", name)
				}
				if d := agenttest.Differences(before, snapshot(tr)); len(d) > 0 {
					t.Errorf("%s: %q changed", name, d)
				}
			}
			if err := tr.Restore(agenttest.Through(t, snapshot(donor))); err != nil {
				t.Fatal(err)
			}
			if d := agenttest.Differences(snapshot(donor), snapshot(tr)); len(d) > 0 {
				t.Errorf("after Restore %q differ", d)
			}
		})
	}
}

// Memories go with the environment's state: where a snapshot without it is restored, and where the environment is
// reset, they begin anew.
func TestMemoriesBeginAnew(t *testing.T) {
	checkLiveTensors(t)
	tr, done := recurrent[0].start(t, trainers.Config{Timesteps: 10, Seed: 11})
	defer done()
	remembers := func() bool {
		t.Helper()
		state, err := agenttest.Snapshot(t, tr.Agent()).Arrays[layout.Hidden(layout.Policy)].Float32s()
		if err != nil {
			t.Fatal(err)
		}
		return slices.ContainsFunc(state, func(x float32) bool { return x != 0 })
	}
	if err := tr.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	if !remembers() {
		t.Fatal("the agent remembers nothing after ten steps")
	}
	small, err := tr.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	// A snapshot with memories and the environment's state, which a trainer without SaveBuffers does not put back.
	other, done2 := recurrent[0].start(t, run(t, 10))
	defer done2()
	if err := other.Train(context.Background()); err != nil {
		t.Fatal(err)
	}
	full, err := other.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	for what, snap := range map[string]*checkpoint.Snapshot{"without": small, "with": full} {
		if err := tr.Restore(snap); err != nil {
			t.Fatal(err)
		}
		if remembers() {
			t.Errorf("a snapshot %s memories leaves the agent memories of other episodes", what)
		}
		if _, err := tr.Step(context.Background()); err != nil {
			t.Fatal(err)
		}
		if !remembers() {
			t.Error("the agent does not go on to remember")
		}
	}
}
