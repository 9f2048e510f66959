//go:build learning

package cli

import (
	"math/rand/v2"
	"os"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/gorl-dev/gorl/envs/classic"
	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/internal/test/tictactoe"
	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/selfplay"
	"github.com/gorl-dev/gorl/pbt/workspace"
)

// TestLearnSelfPlay trains the example self-play with three seeds. The best member never loses to a random player, and
// draws a perfect one in at least 90 % of 1,000 games. Ratings rise along its lineage.
func TestLearnSelfPlay(t *testing.T) {
	if dir := os.Getenv("GORL_SELF_PLAY"); dir != "" {
		t.Chdir(dir)
	} else {
		t.Chdir(t.TempDir())
	}
	text, _ := gorl(t, 0, "train", "--example", "self-play")
	write(t, "run.yaml", text)
	player := func(choose func([]float32, *rand.Rand) float32) selfplay.Player {
		return selfplay.PlayerFunc(func(rng *rand.Rand, observation, _, action []float32) error {
			action[0] = choose(observation, rng)
			return nil
		})
	}
	for _, seed := range []string{"1", "2", "3"} {
		dir := "runs/seed" + seed
		gorl(t, 0, "train", "--config", "run.yaml", "-q", "-s", "pbt.seed="+seed, "-s", "pbt.workspace=seed"+seed)
		store := get(workspace.OpenFolder(dir, 3, workspace.FolderOptions{}))(t)
		best, _, err := store.Best(false)
		must(t, err)
		policy := get(infer.FromSnapshot(get(store.Fetch(best))(t)))(t)
		rng := rand.New(rand.NewPCG(1, 2))
		match := func(other selfplay.Player) (wins, draws, losses int) {
			wins, draws, err := selfplay.Match(&classic.TicTacToe{}, selfplay.NewPlayer(policy, true), other, 1000, rng)
			must(t, err)
			return wins, draws, 1000 - wins - draws
		}
		wins, draws, losses := match(player(tictactoe.Random))
		t.Logf("seed %s: member %d, rating %.0f; random player: %d won, %d drawn, %d lost", seed, best.Member,
			best.Objective, wins, draws, losses)
		if losses > 0 {
			t.Errorf("seed %s: %d of 1,000 games were lost to the random player", seed, losses)
		}
		wins, draws, losses = match(player(tictactoe.Perfect))
		t.Logf("seed %s: perfect player: %d won, %d drawn, %d lost", seed, wins, draws, losses)
		if draws < 900 {
			t.Errorf("seed %s: %d of 1,000 games were drawn with the perfect player; want 900", seed, draws)
		}
		ratingsRise(t, dir, best.Member, best.Iteration)
	}
}

// ratingsRise checks the ratings along a lineage: their mean rises from third to third of training.
func ratingsRise(t *testing.T, dir string, member int, iteration int64) {
	t.Helper()
	h := get(journal.ReadHistory(dir))(t)
	ancestry := get(h.AncestryAt(member, iteration))(t)
	var ratings []float64
	for _, a := range ancestry {
		for _, e := range h.Events {
			if e.SelfPlay != nil && e.Member == a.Member && e.Iteration > a.From && e.Iteration <= a.To {
				ratings = append(ratings, e.SelfPlay.Rating)
			}
		}
	}
	t.Logf("ratings along the lineage: %.0f", ratings)
	n := len(ratings)
	if n < 8 {
		t.Fatalf("the lineage has %d intervals", n)
	}
	mean := func(third int) float64 { return stat.Mean(ratings[n*third/3:n*(third+1)/3], nil) }
	if !(mean(0) < mean(1) && mean(1) < mean(2)) || ratings[n-1] < ratings[0]+200 {
		t.Errorf("the means of the thirds are %.0f, %.0f and %.0f; want them to rise", mean(0), mean(1), mean(2))
	}
}
