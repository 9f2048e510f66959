package skrl

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/layout"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
)

// Adam is the state of skrl's optimizer, which is PyTorch's Adam.
type Adam struct {
	// LearningRate is the current one: a scheduler may have changed it.
	LearningRate float64
	// Beta1, Beta2, Eps and WeightDecay are Adam's settings.
	Beta1, Beta2, Eps, WeightDecay float64
	// Decoupled is true for AdamW, whose weights decay apart from the gradient.
	Decoupled bool

	moments []moments // by parameter
}

// moments are the number of steps of a parameter and its running averages. The averages are empty before the first
// step.
type moments struct {
	step             int64
	expAvg, expAvgSq checkpoint.Array
}

// Adam returns the optimizer's state, or nil if the checkpoint has none.
func (c *Checkpoint) Adam() (*Adam, error) {
	d := c.Module(layout.Optimizer)
	if d == nil {
		return nil, nil
	}
	a, err := parseAdam(d)
	if err != nil {
		return nil, fmt.Errorf("skrl: optimizer: %w", err)
	}
	return a, nil
}

func parseAdam(d *torchfile.Dict) (*Adam, error) {
	groups := sequence(at(d, "param_groups"))
	if len(groups) != 1 {
		return nil, fmt.Errorf("it has %d parameter groups; skrl's optimizer has 1", len(groups))
	}
	g, isDict := groups[0].(*torchfile.Dict)
	state, too := at(d, "state").(*torchfile.Dict)
	if !isDict || !too {
		return nil, fmt.Errorf("its state or its parameter group is not a dictionary")
	}
	betas := sequence(at(g, "betas"))
	if len(betas) != 2 {
		return nil, fmt.Errorf("it has no betas, so it is not Adam; gorl continues only with Adam")
	}
	a := &Adam{Decoupled: at(g, "decoupled_weight_decay") == true}
	for _, setting := range []struct {
		name  string
		value any
		to    *float64
	}{{"lr", at(g, "lr"), &a.LearningRate}, {"eps", at(g, "eps"), &a.Eps},
		{"weight_decay", at(g, "weight_decay"), &a.WeightDecay},
		{"first beta", betas[0], &a.Beta1}, {"second beta", betas[1], &a.Beta2}} {
		var ok bool
		if *setting.to, ok = plainNumber(setting.value); !ok {
			return nil, fmt.Errorf("its %s is not a number", setting.name)
		}
	}
	for _, flag := range []string{"amsgrad", "maximize"} {
		if at(g, flag) == true {
			return nil, fmt.Errorf("%s is on, which gorl's Adam does not have", flag)
		}
	}
	ids := sequence(at(g, "params"))
	if len(ids) == 0 {
		return nil, fmt.Errorf("its parameter group is empty")
	}
	used := 0
	for i, id := range ids {
		var m moments
		if _, isInt := id.(int64); !isInt {
			return nil, fmt.Errorf("parameter %d of its group is not a number", i)
		}
		if v, ok := state.Get(id); ok {
			used++
			var err error
			if m, err = parseMoments(v); err != nil {
				return nil, fmt.Errorf("parameter %d: %w", i, err)
			}
		}
		a.moments = append(a.moments, m)
	}
	if used != state.Len() {
		return nil, fmt.Errorf("it has the state of %d parameters, but its group has %d of them", state.Len(), used)
	}
	return a, nil
}

// at returns the value of a key, nil if it is missing.
func at(d *torchfile.Dict, key any) any {
	v, _ := d.Get(key)
	return v
}

func parseMoments(v any) (moments, error) {
	d, ok := v.(*torchfile.Dict)
	if !ok {
		return moments{}, fmt.Errorf("its state is not a dictionary")
	}
	step, ok := plainNumber(at(d, "step"))
	if !ok {
		return moments{}, fmt.Errorf("its step is not a number")
	}
	if step < 0 || step > 1<<53 || step != math.Trunc(step) {
		return moments{}, fmt.Errorf("its step is %v; want a whole number", step)
	}
	m := moments{step: int64(step)}
	for name, to := range map[string]*checkpoint.Array{"exp_avg": &m.expAvg, "exp_avg_sq": &m.expAvgSq} {
		a, ok := at(d, name).(checkpoint.Array)
		if !ok || a.DType != checkpoint.F32 {
			return moments{}, fmt.Errorf("its %s is not a tensor of float32", name)
		}
		*to = a
	}
	return m, nil
}

// plainNumber returns a finite number. PyTorch may store one as a tensor of one element.
func plainNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, v-v == 0
	case checkpoint.Array:
		if v.Len() != 1 {
			return 0, false
		}
		x := math.NaN()
		switch v.DType {
		case checkpoint.F32:
			x = float64(math.Float32frombits(binary.LittleEndian.Uint32(v.Data)))
		case checkpoint.F64:
			x = math.Float64frombits(binary.LittleEndian.Uint64(v.Data))
		case checkpoint.I64:
			x = float64(int64(binary.LittleEndian.Uint64(v.Data)))
		}
		return x, x-x == 0
	}
	return 0, false
}

// sequence returns the items of a list or tuple.
func sequence(v any) []any {
	switch v := v.(type) {
	case torchfile.Tuple:
		return v
	case *torchfile.List:
		return v.Items
	}
	return nil
}

