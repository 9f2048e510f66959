package preset

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/dialogue"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/pbt"
	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

// golden runs the dialogues in testdata/<dir>. What is given is a YAML document; the arguments of a case are
// objectives.
func golden(t *testing.T, dir string) {
	dialogue.Run(t, filepath.Join("testdata", dir, "*.txt"), answer)
}

// answer describes the settings of a document: all of them, or, where the words are objectives, what is decided.
func answer(t *testing.T, c dialogue.Case) string {
	s, err := FromYAML([]byte(strings.Join(c.Input, "\n")))
	if err != nil {
		return err.Error() + "\n"
	}
	if len(c.Words) == 0 {
		return describe(s)
	}
	g := strategy.Generation{Iteration: 1}
	for i, w := range c.Words {
		o := must.Get(strconv.ParseFloat(w, 64))(t)
		g.Members = append(g.Members, strategy.Status{Member: i, Objective: o, HasObjective: true})
	}
	var out strings.Builder
	for _, d := range s.Options.Strategy.Decide(g, rand.New(rand.NewPCG(1, 0))) {
		fmt.Fprintf(&out, "%d %s (%s)\n", d.Member, d.Action, d.Reason)
	}
	return out.String()
}

func describe(s *Settings) string {
	var out strings.Builder
	o := s.Options
	fmt.Fprintf(&out, "%s strict=%v enabled=%v member %d of %d in %q synchronous=%v\n", s.Name, s.Strict, s.Enabled,
		s.PolicyIdx, s.NumPolicies, s.Folder(), s.Synchronous)
	fmt.Fprintf(&out, "members=%d objective=%q interval=%d total=%d delay=%d after=%d settle=%v diversify=%v "+
		"reference=%v seed=%d\n", o.Members, o.Objective, o.IntervalSteps, o.TotalSteps, o.InitialDelay, o.StartAfter,
		o.SettleMutations, o.Diversify, o.Reference, o.Seed)
	fmt.Fprintf(&out, "%s\n", strategy.Describe(o.Strategy))
	if o.Measure != (pbt.Measure{}) {
		fmt.Fprintf(&out, "measure %+v\n", o.Measure)
	}
	if o.Copy != (pbt.CopyOptions{}) {
		fmt.Fprintf(&out, "inherit %+v\n", o.Copy)
	}
	parameters := map[string]explore.Parameter{}
	m, isMutation := explore.Mutation{}, true
	switch e := o.Explore.(type) {
	case explore.Mutation:
		m = e
	case someOf:
		m = e.Mutation
		fmt.Fprintf(&out, "optional %v\n", e.optional)
	case explore.Perturbation:
		isMutation, parameters = false, e.Parameters
		fmt.Fprintf(&out, "perturbation resample=%v factors=%v strict=%v\n", e.ResampleProbability, e.Factors, e.Strict)
	case explore.PB2:
		isMutation = false
		fmt.Fprintf(&out, "pb2 %v minimise=%v\n", e.Bounds, o.Measure.Minimise)
	}
	if isMutation {
		fmt.Fprintf(&out, "mutation rate=%v range=%v resample=%v reset=%v\n", m.Rate, m.ChangeRange, m.Resample,
			m.Reset)
		for _, key := range slices.Sorted(maps.Keys(m.Rules)) {
			fmt.Fprintf(&out, "  %s: %s\n", key, m.Rules[key].Name())
		}
		if len(m.Bounds) > 0 {
			fmt.Fprintf(&out, "bounds %v\n", m.Bounds)
		}
		parameters = m.Parameters
	}
	for _, key := range slices.Sorted(maps.Keys(parameters)) {
		p, name := parameters[key], ""
		if p.Rule != nil {
			name = p.Rule.Name()
		}
		fmt.Fprintf(&out, "  %s: rule=%q min=%v max=%v outside=%q range=%v step=%v choices=%v sample=%v", key,
			name, p.Min, p.Max, p.Outside, p.ChangeRange, p.Step, p.Choices, p.Sample)
		if p.Default != nil {
			fmt.Fprintf(&out, " default=%v", *p.Default)
		}
		fmt.Fprintln(&out)
	}
	if len(o.Initial) > 0 {
		fmt.Fprintf(&out, "initial %v\n", o.Initial)
	}
	if len(o.Sample) > 0 {
		fmt.Fprintf(&out, "sample %v\n", o.Sample)
	}
	if len(o.Rebuild) > 0 || o.Parallel > 0 || o.ProgressSteps > 0 {
		fmt.Fprintf(&out, "rebuild %v parallel %d progress %d\n", o.Rebuild, o.Parallel, o.ProgressSteps)
	}
	if d := sharedDefaults(); s.Heartbeat != d.Heartbeat || s.Silence != d.Silence || s.LeaseTTL != d.LeaseTTL ||
		s.Options.Slack > 0 || s.Options.SaveSteps > 0 || s.RestartProcess {
		fmt.Fprintf(&out, "heartbeat %v silence %v lease %v slack %d save %d restart %v\n", s.Heartbeat, s.Silence,
			s.LeaseTTL, s.Options.Slack, s.Options.SaveSteps, s.RestartProcess)
	}
	for _, n := range s.Notes {
		fmt.Fprintf(&out, "note: %s\n", n)
	}
	return out.String()
}

func TestGoldenIsaacLab(t *testing.T)      { golden(t, IsaacLab) }
func TestGoldenIsaacGymEnvs(t *testing.T)  { golden(t, IsaacGymEnvs) }
func TestGoldenSampleFactory(t *testing.T) { golden(t, SampleFactory) }
func TestGoldenRayTune(t *testing.T)       { golden(t, RayTune) }
