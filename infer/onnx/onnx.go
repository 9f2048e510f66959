// Package onnx writes policies in the Open Neural Network Exchange format, for onnxruntime, TensorRT, browsers, game
// engines and whatever else reads it. The model has the observation normalizer and the rules of actions in it, so that
// it takes raw observations and gives what the environment gets. It is written without any library of ONNX's, and the
// same policy gives the same bytes.
//
// What wrappers of the training environment did to observations is in it, too, in float32, where package infer computes
// in float64 as they do: a column whose mean is large beside its deviation is a little less exact.
//
// The input "observations" is (batch, O) float32. Outputs:
//
//   - "actions": (batch, A); float32 for a Box, int64 indices for Discrete and MultiDiscrete
//   - of a Gaussian, "mean" (the action before clip_actions) and "log_std", (batch, A) float32
//   - of a policy with recurrent layers, "hidden_out": (batch, H) float32, see below
//   - of a categorical policy, "logits" and "probabilities", (batch, ΣN) float32, index after index
//
// A policy that was trained with action masks has the input "action_mask", (batch, ΣN) float32: 1 for every choice that
// is allowed, otherwise 0. "actions" and "probabilities" obey it, "logits" are those of the network.
//
// A policy with recurrent layers (infer.Policy.HiddenSize) has the second input "hidden_in", (batch, H) float32: the
// state of every row before the step, zeros where an episode begins. "hidden_out" is the state after it, for the next
// call. The columns are those of infer.Policy.ActHidden: step by step of the network, for each the h of all layers,
// then for an LSTM the c of all layers.
//
// A picture of uint8 is a part of the row of observations like any other: its bytes as float32, 0 to 255, in the order
// of the space's shape.
//
// Models are of operator set 13 and IR version 7, which onnxruntime has read since 1.6.
package onnx

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/infer"
)

const (
	irVersion = 7
	opset     = 13
)

// Options are all optional.
type Options struct {
	// Name is the graph's, default "policy".
	Name string
	// Doc is a text for people.
	Doc string
	// Metadata is added to the model's metadata, which has "gorl.observation_space" and "gorl.action_space" as JSON,
	// with the limits of a Box, and "gorl.distribution". The robot of a policy that has one (infer.Policy.Robot) is
	// "gorl.robot" as JSON, and joint_names, joint_stiffness, joint_damping, default_joint_pos, action_scale,
	// observation_names and command_names, lists with commas, as mjlab's exporter writes them.
	Metadata map[string]string
}

// Encode returns the model.
func Encode(p *infer.Policy, o Options) ([]byte, error) {
	o.Name = cmp.Or(o.Name, "policy")
	g := newGraph(p)
	if err := g.build(); err != nil {
		return nil, err
	}
	metadata := map[string]string{"gorl.distribution": p.Describe().Distribution.Kind}
	values := p.Describe().Values()
	for _, key := range []string{"observation_space", "action_space"} {
		text, err := json.Marshal(values[key])
		if err != nil {
			return nil, fmt.Errorf("onnx: %w", err)
		}
		metadata["gorl."+key] = string(text)
	}
	if robot, ok := p.Robot(); ok {
		if err := describeRobot(metadata, robot); err != nil {
			return nil, err
		}
	}
	for k, v := range o.Metadata {
		if _, own := metadata[k]; own {
			return nil, fmt.Errorf("onnx: Options.Metadata: %q is gorl's own", k)
		}
		metadata[k] = v
	}
	var m, set message
	m.integer(modelIRVersion, irVersion)
	m.text(modelProducer, "gorl")
	m.text(modelProducerVersion, version())
	if o.Doc != "" {
		m.text(modelDoc, o.Doc)
	}
	m.bytes(modelGraph, g.encode(o.Name))
	set.integer(opsetVersion, opset)
	m.bytes(modelOpset, set)
	for _, k := range slices.Sorted(maps.Keys(metadata)) {
		var e message
		e.text(entryKey, k)
		e.text(entryValue, metadata[k])
		m.bytes(modelMetadata, e)
	}
	for _, s := range append(slices.Collect(maps.Values(metadata)), o.Name, o.Doc) {
		if strings.ToValidUTF8(s, "") != s {
			return nil, fmt.Errorf("onnx: %q is not valid UTF-8", s)
		}
	}
	return m, nil
}

// WriteFile writes the model to a file, which is replaced at once or not at all.
func WriteFile(path string, p *infer.Policy, o Options) error {
	m, err := Encode(p, o)
	if err != nil {
		return err
	}
	return checkpoint.WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(m)
		return err
	})
}

// version is gorl's, as the program knows it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	const module = "github.com/gorl-dev/gorl"
	for _, m := range append([]*debug.Module{&info.Main}, info.Deps...) {
		if m.Path == module && m.Version != "" {
			return m.Version
		}
	}
	return "devel"
}
