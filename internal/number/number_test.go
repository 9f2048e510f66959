package number

import (
	"encoding/json"
	"maps"
	"math"
	"testing"
)

func TestMap(t *testing.T) {
	want := map[string]float64{"a": math.Inf(1), "b": math.Inf(-1), "c": 1e-300, "d": math.Copysign(0, -1)}
	text, err := json.Marshal(MapOf(want))
	if err != nil || string(text) != `{"a":"+Inf","b":"-Inf","c":1e-300,"d":-0}` {
		t.Errorf("written as %s, %v", text, err)
	}
	var got Map
	if err := json.Unmarshal(text, &got); err != nil || !maps.Equal(got.Floats(), want) {
		t.Errorf("read as %v, %v", got, err)
	}
	if MapOf(nil) != nil || Map(nil).Floats() != nil {
		t.Error("nil does not stay nil")
	}
}
