package evolution

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The vectors of AgileRL's own arithmetic.
func TestStrictRLParameter(t *testing.T) {
	whole := RLParameter{Min: 1, Max: 10, Kind: KindInt}
	rate := RLParameter{Min: 1e-4, Max: 1e-2}
	for _, test := range []struct {
		p     RLParameter
		value float64
		grow  bool
		want  float64
	}{
		{whole, 4, true, 4}, {whole, 4, false, 3}, {whole, 5, true, 6}, {whole, 3, true, 3}, {whole, 2, false, 1},
		{whole, 10, true, 10}, {whole, 1, false, 1},
		{rate, 1e-4, false, 1e-4}, {rate, 1e-2, true, 1e-2}, {rate, 1e-3, true, 1.2e-3}, {rate, 1e-3, false, 8e-4}, {rate, 1,
			false, 1e-2},
		{RLParameter{Min: 1, Max: 10, Kind: KindInt, GrowFactor: 1.5, ShrinkFactor: 0.75}, 2, true, 3},
	} {
		if got := test.p.Mutate(test.value, test.grow, true); math.Abs(got-test.want) > 1e-15 {
			t.Errorf("%v of %+v, growing %t: %v, want %v", test.value, test.p, test.grow, got, test.want)
		}
	}
}

func TestRLParameter(t *testing.T) {
	whole := RLParameter{Min: 1, Max: 10, Kind: KindInt}
	for value := 1.0; value <= 10; value++ { // both ways, and by at least one
		up, down := whole.Mutate(value, true, false), whole.Mutate(value, false, false)
		if up == value || down == value || up != math.Trunc(up) || down != math.Trunc(down) {
			t.Errorf("%v becomes %v and %v", value, up, down)
		}
		if value < 10 && up <= value || value > 1 && down >= value {
			t.Errorf("%v grows to %v and shrinks to %v", value, up, down)
		}
	}
	if up, down := whole.Mutate(10, true, false), whole.Mutate(1, false, false); up != 8 || down != 2 {
		t.Errorf("at the bounds 10 becomes %v and 1 becomes %v, want 8 and 2: the other way", up, down)
	}
	rate := RLParameter{Min: 1e-6, Max: 1}
	x := 1e-3
	x = rate.Mutate(rate.Mutate(x, true, false), false, false)
	if math.Abs(x/1e-3-1) > 1e-12 || math.Abs(rate.Mutate(1e-3, true, false)-1e-3*math.Sqrt(1.5)) > 1e-15 {
		t.Errorf("growing and shrinking leads to %v: not symmetric", x)
	}
	if got := rate.Mutate(1e-6, false, false); got <= 1e-6 {
		t.Errorf("at its least it becomes %v, want more", got)
	}
	if got := (RLParameter{Max: 0.1}).Mutate(0, true, false); math.Abs(got-1e-3) > 1e-15 {
		t.Errorf("0 grows to %v, want 0.001", got)
	}
	if got := rate.Mutate(7, true, false); got != 1 {
		t.Errorf("beyond its bounds it becomes %v, want the nearest bound", got)
	}
}

func TestHyperparameterConfig(t *testing.T) {
	good := RLParameter{Min: 1, Max: 10}
	values := map[string]float64{"learning_rate": 1e-3, "batch_size": 64.5, "gae_lambda": math.NaN()}
	for _, test := range []struct {
		c    HyperparameterConfig
		want []string
	}{
		{HyperparameterConfig{"learning_rat": good}, []string{`no hyperparameter "learning_rat"`,
			`did you mean "learning_rate"?`}},
		{HyperparameterConfig{"gae_lambda": good}, []string{`"gae_lambda" is NaN`}},
		{HyperparameterConfig{"batch_size": {Min: 1, Max: 10, Kind: KindInt}}, []string{"must be whole"}},
		{HyperparameterConfig{"learning_rate": {Min: 2, Max: 1}, "batch_size": {Min: 1, Max: math.Inf(1)}},
			[]string{`"batch_size"`, `"learning_rate"`, "ascending"}},
		{HyperparameterConfig{"learning_rate": {Min: 1, Max: 2, GrowFactor: 0.9}}, []string{"grow_factor is 0.9"}},
		{HyperparameterConfig{"learning_rate": {Min: 1, Max: 2, ShrinkFactor: 1.5}}, []string{"shrink_factor is 1.5"}},
		{HyperparameterConfig{"learning_rate": {Min: 1, Max: 2, Kind: "text"}}, []string{`dtype is "text"`}},
		{HyperparameterConfig{"learning_rate": {Min: 0.5, Max: 2, Kind: KindInt}}, []string{"must be whole"}},
	} {
		err := test.c.Validate()
		if err == nil {
			err = test.c.Check(values)
		}
		for _, want := range test.want {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%+v: %v, want %q", test.c, err, want)
			}
		}
	}
}

func TestDefaultHyperparameters(t *testing.T) {
	got := DefaultHyperparameters(map[string]float64{"learning_rate": 0.01, "batch_size": 64, "learn_step": 2,
		"discount_factor": 0.99, "lr_actor": 0})
	want := HyperparameterConfig{
		"learning_rate": {Min: 0.001, Max: 0.1, GrowFactor: 1.2, ShrinkFactor: 0.8, Kind: KindFloat},
		"batch_size":    {Min: 16, Max: 256, GrowFactor: 1.5, ShrinkFactor: 0.75, Kind: KindInt},
		"learn_step":    {Min: 1, Max: 8, GrowFactor: 1.5, ShrinkFactor: 0.75, Kind: KindInt},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
}

func ExampleRLParameter_Mutate() {
	epochs := RLParameter{Min: 1, Max: 10, Kind: KindInt}
	fmt.Println(epochs.Mutate(4, true, false), epochs.Mutate(4, false, false))
	fmt.Println("as AgileRL does:", epochs.Mutate(4, true, true), epochs.Mutate(4, false, true))
	// Output:
	// 5 3
	// as AgileRL does: 4 3
}

func ExampleDefaultHyperparameters() {
	c := DefaultHyperparameters(map[string]float64{"learning_rate": 0.001, "batch_size": 64})
	for _, name := range slices.Sorted(maps.Keys(c)) {
		fmt.Printf("%s: %s from %g to %g\n", name, c[name].Kind, c[name].Min, c[name].Max)
	}
	// Output:
	// batch_size: int from 16 to 256
	// learning_rate: float from 0.0001 to 0.01
}
