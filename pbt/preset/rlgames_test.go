package preset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/preset"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// The section pbt: of rl_games' own core (pull request 359) has Isaac Lab's keys and one more, launcher. The preset
// isaaclab reads it, with the same defaults.
func TestRLGamesCore(t *testing.T) {
	s, err := preset.FromYAML([]byte(`
pbt:
  enabled: true
  policy_idx: 2
  num_policies: 6
  directory: ./pbt_run
  workspace: pbt_workspace
  objective: episode.success
  interval_steps: 20000000
  mutation:
    agent.params.config.learning_rate: mutate_float
    agent.params.config.gamma: mutate_discount
  launcher: /isaac/python.sh
`))
	must.Do(t, err)
	if d := cmp.Diff(strategy.Strategy(strategy.IsaacLab{ThresholdStd: 0.1, ThresholdAbs: 0.05}),
		s.Options.Strategy); d != "" {
		t.Error(d)
	}
	m, _ := s.Options.Explore.(explore.Mutation)
	if m.Rate != 0.25 || m.ChangeRange != [2]float64{1.1, 2} || len(m.Rules) != 2 || s.Options.Diversify ||
		s.Options.StartAfter != 0 || s.PolicyIdx != 2 || s.Options.Objective != "episode.success" {
		t.Errorf("the settings are %+v, with %+v", s.Options, m)
	}
	if len(s.Notes) != 1 {
		t.Errorf("the notes are %q, want one on launcher", s.Notes)
	}
}

// Sample Factory's flag becomes settings of the wrapper self_play; those of the file win.
func TestMixPolicies(t *testing.T) {
	file := func(given map[string]any, pbt map[string]any) map[string]any {
		wrapper := any("self_play")
		if given != nil {
			wrapper = map[string]any{"self_play": given}
		}
		return map[string]any{"preset": "samplefactory", "pbt": pbt,
			"environment": map[string]any{"id": "TicTacToe", "wrappers": []any{wrapper, "clip_reward"}}}
	}
	for name, c := range map[string]struct{ dict, want map[string]any }{
		"default": {file(nil, nil), map[string]any{"matchmaking": "uniform", "past_share": 0.0, "mix": true}},
		"false": {file(nil, map[string]any{"pbt_mix_policies_in_one_env": false}),
			map[string]any{"matchmaking": "self"}},
		"given": {file(map[string]any{"past_share": 0.5}, map[string]any{"pbt_mix_policies_in_one_env": true}),
			map[string]any{"matchmaking": "uniform", "past_share": 0.5, "mix": true}},
	} {
		t.Run(name, func(t *testing.T) {
			before := cmp.Diff(c.dict, nil)
			full := preset.WithSelfPlay(c.dict)
			list := full["environment"].(map[string]any)["wrappers"].([]any)
			if d := cmp.Diff([]any{map[string]any{"self_play": c.want}, "clip_reward"}, list); d != "" {
				t.Error(d)
			}
			if after := cmp.Diff(c.dict, nil); after != before {
				t.Error("the given sections have changed")
			}
			if again := preset.WithSelfPlay(full); !cmp.Equal(full, again) {
				t.Errorf("a second time it is %v", again)
			}
			s, err := preset.FromDict(c.dict)
			must.Do(t, err)
			for _, note := range s.Notes {
				if len(note) > 36 && note[:36] == "pbt.pbt_mix_policies_in_one_env does" {
					t.Errorf("there is the note %q", note)
				}
			}
		})
	}
	other := map[string]any{"preset": "isaaclab", "environment": file(nil, nil)["environment"]}
	if got := preset.WithSelfPlay(other); !cmp.Equal(got, other) || !preset.UsesSelfPlay(other) {
		t.Errorf("Isaac Lab's preset gives %v", got)
	}
}
