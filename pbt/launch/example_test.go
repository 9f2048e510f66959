package launch_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/pbt/launch"
)

const pendulum = `
pbt: {directory: /data/runs, workspace: pendulum, num_policies: 8, objective: episode.return}
launcher:
  name: pendulum
  command: [/app/member, -envs, "16"]
  max_parallel: 4
  kubernetes: {image: "registry.example/member:1", claim: shared}
`

func ExampleParse() {
	f, err := launch.Parse([]byte(pendulum))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Launcher.NumPolicies, f.Launcher.Command, f.Launcher.Restarts.Max, f.Dir())
	_, err = launch.Parse([]byte("launcher: {num_policies: 8, slices: 4}"))
	fmt.Println(err)
	// Output:
	// 8 [/app/member -envs 16] 5 /data/runs/pendulum
	// launch: unknown key "slices" (given 4): did you mean "slice"?
}

// A member that trains in its own way: it saves and returns when its context ends.
func ExampleMember() {
	os.Exit(launch.Member(func(ctx context.Context, p launch.Process) error {
		fmt.Printf("member %d of %s\n", p.Member, p.Config)
		<-ctx.Done()
		return context.Cause(ctx)
	}))
}

func ExampleRun() {
	dir, err := os.MkdirTemp("", "launch")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	f, err := launch.Parse([]byte(`launcher: {num_policies: 2, command: [sh, -c, 'echo I am member $GORL_PBT_POLICY_IDX']}`))
	if err != nil {
		log.Fatal(err)
	}
	f.Directory = dir

	ctx, kill, stop := launch.Interrupts(context.Background())
	defer stop()
	if err := launch.Run(ctx, f, launch.Options{Kill: kill}); err != nil {
		log.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(f.Dir(), "logs", "001.log"))
	fmt.Print(string(text), err)
	// Output:
	// I am member 1
	// <nil>
}

func ExampleStatus() {
	dir, err := os.MkdirTemp("", "launch")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	f, err := launch.Parse([]byte("launcher: {num_policies: 2}"))
	if err != nil {
		log.Fatal(err)
	}
	f.Directory = dir
	if _, err := f.Install(); err != nil {
		log.Fatal(err)
	}
	rows, err := launch.Status(f.Dir(), time.Minute)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(launch.WriteTable(os.Stdout, rows, false))
	// Output:
	// member  phase        iteration  environment steps  objective  parent  note
	// ──────  ───────────  ─────────  ─────────────────  ─────────  ──────  ────
	//      0  not started          -                  -          -       -
	//      1  not started          -                  -          -       -
	// <nil>
}

func ExampleSlurm() {
	f, err := launch.Parse([]byte(pendulum))
	if err != nil {
		log.Fatal(err)
	}
	job, err := launch.Slurm(f)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(job.Path)
	for line := range strings.Lines(job.Script) {
		if strings.Contains(line, "--array") || strings.Contains(line, "--output") {
			fmt.Print(line)
		}
	}
	// Output:
	// /data/runs/pendulum/pendulum.sbatch
	// #SBATCH --array=0-7%4
	// #SBATCH --output=/data/runs/pendulum/logs/%A_%a.log
}

func ExampleKubernetes() {
	f, err := launch.Parse([]byte(pendulum))
	if err != nil {
		log.Fatal(err)
	}
	manifests, err := launch.Kubernetes(f)
	if err != nil {
		log.Fatal(err)
	}
	_, job, _ := strings.Cut(string(manifests), "\n---\n")
	spec, _, _ := strings.Cut(job, "  podFailurePolicy:")
	fmt.Print(spec)
	// Output:
	// apiVersion: batch/v1
	// kind: Job
	// metadata:
	//   name: pendulum
	//   labels:
	//     app.kubernetes.io/instance: pendulum
	//     app.kubernetes.io/name: gorl-pbt
	// spec:
	//   completionMode: Indexed
	//   completions: 8
	//   parallelism: 4
	//   backoffLimitPerIndex: 5
	//   maxFailedIndexes: 8
}
