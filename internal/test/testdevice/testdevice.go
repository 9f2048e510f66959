// Package testdevice gives tests an accelerator on machines that have none: two emulated devices of libtorch,
// "privateuseone:0" and "privateuseone:1", in a library of their own (csrc, built by `make testdevice`). Their numbers
// are the CPU's. What they hold a program to is what CUDA does:
//
//   - their memory cannot be touched by the host: an access is a fault that says so;
//   - fresh and freed memory is full of NaN, and a kernel refuses memory that has been freed;
//   - a kernel refuses tensors of the host, but scalars, beside those of a device, and tensors of two devices;
//   - a generator belongs to one device, and its state is not the CPU's;
//   - a capture (tensor.Graph) records launches without doing them, refuses what the host would wait for, and keeps the
//     memory that is allocated in it until the graph is dropped;
//   - kernels, copies, and the host's reads and writes are counted.
//
// They show nothing of the order of streams, of asynchronous copies that outlive their source, or of speed.
//
// A test binary that imports the package uses the devices where the environment asks for it: with GORL_TEST_DEVICE=1
// the settings "cpu" and "auto" of "device" mean the first of them, with GORL_TEST_DEVICE=cuda:0 that GPU, without this
// package's library. With GORL_TEST_GRAPHS=1 all agents have the setting "cuda_graphs". Tests that need the devices in
// any case call [Load] in TestMain, before anything is differentiated: libtorch counts devices then, once.
package testdevice

// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "bridge.h"
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/gorl-dev/gorl/internal/devicename"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/tensor"
)

// Devices is how many there are.
const Devices = C.GTD_DEVICES

func init() {
	devicename.Graphs = os.Getenv("GORL_TEST_GRAPHS") != ""
	device := os.Getenv("GORL_TEST_DEVICE")
	if device == "" {
		return
	}
	if !strings.HasPrefix(device, "cuda") {
		if err := Load(); err != nil {
			panic(err)
		}
		device = Name(0)
	}
	for _, name := range []string{"", "cpu", "auto"} {
		devicename.Instead[name] = device
	}
}

// Load loads the library from the repository's build/lib or, if that has none, from where the loader looks. Load may
// be called twice.
func Load() error {
	name := C.CString(library())
	defer C.free(unsafe.Pointer(name))
	if msg := C.bridge_load(name); msg != nil {
		return fmt.Errorf("testdevice: %s; `make testdevice` builds the emulated accelerator", C.GoString(msg))
	}
	return nil
}

// library returns the path of the library in the repository that contains the working directory, which `go test` sets
// to the tested package's folder. Elsewhere it returns the bare file name.
func library() string {
	const file = "libgorltestdevice.so"
	dir, _ := os.Getwd()
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		path := filepath.Join(dir, "build", "lib", file)
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return file
}

// Everywhere reports whether settings that say "cpu" mean another device.
func Everywhere() bool { return len(devicename.Instead) > 0 }

// SkipHere skips a test that makes sense only on the CPU, and says why, where "cpu" means another device.
func SkipHere(t testing.TB, why string) {
	t.Helper()
	if Everywhere() {
		t.Skip("not on this device: " + why)
	}
}

// SkipWithGraphs skips a test that makes no sense where minibatches are replayed, and says why, where all agents have
// cuda_graphs.
func SkipWithGraphs(t testing.TB, why string) {
	t.Helper()
	if devicename.Graphs {
		t.Skip("not with graphs: " + why)
	}
}

// Name is the name of device i in settings.
func Name(i int) string { return fmt.Sprintf("privateuseone:%d", i) }

// Device is device i.
func Device(t testing.TB, i int) tensor.Device {
	t.Helper()
	return must.Get(tensor.ParseDevice(Name(i)))(t)
}

// Counts are what one device has done: kernels launched, copies within it or to it from another device and replays of
// graphs among them, each replay as one; what the host has read from it and written to it, and those writes that wait
// until the device has them; kernels and copies recorded in captures, and replays; blocks of memory allocated so far,
// and bytes in use now.
type Counts struct {
	Launches, Reads, Writes, Blocking, Copies, Captured, Replays, Allocations, LiveBytes int64
}

// Count returns the counts of device i.
func Count(i int) Counts {
	var n [C.GTD_COUNTERS]C.int64_t
	C.bridge_counts(C.int32_t(i), &n[0])
	return Counts{
		Launches: int64(n[C.GTD_LAUNCHES]), Reads: int64(n[C.GTD_READS]), Writes: int64(n[C.GTD_WRITES]),
		Blocking: int64(n[C.GTD_BLOCKING]), Copies: int64(n[C.GTD_COPIES]), Captured: int64(n[C.GTD_CAPTURED]),
		Replays: int64(n[C.GTD_REPLAYS]), Allocations: int64(n[C.GTD_ALLOCATIONS]),
		LiveBytes: int64(n[C.GTD_LIVE_BYTES]),
	}
}

// During returns what device i does while f runs.
func During(i int, f func()) Counts {
	before := Count(i)
	f()
	return Count(i).Minus(before)
}

// Minus is the difference of two counts.
func (a Counts) Minus(b Counts) Counts {
	return Counts{a.Launches - b.Launches, a.Reads - b.Reads, a.Writes - b.Writes, a.Blocking - b.Blocking,
		a.Copies - b.Copies, a.Captured - b.Captured, a.Replays - b.Replays, a.Allocations - b.Allocations,
		a.LiveBytes - b.LiveBytes}
}

// Events returns what the devices do while f runs, an event a line: launches with the operation and the shapes of its
// operands, copies, reads and writes.
func Events(f func()) []string {
	C.bridge_log(1)
	f()
	text := C.bridge_events()
	C.bridge_log(0)
	defer C.free(unsafe.Pointer(text))
	return strings.Split(strings.TrimSpace(C.GoString(text)), "\n")
}

// Touch is a mistake: it reads the first element of a tensor as if it were in memory of the host.
func Touch(x tensor.Tensor) float32 {
	return float32(C.bridge_touch(*(*unsafe.Pointer)(unsafe.Pointer(x.T))))
}

// Alias is a mistake: it returns a tensor over x's memory that does not keep the memory alive.
func Alias(t testing.TB, x tensor.Tensor) tensor.Tensor {
	return owned(t, C.bridge_alias(*(*unsafe.Pointer)(unsafe.Pointer(x.T))))
}

// Fresh returns n float32 numbers on device i that nothing has been written to.
func Fresh(t testing.TB, i int, n int64) tensor.Tensor {
	return owned(t, C.bridge_fresh(C.int32_t(i), C.int64_t(n)))
}

// owned returns a tensor that ends with the test.
func owned(t testing.TB, cell unsafe.Pointer) tensor.Tensor {
	x := tensor.Tensor{T: &cell}
	t.Cleanup(func() { tensor.Free(x) })
	return x
}
