package preset_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt/preset"
)

// Sample Factory's flag becomes settings of the wrapper self_play; those of the file win.
func TestMixPolicies(t *testing.T) {
	type dict = map[string]any
	file := func(name string, wrapper any, pbt dict) dict {
		return dict{"preset": name, "pbt": pbt,
			"environment": dict{"id": "TicTacToe", "wrappers": []any{wrapper, "clip_reward"}}}
	}
	for _, c := range []struct {
		given any
		pbt   dict
		want  dict
	}{
		{"self_play", nil, dict{"matchmaking": "uniform", "past_share": 0.0, "mix": true}},
		{"self_play", dict{"pbt_mix_policies_in_one_env": false}, dict{"matchmaking": "self"}},
		{dict{"self_play": dict{"past_share": 0.5}}, dict{"pbt_mix_policies_in_one_env": true},
			dict{"matchmaking": "uniform", "past_share": 0.5, "mix": true}},
	} {
		given := file("samplefactory", c.given, c.pbt)
		full := preset.WithSelfPlay(given)
		must.Equal(t, "the settings", file("samplefactory", dict{"self_play": c.want}, c.pbt), full)
		must.Equal(t, "the settings given", file("samplefactory", c.given, c.pbt), given)
		must.Equal(t, "a second time", full, preset.WithSelfPlay(full))
		s := must.Get(preset.FromDict(given))(t)
		if notes := strings.Join(s.Notes, "\n"); strings.Contains(notes, "pbt.pbt_mix_policies_in_one_env does") {
			t.Errorf("the notes are %s", notes)
		}
	}
	other := file("isaaclab", "self_play", nil)
	if got := preset.WithSelfPlay(other); !cmp.Equal(got, other) || !preset.UsesSelfPlay(other) {
		t.Errorf("Isaac Lab's preset gives %v", got)
	}
}
