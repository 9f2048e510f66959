package convert_test

import (
	"reflect"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/convert"
)

// Files converted by an earlier release describe the containers of their .pt under "torch". They keep all tensors.
func TestToTorchReadsEarlierTrees(t *testing.T) {
	s := checkpoint.NewSnapshot()
	for _, name := range []string{"model/w", "list/0"} {
		s.Arrays[name] = checkpoint.ArrayBytes([]int64{2}, []byte{1, 2})
	}
	s.Values["torch"] = map[string]any{"dict": []any{
		[]any{"model", map[string]any{"ordered": []any{[]any{"w", map[string]any{"tensor": "model/w"}}}}},
		[]any{"list", map[string]any{"list": []any{map[string]any{"tensor": "list/0", "parameter": true}}}},
		[]any{int64(3), map[string]any{"float": "NaN"}}, []any{"none", nil},
	}}
	v, err := convert.ToTorch(s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := convert.FromTorch(v)
	if err != nil || !reflect.DeepEqual(got.Arrays, s.Arrays) || !reflect.DeepEqual(got.Values, s.Values) {
		t.Fatalf("got %v, %v", got, err)
	}
}