// optimizerValues returns the kind of the agent's optimizer and Adam's settings. Old snapshots do not have them: the
// kind is then "", with PyTorch's defaults.
func optimizerValues(s *checkpoint.Snapshot) (kind string, a Adam) {
	a = Adam{Beta1: 0.9, Beta2: 0.999, Eps: 1e-8}
	kind, _ = s.Text(layout.Optimizer, "kind")
	for key, to := range map[string]*float64{"weight_decay": &a.WeightDecay, "epsilon": &a.Eps,
		"beta1": &a.Beta1, "beta2": &a.Beta2} {
		if x, err := s.Float(layout.Optimizer, key); err == nil {
			*to = x
		}
	}
	return kind, a
}

// fits returns an error if the agent would not continue as the file's optimizer.
func (a *Adam) fits(agent *checkpoint.Snapshot) error {
	kind, own := optimizerValues(agent)
	name := "adam"
	if a.Decoupled {
		name = "adamw"
	}
	switch {
	case !(a.LearningRate > 0):
		return fmt.Errorf("skrl: optimizer: the learning rate is %g", a.LearningRate)
	case kind != "sgd" && a.Eps != own.Eps:
		return fmt.Errorf("skrl: optimizer: the file's eps is %g, the agent's %g; give the agent adam_epsilon: %g",
			a.Eps, own.Eps, a.Eps)
	case kind != "sgd" && (a.Beta1 != own.Beta1 || a.Beta2 != own.Beta2):
		return fmt.Errorf("skrl: optimizer: the file's betas are (%g, %g), the agent's (%g, %g); give the agent "+
			"adam_betas: [%g, %g]", a.Beta1, a.Beta2, own.Beta1, own.Beta2, a.Beta1, a.Beta2)
	case kind == "":
		return nil
	case kind != name && (kind == "sgd" || a.WeightDecay > 0):
		return fmt.Errorf("skrl: optimizer: the file's is %s with weight_decay %g, the agent's %s; give the agent "+
			"optimizer: %s", name, a.WeightDecay, kind, name)
	case own.WeightDecay != a.WeightDecay:
		return fmt.Errorf("skrl: optimizer: the file's weight_decay is %g, the agent's %g; give the agent "+
			"weight_decay: %g", a.WeightDecay, own.WeightDecay, a.WeightDecay)
	}
	return nil
}

// commonStep returns the number of steps, which must be the same for all parameters. A parameter whose moments are zero
// never had a gradient, such as a fixed standard deviation; its number does not matter.
func commonStep(list []moments) (int64, error) {
	var n int64
	for i, m := range list {
		switch {
		case m.step == 0 || m.step == n || isZero(m.expAvg) && isZero(m.expAvgSq):
		case n == 0:
			n = m.step
		default:
			return 0, fmt.Errorf("skrl: optimizer: parameter %d was stepped %d times, others %d times; gorl has one "+
				"count for all", i, m.step, n)
		}
	}
	return n, nil
}

// dict is the state_dict that PyTorch's Adam loads.
func (a *Adam) dict() *torchfile.Dict {
	state := torchfile.NewDict()
	ids := &torchfile.List{}
	for i, m := range a.moments {
		ids.Items = append(ids.Items, int64(i))
		if m.step > 0 {
			step := checkpoint.ArrayFloat32([]int64{}, []float32{float32(m.step)})
			state.Set(i, torchfile.NewDict("step", step, "exp_avg", m.expAvg,
				"exp_avg_sq", m.expAvgSq))
		}
	}
	group := torchfile.NewDict("lr", a.LearningRate, "betas", torchfile.Tuple{a.Beta1, a.Beta2}, "eps", a.Eps,
		"weight_decay", a.WeightDecay, "amsgrad", false, "maximize", false, "foreach", nil, "capturable", false,
		"differentiable", false, "fused", nil, "params", ids)
	if a.Decoupled {
		group.Set("decoupled_weight_decay", true)
	}
	return torchfile.NewDict("state", state, "param_groups", &torchfile.List{Items: []any{group}})
}

// momentsOf reads a parameter's moments from a snapshot.
func momentsOf(s *checkpoint.Snapshot, optimizer, name string, step int64) (moments, error) {
	shape := s.Arrays[name].Shape
	expAvg, expAvgSq := layout.ExpAvg(optimizer, name), layout.ExpAvgSq(optimizer, name)
	first, err := s.Float32s(expAvg, shape...)
	if err != nil {
		return moments{}, err
	}
	second, err := s.Float32s(expAvgSq, shape...)
	if err != nil {
		return moments{}, err
	}
	nonzero := func(x float32) bool { return x != 0 }
	if slices.ContainsFunc(first, nonzero) && !slices.ContainsFunc(second, nonzero) {
		return moments{}, fmt.Errorf("skrl: %s has no second moments, so the agent's optimizer is not Adam; skrl's is",
			name)
	}
	return moments{step, s.Arrays[expAvg], s.Arrays[expAvgSq]}, nil
}

func isZero(a checkpoint.Array) bool {
	return !slices.ContainsFunc(a.Data, func(b byte) bool { return b != 0 })
}
