package tracking

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/gorl-dev/gorl/internal/config"
)

// TensorBoard shows a configuration in two places: in its tab TEXT as the table "hyperparameters", as CleanRL writes
// it, and in its tab HPARAMS, from records of the start and the end of a session. The field numbers are those of
// tensorflow/core/framework/summary.proto, tensor.proto, and tensorboard/plugins/hparams/plugin_data.proto.

const (
	valueTensor       = 8 // TensorProto
	valueMetadata     = 9 // SummaryMetadata
	metadataPlugin    = 1 // PluginData
	pluginName        = 1 // string
	pluginContent     = 2 // bytes
	tensorType        = 1 // DataType
	tensorTexts       = 8 // repeated bytes
	tensorShape       = 2 // TensorShapeProto
	shapeDim          = 2 // repeated Dim
	dimSize           = 1 // int64
	dataTypeText      = 7
	hparamsStart      = 3 // SessionStartInfo, in HParamsPluginData
	hparamsEnd        = 4 // SessionEndInfo, in HParamsPluginData
	startHparams      = 1 // map<string, google.protobuf.Value>
	startTime         = 5 // double
	endStatus         = 1 // Status
	endTime           = 2 // double
	mapKey            = 1
	mapValue          = 2
	structNumber      = 2 // double, in google.protobuf.Value
	structText        = 3 // string, in google.protobuf.Value
	structBool        = 4 // bool, in google.protobuf.Value
	sessionSuccess    = 1
	sessionFailure    = 2
	startTag          = "_hparams_/session_start_info"
	endTag            = "_hparams_/session_end_info"
	hyperparameterTag = "hyperparameters/text_summary" // what torch's add_text makes of CleanRL's "hyperparameters"
)

// message appends an embedded message, a string or bytes.
func message(b []byte, num protowire.Number, content []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, num, protowire.BytesType), content)
}

func appendDouble(b []byte, num protowire.Number, x float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, num, protowire.Fixed64Type), math.Float64bits(x))
}

func appendNumber(b []byte, num protowire.Number, x uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, num, protowire.VarintType), x)
}

// metadata is the SummaryMetadata of a plugin's value.
func metadata(plugin string, content []byte) []byte {
	return message(nil, metadataPlugin, message(message(nil, pluginName, []byte(plugin)), pluginContent, content))
}

// appendPluginEvent appends an event at step 0 with a plugin's value. A tensor is optional.
func appendPluginEvent(b []byte, t time.Time, tag string, tensor, metadata []byte) []byte {
	value := message(nil, valueTag, []byte(tag))
	if tensor != nil {
		value = message(value, valueTensor, tensor)
	}
	value = message(value, valueMetadata, metadata)
	return message(appendWallTime(b, t), eventSummary, message(nil, summaryValue, value))
}

// appendTableEvent appends the configuration as a table in Markdown.
func appendTableEvent(b []byte, t time.Time, settings map[string]any) []byte {
	var table strings.Builder
	table.WriteString("|param|value|\n|-|-|\n")
	cell := strings.NewReplacer("|", "\\|", "\n", " ")
	config.Flatten(settings, func(key string, value any) {
		fmt.Fprintf(&table, "|%s|%s|\n", cell.Replace(key), cell.Replace(fmt.Sprint(value)))
	})
	tensor := appendNumber(nil, tensorType, dataTypeText)
	tensor = message(tensor, tensorShape, message(nil, shapeDim, appendNumber(nil, dimSize, 1)))
	tensor = message(tensor, tensorTexts, []byte(strings.ToValidUTF8(table.String(), "\uFFFD")))
	return appendPluginEvent(b, t, hyperparameterTag, tensor, metadata("text", []byte{}))
}

// appendSessionEvent appends a record of the plugin hparams.
func appendSessionEvent(b []byte, t time.Time, tag string, content []byte) []byte {
	return appendPluginEvent(b, t, tag, nil, metadata("hparams", content))
}

// startInfo is the record of a session's start. Numbers and switches keep their types, so that the tab can filter.
func startInfo(t time.Time, settings map[string]any) []byte {
	var info []byte
	config.Flatten(settings, func(key string, value any) {
		var v []byte
		switch x := value.(type) {
		case bool:
			v = appendNumber(nil, structBool, protowire.EncodeBool(x))
		case int:
			v = appendDouble(nil, structNumber, float64(x))
		case int64:
			v = appendDouble(nil, structNumber, float64(x))
		case float64:
			v = appendDouble(nil, structNumber, x)
		default:
			v = message(nil, structText, []byte(strings.ToValidUTF8(fmt.Sprint(x), "\uFFFD")))
		}
		entry := message(nil, mapKey, []byte(strings.ToValidUTF8(key, "\uFFFD")))
		info = message(info, startHparams, message(entry, mapValue, v))
	})
	return message(nil, hparamsStart, appendDouble(info, startTime, cmp.Or(seconds(t), 1)))
}

// endInfo is the record of a session's end.
func endInfo(t time.Time, status uint64) []byte {
	return message(nil, hparamsEnd, appendDouble(appendNumber(nil, endStatus, status), endTime, seconds(t)))
}
