package populations

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/agents"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
	"github.com/gorl-dev/gorl/pbt/workspace"
	"github.com/gorl-dev/gorl/trainers"
)

// chaosLog is where a member writes what it read.
func chaosLog(dir string, member int) string {
	return filepath.Join(dir, fmt.Sprintf("read-by-%03d.log", member))
}

// suspicious is a board that writes down what was read, and verifies weights a second time.
type suspicious struct {
	*workspace.Folder
	log *os.File
}

// chaosMember is one process.
func chaosMember(t *testing.T, dir string) {
	member, err1 := strconv.Atoi(os.Getenv("GORL_CHAOS_MEMBER"))
	members, err2 := strconv.Atoi(os.Getenv("GORL_CHAOS_MEMBERS"))
	total, err3 := strconv.ParseInt(os.Getenv("GORL_CHAOS_TOTAL"), 10, 64)
	log, err4 := os.OpenFile(chaosLog(dir, member), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	must.Do(t, errors.Join(err1, err2, err3, err4))
	defer log.Close()
	go func() { // nobody would end it but the test
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
	opt := pbt.Options{
		Members: members, Objective: "episode.return", IntervalSteps: chaosInterval, TotalSteps: total, SaveSteps: 256,
		Seed:     5,
		Strategy: strategy.DefaultIsaacLab(),
		Explore: explore.Mutation{Rate: 0.5, Rules: explore.Rules{"learning_rate": explore.MutateFloat,
			"discount_factor": explore.MutateDiscount}, Bounds: map[string][2]float64{"learning_rate": {1e-5, 1e-2}}},
		Sample: map[string]explore.Range{"learning_rate": {Low: 1e-4, High: 5e-3, Log: true}},
		New:    chaosTrainee,
	}
	board := must.Get(workspace.OpenFolder(dir, members, workspace.FolderOptions{}))(t)
	opt.Asynchronous = true
	place := pbt.ProcessOptions{Member: member, Store: suspicious{board, log}, Heartbeat: time.Second,
		Silence: 20 * time.Second}
	s := must.Get(pbt.Join(context.Background(), opt, place))(t)
	if err := s.Recovered(); err != nil {
		t.Errorf("damaged: %v", err)
	}
	if _, err := s.Train(context.Background()); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// chaosTrainee is PPO on CartPole.
func chaosTrainee(m pbt.Member) (pbt.Trainee, error) {
	env, err := classic.NewCartPole(classic.Config{NumEnvs: 4})
	if err != nil {
		return nil, err
	}
	return trainers.NewTrainee(env, func() (agents.Agent, error) {
		return ppo.New(ppo.Options{
			Spaces: env.Spaces(), Models: ppo.MLPs(env.Spaces(), []int{32}, "tanh"), Seed: m.Seed,
			Dict: map[string]any{"rollouts": 32, "learning_epochs": 4, "mini_batches": 2},
		})
	}, trainers.Config{SaveBuffers: true, Seed: m.Seed})
}

func (s suspicious) note(format string, args ...any) {
	fmt.Fprintf(s.log, strings.ReplaceAll(format, "\n", " ")+"\n", args...)
}

func (s suspicious) View() (workspace.View, error) {
	v, err := s.Folder.View()
	for _, p := range v.Members {
		for _, d := range p.Damaged {
			s.note("damaged: member %d: %v", p.Member, d)
		}
	}
	return v, err
}

func (s suspicious) Fetch(r workspace.Record) (*checkpoint.Snapshot, error) {
	before, missing := os.ReadFile(filepath.Join(s.Dir(), filepath.FromSlash(r.Weights.Path)))
	snapshot, err := s.Folder.Fetch(r)
	switch sum := sha256.Sum256(before); {
	case err == nil && missing == nil && hex.EncodeToString(sum[:]) != r.Weights.SHA256:
		s.note("adopted: %s has the checksum %x, and its record says %s", r.Weights.Path, sum, r.Weights.SHA256)
	case err == nil:
		s.note("fetched %s", r.Weights.Path)
	case !errors.Is(err, fs.ErrNotExist):
		s.note("refused: %v", err)
	}
	return snapshot, err
}
