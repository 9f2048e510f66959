package kubecheck

import (
	"bytes"
	"fmt"
	"testing"

	kubeflowv1 "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// The manifests of the guide are what the API takes. What pods make of the variables that they then get is tested by
// TestDetect of package distributed.
func TestDistributedManifests(t *testing.T) {
	text := bytes.Join(blocks(t, "docs/distributed.md", "(?s)```yaml\n(apiVersion.*?)```"), []byte("\n---\n"))
	found := decode(t, text)
	pytorch, ok1 := found["PyTorchJob"].(*kubeflowv1.PyTorchJob)
	job, ok2 := found["Job"].(*batchv1.Job)
	service, ok3 := found["Service"].(*corev1.Service)
	if !ok1 || !ok2 || !ok3 || len(found) != 3 {
		t.Fatalf("there are %v", found)
	}

	kubeflowv1.SetDefaults_PyTorchJob(pytorch)
	master, workers := pytorch.Spec.PyTorchReplicaSpecs["Master"], pytorch.Spec.PyTorchReplicaSpecs["Worker"]
	if *master.Replicas != 1 || *workers.Replicas != 3 || master.RestartPolicy != kubeflowv1.RestartPolicyOnFailure {
		t.Errorf("%d masters, %d workers, restarts %s", *master.Replicas, *workers.Replicas, master.RestartPolicy)
	}
	pod := job.Spec.Template.Spec
	env := map[string]string{}
	for _, e := range pod.Containers[0].Env {
		env[e.Name] = e.Value
	}
	for what, ok := range map[string]bool{
		"pods know how many they are":         env["WORLD_SIZE"] == fmt.Sprint(*job.Spec.Completions),
		"pods know the first":                 env["MASTER_ADDR"] == job.Name+"-0."+service.Name,
		"gorl asks Kubernetes":                env["GORL_DISTRIBUTED"] == "kubernetes" && len(env) == 3,
		"it is indexed":                       *job.Spec.CompletionMode == batchv1.IndexedCompletion,
		"all pods run at a time":              *job.Spec.Parallelism == *job.Spec.Completions,
		"pods have names in the service":      pod.Subdomain == service.Name,
		"the service has no address":          service.Spec.ClusterIP == corev1.ClusterIPNone,
		"the service takes the job's pods":    service.Spec.Selector["job-name"] == job.Name,
		"pods are found before they are well": service.Spec.PublishNotReadyAddresses,
		"failed pods are started again": pod.RestartPolicy == corev1.RestartPolicyOnFailure &&
			*job.Spec.BackoffLimit >= *job.Spec.Completions,
	} {
		if !ok {
			t.Errorf("it is not so that %s", what)
		}
	}
}
