package torchfile

import (
	"fmt"
	"math"
	"slices"

	"github.com/gorl-dev/gorl/checkpoint"
)

// Storage is memory that one or more tensors are views of.
type Storage struct {
	// Data is little-endian.
	Data []byte
}

// Tensor is a strided view of a storage.
type Tensor struct {
	// DType is the element type by its safetensors name.
	DType checkpoint.DType
	// Shape and Strides have one entry a dimension; Strides and Offset count elements.
	Shape, Strides []int64
	Offset         int64
	// Storage may be shared with other tensors.
	Storage *Storage
	// RequiresGrad is PyTorch's; Parameter says that the tensor is a torch.nn.Parameter.
	RequiresGrad, Parameter bool
}

// NewTensor returns a tensor over an array, whose memory it shares.
func NewTensor(a checkpoint.Array) *Tensor {
	return &Tensor{DType: a.DType, Shape: slices.Clone(a.Shape), Strides: rowMajor(a.Shape), Storage: &Storage{a.Data}}
}

// Array returns the tensor's elements row by row. Where they lie so in the storage the array shares its memory;
// otherwise they are copied.
func (t *Tensor) Array() checkpoint.Array {
	size := t.DType.Size()
	n := t.count()
	a := checkpoint.Array{DType: t.DType, Shape: append([]int64{}, t.Shape...)}
	if t.contiguous() {
		a.Data = t.Storage.Data[t.Offset*size : (t.Offset+n)*size : (t.Offset+n)*size]
		return a
	}
	a.Data = make([]byte, 0, n*size)
	index := make([]int64, len(t.Shape))
	for at := t.Offset; ; {
		a.Data = append(a.Data, t.Storage.Data[at*size:(at+1)*size]...)
		d := len(index) - 1
		for ; d >= 0; d-- {
			index[d]++
			at += t.Strides[d]
			if index[d] < t.Shape[d] {
				break
			}
			at -= t.Shape[d] * t.Strides[d]
			index[d] = 0
		}
		if d < 0 {
			return a
		}
	}
}

// count is the number of elements of a tensor that has been checked.
func (t *Tensor) count() int64 {
	n := int64(1)
	for _, d := range t.Shape {
		n *= d
	}
	return n
}

// contiguous says whether the elements lie in the storage row by row and without gaps.
func (t *Tensor) contiguous() bool {
	want := rowMajor(t.Shape)
	for i, d := range t.Shape {
		if d == 0 {
			return true
		}
		if d > 1 && t.Strides[i] != want[i] {
			return false
		}
	}
	return true
}

func rowMajor(shape []int64) []int64 {
	strides := make([]int64, len(shape))
	next := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = next
		next *= max(1, shape[i])
	}
	return strides
}

const maxDims = 64 // PyTorch's own limit

// check verifies that a tensor lies within its storage, and returns its size in bytes. Every element is reached by
// strides from 0 on, so the last one is the farthest.
func (t *Tensor) check() (int64, error) {
	size := t.DType.Size()
	switch {
	case t.Storage == nil:
		return 0, fmt.Errorf("a tensor has no storage")
	case size == 0:
		return 0, fmt.Errorf("a tensor's element type is %q", t.DType)
	case len(t.Shape) != len(t.Strides):
		return 0, fmt.Errorf("a tensor has %d sizes and %d strides", len(t.Shape), len(t.Strides))
	case len(t.Shape) > maxDims:
		return 0, fmt.Errorf("a tensor has %d dimensions, where %d are allowed", len(t.Shape), maxDims)
	case t.Offset < 0:
		return 0, fmt.Errorf("a tensor begins at element %d of its storage", t.Offset)
	}
	there := int64(len(t.Storage.Data)) / size
	n, last := int64(1), t.Offset
	for i, d := range t.Shape {
		switch {
		case d < 0 || t.Strides[i] < 0:
			return 0, fmt.Errorf("a tensor of shape %v has strides %v; neither may be negative", t.Shape, t.Strides)
		case d == 0:
			n = 0
		case n > math.MaxInt64/size/d || d > 1 && t.Strides[i] > (math.MaxInt64-last)/(d-1):
			return 0, fmt.Errorf("a tensor of shape %v and strides %v is larger than can be counted", t.Shape, t.Strides)
		default:
			n *= d
			last += (d - 1) * t.Strides[i]
		}
	}
	if n == 0 {
		if t.Offset > there {
			return 0, fmt.Errorf("a tensor begins at element %d of a storage of %d", t.Offset, there)
		}
		return 0, nil
	}
	if last >= there {
		return 0, fmt.Errorf("a tensor of shape %v, strides %v and offset %d reaches element %d of a storage of %d", t.Shape,
			t.Strides, t.Offset, last, there)
	}
	return n * size, nil
}

// storageTypes are PyTorch's typed storages by name.
var storageTypes = map[string]checkpoint.DType{
	"torch.FloatStorage": checkpoint.F32, "torch.DoubleStorage": checkpoint.F64, "torch.HalfStorage": "F16", "torch.BFloat16Storage": "BF16",
	"torch.LongStorage": checkpoint.I64, "torch.IntStorage": "I32", "torch.ShortStorage": "I16", "torch.CharStorage": "I8",
	"torch.ByteStorage": checkpoint.U8, "torch.BoolStorage": checkpoint.Bool, "torch.ComplexFloatStorage": "C64",
}

// untyped is the entry of storages whose tensors say the type.
const untyped = checkpoint.DType("")

// elementTypes are PyTorch's dtypes with their safetensors names, where there is one.
var elementTypes = map[string]checkpoint.DType{
	"torch.float32": checkpoint.F32, "torch.float64": checkpoint.F64, "torch.float16": "F16", "torch.bfloat16": "BF16",
	"torch.int64": checkpoint.I64, "torch.int32": "I32", "torch.int16": "I16", "torch.int8": "I8", "torch.uint8": checkpoint.U8,
	"torch.uint16": "U16", "torch.uint32": "U32", "torch.uint64": "U64", "torch.bool": checkpoint.Bool, "torch.complex64": "C64",
	"torch.float8_e4m3fn": "F8_E4M3", "torch.float8_e5m2": "F8_E5M2", "torch.float8_e8m0fnu": "F8_E8M0",
}

// unknownTypes are dtypes and storages that no safetensors file has either. They are no danger, only not supported.
var unknownTypes = map[string]bool{
	"torch.complex128": true, "torch.complex32": true, "torch.ComplexDoubleStorage": true, "torch.QInt8Storage": true, "torch.QInt32Storage": true,
	"torch.QUInt8Storage": true, "torch.QUInt4x2Storage": true, "torch.QUInt2x4Storage": true, "torch.qint8": true, "torch.quint8": true,
	"torch.qint32": true, "torch.quint4x2": true, "torch.quint2x4": true,
}
