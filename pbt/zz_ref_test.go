package pbt

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/gorl-dev/gorl/pbt/explore"
	"github.com/gorl-dev/gorl/pbt/strategy"
)

func TestZZReference(t *testing.T) {
	out := os.Getenv("REF_OUT")
	if out == "" {
		t.Skip()
	}
	for name, adjust := range map[string]func(c *colony){
		"usual":    func(*colony) {},
		"delayed":  func(c *colony) { c.opt.InitialDelay, c.opt.StartAfter = 120, 100 },
		"minimise": func(c *colony) { c.opt.Objective, c.opt.Measure.Minimise = "loss", true },
		"windowed": func(c *colony) { c.opt.ProgressSteps, c.opt.Measure = 10, Measure{Window: 4, Reducer: ReduceMedian} },
		"diverse":  func(c *colony) { c.opt.Diversify, c.opt.Reference = true, []int{0, 3} },
		"rebuilt":  func(c *colony) { c.opt.Rebuild = []string{"discount_factor"} },
		"short":    func(c *colony) { c.opt.TotalSteps = 420 },
		"pb2": func(c *colony) {
			c.opt.Explore = explore.PB2{Bounds: map[string]explore.Range{"learning_rate": {Low: 1e-4, High: 0.4, Log: true}, "discount_factor": {Low: 0.9, High: 0.999}}}
		},
		"failing": func(c *colony) {
			c.faults.train = func(m *climber) error {
				if m.id%2 == 1 && m.steps == int64(40*m.id) && m == c.built[m.id] {
					return errors.New("gone")
				}
				if m.id == 4 && m.steps == 120 {
					m.x[0] = math.NaN()
				}
				return nil
			}
		},
		"raytune": func(c *colony) { c.opt.Strategy = strategy.DefaultQuantile() },
		"saves":   func(c *colony) { c.opt.SaveSteps = 17 },
	} {
		c := newColony(6)
		c.opt.Directory = t.TempDir()
		adjust(c)
		p := mustTrain(t, c.opt)
		var b bytes.Buffer
		for _, e := range p.Journal() {
			data, _ := json.Marshal(e)
			b.Write(append(data, '\n'))
		}
		best := p.Best()
		b.WriteString(string(best.Snapshot.Arrays["parameters"].Data))
		data, _ := json.Marshal([]any{best.Member, best.Iteration, best.Steps, best.Objective, best.Hyperparameters})
		b.Write(data)
		if err := os.WriteFile(filepath.Join(out, name), b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
