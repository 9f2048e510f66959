//go:build !cgo

package distributed

import "time"

// Without cgo there are no tensors: a group has neither Sum nor Broadcast, and only passes bytes.
type gpus struct{}

func (g *gpus) open(Place, time.Duration) error { return nil }

func (g *gpus) close() {}

func (g *Group) takesNCCL() bool { return false }
