package preset_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/preset"
)

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
			must.Equal(t, "the wrappers", []any{map[string]any{"self_play": c.want}, "clip_reward"}, list)
			if after := cmp.Diff(c.dict, nil); after != before {
				t.Error("the given sections have changed")
			}
			if again := preset.WithSelfPlay(full); !cmp.Equal(full, again) {
				t.Errorf("a second time it is %v", again)
			}
			s := must.Get(preset.FromDict(c.dict))(t)
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
