package torchfile

import "fmt"

// container executes the instructions of lists, tuples and dicts.
func (m *machine) container(op byte) error {
	switch op {
	case opEmptyDict:
		return m.make(&Dict{})
	case opEmptyList:
		return m.make(&List{})
	case opEmptyTuple:
		return m.make(Tuple{})
	case opTuple:
		items, err := m.popMark()
		if err != nil {
			return err
		}
		return m.make(Tuple(items))
	case opTuple1, opTuple2, opTuple3:
		items, err := m.items(false, int(op-opTuple1)+1)
		if err != nil {
			return err
		}
		return m.make(Tuple(items))
	case opAppend, opAppends:
		return m.append(op)
	}
	return m.setItems(op)
}

func (m *machine) append(op byte) error {
	items, err := m.items(op == opAppends, 1)
	if err != nil {
		return err
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	list, ok := v.(*List)
	if !ok {
		return hostile("", "an APPEND to what is no list (%s)", describe(v))
	}
	list.Items = append(list.Items, items...)
	return nil
}

func (m *machine) setItems(op byte) error {
	items, err := m.items(op == opSetItems, 2)
	if err != nil {
		return err
	}
	v, err := m.top()
	if err != nil {
		return err
	}
	d, ok := v.(*Dict)
	if !ok {
		return hostile("", "a SETITEM of what is no dict (%s)", describe(v))
	}
	if len(items)%2 != 0 {
		return damaged("its pickle sets a key without a value")
	}
	for i := 0; i < len(items); i += 2 {
		switch key := items[i].(type) {
		case string, int64:
			if _, twice := d.Get(key); twice {
				return damaged("a dict of its pickle has the key %.80s twice", fmt.Sprint(key))
			}
			d.Set(key, items[i+1])
		default:
			return unsupported("a dict's key is %s; strings and whole numbers are known", describe(key))
		}
	}
	return nil
}

// items returns what lies above the last mark, or the last n values.
func (m *machine) items(marked bool, n int) ([]any, error) {
	if marked {
		return m.popMark()
	}
	if len(m.stack)-m.floor() < n {
		return nil, damaged("its pickle uses a value that is not there")
	}
	items := append([]any{}, m.stack[len(m.stack)-n:]...)
	m.stack = m.stack[:len(m.stack)-n]
	return items, nil
}

// check verifies that a result is made of plain values only, and is finite in size when what is there twice is counted
// twice, so that a program that walks over it ends.
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
		switch v := v.(type) {
		case nil, bool, int64, float64, string, []byte, DType, Device, Size, *Tensor:
			return nil
		case Tuple:
			return each(v, depth, visit)
		case *List:
			return each(v.Items, depth, visit)
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

func each(items []any, depth int, visit func(v any, depth int) error) error {
	for _, x := range items {
		if err := visit(x, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// describe says in Python's words what a value is.
func describe(v any) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case bool:
		return "a bool"
	case int64:
		return "an int"
	case float64:
		return "a float"
	case string:
		return "a str"
	case []byte:
		return "bytes"
	case Tuple:
		return "a tuple"
	case *List:
		return "a list"
	case *Dict:
		return "a dict"
	case *Tensor:
		return "a tensor"
	case typedStorage:
		return "a storage"
	case numpyType:
		return "a NumPy dtype"
	case global:
		return "the function or class " + string(v)
	case DType:
		return "a torch.dtype"
	case Device:
		return "a torch.device"
	case Size:
		return "a torch.Size"
	}
	return "something else"
}
