package tensor_test

import (
	"bytes"
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
		if !slices.Equal(got, x) || tensor.TypeOf(a) != dtype || !slices.Equal(tensor.Shape(a), []int64{n, 1}) {
			t.Errorf("From %v is %v %v and reads as %v", x, tensor.TypeOf(a), tensor.Shape(a), got)
		}
		memory, err := tensor.Bytes(s.Narrow(a, 0, 1, n-1))
		if err = errors.Join(err, tensor.Write(a, y), tensor.Read(a, got)); err != nil || !slices.Equal(got, y) {
			t.Errorf("after Write of %v it reads as %v, %v", y, got, err)
		}
		clear(memory)
		var zero T
		if err := tensor.Read(a, got); err != nil || got[0] != y[0] || got[1] != zero || got[n-1] != zero {
			t.Errorf("the tensor has %v, %v after the bytes of a part were cleared", got, err)
		}
	})
}

func TestRoundTrip(t *testing.T) {
	roundTrip(t, tensor.Uint8, []uint8{0, 1, 255}, []uint8{7, 0, 9})
	roundTrip(t, tensor.Int32, []int32{math.MinInt32, 0, math.MaxInt32}, []int32{7, 8, 9})
	roundTrip(t, tensor.Int64, []int64{math.MinInt64, 0, math.MaxInt64}, []int64{7, 8, 9})
	roundTrip(t, tensor.Float32, []float32{-1.5, 0, math.MaxFloat32}, []float32{7, 8, 9})
	roundTrip(t, tensor.Float64, []float64{-1.5, 1e-300, math.MaxFloat64}, []float64{7, 8, 9})
	roundTrip(t, tensor.Bool, []bool{true, false, true}, []bool{false, false, true})
	roundTrip(t, tensor.Int64, []action{1, 2}, []action{3, 4})
	roundTrip(t, tensor.Bool, []terminated{true, false}, []terminated{false, true})
}

// Read and Write convert, and follow strided memory in row order.
func TestConversions(t *testing.T) {
	s := scope(t)
	a, integers, flags := tensor.From(s, []float64{-1.75, 0, 2.5}), make([]int64, 3), make([]bool, 3)
	if err := errors.Join(tensor.Read(a, integers), tensor.Read(a, flags)); err != nil ||
		!slices.Equal(integers, []int64{-1, 0, 2}) || !slices.Equal(flags, []bool{true, false, true}) {
		t.Errorf("read as integers %v, as flags %v, %v", integers, flags, err)
	}
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
	memory, err := tensor.Bytes(empty)
	if err != nil || len(memory) != 0 || tensor.Write(empty, []bool(nil)) != nil {
		t.Errorf("the memory of nothing is %v, %v", memory, err)
	}
	_, err = tensor.Bytes(columns)
	wantError(t, err, "tensor: Bytes [3 2]", "contiguous")
	_, err = tensor.Item(m)
	wantError(t, err, "tensor: Item [2 3]: ")
	wantError(t, tensor.Read(a, flags[:2]), "tensor: Read [3]: ", "3 elements", "2")
	wantError(t, tensor.Write(a, flags[:1]), "tensor: Write [3]: ", "3 elements", "1")
}

func TestDevices(t *testing.T) {
	testdevice.SkipHere(t, "it parses the names of the others")
	for _, name := range []string{"", "cpu"} {
		if d, err := tensor.ParseDevice(name); err != nil || d != tensor.CPU {
			t.Errorf("ParseDevice(%q) = %v, %v", name, d, err)
		}
	}
	for _, bad := range []string{"gpu", "cuda:x", "cuda:-1", "cuda:", "cuda:999", "CPU:0"} {
		_, err := tensor.ParseDevice(bad)
		wantError(t, err, "tensor: device", bad)
	}
	if tensor.CUDADevices() == 0 { // the message says what to do
		if _, err := tensor.ParseDevice("cuda"); err == nil || !strings.Contains(err.Error(), "or take cpu") ||
			!strings.Contains(err.Error(), "LIBTORCH=") && !strings.Contains(err.Error(), "nvidia-smi") {
			t.Errorf("cuda without a GPU: %v", err)
		}
	}
	auto, err := tensor.ParseDevice("auto")
	if err != nil || auto.IsCPU() != (tensor.CUDADevices() == 0) {
		t.Errorf("auto is %v (%v) with %d CUDA devices", auto, err, tensor.CUDADevices())
	}
	if got := tensor.CUDA(1).String(); got != "cuda:1" {
		t.Errorf("the second CUDA device is called %q", got)
	}
	must.Do(t, tensor.Synchronize())
}

// TestOneCore starts a process that sees one core of this machine: a container, or a small server.
func TestOneCore(t *testing.T) {
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		t.Skip("there is no taskset, which is part of util-linux:", err)
	}
	// "pid 12's current affinity list: 0-3,6"
	core, err := exec.Command(taskset, "-cp", strconv.Itoa(os.Getpid())).Output()
	must.Do(t, err)
	list := strings.TrimSpace(string(core[bytes.LastIndexByte(core, ' ')+1:]))
	cmd := exec.Command(taskset, "-c", list[:strings.IndexFunc(list+",",
		func(r rune) bool { return !unicode.IsDigit(r) })], os.Args[0], "-test.run=^TestThreads$")
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "OMP_NUM_THREADS=") || strings.HasPrefix(v, "MKL_NUM_THREADS=")
	})
	cmd.Env = append(cmd.Env, oneCore+"=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %.2000s", err, out)
	}
}

// oneCore says that TestOneCore has started the process, without the variable OMP_NUM_THREADS.
const oneCore = "GORL_TEST_ONE_CORE"

func TestThreads(t *testing.T) {
	if value, set := os.LookupEnv("OMP_NUM_THREADS"); set && os.Getenv(oneCore) != "" {
		t.Errorf("importing this package has set OMP_NUM_THREADS=%s", value)
	}
	want := 1
	if n, err := strconv.Atoi(os.Getenv("GORL_THREADS")); err == nil {
		want = n
	}
	if tensor.Threads() != want {
		t.Errorf("%d threads by default, want %d", tensor.Threads(), want)
	}
	defer tensor.SetThreads(want)
	tensor.SetThreads(2)
	if tensor.Threads() != 2 {
		t.Errorf("%d threads, want 2", tensor.Threads())
	}
	tensor.SetThreads(-3)
	if tensor.Threads() != 1 {
		t.Errorf("%d threads, want at least 1", tensor.Threads())
	}
}

func TestFacts(t *testing.T) {
	s := scope(t)
	a := s.Zeros(2, 3)
	if tensor.Size(a, 0) != 2 || tensor.Size(a, -1) != 3 || tensor.Numel(a) != 6 || tensor.RequiresGrad(a) {
		t.Error("wrong facts about zeros (2, 3)")
	}
	wantPanic(t, "there is no dimension 2 in [2 3]", func() { tensor.Size(a, 2) })
	wantPanic(t, "there is no dimension -3 in [2 3]", func() { tensor.Size(a, -3) })
	if tensor.TorchVersion() == "" || tensor.DType(99).String() != "dtype(99)" {
		t.Error("libtorch has no version, or an unknown type a name")
	}
	if s.Device() != tensor.CPU || s.On(tensor.CUDA(0)).Device() != tensor.CUDA(0) {
		t.Error("On does not set the scope's device")
	}
}
