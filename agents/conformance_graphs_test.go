package agents_test

import (
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/agents/internal/onpolicy"
	"github.com/gorl-dev/gorl/internal/devicename"
	"github.com/gorl-dev/gorl/internal/test/agenttest"
)

// graphs: with cuda_graphs an agent learns what it learns without, and on the CPU the setting is ignored. On a GPU
// matrix products depend on where in memory rows lie, so last bits may differ there.
func (x suite) graphs(t *testing.T) {
	a, b := x.make(t, 1, map[string]any{"learning_epochs": 3}), x.make(t, 1,
		map[string]any{"learning_epochs": 3, "cuda_graphs": true})
	for _, agent := range []onpolicy.Algorithm{a, b} {
		w := x.world(2)
		agenttest.Learn(t, agent, w, 2)
		must(t, agent.SetHyperparameters(map[string]float64{"learning_rate": 5e-4, "grad_norm_clip": 0.2}))
		agenttest.Learn(t, agent, w, 2)
	}
	if !strings.HasPrefix(devicename.Instead["cpu"], "cuda") {
		agenttest.Same(t, a, b)
		return
	}
	with := agenttest.Parameters(t, b)
	for name, p := range agenttest.Parameters(t, a) {
		for i := range p {
			if d := math.Abs(float64(p[i] - with[name][i])); !(d < 1e-3) {
				t.Fatalf("%s[%d] is %g, with graphs %g", name, i, p[i], with[name][i])
			}
		}
	}
}
