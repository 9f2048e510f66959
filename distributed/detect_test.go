package distributed_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/gorl-dev/gorl/distributed"
	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/tensor"
)

// environ reads variables of a text with one NAME=value a word, or a line.
func environ(words string) func(string) string {
	separates := unicode.IsSpace
	if strings.Contains(words, "\n") { // values have spaces then
		separates = func(r rune) bool { return r == '\n' }
	}
	values := map[string]string{}
	for word := range strings.FieldsFuncSeq(words, separates) {
		name, value, _ := strings.Cut(word, "=")
		values[name] = value
	}
	return func(name string) string { return values[name] }
}

// What programs started by real launchers see: Slurm 22.05, torchrun of PyTorch 1.13 and 2.15 and Open MPI 4.1 were
// asked here, the operators' source was read.
const (
	slurmJob = "SLURM_JOB_ID=41 SLURM_JOBID=41 SLURM_JOB_NODELIST=n[01-02] SLURM_NODELIST=n[01-02] SLURM_NTASKS=3 " +
		"SLURM_NPROCS=3 SLURM_TASKS_PER_NODE=2,1 SLURM_NNODES=2 "
	slurmStep = slurmJob +
		"SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=3 SLURM_STEP_NUM_NODES=2 SLURM_STEP_NODELIST=n[01-02] " +
		"SLURM_STEP_TASKS_PER_NODE=2,1 SLURM_LAUNCH_NODE_IPADDR=10.0.0.9 "
	elastic = "RANK=1 LOCAL_RANK=1 WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 GROUP_RANK=0 ROLE_RANK=1 " +
		"TORCHELASTIC_MAX_RESTARTS=3 "
	pod  = "MASTER_ADDR=job-master-0 MASTER_PORT=23456 WORLD_SIZE=3 RANK=2 PYTHONUNBUFFERED=1 "
	ompi = "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_LOCAL_RANK=1 " +
		"OMPI_COMM_WORLD_LOCAL_SIZE=2 PMIX_NAMESPACE=2839347201 PMIX_RANK=1 "
	hydra = "PMI_RANK=3 PMI_SIZE=4 PMI_FD=9 MPI_LOCALRANKID=1 MPI_LOCALNRANKS=2 "
)

func TestDetect(t *testing.T) {
	type place = distributed.Place
	for _, x := range []struct {
		name, env string
		want      place // none where Size is 0
	}{
		{"nothing", "HOME=/root", place{}},
		{"torchrun --standalone of 1.13", elastic +
			"MASTER_ADDR=vm MASTER_PORT=40211 TORCHELASTIC_RUN_ID=8f1c TORCHELASTIC_RESTART_COUNT=0 " +
			"TORCHELASTIC_USE_AGENT_STORE=False",
			place{1, 2, 1, 2, "vm:40211", "8f1c/0", 0, "torchrun"}},
		{"torchrun whose agent listens, restarted", elastic +
			"MASTER_ADDR=127.0.0.1 MASTER_PORT=29500 TORCHELASTIC_RUN_ID=none TORCHELASTIC_RESTART_COUNT=2 " +
			"TORCHELASTIC_USE_AGENT_STORE=True",
			place{1, 2, 1, 2, "127.0.0.1:20137", "127.0.0.1:29500/2", 2, "torchrun"}},
		{"variables set by hand", "RANK=1 WORLD_SIZE=2 MASTER_ADDR=fe80::1",
			place{1, 2, 0, 1, "[fe80::1]:29500", "[fe80::1]:29500/0", 0, "RANK and WORLD_SIZE"}},
		{"gorl train --nproc",
			"RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 LOCAL_WORLD_SIZE=2 MASTER_ADDR=127.0.0.1 MASTER_PORT=41000 " +
				"GORL_RUN_ID=x GORL_ATTEMPT=3 GORL_LAUNCHER=gorl",
			place{0, 2, 0, 2, "127.0.0.1:41000", "x/3", 3, "gorl"}},
		{"Open MPI on one machine", ompi, place{1, 2, 1, 2, "127.0.0.1:24474", "2839347201/0", 0, "Open MPI"}},
		{"MPICH on two machines", hydra + "MASTER_ADDR=a MASTER_PORT=1234",
			place{3, 4, 1, 2, "a:1234", "a:1234/0", 0, "MPICH or Intel MPI"}},
		{"srun", slurmStep + "SLURM_PROCID=2 SLURM_LOCALID=0 SLURM_NODEID=1 SLURM_GTIDS=2",
			place{2, 3, 0, 1, "n01:26424", "41.0/0", 0, "Slurm"}},
		{"srun with the user's address", slurmStep +
			"SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_GTIDS=0,1 MASTER_ADDR=n01.ib MASTER_PORT=7000",
			place{0, 3, 0, 2, "n01.ib:7000", "41.0/0", 0, "Slurm"}},
		{"PyTorchJob with nprocPerNode", strings.Replace(pod, "=3", "=12", 1) +
			"PET_NODE_RANK=2 PET_NNODES=3 PET_NPROC_PER_NODE=4",
			place{2, 3, 0, 1, "job-master-0:23456", "job-master-0:23456/0", 0, "Kubeflow's PyTorchJob"}},
		{"Indexed Job", "GORL_DISTRIBUTED=kubernetes JOB_COMPLETION_INDEX=1 WORLD_SIZE=2 MASTER_ADDR=walker-0.walker",
			place{1, 2, 0, 1, "walker-0.walker:29500", "walker-0.walker:29500/0", 0, "an Indexed Job"}},
		{"Kubeflow's Trainer",
			"GORL_DISTRIBUTED=kubernetes PET_NODE_RANK=1 PET_NNODES=2 PET_NPROC_PER_NODE=gpu " +
				"PET_MASTER_ADDR=job-node-0-0.job PET_MASTER_PORT=29400 JOB_COMPLETION_INDEX=1",
			place{1, 2, 0, 1, "job-node-0-0.job:29400", "job-node-0-0.job:29400/0", 0, "Kubeflow's Trainer"}},

		// What is set, and means no rank.
		{"sbatch without srun", slurmJob + "SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_GTIDS=0", place{}},
		{"srun --pty bash", slurmStep +
			"SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 SLURM_GTIDS=0,1 SLURM_PTY_PORT=45853",
			place{}},
		{"an Indexed Job that does something else", "JOB_COMPLETION_INDEX=1", place{}},
		{"switched off", elastic + "GORL_DISTRIBUTED=off", place{}},
	} {
		got, ok, err := distributed.Detect(environ(x.env))
		if diff := cmp.Diff(x.want, got); err != nil || ok != (x.want.Size > 0) || diff != "" {
			t.Errorf("%s: %v, %v (-want +got):\n%s", x.name, ok, err, diff)
		}
	}
}

