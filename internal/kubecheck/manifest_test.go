package kubecheck

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"
)

var program string // gorl-pbt

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "kubecheck-")
		if err != nil {
			panic(err)
		}
		defer os.RemoveAll(dir)
		program = filepath.Join(dir, "gorl-pbt")
		build := exec.Command("go", "build", "-C", filepath.Join("..", ".."), "-o", program, "./cmd/gorl-pbt")
		if out, err := build.CombinedOutput(); err != nil {
			panic(fmt.Sprintf("building gorl-pbt: %v\n%s", err, out))
		}
		return m.Run()
	}())
}

// manifests runs gorl-pbt kubernetes on a population's file.
func manifests(t *testing.T, config string) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "population.yaml")
	if err := os.WriteFile(path, []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(program, "kubernetes", "--config", path)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("gorl-pbt kubernetes: %v\n%s", err, stderr.String())
	}
	return out
}

// decode reads the documents strictly: an unknown or doubled field is an error. The Service is nil if there is none.
func decode(t *testing.T, text []byte) (config *corev1.ConfigMap, service *corev1.Service, job *batchv1.Job) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{batchv1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		object, _, err := decoder.Decode(document, nil, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		switch object := object.(type) {
		case *corev1.ConfigMap:
			config = object
		case *corev1.Service:
			service = object
		case *batchv1.Job:
			job = object
		default:
			t.Fatalf("there is a %T", object)
		}
	}
	if config == nil || job == nil {
		t.Fatalf("want a ConfigMap and a Job:\n%s", text)
	}
	return config, service, job
}

