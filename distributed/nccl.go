//go:build cgo

package distributed

import (
	"errors"
	"fmt"
	"time"

	"github.com/gorl-dev/gorl/tensor"
)

// gpus is NCCL's connection of the ranks' GPUs. nccl is nil if the ranks do without.
type gpus struct {
	nccl      *tensor.NCCL
	connected map[tensor.Device]bool // whether NCCL has connected this device
}

// open prepares NCCL. The first operation on a device connects it.
func (g *gpus) open(place Place, timeout time.Duration) (err error) {
	g.connected = map[tensor.Device]bool{}
	g.nccl, err = tensor.NewNCCL(place.Rank, place.Size, timeout)
	return err
}

func (g *gpus) close() {
	if g.nccl != nil {
		g.nccl.Close()
		g.nccl = nil
	}
}

// takesNCCL reports whether NCCL adds up tensors on CUDA devices.
func (g *Group) takesNCCL() bool {
	if g.cfg.Backend == "auto" {
		return tensor.HasNCCL() && tensor.CUDADevices() >= g.place.LocalSize
	}
	return g.cfg.Backend == "nccl"
}

// onGPU performs an operation of NCCL. The first one on a device connects the GPUs: the ranks exchange keys for that.
func (g *Group) onGPU(device tensor.Device, operation func() error) error {
	begin := time.Now()
	defer func() { g.spent += time.Since(begin) }()
	if g.gpus.connected[device] {
		if err := operation(); err != nil {
			return g.failGPU(err)
		}
		return nil
	}
	own, passed := make(chan error, 1), make(chan error, 1)
	go func() { passed <- g.passKeys(own) }()
	err := operation()
	own <- err
	if err = errors.Join(err, <-passed); err == nil {
		g.gpus.connected[device] = true
	}
	return err
}

// failGPU returns the error of a failed operation of NCCL. NCCL does not know why another rank has ended, so failGPU
// reads the reports of the other ranks.
func (g *Group) failGPU(op error) error {
	for r, l := range g.links.others() {
		l.until(time.Now().Add(reportTime))
		if f := l.control(); f != nil && f.kind == kindLeft {
			op = &PeerError{Ranks: []int{r}, Reason: f.text, Err: op}
			break
		}
	}
	g.Leave(op)
	g.lost = op
	return op
}

// keys is a message to the other ranks while NCCL connects them.
type keys struct {
	Values map[string][]byte
	Done   bool   // its operation has returned
	Error  string // of its operation
}

// passKeys distributes the keys that NCCL sets on each rank until the operation has returned on all ranks.
func (g *Group) passKeys(own <-chan error) error {
	for k := (keys{}); ; time.Sleep(2 * time.Millisecond) {
		k.Values = map[string][]byte{}
		select {
		case err := <-own:
			if k.Done = true; err != nil {
				k.Error = err.Error()
			}
		default:
		}
		for {
			key, value, ok, err := g.gpus.nccl.Take()
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			k.Values[key] = value
		}
		all, err := Gather(g, k)
		if err != nil {
			return err
		}
		through := true
		for r, other := range all {
			if other.Error != "" {
				return fmt.Errorf("distributed: NCCL on rank %d: %s", r, other.Error)
			}
			through = through && other.Done
			if r == g.Rank() {
				continue
			}
			for key, value := range other.Values {
				if err := g.gpus.nccl.Put(key, value); err != nil {
					return err
				}
			}
		}
		if through {
			return nil
		}
	}
}
