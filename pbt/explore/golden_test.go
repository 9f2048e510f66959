package explore

import (
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/dialogue"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// TestGoldenMutation applies explorers with given draws. The command line has rate, range, resample and reset of a
// Mutation, or explorer=raytune with resample, factors and strict of a Perturbation; atmost=a:b constrains. A line is
// "draws" and numbers, or a hyperparameter: its value, its rule or -, and any of low..high (in Bounds), and of a
// Parameter min, max, outside, range, step, choices, sample, logsample and default. A rule in brackets is the
// Parameter's; a line that ends in ? is an entry without a hyperparameter, such as a pattern.
func TestGoldenMutation(t *testing.T) {
	dialogues(t, "mutation", func(t *testing.T, args map[string]string, input []string) string {
		var unknown string // the first rule that does not exist
		m := Mutation{Rules: make(Rules), Bounds: make(map[string][2]float64), Parameters: make(map[string]Parameter)}
		for name, field := range map[string]*float64{"rate": &m.Rate, "resample": &m.Resample, "reset": &m.Reset} {
			if v, ok := args[name]; ok {
				*field = parseFloat(t, v)
			}
		}
		if v, ok := args["range"]; ok {
			m.ChangeRange = pair(t, v)
		}
		if a, b, ok := strings.Cut(args["atmost"], ":"); ok {
			m.Constrain = AtMost(a, b)
		}
		values := make(map[string]float64)
		u := &draws{t: t}
		for _, text := range input {
			words := strings.Fields(text)
			if words[0] == "draws" {
				for _, w := range words[1:] {
					u.list = append(u.list, parseFloat(t, w))
				}
				continue
			}
			key := words[0]
			if words[1] != "?" {
				values[key] = parseFloat(t, words[1])
			}
			var p Parameter
			if len(words) > 2 && strings.HasPrefix(words[2], "[") {
				p.Rule = ruleNamed(t, strings.Trim(words[2], "[]"))
			} else if len(words) > 2 && words[2] != "-" {
				r, err := RuleByName(words[2])
				if err != nil {
					unknown = fmt.Sprintf("pbt: Mutation.Rules[%q] names %s\n", key, strings.Replace(err.Error(),
						" does not exist", ", which does not exist", 1))
				}
				m.Rules[key] = r
			}
			for _, word := range words[min(3, len(words)):] {
				if name, value, ok := strings.Cut(word, "="); ok {
					p.set(t, name, value)
				} else {
					m.Bounds[key] = pair(t, word)
				}
			}
			if !reflect.ValueOf(p).IsZero() {
				m.Parameters[key] = p
			}
		}
		if unknown != "" {
			return unknown
		}
		var e Explorer = m
		if args["explorer"] == "raytune" {
			p := DefaultPerturbation(m.Parameters)
			if _, ok := args["resample"]; ok {
				p.ResampleProbability = m.Resample
			}
			if v, ok := args["factors"]; ok {
				p.Factors = pair(t, v)
			}
			_, p.Strict = args["strict"]
			p.Constrain = m.Constrain
			e = p
		}
		if err := e.Validate(slices.Collect(maps.Keys(values))); err != nil {
			return err.Error() + "\n"
		}
		before := maps.Clone(values)
		after := e.Apply(values, u)
		if !maps.Equal(before, values) {
			t.Error("Apply changed its argument")
		}
		var out strings.Builder
		for _, key := range slices.Sorted(maps.Keys(after)) {
			fmt.Fprintf(&out, "%s %.10g\n", key, after[key])
		}
		fmt.Fprintf(&out, "%d of %d draws\n", u.used, len(u.list))
		return out.String()
	})
}

func pair(t *testing.T, text string) [2]float64 {
	t.Helper()
	low, high, _ := strings.Cut(text, "..")
	return [2]float64{parseFloat(t, low), parseFloat(t, high)}
}

// set reads one field of a parameter.
func (p *Parameter) set(t *testing.T, name, value string) {
	t.Helper()
	switch name {
	case "min":
		p.Min = parseFloat(t, value)
		if p.Max == 0 {
			p.Max = math.Inf(1)
		}
	case "max":
		p.Max = parseFloat(t, value)
	case "outside":
		p.Outside = Outside(value)
	case "range":
		p.ChangeRange = pair(t, value)
	case "step":
		p.Step = parseFloat(t, value)
	case "choices":
		for _, c := range strings.Split(value, ",") {
			p.Choices = append(p.Choices, parseFloat(t, c))
		}
	case "sample", "logsample":
		r := pair(t, value)
		p.Sample = Range{Low: r[0], High: r[1], Log: name == "logsample"}
	case "default":
		p.Default = new(parseFloat(t, value))
	default:
		t.Fatalf("%s is no field of a parameter", name)
	}
}

func ruleNamed(t testing.TB, name string) Rule {
	t.Helper()
	r, err := RuleByName(name)
	must.Do(t, err)
	return r
}

// draws are given uniform numbers.
type draws struct {
	t    *testing.T
	list []float64
	used int
}

func (d *draws) Float64() float64 {
	if d.used == len(d.list) {
		d.t.Fatalf("more than the %d given numbers were drawn", len(d.list))
	}
	d.used++
	return d.list[d.used-1]
}

// dialogues runs the dialogues in testdata/<dir>. The arguments of a case are key=value.
func dialogues(t *testing.T, dir string, answer func(t *testing.T, args map[string]string, input []string) string) {
	dialogue.Run(t, filepath.Join("testdata", dir, "*.txt"), func(t *testing.T,
		c dialogue.Case) string {
		return answer(t, c.Args(), c.Input)
	})
}

func parseFloat(t *testing.T, text string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(text, 64)
	must.Do(t, err)
	return v
}
