package tensor_test

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/internal/test/testdevice"
	"github.com/gorl-dev/gorl/tensor"
)

func TestCreate(t *testing.T) {
	s := scope(t)
	wantTensor(t, "Zeros", s, s.Zeros(2, 2), []int64{2, 2}, []float64{0, 0, 0, 0}, 0)
	wantTensor(t, "Ones", s, s.Ones(3), []int64{3}, []float64{1, 1, 1}, 0)
	wantTensor(t, "Scalar", s, s.Scalar(2.5), []int64{}, []float64{2.5}, 0)
	wantTensor(t, "Arange", s, s.Arange(4), []int64{4}, []float64{0, 1, 2, 3}, 0)
	wantTensor(t, "an empty tensor", s, s.Zeros(0, 3), []int64{0, 3}, nil, 0)
	for _, d := range []tensor.DType{tensor.Uint8, tensor.Int32, tensor.Int64, tensor.Float32, tensor.Float64,
		tensor.Bool} {
		a := s.Full(d, 1, 2)
		wantTensor(t, "Full "+d.String(), s, a, []int64{2}, []float64{1, 1}, 0)
		if tensor.TypeOf(a) != d {
			t.Errorf("Full of %v is %v", d, tensor.TypeOf(a))
		}
	}
	if got := tensor.DType(99).String(); got != "dtype(99)" {
		t.Errorf("an unknown type is called %q", got)
	}
}

// roundTrip sends values of one Go type through From, View, Read and Write.
func roundTrip[T tensor.Element](t *testing.T, dtype tensor.DType, x, y []T) {
	t.Run(fmt.Sprintf("%T", x), func(t *testing.T) {
		s := scope(t)
		n := int64(len(x))
		data := slices.Clone(x)
		a := tensor.From(s, data, n, 1)
		data[0] = y[0] // From has copied
		if err := s.Err(); err != nil {
			t.Fatal(err)
		}
		if got := tensor.TypeOf(a); got != dtype {
			t.Errorf("From makes %v, want %v", got, dtype)
		}
		if sh := tensor.Shape(a); !slices.Equal(sh, []int64{n, 1}) {
			t.Errorf("shape %v", sh)
		}
		got := make([]T, n)
		if err := tensor.Read(a, got); err != nil || !slices.Equal(got, x) {
			t.Errorf("Read gave %v, %v; want %v", got, err, x)
		}
		view, err := tensor.View[T](a)
		if err != nil || !slices.Equal(view, x) {
			t.Errorf("View gave %v, %v; want %v", view, err, x)
		}
		if err := tensor.Write(a, y); err != nil {
			t.Error(err)
		}
		if !slices.Equal(view, y) {
			t.Errorf("after Write the view has %v, want %v", view, y)
		}
		view[0] = x[0]
		if err := tensor.Read(a, got); err != nil || got[0] != x[0] {
			t.Errorf("what was written into the view reads as %v, %v", got, err)
		}
		// Every part of a row can be viewed, where it starts included.
		part, err := tensor.View[T](s.Narrow(a, 0, 1, n-1))
		if err != nil || !slices.Equal(part, y[1:]) {
			t.Errorf("the view of a part is %v, %v; want %v", part, err, y[1:])
		}

		if dtype != tensor.Float32 {
			_, err := tensor.View[float32](a)
			wantError(t, err, "tensor: View", dtype.String(), "float32")
		}
	})
}

type (
	pixel         uint8
	count         int32
	action        int64
	weight        float32
	episodeReturn float64
	terminated    bool
)

func TestRoundTrip(t *testing.T) {
	roundTrip(t, tensor.Uint8, []uint8{0, 1, 255}, []uint8{7, 8, 9})
	roundTrip(t, tensor.Int32, []int32{math.MinInt32, 0, math.MaxInt32}, []int32{7, 8, 9})
	roundTrip(t, tensor.Int64, []int64{math.MinInt64, 0, math.MaxInt64}, []int64{7, 8, 9})
	roundTrip(t, tensor.Float32, []float32{-1.5, 0, math.MaxFloat32}, []float32{7, 8, 9})
	roundTrip(t, tensor.Float64, []float64{-1.5, 1e-300, math.MaxFloat64}, []float64{7, 8, 9})
	roundTrip(t, tensor.Bool, []bool{true, false, true}, []bool{false, false, true})
	roundTrip(t, tensor.Uint8, []pixel{1, 2}, []pixel{3, 4})
	roundTrip(t, tensor.Int32, []count{1, 2}, []count{3, 4})
	roundTrip(t, tensor.Int64, []action{1, 2}, []action{3, 4})
	roundTrip(t, tensor.Float32, []weight{1, 2}, []weight{3, 4})
	roundTrip(t, tensor.Float64, []episodeReturn{1, 2}, []episodeReturn{3, 4})
	roundTrip(t, tensor.Bool, []terminated{true, false}, []terminated{false, true})
}

