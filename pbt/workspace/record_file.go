package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
)

// A record's file is YAML. It holds Isaac Lab's seven keys first, so that people and tools that know its workspaces can
// read it, then gorl's own, and in the last line the SHA-256 of everything before. Keys are older than the names in Go:
// "policy" is the member, "frame" its environment steps, "params" its hyperparameters. Numbers are written so that YAML
// 1.1 readers, PyYAML among them, take them for numbers: a float always has a point.
const (
	recordSchema = 1
	recordSuffix = ".yaml"
	maxRecord    = 1 << 20
	checkKey     = "check: "
)

// unknownScore is the figure that Isaac Lab writes where it knows none.
const unknownScore = -1e9

// folderOf is a member's folder below the store's, with forward slashes; that of its best has the prefix "best/".
func folderOf(member int, best bool) string {
	if best {
		return "best/" + folderName(member)
	}
	return folderName(member)
}

// recordName is the name of a record's file in its member's folder.
func recordName(iteration int64) string { return fmt.Sprintf("%06d", iteration) + recordSuffix }

// encodeRecord returns the text of a record's file in a folder. The same record gives the same text. More than
// maxRecord bytes, which readers would refuse, are an error.
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
		return nil, fmt.Errorf("workspace: a record of %d bytes; %d are allowed: publish fewer hyperparameters", b.Len(),
			maxRecord)
	}
	return b.Bytes(), nil
}

// yamlFloat writes a number with a point and a sign in the exponent, and NaN and infinities by YAML's names.
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

// decodeRecord reads the text of a record's file that lies in a member's folder under the name of its iteration. It
// takes gorl's own records and Isaac Lab's: a file with a "schema" or a "check" is gorl's and must be whole.
func decodeRecord(text []byte, member, members int, folder string, iteration int64) (Record, error) {
	fields, err := yamlFields(text)
	if err != nil {
		return Record{}, err
	}
	var r Record
	if _, own := fields.node["schema"]; own || fields.has("check") {
		if r, err = decodeOwn(text, fields, folder); err != nil {
			return Record{}, err
		}
	} else if r, err = decodeForeign(fields, member, folder); err != nil {
		return Record{}, err
	}
	if r.Member != member || r.Iteration != iteration {
		return Record{}, fmt.Errorf("it is the record of member %d, iteration %d", r.Member, r.Iteration)
	}
	return r, r.check(members)
}

// sealed verifies that the last line is the checksum of those before.
func sealed(text []byte) error {
	i := bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n') + 1
	value, ok := bytes.CutPrefix(text[i:], []byte(checkKey))
	if !ok {
		return errors.New("it does not end with its checksum: it was cut off")
	}
	sum := sha256.Sum256(text[:i])
	if want := `"` + hex.EncodeToString(sum[:]) + "\"\n"; string(value) != want {
		return errors.New("its contents were altered: the checksum in its last line does not match")
	}
	return nil
}

// decodeOwn reads gorl's records. The path of the weights must be one that Publish gives, in this folder and of this
// iteration, so that a record cannot point a reader at another file.
func decodeOwn(text []byte, f *fields, folder string) (Record, error) {
	if n := f.integer("schema"); f.err == nil && n != recordSchema {
		return Record{}, fmt.Errorf("it has format %d, where this program reads %d; use the gorl that wrote it, "+
			"or a newer one", n, recordSchema)
	}
	if err := sealed(text); err != nil {
		return Record{}, err
	}
	f.use("check")
	r := Record{
		Member: int(f.integer("policy")), Iteration: f.integer("iteration"), Copies: f.integer("copies"),
		Steps: f.integer("frame"), WeightSteps: f.integer("weight_frame"), SinceCopy: f.integer("since_copy"),
		Samples: int(f.integer("samples")), Parent: int(f.integer("parent")),
		Failure: f.text("failure"), Experiment: f.text("experiment_name"), Hyperparameters: f.floats("params"),
	}
	if f.has("since_change") {
		r.SinceChange = f.integer("since_change")
	}
	r.Objective, r.HasObjective = f.float("true_objective")
	r.Peak, r.HasPeak = f.float("peak")
	r.Evaluation, r.HasEvaluation = f.float("evaluation")
	if want := path.Join(folder, recordName(r.Iteration)); f.text("pbt_checkpoint") != want && f.err == nil {
		f.err = fmt.Errorf("pbt_checkpoint is not %s", want)
	}
	if f.null("checkpoint") {
		f.use("checkpoint")
	} else {
		r.Weights = &Weights{Path: f.text("checkpoint"), Size: f.integer("size"), SHA256: f.text("sha256")}
		if f.err == nil && !ownWeights(r.Weights.Path, folder, r.Iteration) {
			f.err = fmt.Errorf("checkpoint %.200q is not a file of this member and iteration", r.Weights.Path)
		}
	}
	return r, f.end()
}

// ownWeights reports whether a path is one that Publish gives to the weights of an iteration in a folder.
func ownWeights(p, folder string, iteration int64) bool {
	name, ok := strings.CutPrefix(p, folder+"/")
	n, kind := parseName(name)
	return ok && kind == weightsFile && n == iteration
}

// decodeForeign reads Isaac Lab's record. Of its paths only the last part counts, because it may have been written on a
// machine where the folder lies elsewhere. Parameters that are not finite numbers cannot be mutated and are left out.
// Isaac Lab knows no copies: all environment steps count as the member's own.
func decodeForeign(f *fields, member int, folder string) (Record, error) {
	r := Record{Member: member, Parent: -1, Foreign: true}
	r.Iteration, r.Steps = f.integer("iteration"), f.integer("frame")
	r.Experiment = cut(f.anyText("experiment_name"))
	f.anyText("pbt_checkpoint")
	if p := f.anyText("checkpoint"); p != "" {
		p = p[strings.LastIndexAny(p, `/\`)+1:]
		r.Weights = &Weights{Path: path.Join(folder, p)}
	}
	r.Objective, r.HasObjective = f.anyFloat("true_objective")
	if r.Objective == unknownScore {
		r.Objective, r.HasObjective = 0, false
	}
	r.Hyperparameters = f.anyFloats("params")
	r.WeightSteps, r.SinceCopy = r.Steps, r.Steps
	if err := f.end(); err != nil {
		return r, fmt.Errorf("it is neither gorl's record nor Isaac Lab's: %w", err)
	}
	return r, nil
}
