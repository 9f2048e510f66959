package skrl

import (
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// Parameters have the order of the snapshot's list, which must name all of them.
func TestOrder(t *testing.T) {
	want := []string{"value/net.2.weight", "value/net.10.weight", "policy/net.0.weight", "policy/log_std_parameter"}
	s := checkpoint.NewSnapshot()
	listed := []any{}
	for _, name := range want {
		a := checkpoint.ArrayFloat32([]int64{1}, []float32{1})
		s.Arrays[name], s.Arrays["optimizer/exp_avg/"+name] = a, a
		listed = append(listed, name)
	}
	must.Refused(parameterNames(s))(t, "does not list its parameters")
	s.Values["parameters"] = listed
	must.Same(t, must.Get(parameterNames(s))(t), want, "order")
	s.Values["parameters"] = listed[1:]
	must.Refused(parameterNames(s))(t, "list of parameters")
}

// A network is matched by name, or by order if any name differs.
func TestMatch(t *testing.T) {
	list := func(names ...string) []parameter {
		var out []parameter
		for _, n := range names {
			shape := []int64{2}
			if strings.HasSuffix(n, "weight") {
				shape = []int64{2, 2}
			}
			out = append(out, parameter{n, checkpoint.Array{Shape: shape}})
		}
		return out
	}
	agent := list("policy/net.0.weight", "policy/net.0.bias", "policy/net.2.weight", "policy/net.2.bias")
	for name, test := range map[string]struct {
		file []parameter
		want []int
		err  string
	}{
		"instantiator": {list("net_container.0.weight", "net_container.0.bias", "net_container.2.weight",
			"net_container.2.bias"), []int{0, 1, 2, 3}, ""},
		"names beat order": {list("net.2.weight", "net.2.bias", "net.0.weight", "net.0.bias"), []int{2, 3, 0, 1}, ""},
		"own names, no order": {list("a.weight", "b.weight", "a.bias", "b.bias"), nil,
			"b.weight has shape [2 2], the agent's policy/net.0.bias [2]"},
		"fewer": {list("a.weight", "a.bias"), nil, "nothing for the agent's policy/net.2.weight"},
		"more":  {list("a.weight", "a.bias", "b.weight", "b.bias", "c.weight"), nil, "the file has c.weight"},
	} {
		if test.err != "" {
			must.RefusedAs(match("policy", test.file, agent))(t, name, test.err)
		} else {
			must.Same(t, must.Get(match("policy", test.file, agent))(t), test.want, "%s", name)
		}
	}
}
