// Package devicename lets tests of whole packages run on another device than their settings name, and with CUDA graphs.
package devicename

// Instead maps what a setting "device" says to what is taken for it. Only tests put anything in, before they make an
// agent.
var Instead = map[string]string{}

// Graphs says that agents have cuda_graphs, whatever their settings say. Only tests set it, before they make an agent.
var Graphs bool
