// Package devicename lets tests of whole packages run on another device than their settings name, and with CUDA graphs
// or without replays.
package devicename

import "sync/atomic"

// Instead maps what a setting "device" says to what is taken for it. Only tests put anything in, before they make an
// agent.
var Instead = map[string]string{}

// Graphs says that agents have cuda_graphs, whatever their settings say. Only tests set it, before they make an agent.
var Graphs bool

// Eager says that agents on the CPU do not replay minibatches. Only tests set it, before they make an agent.
var Eager bool

// Replays counts the minibatches that all agents have replayed. Only tests read it.
var Replays atomic.Int64
