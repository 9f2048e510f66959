// Package kubecheck holds the manifests that gorl-pbt prints against the types of Kubernetes' API, which are too large
// to be a dependency of gorl: it is a module of its own, and runs gorl-pbt as a program.
package kubecheck
