package tensor_test

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/internal/test/testdevice"
	"github.com/gorl-dev/gorl/tensor"
)

type (
	action     int64
	terminated bool
)

// roundTrip sends values of one Go type through From, Bytes, Read and Write.
func roundTrip[T tensor.Element](t *testing.T, dtype tensor.DType, x, y []T) {
	t.Run(fmt.Sprintf("%T", x), func(t *testing.T) {
		s := scope(t)
		n, data := int64(len(x)), slices.Clone(x)
		a := tensor.From(s, data, n, 1)
		data[0] = y[0] // From has copied
		got := make([]T, n)
		must.Do(t, errors.Join(s.Err(), tensor.Read(a, got)))
		must.Same(t, got, x, "read")
		must.Is(t, tensor.TypeOf(a), dtype, "type")
		must.Same(t, tensor.Shape(a), []int64{n, 1}, "shape")
		memory := must.Get(tensor.Bytes(s.Narrow(a, 0, 1, n-1)))(t)
		must.Do(t, errors.Join(tensor.Write(a, y), tensor.Read(a, got)))
		must.Same(t, got, y, "read after Write")
		clear(memory)
		must.Do(t, tensor.Read(a, got))
		must.Same(t, got, append(y[:1:1], make([]T, n-1)...), "read after the bytes of a part were cleared")
	})
}

func TestRoundTrip(t *testing.T) {
	roundTrip(t, tensor.Uint8, []uint8{0, 1, 255}, []uint8{7, 0, 9})
	roundTrip(t, tensor.Int32, []int32{math.MinInt32, 0, math.MaxInt32}, []int32{7, 8, 9})
	roundTrip(t, tensor.Int64, []int64{math.MinInt64, 0, math.MaxInt64}, []int64{7, 8, 9})
	roundTrip(t, tensor.Float32, []float32{-1.5, 0, math.MaxFloat32}, []float32{7, 8, 9})
	roundTrip(t, tensor.Float64, []float64{-1.5, 1e-300, math.MaxFloat64}, []float64{7, 8, 9})
	roundTrip(t, tensor.Int64, []action{1, 2}, []action{3, 4})
	roundTrip(t, tensor.Bool, []terminated{true, false}, []terminated{false, true})
}

// Read and Write convert, and follow strided memory in row order.
func TestConversions(t *testing.T) {
	s := scope(t)
	a, integers, flags := tensor.From(s, []float64{-1.75, 0, 2.5}), make([]int64, 3), make([]bool, 3)
	must.Do(t, errors.Join(tensor.Read(a, integers), tensor.Read(a, flags)))
	must.Same(t, integers, []int64{-1, 0, 2}, "integers")
	must.Same(t, flags, []bool{true, false, true}, "flags")
	must.Do(t, tensor.Write(a, flags))
	wantNear(t, "written flags", tensortest.Float64s(t, s, a), []float64{1, 0, 1}, 0)
	s.Fill(s.To(a, tensor.Float64, tensor.CPU), 4)
	wantNear(t, "the original of To to what it is", tensortest.Float64s(t, s, a), []float64{4, 4, 4}, 0)
	wantTensor(t, "As int32", s, s.As(tensor.From(s, []float32{1.9, -1.9}), tensor.Int32), []int64{2},
		[]float64{1, -1}, 0)
	wantTensor(t, "Arange", s, s.Arange(3), []int64{3}, []float64{0, 1, 2}, 0)

	m := tensor.From(s, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	columns := s.Transpose(m, 0, 1)
	wantNear(t, "transposed", tensortest.Float64s(t, s, columns), []float64{1, 4, 2, 5, 3, 6}, 0)
	must.Do(t, tensor.Write(columns, []float32{10, 20, 30, 40, 50, 60}))
	wantNear(t, "written through a transpose", tensortest.Float64s(t, s, m), []float64{10, 30, 50, 20, 40, 60}, 0)

	empty := tensor.From(s, []float32{}, 0, 3)
	must.Is(t, len(must.Get(tensor.Bytes(empty))(t)), 0, "bytes of nothing")
	must.Do(t, tensor.Write(empty, []bool(nil)))
	must.Refused(tensor.Bytes(columns))(t, "tensor: Bytes [3 2]", "contiguous")
	must.Refused(tensor.Item(m))(t, "tensor: Item [2 3]: ")
	wantError(t, tensor.Read(a, flags[:2]), "tensor: Read [3]: ", "3 elements", "2")
	wantError(t, tensor.Write(a, flags[:1]), "tensor: Write [3]: ", "3 elements", "1")
}

func TestDevices(t *testing.T) {
	testdevice.SkipHere(t, "it parses the names of the others")
	for _, name := range []string{"", "cpu"} {
		must.Is(t, must.Get(tensor.ParseDevice(name))(t), tensor.CPU, "device %q", name)
	}
	for _, bad := range []string{"gpu", "cuda:-1", "cuda:", "cuda:999"} {
		must.Refused(tensor.ParseDevice(bad))(t, "tensor: device", bad)
	}
	if tensor.CUDADevices() == 0 {
		must.Refused(tensor.ParseDevice("cuda"))(t, "or take cpu")
	}
	auto := must.Get(tensor.ParseDevice("auto"))(t)
	must.Is(t, auto.IsCPU(), tensor.CUDADevices() == 0, "auto is the CPU")
	must.Is(t, tensor.CUDA(1).String(), "cuda:1", "name")
}

// TestOneCore starts a process that sees one core of this machine: a container, or a small server.
func TestOneCore(t *testing.T) {
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		t.Skip("there is no taskset, which is part of util-linux:", err)
	}
	// "pid 12's current affinity list: 0-3,6"
	core := must.Run(t, exec.Command(taskset, "-cp", strconv.Itoa(os.Getpid())))
	list := strings.TrimSpace(core[strings.LastIndexByte(core, ' ')+1:])
	cmd := exec.Command(taskset, "-c", list[:strings.IndexFunc(list+",",
		func(r rune) bool { return !unicode.IsDigit(r) })], os.Args[0], "-test.run=^TestThreads$")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "OMP_NUM_THREADS=") || strings.HasPrefix(v, "MKL_NUM_THREADS=")
	})
	cmd.Env = append(cmd.Env, oneCore+"=1")
	must.Run(t, cmd)
}

// oneCore says that TestOneCore has started the process, without the variable OMP_NUM_THREADS.
const oneCore = "GORL_TEST_ONE_CORE"

func TestThreads(t *testing.T) {
	value, set := os.LookupEnv("OMP_NUM_THREADS")
	must.Not(t, set && os.Getenv(oneCore) != "", "importing this package has set OMP_NUM_THREADS=%s", value)
	want, err := strconv.Atoi(os.Getenv("GORL_THREADS"))
	if err != nil {
		want = 1
	}
	must.Is(t, tensor.Threads(), want, "threads by default")
	defer tensor.SetThreads(want)
	for _, n := range []int{2, -3} {
		tensor.SetThreads(n)
		must.Is(t, tensor.Threads(), max(1, n), "threads")
	}
}
