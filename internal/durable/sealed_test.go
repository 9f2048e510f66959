package durable

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/number"
	"github.com/gorl-dev/gorl/internal/test/must"
)

type sealedFile struct {
	Schema int         `json:"schema"`
	Text   string      `json:"text"`
	Value  number.JSON `json:"value"`
	Check  string      `json:"check"`
}

// written is a file as every version has written it; its check is the SHA-256 of
// {"schema":3,"text":"a\uFFFDb","value":"NaN","check":""} with the character U+FFFD itself.
const written = `{
  "schema": 3,
  "text": "a\ufffdb",
  "value": "NaN",
  "check": "8f75ebbe3f10245a74f3d1e49c8062768844dda6f08518d8d52daece51841073"
}
`

func TestSealedBytes(t *testing.T) {
	for name, text := range map[string]string{"invalid UTF-8": "a\xffb", "the character itself": "a\uFFFDb"} {
		v := sealedFile{Schema: 3, Text: text, Value: number.JSON(math.NaN())}
		got, err := Seal(&v, &v.Check)
		must.Do(t, err)
		if same := strings.ReplaceAll(string(got), "\uFFFD", `\ufffd`); same != written {
			t.Errorf("%s: sealed as\n%s\nwant\n%s", name, same, written)
		}
		var back sealedFile
		if err := UnsealSchema(got, 3, &back, &back.Check); err != nil || back.Text != "a\uFFFDb" ||
			!math.IsNaN(float64(back.Value)) {
			t.Errorf("%s: read %+v, %v", name, back, err)
		}
	}
}

func TestUnsealRefuses(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"cut off": {written[:40], "cut off"},
		"altered": {strings.Replace(written, "NaN", "+Inf", 1), "altered"},
		"other format": {strings.Replace(written, `"schema": 3`, `"schema": 4, "new": 1`, 1),
			"format 4, where this program reads 3"},
		"unknown key":   {strings.Replace(written, `"text"`, `"texts"`, 1), "unknown field"},
		"wrong type":    {strings.Replace(written, `"NaN"`, `"nan"`, 1), "damaged"},
		"two objects":   {written + "{}", "after top-level value"},
		"without check": {`{"schema": 3, "text": "", "value": 1}`, "no checksum"},
	} {
		var v sealedFile
		err := UnsealSchema([]byte(c.text), 3, &v, &v.Check)
		must.Refuse(t, err, c.want)
		if errors.Is(err, ErrUnsealed) != (name == "without check") {
			t.Errorf("%s: %v and ErrUnsealed", name, err)
		}
	}
}

func TestUnsealReadsOneObject(t *testing.T) {
	var v sealedFile
	must.Refuse(t, Unseal([]byte(written+"{}"), &v, &v.Check), "follows")
}
