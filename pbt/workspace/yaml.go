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

	"gopkg.in/yaml.v3"
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

// folderOf is a policy's folder on a board, with forward slashes; that of its best has the prefix "best/".
func folderOf(policy int, best bool) string {
	if best {
		return "best/" + folderName(policy)
	}
	return folderName(policy)
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
	integer("frame", r.Frame)
	integer("iteration", r.Iteration)
	if len(r.Params) == 0 {
		line("params", "{}")
	} else {
		b.WriteString("params:\n")
		for _, name := range slices.Sorted(maps.Keys(r.Params)) {
			fmt.Fprintf(&b, "  %s: %s\n", strconv.Quote(name), yamlFloat(r.Params[name]))
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
	integer("policy", int64(r.Policy))
	integer("copies", r.Copies)
	integer("weight_frame", r.WeightFrame)
	integer("since_copy", r.SinceCopy)
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

// decodeRecord reads the file of a record that lies in a policy's folder under the name of its iteration. It takes gorl's
// own records and Isaac Lab's.
func decodeRecord(text []byte, policy, policies int, folder string, iteration int64) (Record, error) {
	fields, err := yamlFields(text)
	if err != nil {
		return Record{}, err
	}
	var r Record
	if _, own := fields.node["schema"]; own || fields.has("check") {
		if r, err = decodeOwn(text, fields, folder); err != nil {
			return Record{}, err
		}
	} else if r, err = decodeForeign(fields, policy, folder); err != nil {
		return Record{}, err
	}
	if r.Policy != policy || r.Iteration != iteration {
		return Record{}, fmt.Errorf("it is the record of policy %d, iteration %d", r.Policy, r.Iteration)
	}
	return r, r.check(policies)
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
		Policy: int(f.integer("policy")), Iteration: f.integer("iteration"), Copies: f.integer("copies"),
		Frame: f.integer("frame"), WeightFrame: f.integer("weight_frame"), SinceCopy: f.integer("since_copy"),
		Samples: int(f.integer("samples")), Parent: int(f.integer("parent")),
		Failure: f.text("failure"), Experiment: f.text("experiment_name"), Params: f.floats("params"),
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
			f.err = fmt.Errorf("checkpoint %.200q is not a file of this policy and iteration", r.Weights.Path)
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
func decodeForeign(f *fields, policy int, folder string) (Record, error) {
	r := Record{Policy: policy, Parent: -1, Foreign: true}
	r.Iteration, r.Frame = f.integer("iteration"), f.integer("frame")
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
	r.Params = f.anyFloats("params")
	r.WeightFrame, r.SinceCopy = r.Frame, r.Frame
	if err := f.end(); err != nil {
		return r, fmt.Errorf("it is neither gorl's record nor Isaac Lab's: %w", err)
	}
	return r, nil
}

// fields are a YAML file's keys and values. The first failure is kept.
type fields struct {
	node map[string]*yaml.Node
	used map[string]bool
	err  error
}

func yamlFields(text []byte) (*fields, error) {
	if len(text) > maxRecord {
		return nil, fmt.Errorf("it has more than %d bytes", maxRecord)
	}
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New("it is empty: its writing was cut off")
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("it is not YAML: %w", err)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 || doc.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it is not a list of keys and values")
	}
	node, err := mapping(doc.Content[0])
	return &fields{node: node, used: make(map[string]bool)}, err
}

func mapping(n *yaml.Node) (map[string]*yaml.Node, error) {
	m := make(map[string]*yaml.Node)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		if key.Kind != yaml.ScalarNode {
			return nil, errors.New("a key is not a text")
		}
		if m[key.Value] != nil {
			return nil, fmt.Errorf("the key %.80q stands there twice", key.Value)
		}
		m[key.Value] = n.Content[i+1]
	}
	return m, nil
}

func (f *fields) has(key string) bool { return f.node[key] != nil }
func (f *fields) use(key string)      { f.used[key] = true }

func (f *fields) fail(key, want string) {
	if f.err == nil {
		f.err = fmt.Errorf("%s is missing or not %s", key, want)
	}
}

// scalar returns a key's plain value.
func (f *fields) scalar(key string) (*yaml.Node, bool) {
	f.use(key)
	n := f.node[key]
	return n, n != nil && n.Kind == yaml.ScalarNode
}

func (f *fields) null(key string) bool {
	n, ok := f.scalar(key)
	return ok && n.ShortTag() == "!!null"
}

func (f *fields) integer(key string) int64 {
	n, ok := f.scalar(key)
	if ok && n.ShortTag() == "!!int" {
		if v, err := strconv.ParseInt(n.Value, 10, 64); err == nil {
			return v
		}
	}
	f.fail(key, "a whole number")
	return 0
}

func (f *fields) text(key string) string {
	n, ok := f.scalar(key)
	if !ok || n.ShortTag() != "!!str" {
		f.fail(key, "a text")
		return ""
	}
	return n.Value
}

// float reads a number; null is none.
func (f *fields) float(key string) (v float64, has bool) {
	if f.null(key) {
		return 0, false
	}
	return f.anyFloat(key)
}

// anyFloat also takes text, as YAML 1.1 writers take 1e-4 for one.
func (f *fields) anyFloat(key string) (float64, bool) {
	n, ok := f.scalar(key)
	if ok {
		if v, ok := nodeFloat(n); ok {
			return v, true
		}
	}
	f.fail(key, "a number")
	return 0, false
}

func nodeFloat(n *yaml.Node) (float64, bool) {
	if n.Kind != yaml.ScalarNode {
		return 0, false
	}
	switch tag := n.ShortTag(); tag {
	case "!!float", "!!int", "!!str":
		if v, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return v, true
		}
		var v float64
		if tag != "!!str" && n.Decode(&v) == nil {
			return v, true
		}
	}
	return 0, false
}

func (f *fields) floats(key string) map[string]float64 {
	m := f.anyFloats(key)
	if n := f.node[key]; f.err == nil && len(m) != len(n.Content)/2 {
		f.fail(key, "numbers by name")
	}
	return m
}

// anyFloats reads those entries that are finite numbers.
func (f *fields) anyFloats(key string) map[string]float64 {
	f.use(key)
	n := f.node[key]
	if n == nil || n.Kind != yaml.MappingNode {
		f.fail(key, "numbers by name")
		return nil
	}
	entries, err := mapping(n)
	if err != nil {
		f.err = errors.Join(f.err, err)
		return nil
	}
	var m map[string]float64
	for name, value := range entries {
		if v, ok := nodeFloat(value); ok && !math.IsNaN(v) && !math.IsInf(v, 0) {
			if m == nil {
				m = make(map[string]float64)
			}
			m[name] = v
		}
	}
	return m
}

// anyText reads a text, whatever YAML takes it for; null is none.
func (f *fields) anyText(key string) string {
	n, ok := f.scalar(key)
	if !ok {
		f.fail(key, "a text")
		return ""
	}
	if n.ShortTag() == "!!null" {
		return ""
	}
	return n.Value
}

// end returns the first failure, unknown keys among them.
func (f *fields) end() error {
	for _, key := range slices.Sorted(maps.Keys(f.node)) {
		if f.err == nil && !f.used[key] {
			f.err = fmt.Errorf("the key %.80q is unknown", key)
		}
	}
	return f.err
}
