package docgen_test

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/agents/amp"
	"github.com/gorl-dev/gorl/agents/ppo"
	"github.com/gorl-dev/gorl/internal/docgen"
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/preprocessors"
	"github.com/gorl-dev/gorl/schedulers"
	"github.com/gorl-dev/gorl/trainers"
)

const (
	root   = "../.."
	module = "github.com/gorl-dev/gorl"
)

var update = flag.Bool("update", false, "write the tables of settings in docs anew")

// tables are the generated parts of the guides, by page and marker.
var tables = []struct {
	page, name     string
	defaults, base any // with a base, only what differs from it
}{
	{"ppo.md", "ppo settings", ppo.DefaultConfig(), nil},
	{"ppo.md", "gaussian settings", models.DefaultGaussianConfig(), nil},
	{"ppo.md", "scaler settings", preprocessors.DefaultScalerConfig(), nil},
	{"ppo.md", "kl settings", schedulers.DefaultKLAdaptive(), nil},
	{"ppo.md", "linear settings", schedulers.DefaultLinear(), nil},
	{"amp.md", "amp settings", amp.DefaultConfig(), ppo.DefaultConfig()},
	{"training.md", "trainer settings", trainers.DefaultConfig(), nil},
}

func TestTablesMatchTheCode(t *testing.T) {
	for _, x := range tables {
		t.Run(x.name, func(t *testing.T) {
			list, err := docgen.Settings(root, module, x.defaults)
			if err != nil {
				t.Fatal(err)
			}
			if x.base != nil {
				base, err := docgen.Settings(root, module, x.base)
				if err != nil {
					t.Fatal(err)
				}
				list = docgen.Differing(list, base)
			}
			path := filepath.Join(root, "docs", x.page)
			page, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			wanted, err := docgen.Replace(string(page), x.name, docgen.Table(list))
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if wanted == string(page) {
				return
			}
			if !*update {
				t.Fatalf("%s has drifted from the code; run go test ./internal/docgen -update (-page +code):\n%s", path, cmp.Diff(string(page), wanted))
			}
			if err := os.WriteFile(path, []byte(wanted), 0o644); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// settings is a configuration of every shape that the generator knows.
type settings struct {
	// Rate is the speed; see [Inner]. "Rate" stays.
	Rate float64 `yaml:"rate" config:"gt=0"`
	// First and Second are two of a kind.
	First  string `yaml:"first" config:"oneof=|a"`
	Second int    `yaml:"second"`
	// Inner is a section.
	Inner inner `yaml:"inner"`
	// Hidden is no setting.
	Hidden func() `yaml:"-"`
}

type inner struct {
	// List holds numbers below Rate.
	List []float64 `yaml:"list"`
}

func TestSettings(t *testing.T) {
	types := settings{Rate: 1e-3, Second: 4, Inner: inner{List: []float64{0.5}}}
	// This file is a test, which the generator does not read.
	if _, err := docgen.Settings(root, module, types); err == nil {
		t.Error("a struct without source gave no error")
	}
	dir := t.TempDir()
	source, err := os.ReadFile("tables_test.go")
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(dir, "internal", "docgen_test")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "settings.go"), source, 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := docgen.Settings(dir, module, types)
	if err != nil {
		t.Fatal(err)
	}
	want := []docgen.Setting{
		{Key: "rate", Default: "`0.001`", Allowed: "a number > 0", Meaning: "`rate` is the speed; see `Inner`. \"Rate\" stays."},
		{Key: "first", Default: "none", Allowed: "\"\" or \"a\"", Meaning: "`first` and `second` are two of a kind."},
		{Key: "second", Default: "`4`", Allowed: "an integer", Same: "first"},
		{Key: "inner.list", Default: "`0.5`", Allowed: "a list of numbers", Meaning: "`inner.list` holds numbers below `rate`."},
	}
	for i := range got {
		if i < len(want) {
			want[i].Allowed = got[i].Allowed // package config's own tests fix the words
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
}

func TestReplace(t *testing.T) {
	page := "a\n<!-- begin x -->\nold\n<!-- end x -->\nb\n"
	got, err := docgen.Replace(page, "x", "new\n")
	if want := "a\n<!-- begin x -->\nnew\n<!-- end x -->\nb\n"; err != nil || got != want {
		t.Errorf("Replace = %q, %v; want %q", got, err, want)
	}
	for _, broken := range []string{"a\n", "<!-- begin x -->\nno end\n"} {
		if _, err := docgen.Replace(broken, "x", ""); err == nil {
			t.Errorf("Replace(%q) gave no error", broken)
		}
	}
}
