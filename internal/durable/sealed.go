package durable

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrUnsealed is returned by [Unseal], after it has read everything, where the file has no checksum.
var ErrUnsealed = errors.New("it has no checksum")

// Seal returns v, a pointer to a struct, as indented JSON that ends with a newline. Before that it sets *check, which
// must be a string field of v, to the SHA-256 of v's compact JSON in which that field is empty.
func Seal(v any, check *string) ([]byte, error) {
	sum, err := checksum(v, check)
	if err != nil {
		return nil, err
	}
	*check = sum
	text, err := json.MarshalIndent(v, "", "  ")
	return append(text, '\n'), err
}

// Unseal reads what [Seal] wrote into v, and verifies *check, a field of v. Keys that v does not have, text after the
// JSON object and a checksum that does not match are errors.
func Unseal(text []byte, v any, check *string) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows its JSON object")
	}
	if *check == "" {
		return ErrUnsealed
	}
	sum, err := checksum(v, check)
	if err == nil && sum != *check {
		err = errors.New("its contents were altered: its check does not match")
	}
	return err
}

// UnsealSchema is [Unseal] for files whose key "schema" numbers their format. It compares the number first, so that a
// file of another format is reported as one and not as damaged: a newer format may have keys that v lacks.
func UnsealSchema(text []byte, schema int, v any, check *string) error {
	var kind struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		return fmt.Errorf("it is not JSON, or was cut off: %w", err)
	}
	if kind.Schema != schema {
		return fmt.Errorf("it has format %d, where this program reads %d; use the gorl that wrote it, or a newer one",
			kind.Schema, schema)
	}
	return Unseal(text, v, check)
}

// checksum returns the hexadecimal SHA-256 of v's compact JSON with an empty check.
func checksum(v any, check *string) (string, error) {
	was := *check
	*check = ""
	text, err := json.Marshal(v)
	*check = was
	// json.Marshal escapes invalid UTF-8 as \ufffd but writes a decoded U+FFFD raw; normalise so that both hash alike.
	text = bytes.ReplaceAll(text, []byte(`\ufffd`), []byte("\uFFFD"))
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), err
}
