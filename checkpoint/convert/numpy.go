package convert

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/npz"
)

// metadataKey is the name of the safetensors entry for values that are not tensors. A .npz and a .pt use it too.
const metadataKey = "__metadata__"

// numpyTypes are NumPy's names of element types.
var numpyTypes = map[checkpoint.DType]string{
	checkpoint.F32: "<f4", checkpoint.F64: "<f8", "F16": "<f2", checkpoint.I64: "<i8", "I32": "<i4", "I16": "<i2",
	"I8": "|i1", "U64": "<u8", "U32": "<u4", "U16": "<u2", checkpoint.U8: "|u1", checkpoint.Bool: "|b1",
}

func fromNumPy(f *npz.File) (*checkpoint.Snapshot, error) {
	s := checkpoint.NewSnapshot()
	for _, name := range f.Names() {
		a := f.Arrays[name]
		if name == metadataKey {
			if err := readMetadata(s, a); err != nil {
				return nil, err
			}
			continue
		}
		if name == "" {
			name = "array" // of a .npy file
		}
		dtype := checkpoint.DType("")
		for d, text := range numpyTypes {
			if text == a.DType {
				dtype = d
			}
		}
		if dtype == "" {
			return nil, fmt.Errorf("array %q is of NumPy's type %s; only numbers and booleans can be converted", name,
				a.DType)
		}
		shape := make([]int64, len(a.Shape))
		for i, d := range a.Shape {
			shape[i] = int64(d)
		}
		s.Arrays[name] = checkpoint.Array{DType: dtype, Shape: shape, Data: a.Bytes()}
	}
	return s, nil
}

func toNumPy(s *checkpoint.Snapshot) ([]*npz.Array, error) {
	var list []*npz.Array
	for _, name := range slices.Sorted(maps.Keys(s.Arrays)) {
		a := s.Arrays[name]
		dtype, ok := numpyTypes[a.DType]
		if !ok {
			return nil, fmt.Errorf("array %q is of type %s, which a .npz cannot hold; convert it in Python first, "+
				"for example with .float()", name, a.DType)
		}
		if err := a.Validate(); err != nil {
			return nil, fmt.Errorf("array %q: %w", name, err)
		}
		shape := make([]int, len(a.Shape))
		for i, d := range a.Shape {
			shape[i] = int(d)
		}
		list = append(list, npz.NewBytes(name, dtype, a.Data, shape...))
	}
	if len(s.Values) == 0 && len(s.Metadata) == 0 {
		return list, nil
	}
	text, err := metadata(s)
	if err != nil {
		return nil, err
	}
	return append(list, npz.NewString(metadataKey, []string{text})), nil
}

// metadata returns Values and Metadata as the header of a safetensors file without arrays.
func metadata(s *checkpoint.Snapshot) (string, error) {
	var b bytes.Buffer
	if err := checkpoint.EncodeSafetensors(&b,
		&checkpoint.Snapshot{Values: s.Values, Metadata: s.Metadata}); err != nil {
		return "", err
	}
	return string(bytes.TrimRight(b.Bytes()[8:], " ")), nil // after the header's length
}

func readMetadata(s *checkpoint.Snapshot, a *npz.Array) error {
	text, err := a.Strings()
	if err != nil || len(text) != 1 {
		return fmt.Errorf("the array %q does not hold the values of this file; rename it", metadataKey)
	}
	n := len(text[0])
	header := []byte{byte(n), byte(n >> 8), byte(n >> 16), byte(n >> 24), 0, 0, 0, 0}
	values, err := checkpoint.DecodeSafetensors(append(header, text[0]...))
	if err != nil || len(values.Arrays) > 0 {
		return fmt.Errorf("the array %q does not hold the values of this file: %w", metadataKey, err)
	}
	s.Values, s.Metadata = values.Values, values.Metadata
	return nil
}
