package runfile

import (
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

func parse(t testing.TB, text string) Sections {
	t.Helper()
	return must.Get(Parse([]byte(text)))(t)
}

// A section that does not exist, or that nothing in this kind of run reads, is an error that says what to do.
func TestCheck(t *testing.T) {
	single := Environments | Trainers
	population := single | Populations | Launchers
	evolution := Environments | Agents | Evolutions
	for _, x := range []struct {
		text    string
		readers Reader
		want    []string // none: it is accepted
	}{
		{"{seed: 1, environment: {}, models: {}, memory: {}, agent: {}, trainer: {}, reply_buffer: {}, " +
			"motion_dataset: {}}",
			single, nil},
		{"{strict: true, seed: 1, environment: {}, agent: {}, trainer: {}, network: {}, tournament_selection: {}, " +
			"models: null}",
			evolution, nil},
		{"{pbt: {}, agent: 3, member: {a: b}, launcher: {}}", ^Evolutions, nil},
		{"{agnet: {}, lancher: {}}", single, []string{
			`test: unknown key "agnet" (given {}): did you mean "agent"?`,
			`test: unknown key "lancher" (given {}): did you mean "launcher"?`,
		}},
		{"{preset: isaaclab}",
			single, []string{`test: "preset" is "isaaclab": it belongs to a population; give the section pbt too`}},
		{"{pbt: {}, mutation: {}}", population,
			[]string{`test: "mutation" is {}: it belongs to an evolution, which has no section pbt`}},
		{"{pbt: {}, member: {}}", population, []string{`test: "member" is {}: it belongs to a member program`}},
		{"{training: {}, models: {}}", evolution,
			[]string{`test: "models" is {}: its agents' networks evolve`, "write network:"}},
	} {
		err := parse(t, x.text).Check("test", x.readers)
		if len(x.want) == 0 && err != nil {
			t.Errorf("%s: %v", x.text, err)
		}
		for _, want := range x.want {
			must.Refuse(t, err, want)
		}
	}
}

// Every reader gets its own sections, and members theirs with a seed; the file stays as it is.
func TestOf(t *testing.T) {
	const text = "{seed: 7, environment: {id: X}, pbt: {a: 1}, agent: {class: PPO}, trainer: {seed: 3, " +
		"timesteps: 5}, launcher: {name: n}, memory: {}}"
	s := parse(t, text)
	agent := map[string]any{"class": "PPO"}
	must.Equal(t, "the sections of a population", Sections{"seed": 7, "pbt": map[string]any{"a": 1}}, s.Of(Populations))
	want := Sections{"seed": int64(9), "agent": agent, "memory": map[string]any{},
		"trainer": map[string]any{"timesteps": 5}}
	must.Equal(t, "the sections of a member", want, s.Member(9))
	must.Equal(t, "the file has changed", parse(t, text), s)
}

// What is written reads back, in the order of a file whatever the order was before.
func TestYAML(t *testing.T) {
	s := parse(t, "models: {mlp: [16, 8]}\npbt: {b: 1, a: x}\npreset: isaaclab\nstrict: true\nseed: 3\n"+
		"launcher: {command: [a, b]}")
	text := must.Get(s.YAML())(t)
	want := "seed: 3\n\npreset: isaaclab\nstrict: true\n\npbt:\n  a: x\n  b: 1\n\n" +
		"launcher:\n  command: [a, b]\n\nmodels:\n  mlp: [16, 8]\n"
	must.Equal(t, "the file", want, string(text))
	must.Equal(t, "read back", s, parse(t, string(text)))
}
