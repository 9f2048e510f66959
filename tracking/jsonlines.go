package tracking

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

func appendJSON(b []byte, s Scalar) []byte {
	b = append(b, `{"time":`...)
	b = strconv.AppendFloat(b, seconds(s.Time), 'f', 6, 64)
	b = append(b, `,"step":`...)
	b = strconv.AppendInt(b, s.Step, 10)
	if s.EnvSteps != 0 {
		b = append(b, `,"env_steps":`...)
		b = strconv.AppendInt(b, s.EnvSteps, 10)
	}
	b = append(b, `,"tag":`...)
	b = appendJSONString(b, s.Tag)
	b = append(b, `,"value":`...)
	b = appendJSONNumber(b, s.Value)
	return append(b, "}\n"...)
}

func appendJSONNumber(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v):
		return append(b, `"NaN"`...)
	case math.IsInf(v, 1):
		return append(b, `"Infinity"`...)
	case math.IsInf(v, -1):
		return append(b, `"-Infinity"`...)
	}
	return strconv.AppendFloat(b, v, 'g', -1, 64)
}

func appendJSONString(b []byte, s string) []byte {
	plain := func(r rune) bool { return r >= ' ' && r < 0x7f && r != '"' && r != '\\' }
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return append(append(append(b, '"'), s...), '"')
	}
	quoted, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always has a JSON form
	}
	return append(b, quoted...)
}

// notFinite are the strings for values that JSON has no number for.
var notFinite = map[string]float64{`"NaN"`: math.NaN(), `"Infinity"`: math.Inf(1), `"-Infinity"`: math.Inf(-1)}

// jsonNumber reads a JSON number or one of the three strings.
type jsonNumber float64

func (n *jsonNumber) UnmarshalJSON(b []byte) error {
	v, ok := notFinite[string(b)]
	if !ok && json.Unmarshal(b, &v) != nil {
		return fmt.Errorf("value %s is neither a number nor \"NaN\", \"Infinity\" or \"-Infinity\"", b)
	}
	*n = jsonNumber(v)
	return nil
}

func parseJSON(line []byte) (Scalar, error) {
	var r struct {
		Time  float64     `json:"time"`
		Step  *int64      `json:"step"`
		Env   int64       `json:"env_steps"`
		Tag   *string     `json:"tag"`
		Value *jsonNumber `json:"value"`
	}
	if err := json.Unmarshal(line, &r); err != nil {
		return Scalar{}, err
	}
	switch {
	case r.Step == nil:
		return Scalar{}, fmt.Errorf(`"step" is missing`)
	case r.Tag == nil:
		return Scalar{}, fmt.Errorf(`"tag" is missing`)
	case r.Value == nil:
		return Scalar{}, fmt.Errorf(`"value" is missing`)
	}
	return Scalar{Time: instant(r.Time), Step: *r.Step, EnvSteps: r.Env, Tag: *r.Tag, Value: float64(*r.Value)}, nil
}
