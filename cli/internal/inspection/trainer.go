package inspection

import (
	"math"

	"github.com/gorl-dev/gorl/internal/number"
)

// Trainer is what a checkpoint holds of the trainer, beside its agents.
type Trainer struct {
	Timestep int64 `json:"timestep"`
	// Best is the best figure so far.
	Best *number.JSON `json:"best,omitempty"`
	// Metrics are the latest figures; those of episodes are means over the last 100.
	Metrics map[string]number.JSON `json:"metrics,omitempty"`
}

// ofTrainer describes a trainer's part; nil where there is none.
func ofTrainer(v any) *Trainer {
	values, ok := v.(map[string]any)
	if !ok {
		return nil
	}
	t := &Trainer{Metrics: map[string]number.JSON{}}
	t.Timestep, _ = values["timestep"].(int64)
	if best, ok := numberOf(values["best"]); ok {
		t.Best = (*number.JSON)(&best)
	}
	for _, kind := range []string{"steps", "tracked", "episodes"} {
		figures, _ := values[kind].(map[string]any)
		for name, f := range figures {
			figure, _ := f.(map[string]any)
			if x, ok := latest(figure, kind == "episodes"); ok {
				t.Metrics[name] = number.JSON(x)
			}
		}
	}
	return t
}

// latest returns the mean or the last of a figure's values. These lie in a ring buffer: value k is at k modulo its
// length.
func latest(figure map[string]any, mean bool) (float64, bool) {
	list, _ := figure["values"].([]any)
	count, _ := figure["count"].(int64)
	if len(list) == 0 || count < int64(len(list)) {
		return 0, false
	}
	if !mean {
		return numberOf(list[(count-1)%int64(len(list))])
	}
	sum := 0.0
	for _, v := range list {
		x, ok := numberOf(v)
		if !ok {
			return 0, false
		}
		sum += x
	}
	return sum / float64(len(list)), true
}

func numberOf(v any) (float64, bool) {
	switch x := v.(type) {
	case float64:
		return x, true
	case int64:
		return float64(x), true
	case uint64:
		return float64(x), true
	}
	return math.NaN(), false
}
