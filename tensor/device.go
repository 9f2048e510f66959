package tensor

// #include "gorl.h"
import "C"

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"
)

// Device says where tensors live: [CPU] or a CUDA device by index. The zero value is the CPU.
type Device struct {
	cuda  bool
	index int
}

// CPU is the host.
var CPU = Device{}

// CUDA is the CUDA device of the given index.
func CUDA(index int) Device { return Device{cuda: true, index: index} }

// ParseDevice reads "cpu", "cuda" or "cuda:1". "auto" is the first CUDA device where there is one, otherwise the CPU.
func ParseDevice(s string) (Device, error) {
	switch name, rest, found := strings.Cut(s, ":"); {
	case s == "" || s == "cpu":
		return CPU, nil
	case s == "auto":
		if CUDADevices() > 0 {
			return CUDA(0), nil
		}
		return CPU, nil
	case name == "cuda":
		i := 0
		if found {
			var err error
			if i, err = strconv.Atoi(rest); err != nil || i < 0 {
				return CPU, fmt.Errorf("tensor: device %q: want cpu, auto, cuda or cuda:N", s)
			}
		}
		if n := CUDADevices(); i >= n {
			return CPU, fmt.Errorf("tensor: device %q: %s", s, missing(n))
		}
		return CUDA(i), nil
	}
	return CPU, fmt.Errorf("tensor: device %q: want cpu, auto, cuda or cuda:N", s)
}

// missing says why there are only n CUDA devices, and what to do.
func missing(n int) string {
	switch {
	case n > 0:
		return fmt.Sprintf("there are %d CUDA devices, counted from 0", n)
	case C.gorl_cuda_built() == 0:
		return fmt.Sprintf("libtorch %s, which gorl is built against, has no CUDA: name the torch folder of a PyTorch with CUDA and build anew with "+
			"`LIBTORCH=... make setup` (docs/building.md), or take cpu, or auto for a GPU where there is one", TorchVersion())
	}
	return fmt.Sprintf("libtorch %s has CUDA and finds no GPU: see what nvidia-smi shows, that its driver is new enough for this libtorch, and that "+
		"CUDA_VISIBLE_DEVICES does not hide it, or take cpu, or auto for a GPU where there is one", TorchVersion())
}

// String writes the device as libtorch does.
func (d Device) String() string {
	if d.cuda {
		return fmt.Sprintf("cuda:%d", d.index)
	}
	return "cpu"
}

// IsCPU reports whether d is the host.
func (d Device) IsCPU() bool { return !d.cuda }

func (d Device) code() C.int32_t {
	if d.cuda {
		return C.int32_t(d.index)
	}
	return -1
}

// CUDADevices is the number of CUDA devices that libtorch can use.
func CUDADevices() int { return int(C.gorl_cuda_devices()) }

// Synchronize waits until every CUDA device has finished what was asked of it. On the CPU it does nothing.
func Synchronize() error {
	if e := C.gorl_cuda_synchronize(); e != nil {
		return failure("Synchronize", e)
	}
	return nil
}

// DeviceOf returns where t lives.
func DeviceOf(t Tensor) Device {
	defer runtime.KeepAlive(t.T)
	if i := int(C.gorl_device(handle("DeviceOf", t))); i >= 0 {
		return CUDA(i)
	}
	return CPU
}
