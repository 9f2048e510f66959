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

	"github.com/gorl-dev/gorl/internal/number"
)

// A record's file is YAML. Isaac Lab's seven keys come first, so that people and tools that know its workspaces can
// read the file. gorl's own keys follow, and the last line is the SHA-256 of everything before. The keys predate the
// names in Go: "policy" is the member, "frame" its environment steps, "params" its hyperparameters. Floats always have
// a point, because YAML 1.1 readers such as PyYAML take 1e-4 for a text.
const (
	recordSchema = 1
	recordSuffix = ".yaml"
	maxRecord    = 1 << 20
	checkKey     = "check: "
	bestFolder   = "best/"
)

// folderOf is a member's folder below the store's, with forward slashes; that of its best has the prefix bestFolder.
func folderOf(member int, best bool) string {
	if best {
		return bestFolder + folderName(member)
	}
	return folderName(member)
}

// recordName is the name of a record's file in its member's folder.
func recordName(iteration int64) string { return fmt.Sprintf("%06d", iteration) + recordSuffix }

// encodeRecord returns the text of a record's file in a folder. The same record gives the same text.
func encodeRecord(r Record, folder string) []byte {
	type line struct {
		key   string
		value any
	}
	var checkpoint any
	if r.Weights != nil {
		checkpoint = r.Weights.Path
	}
	lines := []line{{"schema", recordSchema}, {"checkpoint", checkpoint}, {"experiment_name", r.Experiment},
		{"frame", r.Steps}, {"iteration", r.Iteration}, {"params", r.Hyperparameters},
		{"pbt_checkpoint", path.Join(folder, recordName(r.Iteration))},
		{"true_objective", number.Optional(r.Objective, r.HasObjective)}, {"policy", r.Member}, {"copies", r.Copies},
		{"weight_frame", r.WeightSteps}, {"since_copy", r.SinceCopy}}
	if r.SinceChange > 0 {
		lines = append(lines, line{"since_change", r.SinceChange})
	}
	lines = append(lines, line{"peak", number.Optional(r.Peak, r.HasPeak)}, line{"samples", r.Samples},
		line{"parent", r.Parent}, line{"failure", r.Failure})
	if r.Weights != nil {
		lines = append(lines, line{"size", r.Weights.Size}, line{"sha256", r.Weights.SHA256})
	}
	var b bytes.Buffer
	for _, l := range lines {
		fmt.Fprintf(&b, "%s:%s\n", l.key, yamlValue(l.value))
	}
	sum := sha256.Sum256(b.Bytes())
	fmt.Fprintf(&b, "%s%q\n", checkKey, hex.EncodeToString(sum[:]))
	return b.Bytes()
}

// yamlValue returns a value of a record as it stands after the colon of its key.
func yamlValue(value any) string {
	switch v := value.(type) {
	case nil:
		return " null"
	case string:
		return " " + strconv.Quote(v)
	case *number.JSON:
		if v == nil {
			return " null"
		}
		return " " + yamlFloat(float64(*v))
	case map[string]float64:
		if len(v) == 0 {
			return " {}"
		}
		text := ""
		for _, name := range slices.Sorted(maps.Keys(v)) {
			text += fmt.Sprintf("\n  %q: %s", name, yamlFloat(v[name]))
		}
		return text
	}
	return fmt.Sprint(" ", value)
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
		mantissa += "e" + exponent
	}
	return mantissa
}

// recordText is the YAML of a record's file. Pointers are nil for null.
type recordText struct {
	Schema      int                `yaml:"schema"`
	Checkpoint  *string            `yaml:"checkpoint"`
	Experiment  string             `yaml:"experiment_name"`
	Frame       int64              `yaml:"frame"`
	Iteration   int64              `yaml:"iteration"`
	Params      map[string]float64 `yaml:"params"`
	Name        string             `yaml:"pbt_checkpoint"`
	Objective   *number.JSON       `yaml:"true_objective"`
	Member      int                `yaml:"policy"`
	Copies      int64              `yaml:"copies"`
	WeightFrame int64              `yaml:"weight_frame"`
	SinceCopy   int64              `yaml:"since_copy"`
	SinceChange int64              `yaml:"since_change"`
	Peak        *number.JSON       `yaml:"peak"`
	Evaluation  *float64           `yaml:"evaluation"` // of v0.1.0, which repeated the objective here
	Samples     int                `yaml:"samples"`
	Parent      int                `yaml:"parent"`
	Failure     string             `yaml:"failure"`
	Size        int64              `yaml:"size"`
	SHA256      string             `yaml:"sha256"`
	Check       string             `yaml:"check"`
}

// decodeRecord reads the text of a record's file that lies in a member's folder under the name of its iteration. It
// verifies the checksum before it parses anything. The path of the weights must be one that Publish gives, in this
// folder and of this iteration, so that a record cannot point a reader at another file.
func decodeRecord(text []byte, member, members int, folder string, iteration int64) (Record, error) {
	if err := sealed(text); err != nil {
		return Record{}, err
	}
	var f recordText
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&f); err != nil {
		return Record{}, fmt.Errorf("it is not a record: %w", err)
	}
	if f.Schema != recordSchema {
		return Record{}, fmt.Errorf("it has format %d, where this program reads %d; use the gorl that wrote it, "+
			"or a newer one", f.Schema, recordSchema)
	}
	r := Record{
		Member: f.Member, Iteration: f.Iteration, Copies: f.Copies, Steps: f.Frame, WeightSteps: f.WeightFrame,
		SinceCopy: f.SinceCopy, SinceChange: f.SinceChange, Samples: f.Samples, Parent: f.Parent,
		Failure: f.Failure, Experiment: f.Experiment,
	}
	if len(f.Params) > 0 {
		r.Hyperparameters = f.Params
	}
	r.Objective, r.HasObjective = f.Objective.Known()
	r.Peak, r.HasPeak = f.Peak.Known()
	if r.Member != member || r.Iteration != iteration || f.Name != path.Join(folder, recordName(iteration)) {
		return Record{}, fmt.Errorf("it is the record %q of member %d, iteration %d", f.Name, r.Member, r.Iteration)
	}
	if f.Checkpoint != nil {
		r.Weights = &Weights{Path: *f.Checkpoint, Size: f.Size, SHA256: f.SHA256}
		if !ownWeights(r.Weights.Path, folder, r.Iteration) {
			return Record{}, fmt.Errorf("checkpoint %.200q is not a file of this member and iteration", r.Weights.Path)
		}
	}
	return r, r.check(members)
}

// sealed verifies that the last line is the checksum of the lines before.
func sealed(text []byte) error {
	i := bytes.LastIndexByte(bytes.TrimSuffix(text, []byte("\n")), '\n') + 1
	value, ok := bytes.CutPrefix(text[i:], []byte(checkKey))
	if !ok {
		return errors.New("it does not end with its checksum: it was cut off, or another program wrote it")
	}
	sum := sha256.Sum256(text[:i])
	if want := `"` + hex.EncodeToString(sum[:]) + "\"\n"; string(value) != want {
		return errors.New("its contents were altered: the checksum in its last line does not match")
	}
	return nil
}

// ownWeights reports whether a path is one that Publish gives to the weights of an iteration in a folder.
func ownWeights(p, folder string, iteration int64) bool {
	name, ok := strings.CutPrefix(p, folder+"/")
	n, kind := parseName(name)
	return ok && kind == weightsFile && n == iteration
}
