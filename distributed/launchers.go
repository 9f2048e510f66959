package distributed

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// launcher is a row of [Detect]'s table: the variables in which a launcher gives its processes their places.
type launcher struct {
	name string
	// The launcher started the process if all variables of claims are set (with either: at least one), and none of
	// unless.
	claims []string
	either bool
	unless []string
	// also is a further condition, or nil.
	also func(environment) bool

	rank, size           string
	localRank, localSize string   // both or none are set
	tasks                string   // instead of localSize: the number of tasks on every node, in Slurm's format
	node                 string   // the number of this node in tasks
	nodes                string   // the compressed list of machines; rank 0 is on the first
	id                   []string // together they are the id of the run
	attempt              string
	caller               string // the launcher's name
	addrName, portName   string // instead of MASTER_ADDR and MASTER_PORT
	socket               string // the path of a unix socket, which replaces both
	taken                string // the variable that is True if another program listens at MASTER_PORT
	port                 int    // the default; 0 derives a port from the run's id
	hint                 string // for the error of a missing or invalid rank or size
}

const envTasks = "SLURM_STEP_TASKS_PER_NODE"

// defaultPort is that of torch's programs.
const defaultPort = 29500

// launchers are tried in this order. RANK comes first: it is set by the user, or by a launcher within another's job.
// Slurm comes last: its variables are in the environment of every process of a job.
var launchers = []launcher{
	{
		// The process replaces torchrun. WORLD_SIZE counts the processes that torchrun would start, and RANK is the
		// pod's. One pod is one rank, or several with `gorl train --nproc`.
		name: "Kubeflow's PyTorchJob", claims: []string{"RANK", "PET_NNODES"}, unless: []string{"LOCAL_RANK"},
		rank: "RANK", size: "PET_NNODES", port: defaultPort,
	},
	{
		// Its agent often listens at MASTER_PORT with torch's own store. Rank 0 then opens another port.
		name: "torchrun", claims: []string{"TORCHELASTIC_RUN_ID", "RANK"},
		rank: "RANK", size: "WORLD_SIZE", localRank: "LOCAL_RANK", localSize: "LOCAL_WORLD_SIZE",
		id: []string{"TORCHELASTIC_RUN_ID"}, attempt: "TORCHELASTIC_RESTART_COUNT",
		taken: "TORCHELASTIC_USE_AGENT_STORE", port: defaultPort,
	},
	{
		name: "RANK and WORLD_SIZE", claims: []string{"RANK", "WORLD_SIZE"}, either: true,
		rank: "RANK", size: "WORLD_SIZE", localRank: "LOCAL_RANK", localSize: "LOCAL_WORLD_SIZE",
		id: []string{EnvRun}, attempt: EnvAttempt, caller: EnvLauncher, port: defaultPort,
		socket: EnvSocket,
		hint: "set both, or " + EnvDistributed + "=kubernetes in the pods of an Indexed Job, or " + EnvDistributed +
			"=off to train alone",
	},
	{
		name: "Open MPI", claims: []string{"OMPI_COMM_WORLD_RANK"},
		rank: "OMPI_COMM_WORLD_RANK", size: "OMPI_COMM_WORLD_SIZE",
		localRank: "OMPI_COMM_WORLD_LOCAL_RANK", localSize: "OMPI_COMM_WORLD_LOCAL_SIZE",
		id: []string{"PMIX_NAMESPACE"},
	},
	{
		// Slurm's srun --mpi=pmi2 sets PMI_RANK, too, and has a row that knows more.
		name: "MPICH or Intel MPI", claims: []string{"PMI_RANK", "MPI_LOCALRANKID"},
		rank: "PMI_RANK", size: "PMI_SIZE", localRank: "MPI_LOCALRANKID", localSize: "MPI_LOCALNRANKS",
		port: defaultPort,
	},
	{
		// A single process runs under sbatch without srun (which sets no step), salloc (which sets only the job) and
		// srun --pty (which sets a terminal's port).
		name: "Slurm", claims: []string{"SLURM_STEP_ID", "SLURM_PROCID"}, unless: []string{"SLURM_PTY_PORT"},
		also: ofStep,
		rank: "SLURM_PROCID", size: "SLURM_STEP_NUM_TASKS", localRank: "SLURM_LOCALID", tasks: envTasks,
		node: "SLURM_NODEID", nodes: "SLURM_STEP_NODELIST", id: []string{"SLURM_JOB_ID", "SLURM_STEP_ID"},
		attempt: "SLURM_RESTART_COUNT",
	},
}

// podLaunchers replace launchers if GORL_DISTRIBUTED is "kubernetes".
var podLaunchers = []launcher{
	{
		name: "Kubeflow's Trainer", claims: []string{"PET_NODE_RANK"},
		rank: "PET_NODE_RANK", size: "PET_NNODES", addrName: "PET_MASTER_ADDR", portName: "PET_MASTER_PORT",
		port: defaultPort,
	},
	{
		name: "an Indexed Job", claims: []string{"JOB_COMPLETION_INDEX"},
		rank: "JOB_COMPLETION_INDEX", size: "WORLD_SIZE", port: defaultPort,
		hint: "Kubernetes does not tell a pod how many there are: set it to the Job's completions",
	},
}

// ofStep reports whether Slurm's variables describe a step of several tasks, in which the process runs. A batch script
// that a step has submitted inherits the step's variables, but has its own list of tasks on its node.
func ofStep(e environment) bool {
	if e.get("SLURM_STEP_NUM_TASKS") == "1" {
		return false
	}
	ids := e.get("SLURM_GTIDS")
	node, err := strconv.Atoi(e.get("SLURM_NODEID"))
	if ids == "" || err != nil {
		return true
	}
	here, err := tasksOn(e.get(envTasks), node)
	return err != nil || here == strings.Count(ids, ",")+1
}

// tasksOn returns the number of tasks on a node. The list "2(x3),1" means two on each of the first three nodes, one on
// the fourth.
func tasksOn(list string, node int) (int, error) {
	at := node
	for part := range strings.SplitSeq(list, ",") {
		m := tasks.FindStringSubmatch(part)
		if m == nil {
			return 0, fmt.Errorf("want numbers of tasks like 2(x3),1, not %q", part)
		}
		n, err := strconv.ParseUint(m[1], 10, 31)
		times, err2 := strconv.ParseUint(cmp.Or(m[2], "1"), 10, 31)
		if errors.Join(err, err2) != nil || n < 1 || times < 1 {
			return 0, fmt.Errorf("want numbers of tasks like 2(x3),1, not %q", part)
		}
		if uint64(at) < times {
			return int(n), nil
		}
		at -= int(times)
	}
	return 0, fmt.Errorf("the list has fewer nodes")
}

// tasks matches a part of Slurm's list of tasks, numbers a bracket of its lists of machines.
var (
	tasks   = regexp.MustCompile(`^([0-9]+)(?:\(x([0-9]+)\))?$`)
	numbers = regexp.MustCompile(`\[([0-9]+)(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*\]`)
)

// firstHost returns the first machine of a compressed list of Slurm: "a" of "a,b", "n07" of "n[07-12,20],m1", "r1n3" of
// "r[1-2]n[3,5]".
func firstHost(list string) (string, error) {
	name, _, _ := strings.Cut(numbers.ReplaceAllString(list, "$1"), ",")
	if name == "" || strings.ContainsAny(name, "[]/: \t\n()\x00") {
		return "", fmt.Errorf("the first machine would be %q; want a list of machines like n[01-04,7]", name)
	}
	return name, nil
}
