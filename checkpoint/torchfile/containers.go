package torchfile

import (
	"fmt"
	"reflect"
)

// container executes the instructions of lists, tuples and dicts.
func (m *machine) container(op byte) {
	switch op {
	case opEmptyDict:
		m.make(&Dict{})
	case opEmptyList:
		m.make(&List{})
	case opEmptyTuple:
		m.make(Tuple{})
	case opTuple:
		m.make(Tuple(m.popMark()))
	case opTuple1, opTuple2, opTuple3:
		m.make(Tuple(m.popLast(int(op-opTuple1) + 1)))
	case opAppend:
		m.append(m.popLast(1))
	case opAppends:
		m.append(m.popMark())
	case opSetItem:
		m.setItems(m.popLast(2))
	case opSetItems:
		m.setItems(m.popMark())
	}
}

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

// setItems sets keys and values, which stand in turn in items, of the dict on top of the stack.
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

// check verifies that a result is made of plain values only, and is finite in size when a value that occurs twice is
// counted twice: code that walks over the result then always comes to an end.
func check(v any) error {
	nodes := 0
	var visit func(v any, depth int) error
	all := func(items []any, depth int) error {
		for _, x := range items {
			if err := visit(x, depth); err != nil {
				return err
			}
		}
		return nil
	}
	visit = func(v any, depth int) error {
		if nodes++; nodes > maxNodes {
			return damaged("its values, written out, are more than %d", maxNodes)
		}
		if depth > maxDepth {
			return damaged("its values are nested more than %d deep, or contain themselves", maxDepth)
		}
		switch v := v.(type) {
		case nil, bool, int64, float64, string, []byte, DType, Device, Size, *Tensor:
			return nil
		case Tuple:
			return all(v, depth+1)
		case *List:
			return all(v.Items, depth+1)
		case *Dict:
			for _, x := range v.All() {
				if err := visit(x, depth+1); err != nil {
					return err
				}
			}
			if v.Attributes != nil {
				return visit(v.Attributes, depth+1)
			}
			return nil
		case global:
			return hostile(string(v), "it stands where a value belongs")
		}
		return hostile("", "%s where a value belongs", describe(v))
	}
	return visit(v, 0)
}

// words are Python's for the types of values.
var words = map[reflect.Type]string{
	nil:                             "None",
	reflect.TypeFor[bool]():         "a bool",
	reflect.TypeFor[int64]():        "an int",
	reflect.TypeFor[float64]():      "a float",
	reflect.TypeFor[string]():       "a str",
	reflect.TypeFor[[]byte]():       "bytes",
	reflect.TypeFor[Tuple]():        "a tuple",
	reflect.TypeFor[*List]():        "a list",
	reflect.TypeFor[*Dict]():        "a dict",
	reflect.TypeFor[*Tensor]():      "a tensor",
	reflect.TypeFor[typedStorage](): "a storage",
	reflect.TypeFor[numpyType]():    "a NumPy dtype",
	reflect.TypeFor[DType]():        "a torch.dtype",
	reflect.TypeFor[Device]():       "a torch.device",
	reflect.TypeFor[Size]():         "a torch.Size",
}

// describe says in Python's words what a value is.
func describe(v any) string {
	if g, ok := v.(global); ok {
		return "the function or class " + string(g)
	}
	if word, ok := words[reflect.TypeOf(v)]; ok {
		return word
	}
	return "something else"
}
