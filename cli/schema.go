package cli

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/agents/ippo"
	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/pbt/preset"
)

func schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "print a JSON schema of configurations for editors",
		Long: `
Prints a JSON schema (draft 2020-12) of the YAML files that gorl train reads: all
sections and keys with types, limits, choices, defaults and meanings. An editor with
the YAML language server completes and checks a file whose first line is

	# yaml-language-server: $schema=gorl.schema.json

A program that registers its own environments, networks or trackers has them in its
schema, too.`,
		Example: `
gorl schema > gorl.schema.json`,
		Args: commandline.NoArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			encoder := json.NewEncoder(c.OutOrStdout())
			encoder.SetEscapeHTML(false)
			encoder.SetIndent("", " ")
			return encoder.Encode(fileSchema())
		},
	}
}

// object is a part of a JSON schema.
type object = map[string]any

// fileSchema returns the schema of a run's file.
func fileSchema() object {
	only := func(kind string) object { return config.Declared(kind)[kind].Schema() }
	evolution := config.Declared("evolution")
	selection := object{
		"if":   having("strategy", "^multi_frequency$"),
		"then": evolution["multi_frequency"].Schema(),
		"else": evolution["tournament"].Schema(),
	}
	memory := object{"type": []any{"object", "null"}, "additionalProperties": false, "properties": object{
		"class": object{"enum": []any{"RandomMemory"}}, "memory_size": object{"type": "integer"}}}
	trainer := only("trainer")
	maps.Copy(keysOf(trainer)["trackers"].(object), listOrNull("trackers"))
	sections := object{
		"seed": object{"type": []any{"integer", "null"}, "minimum": 0,
			"description": "Without a seed one is drawn."},
		"environment": environmentSchema(), "models": modelsSchema(), "trainer": trainer,
		"agent":  byClass("agents", func(class string) string { return "^" + anyCase(class) + "$" }),
		"memory": memory, "motion_dataset": memory, "reply_buffer": memory, "replay_buffer": memory,
		"preset": object{"enum": preset.Names()}, "strict": object{"type": "boolean"},
		"pbt": object{"type": "object"}, "launcher": only("launcher"), "distributed": only("distributed"),
		"member": object{}, "network": evolution["network"].Schema(), "mutation": evolution["mutation"].Schema(),
		"training": evolution["training"].Schema(), "selection_strategy": selection, "tournament_selection": selection,
	}
	var presets []any
	declared := config.Declared("pbt")
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		condition := having("preset", "^"+regexp.QuoteMeta(name)+"$")
		if name == preset.IsaacLab { // the default
			delete(condition, "required")
		}
		settings := object{"properties": object{"pbt": declared[name].Schema()}}
		presets = append(presets, object{"if": condition, "then": settings})
	}
	return object{"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "A run of gorl", "type": "object",
		"properties": sections, "additionalProperties": false, "allOf": presets}
}

// keysOf returns the properties of an object's schema.
func keysOf(schema object) object { return schema["properties"].(object) }

// listOrNull returns the schema of a list of names of a kind or of mappings, or null.
func listOrNull(kind string) object {
	return object{"type": []any{"array", "null"}, "items": nameOrMapping(kind)}
}

// having returns the condition that a key has a value that matches a pattern.
func having(key, pattern string) object {
	return object{"properties": object{key: object{"type": "string", "pattern": pattern}}, "required": []any{key}}
}

// nameOrMapping returns the schema of a name of a kind, or of a mapping of a name to its settings.
func nameOrMapping(kind string) object {
	all := object{}
	for name, d := range config.Declared(kind) {
		s := d.Schema()
		s["type"] = []any{"object", "null"}
		all[name] = s
	}
	return object{"anyOf": []any{object{"enum": slices.Sorted(maps.Keys(all))}, object{"type": "object",
		"properties": all, "additionalProperties": false, "minProperties": 1, "maxProperties": 1}}}
}

