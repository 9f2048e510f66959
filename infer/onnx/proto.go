package onnx

import (
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// message is a protocol buffer in the making. Fields are written in the order of the calls.
type message []byte

func (m *message) text(field protowire.Number, s string) {
	*m = protowire.AppendString(protowire.AppendTag(*m, field, protowire.BytesType), s)
}

func (m *message) integer(field protowire.Number, n int64) {
	*m = protowire.AppendVarint(protowire.AppendTag(*m, field, protowire.VarintType), uint64(n))
}

func (m *message) bytes(field protowire.Number, b []byte) {
	*m = protowire.AppendBytes(protowire.AppendTag(*m, field, protowire.BytesType), b)
}

// The numbers of the fields of onnx.proto3 that are used here, message by message, and of its element types.
const (
	modelIRVersion, modelProducer, modelProducerVersion, modelDoc, modelGraph, modelOpset, modelMetadata = 1, 2, 3, 6,
		7, 8, 14
	opsetVersion                                                    = 2
	entryKey, entryValue                                            = 1, 2
	graphNode, graphName, graphInitializer, graphInput, graphOutput = 1, 2, 5, 11,
		12
	nodeInput, nodeOutput, nodeName, nodeOp, nodeAttribute                    = 1, 2, 3, 4, 5
	attributeName, attributeFloat, attributeInt, attributeInts, attributeType = 1, 2, 3, 8,
		20
	attributeIsFloat, attributeIsInt, attributeIsInts = 1, 2, 7
	tensorDims, tensorType, tensorName, tensorRaw     = 1, 2, 8, 9
	valueName, valueType                              = 1, 2
	typeTensor                                        = 1
	typeTensorElement, typeTensorShape                = 1, 2
	shapeDim                                          = 1
	dimValue, dimParam                                = 1, 2
	elementFloat, elementInt64                        = 1, 7
)

// value describes an input or an output: batch rows of the given width.
func value(name string, element int64, width int) message {
	var batch, columns, shape, tensor, kind, v message
	batch.text(dimParam, "batch")
	columns.integer(dimValue, int64(width))
	shape.bytes(shapeDim, batch)
	shape.bytes(shapeDim, columns)
	tensor.integer(typeTensorElement, element)
	tensor.bytes(typeTensorShape, shape)
	kind.bytes(typeTensor, tensor)
	v.text(valueName, name)
	v.bytes(valueType, kind)
	return v
}

// constant is a tensor of the graph. data is little-endian.
func constant(name string, element int64, data []byte, shape ...int) message {
	var t message
	for _, d := range shape {
		t.integer(tensorDims, int64(d))
	}
	t.integer(tensorType, element)
	t.text(tensorName, name)
	t.bytes(tensorRaw, data)
	return t
}

// attribute is an attribute of a node.
func attribute[T int | []int | float32](name string, value T) message {
	var a message
	a.text(attributeName, name)
	switch v := any(value).(type) {
	case int:
		a.integer(attributeInt, int64(v))
		a.integer(attributeType, attributeIsInt)
	case []int:
		for _, n := range v {
			a.integer(attributeInts, int64(n))
		}
		a.integer(attributeType, attributeIsInts)
	case float32:
		a = protowire.AppendFixed32(protowire.AppendTag(a, attributeFloat, protowire.Fixed32Type), math.Float32bits(v))
		a.integer(attributeType, attributeIsFloat)
	}
	return a
}
