package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

func TestParseSays(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"launcher: {num_policies: 2, slices: 1}", `unknown key "slices" (given 1): did you mean "slice"?`},
		{"launcher: {num_policies: two}", `"num_policies" is "two" (string)`},
		{"launcher: [1]", `"launcher" is [1]: want a section`},
		{"lancher: {}", `unknown key "lancher" (given {}): did you mean "launcher"?`},
		{"pbt: {enabled: true}", `"num_policies" is 0: want at least 1, here or in the section "pbt"`},
		{"pbt: {num_policies: 0}", `"pbt.num_policies" is 0: want a whole number of at least 1`},
		{"pbt: {num_policies: 2.5}", `"pbt.num_policies" is 2.5`},
		{"pbt: {num_policies: 2}\nlauncher: {num_policies: 3}", `"launcher.num_policies" is 3 and "pbt.num_policies" 2; give one of them`},
		{"pbt: {num_policies: 2, directory: 7}", `"pbt.directory" is 7: want a text`},
		{"pbt: {num_policies: 2, workspace: ''}", `"pbt.directory" or "pbt.workspace" is empty`},
		{"launcher: {num_policies: 1, name: a b}", `"name" is "a b": want at most 63 letters`},
		{"launcher: {num_policies: 1, grace: 0s}", `"grace" is 0s: want a time above 0`},
		{"launcher: {num_policies: 1, restarts: {backoff: 1h}}", `"restarts.max_backoff" is 1m0s: want at least "restarts.backoff", 1h0m0s`},
		{"launcher: {num_policies: 1, restarts: {jitter: 2}}", `"restarts.jitter" is 2`},
		{"launcher: {num_policies: 1, env: {A: [1]}}", `A is [1]: want a text`},
		{"launcher: {num_policies: 1, env: {A-B: 1}}", `"env" has "A-B": want a name of letters, digits and _`},
		{"launcher: {num_policies: 1, env: {GORL_PBT_SLICE: 1}}", `which the launcher sets itself`},
		{"launcher: {num_policies: 1, gpus: 1, env: {CUDA_VISIBLE_DEVICES: 1}}", `so does "gpus"`},
		{"launcher: {num_policies: 1, command: ['']}", `"command" begins with an empty word`},
		{"launcher: {num_policies: 1, slice: 0}", `"slice" is 0`},
		{"launcher: {num_policies: 1", `yaml`},
	} {
		if _, err := Parse([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "launch: ") {
			t.Errorf("%s\n\tgives %v\n\twant one with %s", c.text, err, c.want)
		}
	}
	path := filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(path, []byte("pbt: {}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want one that names the file", err)
	}
}

