package tensor

// #include "gorl.h"
import "C"

import (
	"cmp"
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/internal/devicename"
)

// Device says where tensors live: [CPU] or an accelerator by its index. The zero value is the CPU.
type Device struct {
	kind  string // "", or the accelerator's as libtorch names it
	index int
}

const (
	cuda = "cuda"
	// privateUse1 is libtorch's name for devices of a backend from outside, whose library the program has loaded.
	privateUse1 = "privateuseone"
)

// CPU is the host.
var CPU = Device{}

// CUDA is the CUDA device of the given index.
func CUDA(index int) Device { return Device{cuda, index} }

// ParseDevice reads "cpu", "cuda" or "cuda:1". "auto" is the first CUDA device where there is one, otherwise the CPU.
// "privateuseone" and "privateuseone:1" are devices of a backend that the program has loaded into libtorch itself.
func ParseDevice(s string) (Device, error) {
	s = cmp.Or(devicename.Instead[s], s)
	if s == "" || s == "cpu" || s == "auto" && CUDADevices() == 0 {
		return CPU, nil
	}
	n := CUDADevices()
	name, rest, found := strings.Cut(s, ":")
	if name == privateUse1 {
		n = int(C.gorl_privateuse1_devices())
	}
	var i int
	var err error
	if found {
		i, err = strconv.Atoi(rest)
	}
	switch {
	case s == "auto":
		return CUDA(0), nil
	case name != cuda && name != privateUse1, err != nil, i < 0:
		return CPU, fmt.Errorf("tensor: device %q: want cpu, auto, cuda or cuda:N", s)
	case i >= n:
		return CPU, fmt.Errorf("tensor: device %q: %s", s, missing(name, n))
	}
	return Device{name, i}, nil
}

// missing says why there are only n devices of a kind, and what to do.
func missing(kind string, n int) string {
	switch {
	case n > 0 || kind == privateUse1:
		return fmt.Sprintf("there are %d devices of this kind, counted from 0", n)
	case C.gorl_cuda_built() == 0:
		return fmt.Sprintf("libtorch %s, which gorl is built against, has no CUDA: name the torch folder of a "+
			"PyTorch with CUDA and build anew with "+
			"`LIBTORCH=... make setup` (docs/building.md), or take cpu, or auto for a GPU where there is one",
			TorchVersion())
	}
	return fmt.Sprintf("libtorch %s has CUDA and finds no GPU: see what nvidia-smi shows, that its driver is new "+
		"enough for this libtorch, and that "+
		"CUDA_VISIBLE_DEVICES does not hide it, or take cpu, or auto for a GPU where there is one", TorchVersion())
}

// String writes the device as libtorch does.
func (d Device) String() string {
	if d.IsCPU() {
		return "cpu"
	}
	return fmt.Sprintf("%s:%d", d.kind, d.index)
}

// IsCPU reports whether d is the host.
func (d Device) IsCPU() bool { return d.kind == "" }

// Kind is "cpu", "cuda" or "privateuseone": devices of one kind compute alike.
func (d Device) Kind() string { return cmp.Or(d.kind, "cpu") }

// code is the device's as gorl.h has it.
func (d Device) code() C.int32_t {
	switch d.kind {
	case "":
		return -1
	case privateUse1:
		return C.int32_t(-2 - d.index)
	}
	return C.int32_t(d.index)
}

// CUDADevices is the number of CUDA devices that libtorch can use.
func CUDADevices() int { return int(C.gorl_cuda_devices()) }

// Synchronize waits until every CUDA device has finished what was asked of it. On the CPU it does nothing.
func Synchronize() error {
	return failure("Synchronize", C.gorl_cuda_synchronize())
}

// DeviceOf returns where t lives.
func DeviceOf(t Tensor) Device {
	defer runtime.KeepAlive(t.T)
	switch code := int(C.gorl_device(handle("DeviceOf", t))); {
	case code == -1:
		return CPU
	case code < -1:
		return Device{privateUse1, -2 - code}
	default:
		return CUDA(code)
	}
}
