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

func TestDrawSeed(t *testing.T) {
	given := Sections{"seed": 5}
	given.DrawSeed()
	must.Equal(t, "a seed that is given", any(5), given["seed"])
	seeds := map[any]bool{}
	for range 3 {
		s := parse(t, "seed: null")
		s.DrawSeed()
		seeds[s["seed"]] = true
	}
	must.Not(t, len(seeds) != 3 || seeds[nil], "three runs have the seeds %v", seeds)
}

func TestSetRefuses(t *testing.T) {
	must.Refuse(t, Sections{}.Set("a..b=3"), "an empty part")
}
