package torchfile

import "github.com/gorl-dev/gorl/checkpoint"

// typedStorage is the value of a persistent id: a storage and its element type.
type typedStorage struct {
	data  []byte
	dtype checkpoint.DType
}

// persistent pushes the storage that an id names: ("storage", type, key, device, number of elements).
func (m *machine) persistent() {
	id, _ := m.popLast(1)[0].(Tuple)
	if len(id) != 5 {
		id = make(Tuple, 5)
	}
	kind, isGlobal := id[1].(global)
	key, isKey := id[2].(string)
	_, isDevice := id[3].(string)
	numel, isNumber := id[4].(int64)
	dtype, isTyped := storageTypes[string(kind)]
	if id[0] != any("storage") || !isGlobal || !isKey || !isDevice || !isNumber || !isTyped {
		m.fail(hostile("", "a persistent id that does not name a storage"))
		return
	}
	data, err := m.archive.storage(key)
	if err != nil {
		m.fail(err)
		return
	}
	width := dtype.Size()
	if there := int64(len(data)); numel < 0 || numel > there/width || numel*width != there {
		m.fail(damaged("storage %.40s has %d bytes, its pickle says %d elements of %d", key, there, numel, width))
	}
	m.push(typedStorage{data, dtype})
}

// tensor is torch._utils._rebuild_tensor: storage, offset, size, stride. The second version adds requires_grad,
// backward_hooks and optional metadata.
func (m *machine) tensor(args Tuple, least, most int) (any, bool) {
	if len(args) < least || len(args) > most {
		return nil, false
	}
	s, ok := args[0].(typedStorage)
	offset, isNumber := args[1].(int64)
	shape, isShape := ints(args[2])
	strides, isStrides := ints(args[3])
	if !ok || !isNumber || !isShape || !isStrides {
		return nil, false
	}
	if len(args) > 4 {
		if _, isBool := args[4].(bool); !isBool || !noHooks(args[5]) {
			return nil, false
		}
	}
	if len(args) == most && most > 4 && args[most-1] != nil {
		metadata, ok := args[most-1].(*Dict)
		if !ok {
			return nil, false
		}
		if metadata.Len() > 0 {
			m.fail(unsupported("a tensor is a conjugate or negative view; call its resolve_conj() and resolve_neg() " +
				"before saving"))
		}
	}
	v := view{storage: s, shape: shape, strides: strides, offset: offset}
	n, err := v.check()
	if m.budget -= n; err == nil && m.budget < 0 {
		err = damaged("its tensors have more than %d times the file's bytes", maxExpansion)
	}
	if err != nil {
		m.fail(err)
		return nil, true
	}
	return v.array(), true
}

// parameter is torch._utils._rebuild_parameter: data, requires_grad, backward_hooks. Its value is the data.
func parameter(m *machine, args Tuple) (any, bool) {
	if len(args) != 3 || !noHooks(args[2]) {
		return nil, false
	}
	data, isArray := args[0].(checkpoint.Array)
	_, isBool := args[1].(bool)
	return data, isArray && isBool
}

// noHooks reports whether there are no backward hooks, which would be functions.
func noHooks(v any) bool {
	if v == nil {
		return true
	}
	d, ok := v.(*Dict)
	return ok && d.Len() == 0
}

// ints returns the whole numbers of a tuple or list. It may have as many as a tensor may have dimensions.
func ints(v any) ([]int64, bool) {
	items, ok := sequence(v)
	if !ok || len(items) > maxDims {
		return nil, false
	}
	out := make([]int64, len(items))
	for i, x := range items {
		n, ok := x.(int64)
		if !ok {
			return nil, false
		}
		out[i] = n
	}
	return out, true
}
