package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
)

// jsonFloat is a number, or a text where JSON knows none: "NaN", "+Inf", "-Inf".
type jsonFloat float64

// MarshalJSON writes the number.
func (v jsonFloat) MarshalJSON() ([]byte, error) {
	if f := float64(v); math.IsNaN(f) || math.IsInf(f, 0) {
		return strconv.AppendQuote(nil, strconv.FormatFloat(f, 'g', -1, 64)), nil
	}
	return json.Marshal(float64(v))
}

// UnmarshalJSON reads what MarshalJSON writes.
func (v *jsonFloat) UnmarshalJSON(text []byte) error {
	switch string(text) {
	case `"NaN"`:
		*v = jsonFloat(math.NaN())
	case `"+Inf"`:
		*v = jsonFloat(math.Inf(1))
	case `"-Inf"`:
		*v = jsonFloat(math.Inf(-1))
	default:
		return json.Unmarshal(text, (*float64)(v))
	}
	return nil
}

// A sealed value is written as JSON with its own checksum in it.
type checked interface{ seal() *string }

// marshalSealed sets the value's check, the SHA-256 of its compact JSON without one, and returns its text.
func marshalSealed(v checked) ([]byte, error) {
	sum, err := checkOf(v)
	if err != nil {
		return nil, err
	}
	*v.seal() = sum
	text, err := json.MarshalIndent(v, "", "  ")
	return append(text, '\n'), err
}

func checkOf(v checked) (string, error) {
	was := *v.seal()
	*v.seal() = ""
	text, err := json.Marshal(v)
	*v.seal() = was
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}

// unmarshalSealed reads a value and verifies its check. schema is looked at first, so that a newer format is called that.
func unmarshalSealed(text []byte, v checked, schema int) error {
	var kind struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		return fmt.Errorf("it is not JSON, or was cut off: %w", err)
	}
	if kind.Schema != schema {
		return fmt.Errorf("it has format %d, where this program reads %d; use the gorl that wrote it, or a newer one", kind.Schema, schema)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows its JSON object")
	}
	sum, err := checkOf(v)
	if err == nil && sum != *v.seal() {
		err = errors.New("its contents were altered: its check does not match")
	}
	return err
}
