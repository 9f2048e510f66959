// Package kubecheck holds the manifests that gorl-pbt prints, and those of docs/distributed.md, against the types of
// Kubernetes' and Kubeflow's API, which are too large to be a dependency of gorl: it is a module of its own.
package kubecheck