func TestCanonical(t *testing.T) {
	f, err := Parse([]byte("# one\nlauncher:\n  slice: 2\n  num_policies: 3\n  env: {A: 1}\npbt: {workspace: w, mutation: {b: x, a: y}}\nagent: {rollouts: 16}\n"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := f.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	want := "agent:\n  rollouts: 16\nlauncher:\n  env:\n    A: 1\n  slice: 2\npbt:\n  mutation:\n    a: \"y\"\n    b: x\n  num_policies: 3\n  workspace: w\n"
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, ok := f.sections["pbt"].(map[string]any)["num_policies"]; ok {
		t.Error("Canonical changed the file")
	}
}

func TestInstallTellsWhatDiffers(t *testing.T) {
	dir := t.TempDir()
	parse := func(text string) *File {
		f, err := Parse([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		f.Directory = dir
		return f
	}
	first := parse("pbt: {num_policies: 2, mutation: {learning_rate: mutate_float}, change_range: [1.1, 2]}")
	path, err := first.Install()
	if err != nil {
		t.Fatal(err)
	}
	if path != filepath.Join(dir, "pbt_workspace", ConfigFile) {
		t.Errorf("it is at %s", path)
	}
	if _, err := parse("launcher: {slice: 7}\npbt: {num_policies: 2, change_range: [1.1, 2], mutation: {learning_rate: mutate_float}}").Install(); err != nil {
		t.Errorf("the same population with another launcher: %v", err)
	}
	if data, _ := os.ReadFile(path); !strings.Contains(string(data), "slice: 7") {
		t.Errorf("the launcher's new settings were not written:\n%s", data)
	}
	_, err = parse("seed: 3\npbt: {num_policies: 2, change_range: [1.1, 3], mutation: {gamma: mutate_discount}}").Install()
	want := "launch: " + path + ` is of another run; continue it with the same settings, or choose another pbt.workspace: 
	pbt.change_range: [1.1 2] there, [1.1 3] here
	pbt.mutation.gamma: nothing there, mutate_discount here
	pbt.mutation.learning_rate: mutate_float there, nothing here
	seed: nothing there, 3 here`
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant\n%s", err, want)
	}
	if len(first.Notes) > 0 {
		t.Errorf("notes %q", first.Notes)
	}
	if err := os.WriteFile(path, []byte("pbt: {"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Install(); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want that the file there is damaged", err)
	}
}

// A population may be trained further than its file said at first, and nothing else may change with it.
func TestInstallTrainsFurther(t *testing.T) {
	dir := t.TempDir()
	install := func(text string) (f *File, path string, err error) {
		if f, err = Parse([]byte(text)); err != nil {
			t.Fatal(err)
		}
		f.Directory = dir
		path, err = f.Install()
		return f, path, err
	}
	_, path, err := install("pbt: {num_policies: 2, total_steps: 100, seed: 1}")
	if err != nil {
		t.Fatal(err)
	}
	grown, _, err := install("pbt: {num_policies: 2, total_steps: 300, seed: 1}\nlauncher: {slice: 7}")
	if err != nil || len(grown.Notes) != 1 || !strings.Contains(grown.Notes[0], "total_steps has grown from 100 to 300") {
		t.Errorf("%v, %q", err, grown.Notes)
	}
	data, _ := os.ReadFile(path)
	if want, _ := grown.Canonical(); string(data) != string(want) || !strings.Contains(string(data), "total_steps: 300") {
		t.Errorf("there is now\n%s", data)
	}
	for text, want := range map[string]string{
		"pbt: {num_policies: 2, total_steps: 200, seed: 1}": "\n\tpbt.total_steps: 300 there, 200 here",
		"pbt: {num_policies: 2, seed: 1}":                   "\n\tpbt.total_steps: 300 there, nothing here",
		"pbt: {num_policies: 2, total_steps: 400, seed: 2}": "\n\tpbt.seed: 1 there, 2 here",
	} {
		f, _, err := install(text)
		if err == nil || !strings.HasSuffix(err.Error(), "is of another run; continue it with the same settings, or choose another pbt.workspace: "+want) || len(f.Notes) > 0 {
			t.Errorf("%s: %v, notes %q; want %q", text, err, f.Notes, want)
		}
		if now, _ := os.ReadFile(path); string(now) != string(data) {
			t.Errorf("%s: the file has changed", text)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	for _, c := range []struct {
		env  Vars
		want Process
		ok   bool
		err  string
	}{
		{env: Vars{}},
		{env: Vars{EnvConfig: "c"}},
		{env: Vars{"JOB_COMPLETION_INDEX": "3"}}, // a pod of some other job
		{env: Vars{EnvConfig: "c", EnvMember: "0"}, want: Process{Config: "c"}, ok: true},
		{env: Vars{EnvConfig: "c", EnvMember: "7", EnvSlice: "2"}, want: Process{Config: "c", Member: 7, Slice: 2}, ok: true},
		{env: Vars{EnvConfig: "c", "JOB_COMPLETION_INDEX": "3"}, want: Process{Config: "c", Member: 3}, ok: true},
		{env: Vars{EnvConfig: "c", EnvMember: "1", "JOB_COMPLETION_INDEX": "3"}, want: Process{Config: "c", Member: 1}, ok: true},
		{env: Vars{EnvMember: "1"}, ok: true, err: EnvConfig + " is not"},
		{env: Vars{EnvConfig: "c", EnvMember: "-1"}, ok: true, err: EnvMember + ` is "-1"`},
		{env: Vars{EnvConfig: "c", "JOB_COMPLETION_INDEX": "x"}, ok: true, err: `JOB_COMPLETION_INDEX is "x"`},
		{env: Vars{EnvConfig: "c", EnvMember: "1", EnvSlice: "-2"}, ok: true, err: EnvSlice + ` is "-2"`},
	} {
		got, ok, err := fromEnvironment(func(name string) string { return c.env[name] })
		switch {
		case c.err != "":
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v: error %v, want one with %q", c.env, err, c.err)
			}
		case err != nil || got != c.want || ok != c.ok:
			t.Errorf("%v: %+v %v %v, want %+v %v", c.env, got, ok, err, c.want, c.ok)
		}
	}
}

// What can be read can be written and read again, and is then the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte("pbt: {num_policies: 4, directory: runs}\nlauncher: {max_parallel: 2, command: [a, b], env: {A: 1, B: true}}"))
	f.Add([]byte("launcher: {num_policies: 1, kubernetes: {tolerations: [{key: a, operator: Exists}], resources: {cpu: 2}}, slurm: {extra: [--x]}}"))
	f.Add([]byte("pbt: {num_policies: 2, directory: /data}\nlauncher: {command: [a], kubernetes: {image: i, claim: c, env: {A: \"$(B)\"}}}"))
	f.Add([]byte("preset: raytune\nseed: 2001-01-01\nlauncher: {num_policies: 1e0, grace: 1h, restarts: {jitter: .5}}"))
	f.Add([]byte("pbt: &a {num_policies: 1}\nagent: {b: *a, c: !!binary aGk=, d: ~, e: \"\\x01\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data)
		if err != nil {
			return
		}
		first, err := file.Canonical()
		if err != nil {
			return // what YAML can read and not write, such as some timestamps
		}
		again, err := Parse(first)
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		if diff := cmp.Diff(file.Launcher, again.Launcher); diff != "" {
			t.Errorf("(-read +read again):\n%s", diff)
		}
		if file.Dir() != again.Dir() {
			t.Errorf("%q became %q", file.Dir(), again.Dir())
		}
		second, err := again.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(first), string(second)); diff != "" {
			t.Errorf("(-written +written again):\n%s", diff)
		}
		if manifests, err := Kubernetes(file); err == nil {
			var config struct{ Data map[string]string }
			if err := yaml.Unmarshal(manifests, &config); err != nil || config.Data[ConfigFile] != string(first) {
				t.Errorf("the ConfigMap (%v) does not hold the file:\n%s", err, manifests)
			}
		}
		if job, err := Slurm(file); err == nil && strings.ContainsRune(strings.SplitN(job.Script, "\n\n", 2)[0], '\r') {
			t.Errorf("a line of sbatch's options is broken:\n%q", job.Script)
		}
	})
}
