package number

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

func TestMap(t *testing.T) {
	want := map[string]float64{"a": math.Inf(1), "b": math.Inf(-1), "c": 1e-300, "d": math.Copysign(0, -1)}
	text := must.Get(json.Marshal(Map(want)))(t)
	must.Is(t, string(text), `{"a":"+Inf","b":"-Inf","c":1e-300,"d":-0}`, "written")
	var got Map
	must.Do(t, json.Unmarshal(text, &got))
	must.Match(t, want, map[string]float64(got), "read")
}