func TestConversions(t *testing.T) {
	s := scope(t)
	a := tensor.From(s, []float64{-1.75, 0, 2.5})
	ints := make([]int64, 3)
	if err := tensor.Read(a, ints); err != nil || !slices.Equal(ints, []int64{-1, 0, 2}) {
		t.Errorf("Read as int64: %v, %v", ints, err)
	}
	flags := make([]bool, 3)
	if err := tensor.Read(a, flags); err != nil || !slices.Equal(flags, []bool{true, false, true}) {
		t.Errorf("Read as bool: %v, %v", flags, err)
	}
	single, err := tensor.Float32s(a)
	if err != nil || !slices.Equal(single, []float32{-1.75, 0, 2.5}) {
		t.Errorf("Float32s: %v, %v", single, err)
	}
	if err := tensor.Write(a, []bool{true, false, true}); err != nil {
		t.Error(err)
	}
	wantNear(t, "written booleans", tensortest.Float64s(t, s, a), []float64{1, 0, 1}, 0)

	b := s.As(tensor.From(s, []float32{1.9, -1.9}), tensor.Int32)
	wantTensor(t, "As int32", s, b, []int64{2}, []float64{1, -1}, 0)
	if tensor.TypeOf(b) != tensor.Int32 {
		t.Errorf("As int32 is %v", tensor.TypeOf(b))
	}
	same := s.To(a, tensor.Float64, tensor.CPU)
	s.Fill(same, 4)
	wantNear(t, "the original of To to what it is", tensortest.Float64s(t, s, a), []float64{4, 4, 4}, 0)

	// Strided memory is read and written in row order.
	m := tensor.From(s, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	columns := s.Transpose(m, 0, 1)
	wantNear(t, "transposed", tensortest.Float64s(t, s, columns), []float64{1, 4, 2, 5, 3, 6}, 0)
	if err := tensor.Write(columns, []float32{10, 20, 30, 40, 50, 60}); err != nil {
		t.Error(err)
	}
	wantNear(t, "written through a transpose", tensortest.Float64s(t, s, m), []float64{10, 30, 50, 20, 40, 60}, 0)
	_, err = tensor.View[float32](columns)
	wantError(t, err, "View [3 2]", "contiguous")
}

func TestItem(t *testing.T) {
	s := scope(t)
	for _, a := range []tensor.Tensor{s.Scalar(3), s.Full(tensor.Int64, 3, 1, 1), s.Full(tensor.Float64, 3, 1)} {
		if x, err := tensor.Item(a); err != nil || x != 3 {
			t.Errorf("Item = %v, %v; want 3", x, err)
		}
	}
	_, err := tensor.Item(s.Ones(2))
	wantError(t, err, "tensor: Item [2]: ")
}

func TestCreateErrors(t *testing.T) {
	s := scope(t)
	tests := map[string]struct {
		run   func(b *tensor.Scope)
		parts []string
	}{
		"too few values": {func(b *tensor.Scope) { tensor.From(b, []float32{1, 2, 3}, 2, 2) },
			[]string{"From: 3 values", "[2 2]"}},
		"negative sizes":  {func(b *tensor.Scope) { tensor.From(b, []float32{1, 2, 3, 4}, -2, -2) }, []string{"From"}},
		"negative zeros":  {func(b *tensor.Scope) { b.Zeros(-1) }, []string{"Full", "negative"}},
		"too much memory": {func(b *tensor.Scope) { b.Zeros(1<<40, 1<<20) }, []string{"Full"}},
		"negative arange": {func(b *tensor.Scope) { b.Arange(-1) }, []string{"Arange"}},
		"no such device": {func(b *tensor.Scope) { b.To(s.Ones(1), tensor.Float32, tensor.CUDA(99)) },
			[]string{"To [1]"}},
		"zeros on no CUDA": {func(b *tensor.Scope) { b.On(tensor.CUDA(99)).Zeros(1) }, []string{"Full"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			b := tensor.NewScope()
			defer b.Close()
			test.run(b)
			wantError(t, b.Err(), append(test.parts, "tensor: ")...)
		})
	}
	wantError(t, tensor.Read(s.Ones(2), make([]float32, 3)), "tensor: Read [2]: ", "2 elements", "3")
	wantError(t, tensor.Write(s.Ones(2), make([]float32, 1)), "tensor: Write [2]: ", "2 elements", "1")
}

func TestEmpty(t *testing.T) {
	s := scope(t)
	a := tensor.From(s, []float32{}, 0, 3)
	wantTensor(t, "empty", s, a, []int64{0, 3}, nil, 0)
	if err := tensor.Write(a, []float32(nil)); err != nil {
		t.Error(err)
	}
	if view, err := tensor.View[float32](a); err != nil || len(view) != 0 {
		t.Errorf("View = %v, %v", view, err)
	}
	wantTensor(t, "a vector of nothing", s, tensor.From(s, []int64(nil)), []int64{0}, nil, 0)
}

func TestDevices(t *testing.T) {
	testdevice.SkipHere(t, "it parses the names of the others")
	for name, want := range map[string]tensor.Device{"": tensor.CPU, "cpu": tensor.CPU} {
		if d, err := tensor.ParseDevice(name); err != nil || d != want {
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
	if err := tensor.Synchronize(); err != nil {
		t.Error(err)
	}
}

// TestOneCore starts a process that sees one core of this machine: a container, or a small server.
func TestOneCore(t *testing.T) {
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		t.Skip("there is no taskset, which is part of util-linux:", err)
	}
	// "pid 12's current affinity list: 0-3,6"
	core, err := exec.Command(taskset, "-cp", strconv.Itoa(os.Getpid())).Output()
	if err != nil {
		t.Fatal(err)
	}
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
