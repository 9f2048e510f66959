package launch

// This file turns a population's file into Kubernetes manifests. It talks to no cluster: kubectl applies the text
// that it returns. What the API would refuse, or what would let pods start and find nothing, is an error here first.
// The types of the manifests are in manifest.go.

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"
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

// Kubernetes returns the manifests of a population: a ConfigMap with its canonical file, and an Indexed Job whose pods
// are its members, for kubectl apply. Where members have several ranks each of them is a pod, and a headless Service
// gives the pods names by which they find rank 0 of their member; all members then run at a time, because Kubernetes
// could not let whole members take turns. A pod that yields, asks for a restart, or is stopped after saving is started
// anew without that counting as a failure; one that fails is started again up to Restarts.Max times in all. Kubernetes
// lets a pod's successor wait, up to six minutes, so where members take turns their slices should be long. It needs
// Kubernetes 1.33, or 1.29 with the feature gate JobBackoffLimitPerIndex.
func Kubernetes(f *File) ([]byte, error) {
	if err := f.checkKubernetes(); err != nil {
		return nil, err
	}
	canonical, err := f.Canonical()
	if err != nil {
		return nil, err
	}
	if len(canonical) > maxConfigMap {
		return nil, fmt.Errorf("launch: the file has %d bytes; a ConfigMap takes at most %d", len(canonical), maxConfigMap)
	}
	// The ConfigMap comes first, as kubectl applies in order and the pods of the Job mount it.
	name := f.Launcher.Name
	config := kubeObject{APIVersion: "v1", Kind: "ConfigMap", Metadata: f.metadata(name + "-config"),
		Data: map[string]string{ConfigFile: string(canonical)}}
	job := kubeObject{APIVersion: "batch/v1", Kind: "Job", Metadata: f.metadata(name), Spec: f.jobSpec()}
	objects := []kubeObject{config, job}
	if f.Launcher.RanksPerMember > 1 {
		objects = []kubeObject{config, f.service(), job}
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	for _, object := range objects {
		if err := encoder.Encode(object); err != nil {
			return nil, fmt.Errorf("launch: %w", err)
		}
	}
	if err := encoder.Close(); err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	return out.Bytes(), nil
}

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

// metadata names an object of this population.
func (f *File) metadata(name string) kubeMeta {
	return kubeMeta{Name: name, Namespace: f.Launcher.Kubernetes.Namespace,
		Labels: map[string]string{"app.kubernetes.io/name": "gorl-pbt", "app.kubernetes.io/instance": f.Launcher.Name}}
}

// jobSpec makes the Job. Its failure policy ignores the exits by which a member only asks to be started again, and
// pods that the cluster evicts; Kubernetes then starts another pod for the index without counting a failure.
func (f *File) jobSpec() *kubeJob {
	d, k := f.Launcher, f.Launcher.Kubernetes
	// Members take turns where fewer pods run than there are members, so that all of them advance.
	parallelism := k.Parallelism
	if parallelism == 0 || parallelism > d.NumPolicies {
		parallelism = min(d.parallel(), d.NumPolicies)
	}
	slice := int64(0)
	if parallelism < d.NumPolicies {
		slice = d.Slice
	}
	n := d.RanksPerMember
	container := kubeContainer{
		Name: "member", Image: k.Image, Env: d.podEnv(slice),
		VolumeMounts: []kubeMount{{Name: "population", MountPath: k.MountPath},
			{Name: "config", MountPath: configFolder, ReadOnly: true}},
	}
	for _, word := range d.Command {
		container.Command = append(container.Command, escapeDollars(word))
	}
	// Requests equal to limits put the pod into the class that is evicted last.
	if len(k.Resources) > 0 {
		container.Resources = &kubeResources{Requests: k.Resources, Limits: k.Resources}
	}
	// RestartPolicy must be Never for the Job, and not the kubelet, to see every exit and count it by the policy
	// below. The grace period is in whole seconds, so it is rounded up.
	pod := kubePod{
		RestartPolicy: "Never", TerminationGracePeriodSeconds: int64(d.Grace.Seconds() + 0.999), ServiceAccountName: k.ServiceAccount,
		NodeSelector: k.NodeSelector, Tolerations: k.Tolerations, Containers: []kubeContainer{container},
		Volumes: []kubeVolume{
			{Name: "population", Claim: &kubeClaim{ClaimName: k.Claim}},
			{Name: "config", ConfigMap: &kubeConfigMap{Name: d.Name + "-config"}},
		},
	}
	if n > 1 {
		pod.Subdomain = d.Name
	}
	// Failures count for each index alone, and as many indexes may fail as there are: one member that fails for good
	// must not end the others. Of the rules the first that matches counts.
	return &kubeJob{
		Completions: d.NumPolicies * n, Parallelism: parallelism * n, CompletionMode: "Indexed", BackoffLimitPerIndex: d.Restarts.Max, MaxFailedIndexes: d.NumPolicies * n,
		PodFailurePolicy: kubeFailurePolicy{Rules: []kubeFailureRule{
			{Action: "Ignore", OnExitCodes: &kubeExitCodes{ContainerName: "member", Operator: "In",
				Values: []int{StatusYielded, StatusRestart, StatusStopped}}},
			{Action: "Ignore", OnPodConditions: []kubePodCondition{{Type: "DisruptionTarget", Status: "True"}}},
		}},
		Template: kubeTemplate{Metadata: kubeMeta{Labels: f.metadata("").Labels}, Spec: pod},
	}
}

// service gives the pods of a Job names, <job>-<index>.<service>: Kubernetes makes the first part their host's name.
// They have them before they are ready, since they become ready by meeting.
func (f *File) service() kubeObject {
	return kubeObject{APIVersion: "v1", Kind: "Service", Metadata: f.metadata(f.Launcher.Name),
		Spec: &kubeService{ClusterIP: "None", PublishNotReadyAddresses: true, Selector: f.metadata("").Labels}}
}

// escapeDollars keeps Kubernetes from replacing $(NAME) in a text: to it, $$ is a dollar sign.
func escapeDollars(text string) string { return strings.ReplaceAll(text, "$", "$$") }

// podEnv is a member's environment. The member comes from JOB_COMPLETION_INDEX, which Kubernetes sets; it is given
// under the launcher's name too for programs that know only that.
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
	if c.RanksPerMember > 1 { // the index is a rank's, of which the process makes its member's number
		return append(env, kubeEnv{Name: EnvSlice, Value: fmt.Sprint(slice)},
			kubeEnv{Name: EnvRanks, Value: fmt.Sprint(c.RanksPerMember)}, kubeEnv{Name: envService, Value: c.Name})
	}
	return append(env,
		kubeEnv{Name: EnvMember, ValueFrom: &kubeSource{FieldRef: kubeField{FieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}},
		kubeEnv{Name: EnvSlice, Value: fmt.Sprint(slice)},
	)
}
