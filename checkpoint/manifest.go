package checkpoint

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/durable"
)

const (
	dataSuffix     = ".safetensors"
	manifestSuffix = ".json"
	manifestFormat = "gorl checkpoint"
	// manifestVersion is the version that this package writes, and the newest one that it reads.
	manifestVersion = 1
	maxManifest     = 1 << 20
)

// Manifest describes a data file and commits it. Readers ignore a data file without a manifest that matches.
type Manifest struct {
	// Format and Version identify the kind of file.
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Name is the name that was given to Save. File is the data file's name in the same directory.
	Name string `json:"name"`
	File string `json:"file"`
	// Step is the caller's. Sequence grows with every save, even if the clock is set back: the highest is the latest.
	Step     int64 `json:"step"`
	Sequence int64 `json:"sequence"`
	// Size and SHA256 are those of the data file.
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	// WrittenBy is the program. WrittenAt is the time (RFC 3339).
	WrittenBy string `json:"written_by"`
	WrittenAt string `json:"written_at"`
	// Arrays is the number of arrays. Values are the plain top-level values of the snapshot, for people to read.
	Arrays int             `json:"arrays"`
	Values json.RawMessage `json:"values"`
	// Check is the SHA-256 of the manifest itself, as compact JSON with this field empty.
	Check string `json:"check"`
}

// encode seals the manifest and returns its text.
func (m Manifest) encode() ([]byte, error) { return durable.Seal(&m, &m.Check) }

// decodeManifest reads a manifest and verifies all that does not need the data file.
func decodeManifest(text []byte) (Manifest, error) {
	var kind struct {
		Format  string `json:"format"`
		Version int    `json:"version"`
	}
	if err := json.Unmarshal(text, &kind); err != nil {
		return Manifest{}, fmt.Errorf("not a manifest: %w", err)
	}
	if kind.Format != manifestFormat {
		return Manifest{}, fmt.Errorf("not a manifest: its format is %.40q, want %q", kind.Format, manifestFormat)
	}
	if kind.Version < 1 || kind.Version > manifestVersion {
		return Manifest{}, fmt.Errorf("format version %d; this program reads up to %d; use a newer gorl",
			kind.Version, manifestVersion)
	}
	var m Manifest
	if err := durable.Unseal(text, &m, &m.Check); err != nil {
		return Manifest{}, fmt.Errorf("not a manifest: %w", err)
	}
	if m.Size < 0 || filepath.Base(m.File) != m.File || !strings.HasSuffix(m.File, dataSuffix) {
		return Manifest{}, fmt.Errorf("the manifest names no data file of this directory: %.80q", m.File)
	}
	return m, nil
}

// summarize picks the values that a person wants to see in a manifest: plain and short ones.
func summarize(values map[string]any) json.RawMessage {
	const most, longest = 64, 120
	plain := map[string]any{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		switch v := reflect.ValueOf(values[key]); {
		case len(plain) == most, len(key) > longest:
			continue
		case v.Kind() == reflect.String && v.Len() <= longest,
			v.Kind() == reflect.Bool, v.CanInt(), v.CanUint(), v.CanFloat():
			plain[key] = values[key]
		}
	}
	text, err := json.Marshal(plain)
	if err != nil { // a NaN; EncodeSafetensors refuses it
		return json.RawMessage("{}")
	}
	return text
}
