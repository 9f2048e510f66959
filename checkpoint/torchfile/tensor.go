package torchfile

import (
	"math"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/internal/npz"
)

// view is a tensor of a pickle: a strided view of a storage. Strides and offset count elements.
type view struct {
	storage        typedStorage
	shape, strides []int64
	offset         int64
}

// array returns the elements in row-major order. The array shares the storage's memory if they lie there in this order.
// Otherwise it is a copy.
func (v view) array() checkpoint.Array {
	size := v.storage.dtype.Size()
	a := checkpoint.Array{DType: v.storage.dtype, Shape: v.shape, Data: v.storage.data[v.offset*size:]}
	if v.contiguous() {
		n := a.Len() * size
		a.Data = a.Data[:n:n]
	} else {
		a.Data = npz.RowMajor(a.Data, size, v.shape, v.strides)
	}
	return a
}

// contiguous reports whether the elements lie in the storage in row-major order and without gaps.
func (v view) contiguous() bool {
	want := rowMajor(v.shape)
	for i, d := range v.shape {
		if d > 1 && v.strides[i] != want[i] {
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
func (v view) check() (int64, error) {
	size := v.storage.dtype.Size()
	switch {
	case len(v.shape) != len(v.strides):
		return 0, damaged("a tensor has %d sizes and %d strides", len(v.shape), len(v.strides))
	case v.offset < 0:
		return 0, damaged("a tensor begins at element %d of its storage", v.offset)
	}
	there := int64(len(v.storage.data)) / size
	n, last := int64(1), v.offset
	for i, d := range v.shape {
		switch {
		case d < 0 || v.strides[i] < 0:
			return 0, damaged("a tensor of shape %v has strides %v; neither may be negative", v.shape, v.strides)
		case d == 0:
			n = 0
		case n > math.MaxInt64/size/d || d > 1 && v.strides[i] > (math.MaxInt64-last)/(d-1):
			return 0, damaged("a tensor of shape %v and strides %v is larger than can be counted", v.shape, v.strides)
		default:
			n *= d
			last += (d - 1) * v.strides[i]
		}
	}
	if n == 0 {
		if v.offset > there {
			return 0, damaged("a tensor begins at element %d of a storage of %d", v.offset, there)
		}
		return 0, nil
	}
	if last >= there {
		return 0, damaged("a tensor of shape %v, strides %v and offset %d reaches element %d of a storage of %d",
			v.shape, v.strides, v.offset, last, there)
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
