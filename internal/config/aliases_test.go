package config

import (
	"errors"
	"fmt"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

var aliases = map[string]Alias{
	"lambda": {Key: "gae_lambda", Note: "skrl 1.x"},
	"gae":    {Key: "gae_lambda"},
	"clip_predicted_values": {Key: "value_clip", Adjust: true, Convert: func(value, dst any) error {
		on, ok := value.(bool)
		if !ok {
			return errors.New("want true or false")
		}
		if !on {
			*dst.(*float64) = 0
		}
		return nil
	}},
	"style_reward_weight": {Key: "style_reward_scale", Adjust: true, Excludes: []string{"style_reward_scale"},
		Convert: func(value, dst any) error {
			*dst.(*float64) *= value.(float64)
			return nil
		}},
	"discriminator_reward_scale": {Key: "style_reward_scale"},
	"rewards_shaper_scale": {Convert: func(value, dst any) error {
		scale := value.(float64)
		dst.(*sample).Shaper = func(r float64) float64 { return scale * r }
		return nil
	}},
	"learning_epoch": {Key: "learning_epochs", Convert: func(value, dst any) error {
		*dst.(*int) = value.(int)
		return nil
	}},
	"sampler.w": {Key: "sampler.weight"},
}

func TestAliases(t *testing.T) {
	type dict = map[string]any
	tests := []struct {
		name string
		dict dict
		want func(*sample)
		err  string
	}{
		{"plain", dict{"lambda": 0.5}, func(s *sample) { s.Lambda = .5 }, ""},
		{"same value twice", dict{"lambda": 1, "gae_lambda": 1.0}, func(s *sample) { s.Lambda = 1 }, ""},
		{"different", dict{"lambda": 0.9, "gae_lambda": 0.8}, nil,
			`amp: "lambda" is 0.9: it means the same as "gae_lambda", which is 0.8; give one of them (skrl 1.x)`},
		{"out of range", dict{"lambda": 2}, nil, `amp: "lambda" is 2: want a number in [0, 1]`},
		{"converted out of range", dict{"learning_epoch": 0}, nil, `amp: "learning_epoch" is 0: want an integer ≥ 1`},
		{"key wrong beside alias", dict{"lambda": 0.5, "gae_lambda": 3}, nil,
			`amp: "gae_lambda" is 3: want a number in [0, 1]`},
		{"adjusts", dict{"clip_predicted_values": false}, func(s *sample) { s.ValueClip = 0 }, ""},
		{"adjusts beside key", dict{"clip_predicted_values": true, "value_clip": 0.3},
			func(s *sample) { s.ValueClip = .3 }, ""},
		{"convert fails", dict{"clip_predicted_values": 3}, nil,
			`amp: "clip_predicted_values" is 3: want true or false`},
		{"weight alone", dict{"style_reward_weight": 0.5}, func(s *sample) { s.StyleScale = 1 }, ""},
		{"weight and scale", dict{"style_reward_weight": 0.5, "discriminator_reward_scale": 8},
			func(s *sample) { s.StyleScale = 4 }, ""},
		{"excluded", dict{"style_reward_weight": 0.5, "style_reward_scale": 2}, nil,
			`amp: "style_reward_weight" is 0.5: it cannot be given together with "style_reward_scale" (2); ` +
				"give one of them"},
		{"whole struct", dict{"rewards_shaper_scale": 0.5},
			func(s *sample) { s.Shaper = func(float64) float64 { return 0 } }, ""},
		{"in a section", dict{"sampler": dict{"w": 4}}, func(s *sample) { s.Sampler = &sampler{4, "s"} }, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, want := defaults(), defaults()
			before := got.Sampler
			err := Merge(&got, test.dict, Options{Prefix: "amp", Aliases: aliases})
			if test.want != nil {
				test.want(&want)
			}
			if text := fmt.Sprint(err); text != test.err && (err != nil || test.err != "") {
				t.Errorf("error is\n%s\nwant\n%s", text, test.err)
			}
			must.Equal(t, "the settings", want, got, compare)
			if *before != (sampler{1, "s"}) {
				t.Error("the struct behind the pointer was written to")
			}
		})
	}
}
