package tensor

// #cgo CFLAGS: -I${SRCDIR}/csrc
// #cgo LDFLAGS: -L/usr/local/lib -lgorltorch -Wl,--as-needed
// #cgo noescape gorl_live
// #cgo nocallback gorl_live
// #cgo noescape gorl_free
// #cgo nocallback gorl_free
// #include "gorl.h"
import "C"

import (
	"cmp"
	"crypto/sha256"
	_ "embed"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"github.com/wangkuiyi/gotorch"

	"github.com/gorl-dev/gorl/internal/onecore" // before gotorch's init
)

// Tensor is gotorch's tensor: a pointer to a cell that points to an at::Tensor. The zero Tensor is no tensor.
type Tensor = gotorch.Tensor

// DType is the type of a tensor's elements, by libtorch's code.
type DType int32

// The element types that gorl uses.
const (
	Uint8   DType = 0
	Int32   DType = 3
	Int64   DType = 4
	Float32 DType = 6
	Float64 DType = 7
	Bool    DType = 11
)

// dtypes are the element types in Go, with the bytes of an element.
var dtypes = map[DType]struct {
	name string
	size int
}{Uint8: {"uint8", 1}, Int32: {"int32", 4}, Int64: {"int64", 8}, Float32: {"float32", 4}, Float64: {"float64", 8},
	Bool: {"bool", 1}}

// String returns the type's name in Go.
func (d DType) String() string {
	return cmp.Or(dtypes[d].name, fmt.Sprintf("dtype(%d)", int32(d)))
}

var poison = unsafe.Pointer(C.gorl_poison())

// header is the C header that this package was compiled with. Because it is embedded, a change of it also makes Go
// compile the package again, which cgo alone does not.
//
//go:embed csrc/gorl.h
var header []byte

// checkHeader returns an error if the library was built from another header than this package. The operations' codes
// might differ then, and a tensor would be multiplied instead of added.
func checkHeader(library string) error {
	if own := fmt.Sprintf("%x", sha256.Sum256(header)); library != own {
		return fmt.Errorf("tensor: libgorltorch.so was built from another version of gorl (header %.8s, this program "+
			"has %.8s); run 'make setup' in gorl's folder, or 'go run github.com/gorl-dev/gorl/cmd/gorl-setup' in "+
			"your module", library, own)
	}
	return nil
}

func init() {
	if err := checkHeader(C.GoString(C.gorl_header())); err != nil {
		panic(err)
	}
	// gotorch's init ties the main goroutine to its OS thread and takes half the cores. Neither serves here: every call
	// carries its own autograd mode, and small networks get slower with more than one thread.
	runtime.UnlockOSThread()
	onecore.Restore()
	n, _ := strconv.Atoi(os.Getenv("GORL_THREADS"))
	SetThreads(n)
}

// SetThreads sets the number of OS threads that one operation may compute on, for all goroutines, from their next
// operation on. The default is what the environment variable GORL_THREADS says, otherwise 1. On the CPU the threads
// share the networks of a minibatch and their rows. Gradients are added in order, so that a run with as many threads
// gives the same numbers again. Minibatches too small to gain stay on one, and a recorded [Graph] keeps the number of
// its capture. Leave it at 1 where other work has the cores: environments that step meanwhile, members of a population.
func SetThreads(n int) {
	if n < 1 {
		n = 1
	}
	C.gorl_set_threads(C.int32_t(n))
}

// Threads returns the number set by [SetThreads].
func Threads() int { return int(C.gorl_threads()) }

// TorchVersion is the version of the libtorch that the shim was built against, e.g. "1.13.1".
func TorchVersion() string { return C.GoString(C.gorl_torch_version()) }

// BLASKernels names the kernels with which OpenBLAS multiplies matrices on this processor ("SkylakeX", "Haswell", ...);
// empty where libtorch has another library for it. Where OpenBLAS does not know the processor, this package takes newer
// kernels than OpenBLAS would, after products of all classes of sizes came out right, and the name is followed by
// "(checked)". Kernels that it refused stand there, too, with the reason: "Haswell (checked; SkylakeX multiplied
// wrongly)". If kernels could not be checked, the text says what to do. The variable OPENBLAS_CORETYPE keeps this
// package from choosing.
//
// The first operation of a process, or the first call of BLASKernels, chooses the kernels for the whole process. `make
// setup` has checked them. If it has not, for this processor and this OpenBLAS, a child process checks them now, in
// less than a second.
func BLASKernels() string { return C.GoString(C.gorl_blas_kernels()) }

