package distributed

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/tensor"
)

// inRanks runs f on every rank of a group of goroutines, with a scope of its own, and returns their errors.
func inRanks(t *testing.T, size int, cfg Config, f func(g *Group, s *tensor.Scope) error) []error {
	t.Helper()
	groups, err := Local(size, cfg)
	must.Do(t, err)
	errs := make([]error, size)
	var wait sync.WaitGroup
	for r, g := range groups {
		wait.Go(func() {
			defer g.Close()
			s := tensor.NoGrad()
			defer s.Close()
			errs[r] = f(g, s)
		})
	}
	wait.Wait()
	return errs
}

func TestSum(t *testing.T) {
	for _, size := range []int{1, 2, 4} {
		for _, n := range []int64{1, 1000, 100_003} {
			results := make([][]float32, size)
			for _, err := range inRanks(t, size, DefaultConfig(), func(g *Group, s *tensor.Scope) error {
				x := s.AddScalar(s.MulScalar(s.Arange(n), 0.1), float64(g.Rank())/3)
				x = s.To(x, tensor.Float32, tensor.CPU)
				g.Sum(s, x)
				if err := s.Err(); err != nil {
					return err
				}
				results[g.Rank()] = make([]float32, n)
				return tensor.Read(x, results[g.Rank()])
			}) {
				must.Do(t, err)
			}
			for i, x := range results[0] {
				want := float64(size)*0.1*float64(i) + float64(size*(size-1))/6
				if d := float64(x) - want; d > 1e-5*(1+want) || d < -1e-5*(1+want) {
					t.Fatalf("%d ranks: element %d of %d is %g, want %g", size, i, n, x, want)
				}
			}
			for r := range results {
				if diff := cmp.Diff(results[0], results[r]); diff != "" {
					t.Fatalf("%d ranks: rank %d has another sum of %d than rank 0:\n%s", size, r, n, diff)
				}
			}
		}
	}
}

func TestBytes(t *testing.T) {
	for _, err := range inRanks(t, 3, DefaultConfig(), func(g *Group, _ *tensor.Scope) error {
		got, err := g.GatherBytes([]byte(strings.Repeat("x", 2*g.Rank())))
		none, err2 := g.GatherBytes(nil)
		one, err3 := g.BroadcastBytes(1, fmt.Appendf(nil, "of rank %d", g.Rank()))
		if fmt.Sprintf("%s %s %s", got, none, one) != "[ xx xxxx] [  ] of rank 1" {
			err = fmt.Errorf("rank %d has %s, %s and %s: %w", g.Rank(), got, none, one, err)
		}
		return errors.Join(err, err2, err3)
	}) {
		must.Do(t, err)
	}
}

// The other ranks name the rank that leaves, with its reason. They also name one that ends without a reason. Each rank
// leaves once.
func TestLeave(t *testing.T) {
	for leaver, reason := range []string{"the simulator has crashed", "the disk is full", ""} {
		cfg := DefaultConfig()
		if reason == "" {
			cfg.Timeout = 500 * time.Millisecond
		}
		var left sync.WaitGroup
		left.Add(2)
		errs := inRanks(t, 3, cfg, func(g *Group, s *tensor.Scope) error {
			x := s.Ones(1000)
			g.Sum(s, x)
			switch {
			case g.Rank() != leaver:
				defer left.Done()
				g.Sum(s, x)
			case reason == "":
				left.Wait() // until the others have given up
			default:
				g.Leave(errors.New(reason))
			}
			return s.Err()
		})
		for r, err := range errs {
			var peer *PeerError
			if r != leaver && (!errors.As(err, &peer) || !cmp.Equal(peer.Ranks, []int{leaver}) ||
				reason != "" && peer.Reason != reason || reason == "" && !strings.Contains(err.Error(), "has died")) {
				t.Errorf("rank %d: %v", r, err)
			}
		}
	}
}

// Two ranks with a GPU each add up by NCCL.
func TestSumNCCL(t *testing.T) {
	if !tensor.HasNCCL() || tensor.CUDADevices() < 2 {
		t.Skip("needs two CUDA devices, and gorl's libraries built with NCCL")
	}
	cfg := DefaultConfig()
	cfg.Backend = "nccl"
	for _, err := range inRanks(t, 2, cfg, func(g *Group, s *tensor.Scope) error {
		s = s.On(tensor.CUDA(g.Rank()))
		x := s.Full(tensor.Float32, float64(1+g.Rank()), 1000)
		g.Sum(s, x)
		g.Broadcast(s, x, 1)
		if err := s.Err(); err != nil {
			return err
		}
		if got, err := tensor.Item(s.Sum(x)); got != 3000 {
			return fmt.Errorf("rank %d: the sum is %g, want 3000: %w", g.Rank(), got, err)
		}
		return nil
	}) {
		must.Do(t, err)
	}
}

func TestFromDict(t *testing.T) {
	want := DefaultConfig()
	want.Backend, want.Timeout = "gloo", 90*time.Second
	must.Equal(t, "settings", want, must.Get(FromDict(map[string]any{"backend": "gloo", "timeout": "90s"}))(t))
	for key, value := range map[string]any{"backend": "mpi", "timeout": "0s", "timeuot": "5m"} {
		must.RefusedAs(FromDict(map[string]any{key: value}))(t, value, key)
	}
}
