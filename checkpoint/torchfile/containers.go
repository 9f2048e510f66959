package torchfile

import (
	"fmt"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
)

// append adds items to the list on top of the stack.
func (m *machine) append(items []any) {
	v := m.top()
	list, ok := v.(*List)
	if !ok {
		m.fail(hostile("", "an APPEND to a value that is not a list (%s)", describe(v)))
		return
	}
	list.Items = append(list.Items, items...)
}

// setItems sets alternating keys and values of the dict on top of the stack.
func (m *machine) setItems(items []any) {
	v := m.top()
	d, ok := v.(*Dict)
	if !ok {
		m.fail(hostile("", "a SETITEM on a value that is not a dict (%s)", describe(v)))
		return
	}
	if len(items)%2 != 0 {
		m.fail(damaged("its pickle sets a key without a value"))
		return
	}
	for i := 0; i < len(items); i += 2 {
		switch key := items[i].(type) {
		case string, int64:
			if _, twice := d.Get(key); twice {
				m.fail(damaged("a dict of its pickle has the key %.80s twice", fmt.Sprint(key)))
				return
			}
			d.Set(key, items[i+1])
		default:
			m.fail(unsupported("a dict's key is %s; strings and whole numbers are known", describe(key)))
			return
		}
	}
}

// check returns an error unless a result consists of plain values and has a limited size, counting a shared value each
// time. Code that walks over the result therefore ends.
func check(v any) error {
	nodes := 0
	var visit func(v any, depth int) error
	visit = func(v any, depth int) error {
		if nodes++; nodes > maxNodes {
			return damaged("its values, written out, are more than %d", maxNodes)
		}
		if depth > maxDepth {
			return damaged("its values are nested more than %d deep, or contain themselves", maxDepth)
		}
		items, ok := sequence(v)
		switch v := v.(type) {
		case nil, bool, int64, float64, string, []byte, checkpoint.Array:
			return nil
		case *Dict:
			for _, x := range v.All() {
				items = append(items, x)
			}
		case global:
			return hostile(string(v), "a function or class where a value belongs")
		default:
			if !ok {
				return hostile("", "%s where a value belongs", describe(v))
			}
		}
		for _, x := range items {
			if err := visit(x, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return visit(v, 0)
}

// describe names a value's type for errors.
func describe(v any) string {
	if g, ok := v.(global); ok {
		return "the function or class " + string(g)
	}
	return "a value of the type " + strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", v), "*"), "torchfile.")
}
