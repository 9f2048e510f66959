package torchfile

// global is a function or class that the pickle has named, of those in known.
type global string

// calls are the functions and classes that a pickle may call.
var calls = map[global]func(m *machine, args Tuple) (any, bool, error){
	"collections.OrderedDict":         orderedDict,
	"torch._utils._rebuild_tensor":    func(m *machine, args Tuple) (any, bool, error) { return m.tensor(args, 4, 4) },
	"torch._utils._rebuild_tensor_v2": func(m *machine, args Tuple) (any, bool, error) { return m.tensor(args, 6, 7) },
	"torch._utils._rebuild_tensor_v3": func(m *machine, args Tuple) (any, bool, error) { return m.tensor(args, 7, 8) },
	"torch._utils._rebuild_parameter": parameter,
	"torch.Size":                      size,
	"torch.device":                    device,
	"_codecs.encode":                  encode,
	"numpy.dtype":                     newNumpyType,
	"numpy.core.multiarray.scalar":    numpyScalar,
	"numpy._core.multiarray.scalar":   numpyScalar,
}

// global pushes what the pickle names, if it is known.
func (m *machine) global(op byte) error {
	var module, attribute string
	var err error
	if op == opGlobal {
		if module, err = m.line(); err == nil {
			attribute, err = m.line()
		}
	} else {
		var pair []any
		if pair, err = m.items(false, 2); err == nil {
			var texts [2]bool
			module, texts[0] = pair[0].(string)
			attribute, texts[1] = pair[1].(string)
			if !texts[0] || !texts[1] {
				err = hostile("", "a STACK_GLOBAL that names %s and %s", describe(pair[0]), describe(pair[1]))
			}
		}
	}
	if err != nil {
		return err
	}
	name := module + "." + attribute
	if len(name) > 200 {
		name = name[:200] + "…"
	}
	if t, ok := elementTypes[name]; ok && t != "" {
		return m.push(DType(attribute))
	}
	if unknownTypes[name] {
		return unsupported("it has tensors of the type %s", name)
	}
	_, isStorage := storageTypes[name]
	if _, isCall := calls[global(name)]; !isCall && !isStorage && !isUntyped(global(name)) {
		return hostile(name, "which is not among what tensors need")
	}
	return m.push(global(name))
}

func isUntyped(g global) bool {
	return g == "torch.storage.UntypedStorage" || g == "torch.UntypedStorage"
}

// reduce calls a function with arguments, both from the stack.
func (m *machine) reduce() error {
	pair, err := m.items(false, 2)
	if err != nil {
		return err
	}
	g, ok := pair[0].(global)
	if !ok {
		return hostile("", "a call of what is no function (%s)", describe(pair[0]))
	}
	args, ok := pair[1].(Tuple)
	if !ok {
		return hostile(string(g), "called with %s instead of a tuple of arguments", describe(pair[1]))
	}
	call := calls[g]
	if call == nil {
		return hostile(string(g), "which is called; it is known as a type of storage only")
	}
	v, fits, err := call(m, args)
	if err != nil {
		return err
	}
	if !fits {
		return hostile(string(g), "called with unexpected arguments")
	}
	return m.make(v)
}

// build gives an object its state.
func (m *machine) build() error {
	state, err := m.pop()
	if err != nil {
		return err
	}
	v, err := m.pop()
	if err != nil {
		return err
	}
	switch v := v.(type) {
	case *Dict:
		attributes, ok := state.(*Dict)
		if !ok || !v.Ordered || v.Attributes != nil || attributes == v {
			return hostile("collections.OrderedDict", "given a state that it does not have")
		}
		v.Attributes = attributes
		return m.push(v)
	case numpyType:
		built, ok := v.build(state)
		if !ok {
			return hostile("numpy.dtype", "given a state that a number's type does not have")
		}
		return m.push(built)
	}
	return hostile("", "a BUILD of %s, which has no state", describe(v))
}

// orderedDict is collections.OrderedDict, without arguments or with a list of pairs.
func orderedDict(m *machine, args Tuple) (any, bool, error) {
	d := &Dict{Ordered: true}
	if len(args) == 0 {
		return d, true, nil
	}
	pairs, ok := args[0].(*List)
	if len(args) != 1 || !ok {
		return nil, false, nil
	}
	if err := m.spend(len(pairs.Items)); err != nil {
		return nil, false, err
	}
	for _, item := range pairs.Items {
		var pair []any
		switch item := item.(type) {
		case Tuple:
			pair = item
		case *List:
			pair = item.Items
		}
		if len(pair) != 2 {
			return nil, false, nil
		}
		switch key := pair[0].(type) {
		case string, int64:
			d.Set(key, pair[1])
		default:
			return nil, false, nil
		}
	}
	return d, true, nil
}

func size(m *machine, args Tuple) (any, bool, error) {
	if len(args) != 1 {
		return nil, false, nil
	}
	sizes, ok := ints(args[0])
	return Size(sizes), ok, nil
}

func device(m *machine, args Tuple) (any, bool, error) {
	if len(args) < 1 || len(args) > 2 {
		return nil, false, nil
	}
	kind, ok := args[0].(string)
	if ok && len(args) == 2 {
		var index int64
		if index, ok = args[1].(int64); ok {
			kind = deviceName(kind, index)
		}
	}
	return Device(kind), ok, nil
}