// problems are the rules of the API's validation that types cannot say and that concern what gorl-pbt writes.
func problems(config *corev1.ConfigMap, job *batchv1.Job) []string {
	var list []string
	wrong := func(ok bool, format string, args ...any) {
		if !ok {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	names := func(where, name string, check func(string) []string) {
		for _, problem := range check(name) {
			wrong(false, "%s %q: %s", where, name, problem)
		}
	}
	label := func(s string) []string { return validation.IsDNS1123Label(s) }
	subdomain := func(s string) []string { return validation.IsDNS1123Subdomain(s) }
	spec, pod := job.Spec, job.Spec.Template.Spec

	names("ConfigMap", config.Name, subdomain)
	names("Job", job.Name, label)
	if job.Namespace != "" {
		names("namespace", job.Namespace, label)
	}
	wrong(config.Namespace == job.Namespace, "ConfigMap and Job are in different namespaces")
	for key := range config.Data {
		names("key of the ConfigMap", key, func(s string) []string { return validation.IsConfigMapKey(s) })
	}
	for _, labels := range []map[string]string{config.Labels, job.Labels, spec.Template.Labels} {
		for key, value := range labels {
			names("label", key, func(s string) []string { return validation.IsQualifiedName(s) })
			names("label's value", value, func(s string) []string { return validation.IsValidLabelValue(s) })
		}
	}

	indexed := spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
	wrong(indexed, "the Job is not indexed")
	wrong(spec.Completions != nil && *spec.Completions > 0, "an Indexed Job needs completions")
	wrong(spec.Parallelism != nil && *spec.Parallelism > 0 && *spec.Parallelism <= 100_000,
		"parallelism must be 1 to 100000")
	if spec.Completions != nil {
		// The name of the last pod, with five random letters, is its host's name.
		names("the last pod", fmt.Sprintf("%s-%d-abcde", job.Name, *spec.Completions-1), label)
		wrong(spec.MaxFailedIndexes == nil || *spec.MaxFailedIndexes <= *spec.Completions,
			"maxFailedIndexes exceeds completions")
		wrong(*spec.Completions <= 100_000 || spec.MaxFailedIndexes != nil && *spec.MaxFailedIndexes <= 10_000,
			"too many indexes")
	}
	wrong(spec.BackoffLimitPerIndex == nil || indexed && *spec.BackoffLimitPerIndex >= 0,
		"backoffLimitPerIndex needs an Indexed Job")
	wrong(spec.MaxFailedIndexes == nil || spec.BackoffLimitPerIndex != nil,
		"maxFailedIndexes needs backoffLimitPerIndex")
	if policy := spec.PodFailurePolicy; policy != nil {
		wrong(pod.RestartPolicy == corev1.RestartPolicyNever, "podFailurePolicy needs restartPolicy Never")
		wrong(len(policy.Rules) <= 20, "podFailurePolicy has more than 20 rules")
		for i, rule := range policy.Rules {
			wrong((rule.OnExitCodes == nil) != (len(rule.OnPodConditions) == 0),
				"rule %d needs either onExitCodes or onPodConditions", i)
			wrong(rule.Action != batchv1.PodFailurePolicyActionFailIndex || spec.BackoffLimitPerIndex != nil,
				"FailIndex needs backoffLimitPerIndex")
			if on := rule.OnExitCodes; on != nil {
				unique := len(slices.Compact(slices.Clone(on.Values))) == len(on.Values)
				wrong(slices.IsSorted(on.Values) && unique && len(on.Values) > 0 && len(on.Values) <= 255,
					"rule %d: exit codes must be ordered, unique, 1 to 255 of them", i)
				wrong(on.Operator != batchv1.PodFailurePolicyOnExitCodesOpIn || !slices.Contains(on.Values, 0),
					"rule %d: 0 is no failure", i)
				wrong(on.ContainerName == nil || *on.ContainerName == pod.Containers[0].Name,
					"rule %d: no such container", i)
			}
		}
	}

	wrong(pod.RestartPolicy == corev1.RestartPolicyNever || pod.RestartPolicy == corev1.RestartPolicyOnFailure,
		"a Job's restartPolicy is Never or OnFailure")
	wrong(spec.BackoffLimitPerIndex == nil || pod.RestartPolicy == corev1.RestartPolicyNever,
		"backoffLimitPerIndex needs restartPolicy Never")
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		names("volume", v.Name, label)
		wrong(!volumes[v.Name], "volume %q twice", v.Name)
		volumes[v.Name] = true
		if v.ConfigMap != nil {
			wrong(v.ConfigMap.Name == config.Name, "the volume is ConfigMap %q, there is %q", v.ConfigMap.Name,
				config.Name)
		}
		if v.PersistentVolumeClaim != nil {
			names("claim", v.PersistentVolumeClaim.ClaimName, subdomain)
		}
	}
	for _, c := range pod.Containers {
		names("container", c.Name, label)
		wrong(c.Image != "" && strings.TrimSpace(c.Image) == c.Image, "image %q", c.Image)
		seen := map[string]bool{}
		for _, m := range c.VolumeMounts {
			wrong(volumes[m.Name], "mount of %q, which is no volume", m.Name)
			wrong(!seen[m.MountPath] && !strings.Contains(m.MountPath, ":"), "mount path %q", m.MountPath)
			seen[m.MountPath] = true
		}
		for _, e := range c.Env {
			names("variable", e.Name, func(s string) []string { return validation.IsEnvVarName(s) })
			wrong(e.Value == "" || e.ValueFrom == nil, "variable %s has two values", e.Name)
			if e.ValueFrom != nil && e.ValueFrom.FieldRef != nil {
				path := e.ValueFrom.FieldRef.FieldPath
				wrong(path == "metadata.annotations['"+batchv1.JobCompletionIndexAnnotation+"']",
					"variable %s is %q", e.Name, path)
			}
		}
		for name, limit := range c.Resources.Limits {
			names("resource", string(name), func(s string) []string { return validation.IsQualifiedName(s) })
			request := c.Resources.Requests[name]
			wrong(limit.Cmp(request) >= 0, "%s: the limit is below the request", name)
			if strings.Contains(string(name), "/") {
				wrong(limit.Cmp(request) == 0 && !limit.IsZero() && limit.Value()*1000 == limit.MilliValue(),
					"%s: extended resources are whole, and limit and request are equal", name)
			}
		}
	}
	for i, o := range pod.Tolerations {
		wrong(o.Operator != corev1.TolerationOpExists || o.Value == "", "toleration %d: Exists takes no value", i)
		wrong(o.Key != "" || o.Operator == corev1.TolerationOpExists, "toleration %d needs a key", i)
		if o.Key != "" {
			names("toleration", o.Key, func(s string) []string { return validation.IsQualifiedName(s) })
		}
	}
	return list
}

const smallest = `
pbt: {directory: /data, num_policies: 1}
launcher: {command: [member], kubernetes: {image: member, claim: shared}}
`

const full = `
preset: isaaclab
pbt: {directory: /mnt/runs, workspace: walker, num_policies: 8, strategy: "any: 'thing'"}
launcher:
  name: walker-8
  command: [/app/member, -text, "it's $(HOME) and $$ \"quoted\""]
  max_parallel: 4
  slice: 5
  grace: 45s
  env: {OMP_NUM_THREADS: 1, TEXT: "a $(B) c"}
  restarts: {max: 3}
  kubernetes:
    image: registry.example:5000/robots/member:1.2
    namespace: robots
    claim: shared.runs
    mount_path: /mnt/runs
    resources: {cpu: 4, memory: 16Gi, nvidia.com/gpu: 1}
    node_selector: {accelerator: h200, "example.com/pool": train}
    tolerations:
      - {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}
      - {key: example.com/spot, operator: Equal, value: "true"}
      - {operator: Exists}
    service_account: trainer
    env: {NCCL_DEBUG: WARN}
`

func TestManifestsKeepTheRules(t *testing.T) {
	for name, text := range map[string]string{"smallest": smallest, "full": full} {
		t.Run(name, func(t *testing.T) {
			config, service, job := decode(t, manifests(t, text))
			if service != nil {
				t.Errorf("there is a Service, which members of one rank do not need: %v", service)
			}
			for _, p := range problems(config, job) {
				t.Error(p)
			}
		})
	}
}

func TestManifestSaysWhatTheFileSays(t *testing.T) {
	config, _, job := decode(t, manifests(t, full))
	pod := job.Spec.Template.Spec
	member := pod.Containers[0]
	env := map[string]corev1.EnvVar{}
	for _, e := range member.Env {
		env[e.Name] = e
	}
	var population struct {
		PBT struct {
			Policies int `json:"num_policies"`
		} `json:"pbt"`
	}
	if err := yaml.Unmarshal([]byte(config.Data["config.yaml"]), &population); err != nil {
		t.Fatal(err)
	}
	rules := job.Spec.PodFailurePolicy.Rules
	gpu := member.Resources.Limits["nvidia.com/gpu"]
	for what, ok := range map[string]bool{
		"8 completions":            *job.Spec.Completions == 8,
		"4 at a time":              *job.Spec.Parallelism == 4,
		"3 retries":                *job.Spec.BackoffLimitPerIndex == 3,
		"45 s of grace":            *pod.TerminationGracePeriodSeconds == 45,
		"the namespace":            job.Namespace == "robots",
		"the account":              pod.ServiceAccountName == "trainer",
		"a slice of 5":             env["GORL_PBT_SLICE"].Value == "5",
		"the configuration's path": env["GORL_PBT_CONFIG"].Value == "/etc/gorl-pbt/config.yaml",
		"the member's index":       env["GORL_PBT_POLICY_IDX"].ValueFrom != nil,
		"a launcher's variable":    env["OMP_NUM_THREADS"].Value == "1",
		"Kubernetes' own variable": env["NCCL_DEBUG"].Value == "WARN",
		"$( that stays":            env["TEXT"].Value == "a $$(B) c",
		"$( and $$ that stay":      member.Command[2] == `it's $$(HOME) and $$$$ "quoted"`,
		"a GPU":                    gpu.Value() == 1,
		"the pool":                 pod.NodeSelector["example.com/pool"] == "train",
		"3 tolerations":            len(pod.Tolerations) == 3,
		"yields that are no failures": slices.Equal(rules[0].OnExitCodes.Values,
			[]int32{75, 76, 78}) && rules[0].Action == batchv1.PodFailurePolicyActionIgnore,
		"disruptions that are neither": rules[1].OnPodConditions[0].Type == corev1.DisruptionTarget,
		"8 members in the ConfigMap":   population.PBT.Policies == 8,
	} {
		if !ok {
			t.Errorf("the manifest lacks %s", what)
		}
	}
}

// Members of several ranks: a pod for each rank, which the headless Service gives names.
func TestRanks(t *testing.T) {
	const n = 3
	text := strings.Replace(strings.Replace(full, "max_parallel: 4", fmt.Sprintf("ranks_per_member: %d", n), 1),
		"  slice: 5\n", "", 1)
	config, service, job := decode(t, manifests(t, text))
	for _, p := range problems(config, job) {
		t.Error(p)
	}
	if service == nil {
		t.Fatal("there is no Service")
	}
	for _, p := range validation.IsDNS1035Label(service.Name) {
		t.Errorf("Service %q: %s", service.Name, p)
	}
	pod := job.Spec.Template
	for key, value := range service.Spec.Selector {
		if pod.Labels[key] != value {
			t.Errorf("the Service selects %s=%s, and pods have %q", key, value, pod.Labels[key])
		}
	}
	env := map[string]string{}
	for _, e := range pod.Spec.Containers[0].Env {
		env[e.Name] = e.Value
	}
	for what, ok := range map[string]bool{
		"a pod for each rank": *job.Spec.Completions == 8*n && *job.Spec.Parallelism == 8*n,
		"a Service without an address": service.Spec.ClusterIP == corev1.ClusterIPNone &&
			len(service.Spec.Selector) > 0,
		"names of pods that are not ready":    service.Spec.PublishNotReadyAddresses,
		"a Service in the Job's namespace":    service.Namespace == job.Namespace,
		"the Service's name as the subdomain": pod.Spec.Subdomain == service.Name && service.Name == job.Name,
		"the number of ranks": env["GORL_PBT_RANKS"] == fmt.Sprint(n) &&
			env["GORL_PBT_SERVICE"] == service.Name,
	} {
		if !ok {
			t.Errorf("the manifest lacks %s", what)
		}
	}
	if _, ok := env["GORL_PBT_POLICY_IDX"]; ok {
		t.Error("the index of a pod would be the member's number")
	}
}
