package torchfile

import "strconv"

// global is a known function or class that the pickle has named.
type global string

// calls are the functions and classes that a pickle may call. fits is false for unexpected arguments.
var calls = map[global]func(m *machine, args Tuple) (v any, fits bool){
	"collections.OrderedDict":         orderedDict,
	"torch._utils._rebuild_tensor":    func(m *machine, args Tuple) (any, bool) { return m.tensor(args, 4, 4) },
	"torch._utils._rebuild_tensor_v2": func(m *machine, args Tuple) (any, bool) { return m.tensor(args, 6, 7) },
	"torch._utils._rebuild_parameter": parameter,
	"torch.Size":                      size,
	"torch.device":                    device,
	"_codecs.encode":                  encode,
	"numpy.dtype":                     newNumpyType,
	"numpy.core.multiarray.scalar":    numpyScalar,
	"numpy._core.multiarray.scalar":   numpyScalar,
}

// global pushes the function or class that the pickle names, if it is known. A dtype is pushed as its name.
func (m *machine) global(op byte) {
	var module, attribute string
	if op == opGlobal {
		module, attribute = m.line(), m.line()
	} else {
		pair := m.popLast(2)
		var isText, isTextToo bool
		module, isText = pair[0].(string)
		attribute, isTextToo = pair[1].(string)
		if !isText || !isTextToo {
			m.fail(hostile("", "a STACK_GLOBAL that names %s and %s", describe(pair[0]), describe(pair[1])))
			return
		}
	}
	name := module + "." + attribute
	if len(name) > 200 {
		name = name[:200] + "…"
	}
	_, isStorage := storageTypes[name]
	_, isCall := calls[global(name)]
	switch {
	case elementTypes[name]:
		m.push(attribute)
	case unknownTypes[name]:
		m.fail(unsupported("it has tensors of the type %s", name))
	case isCall || isStorage:
		m.push(global(name))
	default:
		m.fail(hostile(name, "which is not among what tensors need"))
	}
}

// reduce calls a function with arguments, both from the stack.
func (m *machine) reduce() {
	pair := m.popLast(2)
	g, isFunction := pair[0].(global)
	args, isTuple := pair[1].(Tuple)
	switch call := calls[g]; {
	case !isFunction:
		m.fail(hostile("", "a call of a value that is not a function (%s)", describe(pair[0])))
	case !isTuple:
		m.fail(hostile(string(g), "called with %s instead of a tuple of arguments", describe(pair[1])))
	case call == nil:
		m.fail(hostile(string(g), "which is called; it is known as a type of storage only"))
	default:
		v, fits := call(m, args)
		if !fits {
			m.fail(hostile(string(g), "called with unexpected arguments"))
		}
		m.push(v)
	}
}

// build gives an object its state.
func (m *machine) build() {
	pair := m.popLast(2)
	state := pair[1]
	switch v := pair[0].(type) {
	case *Dict: // PyTorch gives a state_dict the versions of its modules, which are left out
		if _, ok := state.(*Dict); !ok || !v.Ordered {
			m.fail(hostile("collections.OrderedDict", "given a state that it does not have"))
		}
		m.push(v)
	case numpyType:
		built, ok := v.build(state)
		if !ok {
			m.fail(hostile("numpy.dtype", "given a state that a number's type does not have"))
		}
		m.push(built)
	default:
		m.fail(hostile("", "a BUILD of %s, which has no state", describe(v)))
	}
}

// orderedDict is collections.OrderedDict. Its items follow.
func orderedDict(_ *machine, args Tuple) (any, bool) { return &Dict{Ordered: true}, len(args) == 0 }

// sequence returns the items of a tuple or a list.
func sequence(v any) (items []any, ok bool) {
	switch v := v.(type) {
	case Tuple:
		return v, true
	case *List:
		return v.Items, true
	}
	return nil, false
}

func size(m *machine, args Tuple) (any, bool) {
	if len(args) != 1 {
		return nil, false
	}
	items, ok := sequence(args[0])
	return Tuple(items), ok && len(items) <= maxDims
}

func device(_ *machine, args Tuple) (any, bool) {
	if len(args) < 1 || len(args) > 2 {
		return nil, false
	}
	kind, ok := args[0].(string)
	if ok && len(args) == 2 {
		var index int64
		index, ok = args[1].(int64)
		kind += ":" + strconv.FormatInt(index, 10)
	}
	return kind, ok
}
