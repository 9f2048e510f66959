package kubecheck

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	kubeflowv1 "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/validation"
)

// decode reads documents strictly: an unknown or doubled field is an error. The result is by kind.
func decode(t *testing.T, text []byte) map[string]runtime.Object {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{batchv1.AddToScheme, corev1.AddToScheme, kubeflowv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	found := map[string]runtime.Object{}
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		object, kind, err := decoder.Decode(document, nil, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		found[kind.Kind] = object
	}
	return found
}

// blocks are the parts of a file of the repository that an expression's first group finds.
func blocks(t *testing.T, path, expression string) (found [][]byte) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(path)))
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile(expression).FindAllSubmatch(text, -1) {
		found = append(found, block[1])
	}
	return found
}

// The manifests that gorl-pbt prints, by the golden file of package launch, keep the rules of the API. What they say is
// held to that file there.
func TestManifestsKeepTheRules(t *testing.T) {
	manifests := blocks(t, "pbt/launch/testdata/clusters/clusters.txt", `(?s)----\n(apiVersion: .*?\n)(?:\n|$)`)
	if len(manifests) < 4 {
		t.Fatalf("only %d manifests were found", len(manifests))
	}
	for _, text := range manifests {
		found := decode(t, text)
		config, ok1 := found["ConfigMap"].(*corev1.ConfigMap)
		job, ok2 := found["Job"].(*batchv1.Job)
		service, ok3 := found["Service"].(*corev1.Service)
		if !ok1 || !ok2 || ok3 != (len(found) == 3) || len(found) > 3 {
			t.Fatalf("want a ConfigMap, a Job and perhaps a Service:\n%s", text)
		}
		for _, p := range problems(config, service, job) {
			t.Errorf("%s: %s", job.Name, p)
		}
	}
}

// problems are the rules of the API's validation that types cannot say and that concern what gorl-pbt writes.
func problems(config *corev1.ConfigMap, service *corev1.Service, job *batchv1.Job) []string {
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
	wrong(config.Namespace == job.Namespace, "ConfigMap and Job are in different namespaces")
	for key := range config.Data {
		names("key of the ConfigMap", key, func(s string) []string { return validation.IsConfigMapKey(s) })
	}
	indexed := spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
	wrong(indexed, "the Job is not indexed")
	// The name of the last pod, with five random letters, is its host's name.
	names("the last pod", fmt.Sprintf("%s-%d-abcde", job.Name, *spec.Completions-1), label)
	wrong(spec.MaxFailedIndexes == nil || spec.BackoffLimitPerIndex != nil &&
		*spec.MaxFailedIndexes <= *spec.Completions,
		"maxFailedIndexes needs backoffLimitPerIndex, and is at most completions")
	wrong(spec.BackoffLimitPerIndex == nil || pod.RestartPolicy == corev1.RestartPolicyNever,
		"backoffLimitPerIndex needs restartPolicy Never")
	volumes := map[string]bool{}
	for _, v := range pod.Volumes {
		names("volume", v.Name, label)
		volumes[v.Name] = true
		if v.ConfigMap != nil {
			wrong(v.ConfigMap.Name == config.Name, "the volume is ConfigMap %q, there is %q", v.ConfigMap.Name,
				config.Name)
		}
	}
	for _, c := range pod.Containers {
		names("container", c.Name, label)
		for _, m := range c.VolumeMounts {
			wrong(volumes[m.Name], "mount of %q, which is no volume", m.Name)
		}
		for _, e := range c.Env {
			names("variable", e.Name, func(s string) []string { return validation.IsEnvVarName(s) })
		}
	}
	if service != nil { // without one, members have one rank
		names("Service", service.Name, func(s string) []string { return validation.IsDNS1035Label(s) })
		wrong(service.Namespace == job.Namespace, "Service and Job are in different namespaces")
		wrong(pod.Subdomain == service.Name, "the pods' subdomain is %q, and the Service %q", pod.Subdomain,
			service.Name)
		for key, value := range service.Spec.Selector {
			labels := spec.Template.Labels
			wrong(labels[key] == value, "the Service selects %s=%s, and pods have %q", key, value, labels[key])
		}
	}
	return list
}
