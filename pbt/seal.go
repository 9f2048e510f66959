package pbt

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// sealState is a state as JSON. Its check becomes the SHA-256 of its compact JSON without one.
func sealState(state any, check *string) ([]byte, error) {
	sum, err := checkOf(state, check)
	if err == nil {
		*check = sum
		var data []byte
		if data, err = json.MarshalIndent(state, "", "  "); err == nil {
			return data, nil
		}
	}
	return nil, fmt.Errorf("pbt: state: %w", err)
}

// checkSchema is looked at first, so that a newer format is called that.
func checkSchema(data []byte) error {
	var kind struct {
		Schema int `json:"schema"`
	}
	if err := json.Unmarshal(data, &kind); err != nil {
		return err
	}
	if kind.Schema != stateSchema {
		return fmt.Errorf("the state's format is %d, this program knows %d", kind.Schema, stateSchema)
	}
	return nil
}

// openState is the reverse of sealState. A state without a check was written before there were any.
func openState(data []byte, state any, check *string) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(state); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows its JSON object")
	}
	if *check == "" {
		return nil
	}
	sum, err := checkOf(state, check)
	if err == nil && sum != *check {
		err = errors.New("its contents were altered: its check does not match")
	}
	return err
}

func checkOf(state any, check *string) (string, error) {
	was := *check
	*check = ""
	data, err := json.Marshal(state)
	*check = was
	// What is no UTF-8 is written as an escape at first, and once it has been read as the character itself.
	data = bytes.ReplaceAll(data, []byte(`\ufffd`), []byte("\uFFFD"))
	return fmt.Sprintf("%x", sha256.Sum256(data)), err
}
