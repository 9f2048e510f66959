package torchfile

import (
	"fmt"
	"math"
	"slices"
	"strings"

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
	// Shape and Strides have one entry per dimension. Strides and Offset count elements.
	Shape, Strides []int64
	Offset         int64
	// Storage may be shared with other tensors.
	Storage *Storage
	// RequiresGrad is PyTorch's requires_grad. Parameter is true for a torch.nn.Parameter.
	RequiresGrad, Parameter bool
}

// NewTensor returns a tensor that shares the memory of an array.
func NewTensor(a checkpoint.Array) *Tensor {
	return &Tensor{DType: a.DType, Shape: slices.Clone(a.Shape), Strides: rowMajor(a.Shape), Storage: &Storage{a.Data}}
}

// Array returns the tensor's elements in row-major order. The array shares the storage's memory if they lie there in
// this order. Otherwise it is a copy.
func (t *Tensor) Array() checkpoint.Array {
	size := t.DType.Size()
	a := checkpoint.Array{DType: t.DType, Shape: append([]int64{}, t.Shape...)}
	n := a.Len()
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

// contiguous reports whether the elements lie in the storage in row-major order and without gaps.
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

// check returns the tensor's size in bytes, or an error if the tensor reaches beyond its storage. Strides are not
// negative, so the last element is the farthest.
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
		return 0, fmt.Errorf("a tensor has %d dimensions; %d are allowed", len(t.Shape), maxDims)
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
			return 0, fmt.Errorf("a tensor of shape %v and strides %v is larger than can be counted", t.Shape,
				t.Strides)
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
		return 0, fmt.Errorf("a tensor of shape %v, strides %v and offset %d reaches element %d of a storage of %d",
			t.Shape, t.Strides, t.Offset, last, there)
	}
	return n * size, nil
}

// storageTypes are PyTorch's typed storages by name.
var storageTypes = map[string]checkpoint.DType{
	"torch.FloatStorage": checkpoint.F32, "torch.DoubleStorage": checkpoint.F64, "torch.HalfStorage": "F16",
	"torch.BFloat16Storage": "BF16", "torch.LongStorage": checkpoint.I64, "torch.IntStorage": "I32",
	"torch.ShortStorage": "I16", "torch.CharStorage": "I8", "torch.ByteStorage": checkpoint.U8,
	"torch.BoolStorage": checkpoint.Bool, "torch.ComplexFloatStorage": "C64",
}

// elementTypes are PyTorch's dtypes, as values of a pickle.
var elementTypes = namesOf("float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64")

// unknownTypes are storages, dtypes and ways to make tensors that this package does not read. They are not hostile.
var unknownTypes = namesOf("ComplexDoubleStorage QInt8Storage QInt32Storage QUInt8Storage QUInt4x2Storage " +
	"QUInt2x4Storage storage.UntypedStorage UntypedStorage _utils._rebuild_tensor_v3 complex128 complex32 " +
	"uint16 uint32 uint64 float8_e4m3fn float8_e5m2 float8_e8m0fnu qint8 quint8 qint32 quint4x2 quint2x4")

// namesOf returns the set of names in the module torch.
func namesOf(names string) map[string]bool {
	set := map[string]bool{}
	for _, name := range strings.Fields(names) {
		set["torch."+name] = true
	}
	return set
}
