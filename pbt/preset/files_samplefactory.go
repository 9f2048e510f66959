package preset

import (
	"encoding/json"
	"fmt"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// SampleFactoryFiles are the files policy_%02d_cfg.json and policy_%02d_reward_shaping.json of Sample Factory for every
// member in a journal, as they stand at its end: the agent's hyperparameters by Sample Factory's names where it has any,
// and the environment's as a tree, null where there are none. Truth values are 0 and 1.
func SampleFactoryFiles(events []journal.Event) map[string][]byte {
	files := make(map[string][]byte)
	back := sampleFactoryNames.inverse()
	for member, values := range latest(events) {
		agent, environment := split(values)
		cfg := make(map[string]any, len(agent))
		for key, v := range agent {
			if theirs, ok := back[key]; ok {
				key = theirs
			}
			cfg[key] = finiteOrText(v)
		}
		files[fmt.Sprintf("policy_%02d_cfg.json", member)] = encode(cfg)
		var shaping any
		if len(environment) > 0 {
			shaping = nest(environment)
		}
		files[fmt.Sprintf("policy_%02d_reward_shaping.json", member)] = encode(shaping)
	}
	return files
}

// encode is plain data as a line of JSON, keys sorted.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("preset: %v", err)) // maps, lists, texts and finite numbers only
	}
	return append(data, '\n')
}
