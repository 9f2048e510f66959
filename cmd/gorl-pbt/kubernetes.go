package main

import (
	"flag"

	"github.com/gorl-dev/gorl/pbt/launch"
)

func init() {
	register(command{
		name:    "kubernetes",
		summary: "print a population's manifests for Kubernetes",
		about: `
Prints a ConfigMap with the population's file and an Indexed Job with one pod for
each member, for kubectl apply. The pods share a PersistentVolumeClaim, which
must exist, and on which the population's folder must lie. Kubernetes 1.33 or
later is needed (1.29 with the feature gate JobBackoffLimitPerIndex).`,
		examples: `
gorl-pbt kubernetes -config population.yaml | kubectl apply -f -
gorl-pbt kubernetes -config population.yaml >population.k8s.yaml`,
		define: func(flags *flag.FlagSet) func(invocation) error {
			file := configFlag(flags)
			return func(i invocation) error {
				f, err := file(i)
				if err != nil {
					return err
				}
				manifests, err := launch.Kubernetes(f)
				if err != nil {
					return err
				}
				_, err = i.stdout.Write(manifests)
				return err
			}
		},
	})
}