// Live is the number of tensors that this package has made and not yet released, in the whole process. Tests hold a
// closed scope to 0 more than before.
func Live() int64 { return int64(C.gorl_live()) }

// Free releases tensors that were taken out of their scope with [Scope.Keep]. Zero Tensors and tensors that are
// released already are ignored. It must not be called on tensors that a scope or gotorch's finalizers own.
func Free(ts ...Tensor) {
	for _, t := range ts {
		if t.T != nil {
			C.gorl_free((*C.gorl_t)(unsafe.Pointer(t.T)), 1)
		}
	}
}

// Valid reports whether t is a tensor that has not been released.
func Valid(t Tensor) bool { return t.T != nil && *t.T != nil && *t.T != poison }

// handle returns the at::Tensor* of an operand, and panics if it has been released: a programming error that would
// otherwise be a crash or, worse, a wrong number.
func handle(op string, t Tensor) C.gorl_t {
	if t.T == nil || *t.T == nil {
		panic("tensor: " + op + ": an operand is the zero Tensor")
	}
	if *t.T == poison {
		panic("tensor: " + op + ": an operand is used after its scope was closed (hand it out with Keep, or copy it " +
			"into a tensor that lives longer)")
	}
	return C.gorl_t(*t.T)
}

// optional is [handle] of an operand that may be the zero Tensor.
func optional(op string, t Tensor) C.gorl_t {
	if t.T == nil {
		return nil
	}
	return handle(op, t)
}

// handles returns the handles of several operands.
func handles(op string, ts []Tensor) []C.gorl_t {
	hs := make([]C.gorl_t, len(ts))
	for i, t := range ts {
		hs[i] = handle(op, t)
	}
	return hs
}

// failure turns a message of the shim into an error that names the operation and the shapes of its operands. It is nil
// for no message. The operands live at least until then.
func failure(op string, msg C.gorl_err, operands ...Tensor) error {
	for _, t := range operands {
		runtime.KeepAlive(t.T)
	}
	if msg == nil {
		return nil
	}
	text := C.GoString((*C.char)(msg))
	C.gorl_free_string((*C.char)(msg))
	var shapes []string
	for _, t := range operands {
		if Valid(t) {
			shapes = append(shapes, fmt.Sprint(" ", Shape(t)))
		}
	}
	return fmt.Errorf("tensor: %s%s: %s", op, strings.Join(shapes, ","), strings.TrimSpace(text))
}

// Shape returns the sizes of t's dimensions; a scalar has none.
func Shape(t Tensor) []int64 {
	h := handle("Shape", t)
	shape := make([]int64, int(C.gorl_dim(h)))
	if len(shape) > 0 {
		C.gorl_shape(h, (*C.int64_t)(unsafe.Pointer(&shape[0])))
	}
	runtime.KeepAlive(t.T)
	return shape
}

// Size returns t's size along dim; a negative dim counts from the end.
func Size(t Tensor, dim int) int64 {
	s := Shape(t)
	i := dim
	if i < 0 {
		i += len(s)
	}
	if i < 0 || i >= len(s) {
		panic(fmt.Sprintf("tensor: Size: there is no dimension %d in %v", dim, s))
	}
	return s[i]
}

// Numel returns the number of elements.
func Numel(t Tensor) int64 {
	defer runtime.KeepAlive(t.T)
	return int64(C.gorl_numel(handle("Numel", t)))
}

// TypeOf returns the element type.
func TypeOf(t Tensor) DType {
	defer runtime.KeepAlive(t.T)
	return DType(C.gorl_dtype(handle("TypeOf", t)))
}

// RequiresGrad reports whether autograd follows t.
func RequiresGrad(t Tensor) bool {
	defer runtime.KeepAlive(t.T)
	return C.gorl_requires_grad(handle("RequiresGrad", t)) != 0
}
