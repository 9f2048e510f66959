package launch

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/gorl-dev/gorl/internal/runfile"
	"github.com/gorl-dev/gorl/internal/test/must"
)

// TestRefusals has one line for each mistake in the section launcher.
func TestRefusals(t *testing.T) {
	const good = "image: member, claim: shared"
	kubernetes := func(launcher, keys string) string {
		return "pbt: {num_policies: 3, directory: /data}\nlauncher: {" + launcher + "command: [member], kubernetes: {" +
			keys + "}}"
	}
	launcher := func(keys string) string { return "launcher: {num_policies: 2, " + keys + "}" }
	slurm := func(keys string) string { return launcher("command: [member], " + keys) }
	for _, c := range []struct{ text, want string }{
		{"lancher: {}", `unknown key "lancher" (given {}): did you mean "launcher"?`},
		{"pbt: {enabled: true}", `"num_policies" is 0: want at least 1, here or in the section "pbt"`},
		{"pbt: {num_policies: 2}\nlauncher: {num_policies: 3}",
			`"launcher.num_policies" is 3 and "pbt.num_policies" 2`},
		{"pbt: {num_policies: 2, workspace: ''}", `"pbt.directory" or "pbt.workspace" is empty`},
		{launcher("grace: 0s"), `"grace" is "0s": want a duration > 0 such as`},
		{launcher("restarts: {backoff: 1h}"),
			`"restarts.max_backoff" is 1m0s: want at least "restarts.backoff", 1h0m0s`},
		{launcher("env: {A-B: 1}"), `"env" has "A-B": want a name of letters, digits and _`},
		{launcher("env: {GORL_PBT_SLICE: 1}"), `which the launcher sets itself`},
		{launcher("gpus: 1, env: {CUDA_VISIBLE_DEVICES: 1}"), `so does "gpus"`},
		{launcher("command: ['']"), `"command" begins with an empty word`},
		{launcher("ranks_per_member: 2, gpus: 1"), `"gpus" is 1 and "ranks_per_member" 2`},
		{launcher("ranks_per_member: 3, slurm: {nodes: 2}"), `"slurm.gpus_per_member" 0 and "slurm.nodes" 2`},
		{"distributed: {timeout: 1m}\npbt: {num_policies: 4}", `set "launcher.ranks_per_member"`},
		{launcher("slurm: {extra: []}"), `"launcher.command" is empty`},
		{slurm("slurm: {extra: [account]}"), `slurm.extra[0]`},
		{slurm(`logs: 'a\b'`), "holds a backslash"},
		{kubernetes("", "claim: shared"), `"kubernetes.image" is empty`},
		{kubernetes("", good+", mount_path: /other"), `make "/data/pbt_workspace", which the pods do not share`},
		{kubernetes("name: Walker, ", good), `"launcher.name" is "Walker"`},
		{kubernetes("ranks_per_member: 2, max_parallel: 2, ", good), "2 of 3 members run at a time"},
	} {
		f, err := Parse([]byte(c.text))
		if err == nil && strings.Contains(c.text, "kubernetes") {
			_, err = Kubernetes(f)
		} else if err == nil {
			_, err = Slurm(f)
		}
		must.RefuseAs(t, c.text, err, "launch: ", c.want)
	}
}

