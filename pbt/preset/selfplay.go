package preset

import (
	"maps"
	"slices"
)

// SelfPlay is the name of the wrapper of an environment that makes the members of a population each other's opponents
// (package pbt/selfplay).
const SelfPlay = "self_play"

// selfPlayAt returns the environment's wrappers in a file's sections, and the place of self_play among them, -1 if it
// is not there.
func selfPlayAt(dict map[string]any) (list []any, at int) {
	environment, _ := dict["environment"].(map[string]any)
	list, _ = environment["wrappers"].([]any)
	return list, slices.IndexFunc(list, func(w any) bool {
		settings, _ := w.(map[string]any)
		_, named := settings[SelfPlay]
		return w == SelfPlay || named
	})
}

// UsesSelfPlay reports whether the environment of a file's sections has the wrapper self_play.
func UsesSelfPlay(dict map[string]any) bool {
	_, at := selfPlayAt(dict)
	return at >= 0
}

// WithSelfPlay returns the sections with the settings that the preset gives to the wrapper self_play; settings of the
// file win. Only samplefactory has any. Its pbt_mix_policies_in_one_env: true draws an opponent for every seat from the
// newest weights of all members, itself included; false lets the learner's newest weights play all other seats. The
// original plays with the present weights; here they are those of the last interval's end.
func WithSelfPlay(dict map[string]any) map[string]any {
	list, at := selfPlayAt(dict)
	if at < 0 || dict["preset"] != SampleFactory {
		return dict
	}
	settings := map[string]any{"matchmaking": "uniform", "past_share": 0.0, "mix": true}
	section, _ := dict["pbt"].(map[string]any)
	if mix, given := section["pbt_mix_policies_in_one_env"]; given && mix == false {
		settings = map[string]any{"matchmaking": "self"}
	}
	given, _ := list[at].(map[string]any)
	if own, ok := given[SelfPlay].(map[string]any); ok {
		maps.Copy(settings, own)
	}
	list = slices.Clone(list)
	list[at] = map[string]any{SelfPlay: settings}
	environment, _ := dict["environment"].(map[string]any)
	environment = maps.Clone(environment)
	environment["wrappers"] = list
	dict = maps.Clone(dict)
	dict["environment"] = environment
	return dict
}
