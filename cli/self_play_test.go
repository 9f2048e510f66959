package cli

import (
	"strings"
	"testing"
)

// Mistakes about self-play are refused before anything is written, and named by their keys.
func TestSelfPlayRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	text, _ := gorl(t, 0, "train", "--example", "self-play")
	write(t, "run.yaml", text)
	single := strings.Replace(text[:strings.Index(text, "preset:")]+text[strings.Index(text, "environment:"):],
		"rating: {k: 4}", "power: 2", 1)
	write(t, "single.yaml", single)
	for _, c := range []struct {
		file, set string
		status    int
		want      []string
	}{
		{"single.yaml", "seed=1", 2, []string{"environment.wrappers", "give the section pbt",
			"pbt.num_policies: 1 trains one agent against its past selves"}},
		{"run.yaml", "environment.wrappers=[{self_play: {past: 1}}]", 2, []string{
			"unknown key environment.wrappers[0].self_play.past"}},
		{"run.yaml", "environment.wrappers=[{self_play: {past_share: 2}}]", 2, []string{
			"environment.wrappers[0].self_play.past_share is 2; want a number in [0, 1]"}},
		{"run.yaml", "environment.wrappers=[{self_play: {seat: left}}]", 1, []string{"player_0, player_1"}},
		{"run.yaml", "environment.wrappers=[episode_statistics, self_play]", 1, []string{"in a *wrappers.Parallel"}},
		{"run.yaml", "environment={id: CartPole, wrappers: [self_play]}", 1, []string{"no seats to play against"}},
	} {
		_, stderr := gorl(t, c.status, "train", "--config", c.file, "--check", "-s", c.set)
		has(t, stderr, c.want...)
	}
	gorl(t, 0, "train", "--config", "run.yaml", "--check", "-s", "pbt.num_policies=1")
}