// Install refuses a folder of other settings and lists what differs. A population may be trained further.
func TestInstall(t *testing.T) {
	dir := t.TempDir()
	install := func(text string) (f *File, path string, err error) {
		f = must.Get(Parse([]byte(text)))(t)
		f.Directory = dir
		path, err = f.Install()
		return f, path, err
	}
	_, path, err := install("pbt: {num_policies: 2, total_steps: 100, mutation: {a: mutate_float}}")
	if err != nil || path != filepath.Join(dir, "pbt_workspace", ConfigFile) {
		t.Fatalf("it is at %s, %v", path, err)
	}
	_, _, err = install("launcher: {slice: 7}\npbt: {total_steps: 100, mutation: {a: mutate_float}, num_policies: 2}")
	must.Do(t, err)
	grown, _, err := install("pbt: {num_policies: 2, total_steps: 300, mutation: {a: mutate_float}}")
	if err != nil || len(grown.Notes) != 1 || !strings.Contains(grown.Notes[0],
		"total_steps has grown from 100 to 300") {
		t.Errorf("%v, %q", err, grown.Notes)
	}
	starts := must.Get(runfile.Starts(filepath.Dir(path)))(t)
	if len(starts) != 1 || starts[0].Settings["pbt"] == nil {
		t.Errorf("the starts of this process are recorded as %+v", starts)
	}
	data := must.Read(t, path)
	must.Equal(t, "the file", string(must.Get(grown.canonical())(t)), string(data))
	f, _, err := install("seed: 3\npbt: {num_policies: 4, total_steps: 200, mutation: {b: mutate_float}}")
	want := `or choose another pbt.workspace: 
	pbt.mutation.a: mutate_float there, nothing here
	pbt.mutation.b: nothing there, mutate_float here
	pbt.num_policies: 2 there, 4 here
	pbt.total_steps: 300 there, 200 here
	seed: nothing there, 3 here`
	if err == nil || !strings.HasSuffix(err.Error(), want) || len(f.Notes) > 0 {
		t.Errorf("%v, notes %q; want\n%s", err, f.Notes, want)
	}
	must.Equal(t, "the file", data, must.Read(t, path))
	must.Do(t, os.WriteFile(path, []byte("pbt: {"), 0o644))
	must.Refused(f.Install())(t, path)
}

func TestFromEnvironment(t *testing.T) {
	const index = envCompletionIndex
	for _, c := range []struct {
		env  Vars
		want Process
		ok   bool
		err  string
	}{
		{env: Vars{EnvConfig: "c"}},
		{env: Vars{index: "3"}}, // a pod of some other job
		{env: Vars{EnvConfig: "c", EnvMember: "7", EnvSlice: "2"}, want: Process{Config: "c", Member: 7, Slice: 2},
			ok: true},
		{env: Vars{EnvConfig: "c", EnvMember: "1", index: "3"}, want: Process{Config: "c", Member: 1}, ok: true},
		{env: Vars{EnvConfig: "c", EnvRanks: "2", index: "3"}, want: Process{Config: "c", Member: 1, Ranks: 2},
			ok: true},
		{env: Vars{EnvMember: "1"}, ok: true, err: EnvConfig + " is not"},
		{env: Vars{EnvConfig: "c", EnvMember: "-1"}, ok: true, err: EnvMember + ` is "-1"`},
		{env: Vars{EnvConfig: "c", index: "1", EnvRanks: "none"}, ok: true, err: EnvRanks},
	} {
		got, ok, err := fromEnvironment(func(name string) string { return c.env[name] })
		failed := c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err))
		if failed || c.err == "" && (err != nil || got != c.want || ok != c.ok) {
			t.Errorf("%v: %+v %v %v, want %+v %v %s", c.env, got, ok, err, c.want, c.ok, c.err)
		}
	}
	// The pods are the ranks: that of index 3 is rank 1 of member 1, and meets at its first pod.
	env := Vars{EnvRanks: "2", envService: "walkers", index: "3"}
	want := Vars{"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "walkers-2.walkers"}
	must.Equal(t, "the pod's rank", want, podRanks(func(name string) string { return env[name] }))
}

// What can be read can be written and read again, and is then the same.
func FuzzParse(f *testing.F) {
	f.Add([]byte("pbt: {num_policies: 4, directory: runs}\nlauncher: {max_parallel: 2, command: [a, b], env: {A: " +
		"1, B: true}}"))
	f.Add([]byte("pbt: {num_policies: 2, directory: /data}\nlauncher: {command: [a], env: {A: \"$(B)\"}, kubernetes: " +
		"{image: i, claim: c}}"))
	f.Add([]byte("preset: raytune\nseed: 2001-01-01\nlauncher: {num_policies: 1e0, grace: 1h, restarts: {jitter: .5}}"))
	f.Add([]byte("pbt: &a {num_policies: 1}\nagent: {b: *a, c: !!binary aGk=, d: ~, e: \"\\x01\"}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := Parse(data)
		if err != nil {
			return
		}
		first, err := file.canonical()
		if err != nil {
			return // what YAML can read and not write, such as some timestamps
		}
		again, err := Parse(first)
		if err != nil {
			t.Fatalf("%v\n%s", err, first)
		}
		must.Equal(t, "the launcher read again", file.Launcher, again.Launcher)
		if file.Dir() != again.Dir() {
			t.Errorf("%q became %q", file.Dir(), again.Dir())
		}
		second := must.Get(again.canonical())(t)
		must.Equal(t, "the file written again", string(first), string(second))
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
