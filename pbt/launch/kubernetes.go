package launch

// This file turns a population's file into Kubernetes manifests, by the template kubernetes.yaml.tmpl. It talks to no
// cluster: kubectl applies the text. Settings that the API refuses, or with which pods would find no files, are errors.

import (
	"bytes"
	"cmp"
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

var (
	// The API's forms of a DNS label, a DNS subdomain and an amount of a resource. Which of the first two a name must
	// have depends on the kind of object.
	label     = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	// serviceName begins the name of a Service.
	serviceName = regexp.MustCompile(`^[a-z]`)
	quantity    = regexp.MustCompile(`^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei|[eE][+-]?[0-9]+)?$`)
)

// maxNameForJob leaves room for the index and the random letters of a pod's name, which must be a DNS label.
const maxNameForJob = 52

// maxConfigMap is the greatest length of the file in bytes: the API takes objects of 1 MiB, less 4 KiB for the rest
// of the object.
const maxConfigMap = 1<<20 - 1<<12

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
	if len(canonical) > maxConfigMap {
		return nil, fmt.Errorf("launch: the file has %d bytes; a ConfigMap takes at most %d", len(canonical), maxConfigMap)
	}
	d, ranks := f.Launcher, f.Launcher.RanksPerMember
	// Members take turns if fewer pods run than there are members.
	parallelism := d.Kubernetes.Parallelism
	if parallelism == 0 || parallelism > d.NumPolicies {
		parallelism = d.parallel()
	}
	slice := int64(0)
	if parallelism < d.NumPolicies {
		slice = d.Slice
	}
	command := make([]string, len(d.Command))
	for i, word := range d.Command {
		command[i] = escapeDollars(word)
	}
	var out bytes.Buffer
	err = kubernetesTemplate.Execute(&out, map[string]any{
		"Config": d, "File": string(canonical), "Command": command, "Env": d.podEnv(slice), "Ranked": ranks > 1,
		"Pods": d.NumPolicies * ranks, "Parallelism": parallelism * ranks, "Grace": ceilSeconds(d.Grace),
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

// checkKubernetes refuses what the API would refuse, and what would run and then find nothing.
func (f *File) checkKubernetes() error {
	d, k := f.Launcher, f.Launcher.Kubernetes
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("launch: "+format, args...)) }
	if len(d.Command) == 0 {
		wrong(`"launcher.command" is empty: give the member program in the image and its arguments`)
	}
	if !label.MatchString(d.Name) || len(d.Name) > maxNameForJob {
		wrong(`"launcher.name" is %q: Kubernetes takes at most %d lower-case letters, digits and "-", a letter or digit first and last`, d.Name, maxNameForJob)
	}
	for _, o := range []struct {
		key, value string
		form       *regexp.Regexp
		longest    int
		optional   bool
	}{
		{"namespace", k.Namespace, label, 63, true}, {"claim", k.Claim, subdomain, 253, false},
		{"service_account", k.ServiceAccount, subdomain, 253, true},
	} {
		if o.value == "" && o.optional {
			continue
		}
		if !o.form.MatchString(o.value) || len(o.value) > o.longest {
			wrong(`"kubernetes.%s" is %q: want at most %d lower-case letters, digits and "-"`, o.key, o.value, o.longest)
		}
	}
	if d.RanksPerMember > 1 {
		if n := min(d.parallel(), cmp.Or(k.Parallelism, d.NumPolicies)); n < d.NumPolicies {
			wrong(`"ranks_per_member" is %d, and %d of %d members run at a time: Kubernetes cannot let whole members take turns; leave "max_parallel" and "kubernetes.parallelism" out`, d.RanksPerMember, n, d.NumPolicies)
		}
		if !serviceName.MatchString(d.Name) {
			wrong(`"launcher.name" is %q: with "ranks_per_member" it names a Service, too, and begins with a letter`, d.Name)
		}
	}
	if k.Image == "" || strings.ContainsAny(k.Image, " \t\r\n") {
		wrong(`"kubernetes.image" is %q: want a container image`, k.Image)
	}
	// The population's folder must lie on the shared volume, or every pod would train alone in a folder of its own
	// that goes with the pod.
	if !path.IsAbs(k.MountPath) || path.Clean(k.MountPath) == "/" || strings.Contains(k.MountPath, ":") {
		wrong(`"kubernetes.mount_path" is %q: want a path from / on, not / itself, without ":"`, k.MountPath)
	} else if dir, mount := path.Join(f.Directory, f.Workspace), path.Clean(k.MountPath); dir != mount &&
		!strings.HasPrefix(dir, mount+"/") {
		wrong(`"pbt.directory" and "pbt.workspace" make %q, which the pods do not share: want a folder in "kubernetes.mount_path", %s`, dir, mount)
	} else if mount == configFolder || strings.HasPrefix(configFolder, mount+"/") {
		wrong(`"kubernetes.mount_path" is %q, which would hide %s: choose another`, k.MountPath, configFolder)
	}
	for _, name := range slices.Sorted(maps.Keys(k.Resources)) {
		if !quantity.MatchString(k.Resources[name]) {
			wrong(`"kubernetes.resources" has %s: %q: want a quantity like 4, 500m or 16Gi`, name, k.Resources[name])
		}
	}
	for i, t := range k.Tolerations {
		switch {
		case t.Operator == "Exists" && t.Value != "":
			wrong(`"kubernetes.tolerations[%d]" has the value %q with operator Exists, which takes none`, i, t.Value)
		case t.Operator != "Exists" && t.Key == "":
			wrong(`"kubernetes.tolerations[%d]" has no key: give it, or operator Exists`, i)
		}
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
func (c Config) podEnv(slice int64) []kubeEnv {
	vars := maps.Clone(c.Env)
	if vars == nil {
		vars = make(Vars)
	}
	maps.Copy(vars, c.Kubernetes.Env)
	var env []kubeEnv
	for _, name := range slices.Sorted(maps.Keys(vars)) {
		env = append(env, kubeEnv{Name: name, Value: escapeDollars(vars[name])})
	}
	env = append(env, kubeEnv{Name: EnvConfig, Value: configFolder + "/" + ConfigFile})
	if c.RanksPerMember == 1 {
		index := map[string]string{"fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}
		env = append(env, kubeEnv{Name: EnvMember, ValueFrom: map[string]any{"fieldRef": index}})
	}
	env = append(env, kubeEnv{Name: EnvSlice, Value: fmt.Sprint(slice)})
	if c.RanksPerMember > 1 { // the index is a rank's; the process derives its member from it
		env = append(env, kubeEnv{Name: EnvRanks, Value: fmt.Sprint(c.RanksPerMember)}, kubeEnv{Name: envService,
			Value: c.Name})
	}
	return env
}
