package launch

// This file turns a population's file into Kubernetes manifests, by the template kubernetes.yaml.tmpl. It talks to no
// cluster: kubectl applies the text. Settings that the API refuses, or with which pods would find no files, are errors.

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"text/template"
)

// configFolder is where the ConfigMap with the population's file appears in a pod.
const configFolder = "/etc/gorl-pbt"

// jobName is the form of a population's name: it names the Job, and with several ranks a Service, which begins with a
// letter. 52 characters leave room for the index and the random letters of a pod's name, a DNS label.
var jobName = regexp.MustCompile(`^[a-z]([-a-z0-9]{0,50}[a-z0-9])?$`)

// Kubernetes returns the manifests of a population for kubectl apply: a ConfigMap with its canonical file, and an
// Indexed Job whose pods are its members. Members with several ranks have a pod for each rank, which find rank 0 by the
// names that a headless Service gives them. Such members all run at once, because Kubernetes cannot let whole members
// take turns.
//
// A pod that yields, restarts or is stopped after saving is started again without counting as a failure. A failed pod
// is started again up to Restarts.Max times in all. Kubernetes waits up to six minutes before it starts the next pod,
// so members that take turns should have long slices. It needs Kubernetes 1.33, or 1.29 with the feature gate
// JobBackoffLimitPerIndex.
func Kubernetes(f *File) ([]byte, error) {
	if err := f.checkKubernetes(); err != nil {
		return nil, err
	}
	canonical, err := f.canonical()
	if err != nil {
		return nil, err
	}
	d, ranks := f.Launcher, f.Launcher.RanksPerMember
	command := make([]string, len(d.Command))
	for i, word := range d.Command {
		command[i] = escapeDollars(word)
	}
	var out bytes.Buffer
	err = kubernetesTemplate.Execute(&out, map[string]any{
		"Config": d, "File": string(canonical), "Command": command, "Env": d.podEnv(), "Ranked": ranks > 1,
		"Pods": d.NumPolicies * ranks, "Parallelism": d.parallel() * ranks, "Grace": ceilSeconds(d.Grace),
		"Yielded": StatusYielded, "Restart": StatusRestart, "Stopped": StatusStopped, "ConfigFolder": configFolder,
	})
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	return out.Bytes(), nil
}

//go:embed kubernetes.yaml.tmpl
var kubernetesText string

// kubernetesTemplate has the manifests. Its function yaml writes a value and indents the lines after the first.
var kubernetesTemplate = template.Must(template.New("").Funcs(template.FuncMap{
	"yaml": func(indent int, value any) (string, error) {
		text, err := toYAML(value)
		return strings.ReplaceAll(strings.TrimSuffix(string(text), "\n"), "\n", "\n"+strings.Repeat(" ", indent)), err
	},
}).Parse(kubernetesText))

// checkKubernetes refuses settings with which the pods would fail or find nothing. What the API itself refuses, such as
// a namespace or a quantity of another form, is left to kubectl.
func (f *File) checkKubernetes() error {
	d, k := f.Launcher, f.Launcher.Kubernetes
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("launch: "+format, args...)) }
	if len(d.Command) == 0 {
		wrong(`"launcher.command" is empty: give the member program in the image and its arguments`)
	}
	if !jobName.MatchString(d.Name) {
		wrong(`"launcher.name" is %q: want at most 52 lower-case letters, digits and "-", a letter first, no "-" last`,
			d.Name)
	}
	if n := d.parallel(); d.RanksPerMember > 1 && n < d.NumPolicies {
		wrong(`"ranks_per_member" is %d, and %d of %d members run at a time: Kubernetes cannot let whole members take `+
			`turns; leave "max_parallel" out`, d.RanksPerMember, n, d.NumPolicies)
	}
	if k.Image == "" {
		wrong(`"kubernetes.image" is empty: want a container image`)
	}
	if k.Claim == "" {
		wrong(`"kubernetes.claim" is empty: want the PersistentVolumeClaim that the pods share`)
	}
	// The population's folder must lie on the shared volume, or every pod would train alone in a folder of its own
	// that goes with the pod.
	dir, mount := path.Join(f.Directory, f.Workspace), path.Clean(k.MountPath)
	switch {
	case !path.IsAbs(mount) || mount == "/":
		wrong(`"kubernetes.mount_path" is %q: want a path from / on, not / itself`, k.MountPath)
	case dir != mount && !strings.HasPrefix(dir, mount+"/"):
		wrong(`"pbt.directory" and "pbt.workspace" make %q, which the pods do not share: want a folder in `+
			`"kubernetes.mount_path", %s`, dir, mount)
	case mount == configFolder || strings.HasPrefix(configFolder, mount+"/"):
		wrong(`"kubernetes.mount_path" is %q, which would hide %s: choose another`, k.MountPath, configFolder)
	}
	return errors.Join(errs...)
}

// escapeDollars keeps Kubernetes from replacing $(NAME) in a text: to it, $$ is a dollar sign.
func escapeDollars(text string) string { return strings.ReplaceAll(text, "$", "$$") }

// kubeEnv is a variable of a pod's environment. The value is given, or comes from a field of the pod.
type kubeEnv struct {
	Name      string `yaml:"name"`
	Value     string `yaml:"value,omitempty"`
	ValueFrom any    `yaml:"valueFrom,omitempty"`
}

// podEnv returns a member's environment. Members with one rank get their number from JOB_COMPLETION_INDEX, under the
// launcher's name too for programs that know only that one.
func (c Config) podEnv() []kubeEnv {
	var env []kubeEnv
	for _, name := range slices.Sorted(maps.Keys(c.Env)) {
		env = append(env, kubeEnv{Name: name, Value: escapeDollars(c.Env[name])})
	}
	env = append(env, kubeEnv{Name: EnvConfig, Value: configFolder + "/" + ConfigFile})
	if c.RanksPerMember == 1 {
		index := map[string]string{"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}
		env = append(env, kubeEnv{Name: EnvMember, ValueFrom: map[string]any{"fieldRef": index}})
	}
	env = append(env, kubeEnv{Name: EnvSlice, Value: fmt.Sprint(c.slice())})
	if c.RanksPerMember > 1 { // the index is a rank's; the process derives its member from it
		env = append(env, kubeEnv{Name: EnvRanks, Value: fmt.Sprint(c.RanksPerMember)}, kubeEnv{Name: envService,
			Value: c.Name})
	}
	return env
}
