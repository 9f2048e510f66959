package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"strings"
)

// decodeRecord reads the file of a record that lies in a member's folder under the name of its iteration. It takes gorl's
// own records and Isaac Lab's.
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

func decodeOwn(text []byte, f *fields, folder string) (Record, error) {
	if n := f.integer("schema"); f.err == nil && n != recordSchema {
		return Record{}, fmt.Errorf("it has format %d, where this program reads %d; use the gorl that wrote it, or a newer one", n, recordSchema)
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

// decodeForeign reads Isaac Lab's record. Of its paths only the last part counts, as it may have been written on a
// machine where the folder lies elsewhere. Parameters that are no finite numbers cannot be mutated and are left out.
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
