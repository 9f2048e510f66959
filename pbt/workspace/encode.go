package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A record's file holds Isaac Lab's seven keys, so that people and tools that know its workspaces can read it, gorl's
// own, and in the last line the SHA-256 of everything before. Numbers are written so that YAML 1.1 readers, PyYAML among
// them, take them for numbers: a float always has a point.
const (
	recordSchema = 1
	recordSuffix = ".yaml"
	maxRecord    = 1 << 20
	checkKey     = "check: "
)

// unknownScore is what Isaac Lab takes for: nothing is known.
const unknownScore = -1e9

// folderOf is a member's folder on a store, with forward slashes; that of its best has the prefix "best/".
func folderOf(member int, best bool) string {
	if best {
		return "best/" + folderName(member)
	}
	return folderName(member)
}

func recordName(iteration int64) string { return fmt.Sprintf("%06d", iteration) + recordSuffix }

// encodeRecord returns the file's text of a record in a folder.
func encodeRecord(r Record, folder string) ([]byte, error) {
	var b bytes.Buffer
	line := func(key, value string) { fmt.Fprintf(&b, "%s: %s\n", key, value) }
	line("schema", strconv.Itoa(recordSchema))
	if r.Weights != nil {
		line("checkpoint", strconv.Quote(r.Weights.Path))
	} else {
		line("checkpoint", "null")
	}
	line("experiment_name", strconv.Quote(r.Experiment))
	integer := func(key string, n int64) { line(key, strconv.FormatInt(n, 10)) }
	integer("frame", r.Steps)
	integer("iteration", r.Iteration)
	if len(r.Hyperparameters) == 0 {
		line("params", "{}")
	} else {
		b.WriteString("params:\n")
		for _, name := range slices.Sorted(maps.Keys(r.Hyperparameters)) {
			fmt.Fprintf(&b, "  %s: %s\n", strconv.Quote(name), yamlFloat(r.Hyperparameters[name]))
		}
	}
	line("pbt_checkpoint", strconv.Quote(path.Join(folder, recordName(r.Iteration))))
	optional := func(key string, v float64, has bool) {
		if has {
			line(key, yamlFloat(v))
		} else {
			line(key, "null")
		}
	}
	optional("true_objective", r.Objective, r.HasObjective)
	integer("policy", int64(r.Member))
	integer("copies", r.Copies)
	integer("weight_frame", r.WeightSteps)
	integer("since_copy", r.SinceCopy)
	if r.SinceChange > 0 {
		integer("since_change", r.SinceChange)
	}
	optional("peak", r.Peak, r.HasPeak)
	optional("evaluation", r.Evaluation, r.HasEvaluation)
	integer("samples", int64(r.Samples))
	integer("parent", int64(r.Parent))
	line("failure", strconv.Quote(r.Failure))
	if r.Weights != nil {
		integer("size", r.Weights.Size)
		line("sha256", strconv.Quote(r.Weights.SHA256))
	}
	sum := sha256.Sum256(b.Bytes())
	line("check", `"`+hex.EncodeToString(sum[:])+`"`)
	if b.Len() > maxRecord {
		return nil, fmt.Errorf("workspace: a record of %d bytes; %d are allowed: publish fewer hyperparameters", b.Len(), maxRecord)
	}
	return b.Bytes(), nil
}

// yamlFloat writes a number with a point, a sign in the exponent, and YAML's names for what is no number.
func yamlFloat(v float64) string {
	switch {
	case math.IsNaN(v):
		return ".nan"
	case math.IsInf(v, 1):
		return ".inf"
	case math.IsInf(v, -1):
		return "-.inf"
	}
	text := strconv.FormatFloat(v, 'g', -1, 64)
	mantissa, exponent, has := strings.Cut(text, "e")
	if !strings.Contains(mantissa, ".") {
		mantissa += ".0"
	}
	if has {
		return mantissa + "e" + exponent
	}
	return mantissa
}
