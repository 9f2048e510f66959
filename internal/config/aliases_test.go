package config

import (
	"fmt"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

var aliases = map[string]Alias{
	"lambda":                     {Key: "gae_lambda", Note: "skrl 1.x"},
	"gae":                        {Key: "gae_lambda"},
	"style_reward_weight":        {Key: "style_reward_scale", Factor: 1},
	"discriminator_reward_scale": {Key: "style_reward_scale", Factor: 2},
	"sampler.w":                  {Key: "sampler.weight"},
}

func TestAliases(t *testing.T) {
	type dict = map[string]any
	tests := []struct {
		name string
		dict dict
		want func(*sample)
		err  string
	}{
		{"same value twice", dict{"lambda": 1, "gae_lambda": 1.0}, func(s *sample) { s.Lambda = 1 }, "<nil>"},
		{"different", dict{"lambda": 0.9, "gae_lambda": 0.8}, nil,
			`amp: "lambda" is 0.9: it means the same as "gae_lambda", which is 0.8; give one of them (skrl 1.x)`},
		{"key wrong beside alias", dict{"lambda": 0.5, "gae_lambda": 3}, nil,
			`amp: "gae_lambda" is 3: want a number in [0, 1]`},
		{"weight and scale", dict{"style_reward_weight": 0.5, "discriminator_reward_scale": 8},
			func(s *sample) { s.StyleScale = 4 }, "<nil>"},
		{"factor too large", dict{"style_reward_weight": 3e38}, nil,
			`amp: "style_reward_weight" is 3e+38: gorl computes in float32, whose greatest number is 3.4e38`},
		{"excluded", dict{"style_reward_weight": 0.5, "style_reward_scale": 2}, nil,
			`amp: "style_reward_weight" is 0.5: it cannot be given together with "style_reward_scale" (2); ` +
				"give one of them"},
		{"in a section", dict{"sampler": dict{"w": 4}}, func(s *sample) { s.Sampler = sampler{4, "s"} }, "<nil>"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, want := defaults(), defaults()
			err := Merge(&got, test.dict, Options{Prefix: "amp", Aliases: aliases})
			if test.want != nil {
				test.want(&want)
			}
			must.Equal(t, "error", test.err, fmt.Sprint(err))
			must.Equal(t, "the settings", want, got, compare)
		})
	}
}
