package convert_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/gorl-dev/gorl/checkpoint"
	"github.com/gorl-dev/gorl/checkpoint/convert"
	"github.com/gorl-dev/gorl/checkpoint/torchfile"
)

// Any tree of a safetensors file gives a .pt that reads back with the same tensors, or an error.
func FuzzTree(f *testing.F) {
	f.Add(
		`{"__metadata__":{"gorl":"{\"torch\":{\"dict\":[[\"a\",{\"tensor\":\"a\"}],[3,{\"tuple\":[1,2.5,null]}]]}}"},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`)
	f.Add(
		`{"__metadata__":{"gorl":"{\"torch\":{\"ordered\":[[\"a\",{\"tensor\":\"a\"}]],\"attributes\":{\"dict\":[]}}}"},"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}`)
	f.Add(
		`{"__metadata__":{"x":"y","gorl":"{\"list\":[{\"float\":\"inf\"}]}"},"gorl/a":{"dtype":"U8","shape":[],"data_offsets":[0,1]},"b":{"dtype":"I8","shape":[1],"data_offsets":[1,2]}}`)
	f.Fuzz(func(t *testing.T, header string) {
		file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
		s, err := checkpoint.DecodeSafetensors(append(append(file, header...), 1, 2))
		if err != nil {
			return
		}
		v, err := convert.ToTorch(s)
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := torchfile.Write(&b, v); err != nil {
			return
		}
		back, err := torchfile.Read(bytes.NewReader(b.Bytes()), int64(b.Len()))
		if err != nil {
			t.Fatalf("what was written is refused: %v", err)
		}
		again, err := convert.FromTorch(back)
		if err != nil {
			return // two names that are one in the tree
		}
		if len(again.Arrays) != len(s.Arrays) {
			t.Errorf("%d arrays became %d", len(s.Arrays), len(again.Arrays))
		}
	})
}