// What makes no sense is named, with its value and what is allowed.
func TestDetectRefuses(t *testing.T) {
	step := slurmStep + "SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NODEID=0 "
	for _, x := range []struct{ env, want string }{
		{"RANK=0",
			"RANK and WORLD_SIZE: WORLD_SIZE is not set; want a whole number (set both, or " +
				"GORL_DISTRIBUTED=kubernetes in the pods of an Indexed Job, or GORL_DISTRIBUTED=off to train alone)"},
		{"RANK=2 WORLD_SIZE=2 MASTER_ADDR=a", `RANK is "2"; want a whole number from 0 to 1`},
		{"RANK=0 WORLD_SIZE=2 MASTER_ADDR=a LOCAL_RANK=1",
			"LOCAL_WORLD_SIZE is not set; want a whole number (WORLD_SIZE is 2; LOCAL_RANK needs it)"},
		{strings.Replace(step, "NODELIST=n[01-02] SLURM_STEP_TASKS", "NODELIST=n[01-0x] SLURM_STEP_TASKS", 1),
			`SLURM_STEP_NODELIST is "n[01-0x]": the first machine would be "n[01-0x]"`},
		{strings.Replace(step, "PER_NODE=2,1 SLURM_LAUNCH", "PER_NODE=2(y3) SLURM_LAUNCH", 1),
			`SLURM_STEP_TASKS_PER_NODE is "2(y3)", and SLURM_NODEID is 0: want numbers of tasks like 2(x3),1`},
		{"GORL_DISTRIBUTED=yes", `GORL_DISTRIBUTED is "yes"; want off or kubernetes`},
	} {
		if _, ok, err := distributed.Detect(environ(x.env)); ok {
			t.Errorf("%s: accepted", x.env)
		} else {
			must.RefuseAs(t, x.env, err, x.want, "distributed: ")
		}
	}
}

// A place that is written into an environment is read from it again, whatever was in it before.
func TestPlaceEnviron(t *testing.T) {
	p := distributed.Place{Rank: 3, Size: 4, LocalRank: 1, LocalSize: 2, Address: "[::1]:40000", Run: "a/b/2",
		Attempt:  2,
		Launcher: "somebody else"}
	words := must.Get(p.Environ(strings.Fields(elastic + pod + slurmStep +
		"TORCHELASTIC_RUN_ID=9 PET_NNODES=3 TORCHELASTIC_USE_AGENT_STORE=False GORL_DISTRIBUTED=kubernetes")))(t)
	got, ok, err := distributed.Detect(environ(strings.Join(words, "\n")))
	if diff := cmp.Diff(p, got); !ok || err != nil || diff != "" || got.ID() != "a/b" {
		t.Errorf("%v, %v, id %s (-want +got):\n%s", ok, err, got.ID(), diff)
	}
}

func ExampleDetect() {
	place, several, err := distributed.Detect(os.Getenv)
	switch {
	case err != nil:
		fmt.Println(err)
	case several:
		fmt.Println(place, "meets the others at", place.Address)
	default:
		fmt.Println("alone")
	}
	// Output: alone
}

// Two ranks of one process add up a tensor, as processes that distributed.Join has brought together do.
func ExampleLocal() {
	groups, err := distributed.Local(2, distributed.DefaultConfig())
	if err != nil {
		fmt.Println(err)
		return
	}
	sums := make([]float64, len(groups))
	var ranks sync.WaitGroup
	for _, g := range groups {
		ranks.Go(func() {
			defer g.Close()
			s := tensor.NoGrad()
			defer s.Close()
			x := s.Full(tensor.Float32, float64(1+g.Rank()), 3)
			g.Sum(s, x)
			if err := s.Err(); err != nil {
				fmt.Println(err)
				return
			}
			sums[g.Rank()], _ = tensor.Item(s.Select(x, 0, 0))
		})
	}
	ranks.Wait()
	fmt.Println(sums)
	// Output: [3 3]
}
