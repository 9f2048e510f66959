package cli

import (
	"regexp"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/peers"
)

// validate prints the places in YAML files that a schema refuses: "file: key".
const validate = `
import json, sys, jsonschema, yaml
validator = jsonschema.Draft202012Validator(json.load(open(sys.argv[1])))
validator.check_schema(validator.schema)
for path in sys.argv[2:]:
    for error in validator.iter_errors(yaml.safe_load(open(path))):
        print(path + ": " + ".".join(map(str, error.absolute_path)) + ": " + error.message[:200])
`

// TestPeersSchema validates files by the schema: examples as they are and with all defaults are valid, and each of the
// mistakes is found.
func TestPeersSchema(t *testing.T) {
	python := peers.Python(t, "jsonschema", "yaml")
	t.Chdir(t.TempDir())
	schema, _ := gorl(t, 0, "schema")
	write(t, "schema.json", schema)
	var good []string
	for _, name := range exampleNames() {
		text, _ := gorl(t, 0, "train", "--example", name)
		write(t, name+".yaml", text)
		good = append(good, name+".yaml")
		if strings.Contains(text, "gymnasium") || strings.Contains(text, "\n  model: ") || name == "mjlab" ||
			name == "envpool" || name == "humanoid-amp" || name == "humanoid-population" {
			// They start Python, need a robot's model, or another run.
			continue
		}
		full, _ := gorl(t, 0, "train", "-c", name+".yaml", "--check")
		write(t, name+"-full.yaml", full)
		good = append(good, name+"-full.yaml")
	}
	set := func(file, key, value string) string {
		c := get(readConfiguration(file+".yaml", nil))(t)
		must(t, c.Set(key+"="+value))
		text := get(c.YAML())(t)
		path := regexp.MustCompile(`\W`).ReplaceAllString(file+key+value, "_") + ".yaml"
		write(t, path, string(text))
		return path
	}
	for _, x := range [][3]string{
		{"cartpole", "agent.lambda", "0.9"}, {"cartpole", "agent.class", "ppo"}, {"cartpole", "agent.overlap", `"yes"`},
		{"cartpole", "agent.learning_rate", `"3e-4"`}, {"cartpole", "trainer.timesteps", "1e6"},
		{"cartpole", "trainer.checkpoint_interval", "auto"}, {"cartpole", "environment.id", "gymnasium:CartPole-v1"},
		{"cartpole", "trainer.trackers", "[mlflow, {wandb: {project: x}}]"},
		{"cartpole", "agent.learning_rate", "[1e-3, 2e-3]"},
		{"evolution", "training.population_size", "4"}, {"cartpole", "models", "{policy: {class: Bilinear, width: 4}}"},
	} {
		good = append(good, set(x[0], x[1], x[2]))
	}
	run := append([]string{"-c", validate, "schema.json"}, good...)
	if wrong := peers.Run(t, python, run...); wrong != "" || len(good) < 35 {
		t.Errorf("%d files: what is refused in good ones:\n%s", len(good), wrong)
	}
	for _, x := range [][3]string{
		{"cartpole", "agent.learning_rate", "-1"}, {"cartpole", "agent.learning_rat", "1"},
		{"cartpole", "agent.class", "SAC"},
		{"cartpole", "agent.optimizer", "adamm"}, {"cartpole", "environment.id", "CartPol"},
		{"cartpole", "environment.wrappers", "[clip_rewards]"}, {"cartpole", "trainer.timesteps", "many"},
		{"cartpole", "trainer.trackers", "[{wandb: {projct: x}}]"}, {"cartpole", "models.mpl", "[8]"},
		{"population", "pbt.mutation_rate", "2"},
		{"population", "pbt.num_polices", "3"}, {"population", "preset", "raytun"},
		{"evolution", "training.pop_size", "0"},
		{"evolution", "selection_strategy", "{tournament_size: 0}"},
	} {
		path := set(x[0], x[1], x[2])
		if wrong := peers.Run(t, python, "-c", validate, "schema.json", path); !strings.HasPrefix(wrong, path) {
			t.Errorf("%s=%s is not found: %s", x[1], x[2], wrong)
		}
	}
}
