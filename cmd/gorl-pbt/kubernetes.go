package main

import (
	"github.com/spf13/cobra"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/pbt/launch"
)

func kubernetesCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "kubernetes",
		Short: "print a population's manifests for Kubernetes",
		Long: `
Prints a ConfigMap with the population's file and an Indexed Job with one pod for
each member, for kubectl apply. The pods share a PersistentVolumeClaim, which
must exist, and on which the population's folder must lie. Kubernetes 1.33 or
later is needed (1.29 with the feature gate JobBackoffLimitPerIndex).`,
		Example: `
gorl-pbt kubernetes --config population.yaml | kubectl apply -f -
gorl-pbt kubernetes --config population.yaml >population.k8s.yaml`,
		Args: commandline.NoArguments,
	}
	file := configFlag(c)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		f, err := file()
		if err != nil {
			return err
		}
		manifests, err := launch.Kubernetes(f)
		if err != nil {
			return err
		}
		_, err = cmd.OutOrStdout().Write(manifests)
		return err
	}
	return c
}