// environmentSchema returns the schema of the section environment. The keys depend on id.
func environmentSchema() object {
	byKeys := map[string][]string{} // patterns of ids, by the schema as text: simulators share theirs
	var names, patterns []string
	for name, d := range config.Declared("environments") {
		s := d.Schema()
		keysOf(s)["id"] = true
		keysOf(s)["wrappers"] = listOrNull("wrappers")
		text, err := json.Marshal(s)
		if err != nil {
			panic(err) // a schema is plain data
		}
		pattern := regexp.QuoteMeta(name)
		if before, _, with := strings.Cut(name, ":"); with {
			pattern = regexp.QuoteMeta(before) + "(:.*)?"
			patterns = append(patterns, pattern)
			name = before
		}
		names = append(names, name)
		byKeys[string(text)] = append(byKeys[string(text)], pattern)
	}
	slices.Sort(names)
	slices.Sort(patterns)
	var choices []any
	for _, text := range slices.Sorted(maps.Keys(byKeys)) {
		slices.Sort(byKeys[text])
		choices = append(choices, object{"if": having("id", "^("+strings.Join(byKeys[text], "|")+")$"),
			"then": json.RawMessage(text)})
	}
	return object{"type": "object", "allOf": choices, "properties": object{"id": object{
		"description": "The environment's name. gymnasium:<id> and simulators have an id of their own.",
		"anyOf": []any{object{"enum": names},
			object{"type": "string", "pattern": "^(" + strings.Join(patterns, "|") + ")$"}}}}}
}

// anyCase returns a pattern of a name in upper and lower case.
func anyCase(name string) string {
	var b strings.Builder
	for _, r := range name {
		b.WriteString("[" + strings.ToUpper(string(r)) + strings.ToLower(string(r)) + "]")
	}
	return b.String()
}

// byClass returns the schema of a section whose keys depend on class. pattern returns the pattern of a class.
func byClass(kind string, pattern func(class string) string) object {
	declared := config.Declared(kind)
	var choices []any
	var patterns []string
	classes := slices.Sorted(maps.Keys(declared))
	for _, class := range classes {
		patterns = append(patterns, pattern(class))
		s := declared[class].Schema()
		keysOf(s)["class"] = true
		if kind == "agents" {
			scheduler := keysOf(s)["learning_rate_scheduler"].(object)
			delete(scheduler, "type") // editors complete the names; others are registered, or short forms
			scheduler["anyOf"] = []any{object{"enum": slices.Sorted(maps.Keys(config.Declared("schedules")))},
				object{"type": []any{"string", "null"}}}
			if class == "IPPO" || class == "MAPPO" {
				perAgent(keysOf(s))
			}
		}
		choices = append(choices, object{"if": having("class", pattern(class)), "then": s})
	}
	return object{"type": "object", "allOf": choices, "properties": object{
		"class": object{"anyOf": []any{object{"enum": classes},
			object{"type": "string", "pattern": strings.Join(patterns, "|")}}}}}
}

// perAgent lets settings be values, or dictionaries with a value for each agent.
func perAgent(settings object) {
	for key, setting := range settings {
		s, ok := setting.(object)
		if !ok || key == "class" || !ippo.PerAgent(key) {
			continue
		}
		value := maps.Clone(s)
		delete(value, "default")
		delete(value, "description")
		maps.DeleteFunc(s, func(key string, _ any) bool { return key != "default" && key != "description" })
		s["anyOf"] = []any{value, object{"type": "object", "additionalProperties": value, "minProperties": 1}}
	}
}

// modelsSchema returns the schema of the section models: a model for each role, or the short form. With several agents
// it may have a section for each by name.
func modelsSchema() object {
	model := byClass("models", func(class string) string {
		return "^" + anyCase(class) + "(" + anyCase("Mixin") + ")?$"
	})
	roles := object{"separate": object{"type": "boolean", "description": "false lets policy and value share a trunk."}}
	for _, role := range []string{"policy", "value", "discriminator", "style_value"} {
		roles[role] = model
	}
	return object{"type": []any{"object", "null"}, "if": object{"required": []any{"mlp"}},
		"then": config.Declared("mlp")["mlp"].Schema(),
		"else": object{"properties": roles, "additionalProperties": object{"type": "object",
			"anyOf": []any{object{"required": []any{"mlp"}}, object{"required": []any{"policy", "value"}}}}}}
}
