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
	dialogue.Run(t, filepath.Join("testdata", "mutation", "*.txt"), func(t *testing.T, c dialogue.Case) string {
		args := c.Args()
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
		for _, text := range c.Input {
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
				p.Rule = must.Get(RuleByName(strings.Trim(words[2], "[]")))(t)
			} else if len(words) > 2 && words[2] != "-" {
				m.Rules[key] = must.Get(RuleByName(words[2]))(t)
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

func parseFloat(t *testing.T, text string) float64 {
	t.Helper()
	return must.Get(strconv.ParseFloat(text, 64))(t)
}
