package distributed

import (
	"cmp"
	"errors"
	"fmt"
	"hash/fnv"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// launcher is a row of the table by which [Detect] works: the variables by which one launcher tells its processes their
// places. Where there are several names, the first that is set counts.
type launcher struct {
	name string
	// The launcher started the process where all variables of claims are set, or with either at least one of them, and
	// none of unless.
	claims []string
	either bool
	unless []string
	// also is a condition that names alone cannot say; nil for none.
	also func(environment) bool

	rank, size           string
	localRank, localSize string   // both or none are set
	tasks                string   // instead of localSize: the number of tasks on every node, as Slurm writes it
	node                 string   // the number of this node in tasks
	nodes                string   // the machines' compressed list, of which the first has rank 0
	id                   []string // together they name the run
	attempt              string
	caller               string // in which the launcher says its name
	addrName, portName   string // instead of MASTER_ADDR and MASTER_PORT
	socket               string // the path of a unix socket, which replaces both
	taken                string // the variable that is True where another program listens at MASTER_PORT
	port                 int    // where there is none; 0 makes one of the run's id
	hint                 string // for the error where rank or size is missing or wrong
}

const envTasks = "SLURM_STEP_TASKS_PER_NODE"

// defaultPort is that of torch's programs.
const defaultPort = 29500

// launchers are asked in this order. RANK comes first, as what a user has set by hand, or a launcher within another's
// job, is nearest to the process. Slurm comes last, as its variables are in the environment of everything that runs in
// a job.
var launchers = []launcher{
	{
		// The process is in torchrun's place: its operator counts the processes that torchrun would start in WORLD_SIZE,
		// and RANK is the pod's. One pod is one rank, and several with `gorl train --nproc`.
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
		rank: "PMI_RANK", size: "PMI_SIZE", localRank: "MPI_LOCALRANKID", localSize: "MPI_LOCALNRANKS", port: defaultPort,
	},
	{
		// sbatch without srun sets no step, salloc nothing but the job, and srun --pty a terminal's port: one process runs
		// there, and others would never come.
		name: "Slurm", claims: []string{"SLURM_STEP_ID", "SLURM_PROCID"}, unless: []string{"SLURM_PTY_PORT"}, also: ofStep,
		rank: "SLURM_PROCID", size: "SLURM_STEP_NUM_TASKS", localRank: "SLURM_LOCALID", tasks: envTasks,
		node: "SLURM_NODEID", nodes: "SLURM_STEP_NODELIST", id: []string{"SLURM_JOB_ID", "SLURM_STEP_ID"},
		attempt: "SLURM_RESTART_COUNT",
	},
}

// podLaunchers are asked alone where GORL_DISTRIBUTED is "kubernetes".
var podLaunchers = []launcher{
	{
		name: "Kubeflow's Trainer", claims: []string{"PET_NODE_RANK"},
		rank: "PET_NODE_RANK", size: "PET_NNODES", addrName: "PET_MASTER_ADDR", portName: "PET_MASTER_PORT", port: defaultPort,
	},
	{
		name: "an Indexed Job", claims: []string{"JOB_COMPLETION_INDEX"},
		rank: "JOB_COMPLETION_INDEX", size: "WORLD_SIZE", port: defaultPort,
		hint: "Kubernetes does not tell a pod how many there are: set it to the Job's completions",
	},
}

// ofStep reports whether Slurm's variables of a step are of several tasks, and of the step that the process runs in. A
// batch script that a step has submitted inherits the step's variables; the list of tasks on its node is its own.
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

// Detect returns the place of this process among the ranks of a run, by the environment that getenv reads, usually
// os.Getenv. ok is false where no launcher has started it as a rank: the process is alone. A size of 1 is a place, too.
//
// It knows torchrun, the variables RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT that other launchers and people set,
// Open MPI, MPICH and Intel MPI, Slurm's srun, Kubeflow's PyTorchJob, and, with GORL_DISTRIBUTED=kubernetes, Kubeflow's
// Trainer and Indexed Jobs; docs/distributed.md has the table. MASTER_ADDR and MASTER_PORT also say where the ranks of
// launchers meet that name no address. Variables that are set and make no sense are an error that names the variable,
// its value, and what is allowed.
func Detect(getenv func(string) string) (place Place, ok bool, err error) {
	table := launchers
	e := environment{getenv}
	switch choice := getenv(EnvDistributed); choice {
	case "":
	case "off":
		return Place{}, false, nil
	case "kubernetes":
		table = podLaunchers
	default:
		return Place{}, false, fmt.Errorf("distributed: %s is %q; want off or kubernetes, or leave it out", EnvDistributed, choice)
	}
	for _, l := range table {
		if !l.started(e) {
			continue
		}
		if place, err = l.place(e); err != nil {
			return Place{}, false, fmt.Errorf("distributed: started by %s: %w", l.name, err)
		}
		return place, true, nil
	}
	if getenv(EnvDistributed) != "" {
		return Place{}, false, fmt.Errorf("distributed: %s is kubernetes, and neither PET_NODE_RANK nor JOB_COMPLETION_INDEX is set, as in pods of Kubeflow's Trainer and of Indexed Jobs", EnvDistributed)
	}
	return Place{}, false, nil
}

// started reports whether the launcher started this process as a rank.
func (l launcher) started(e environment) bool {
	set := func(name string) bool { return e.get(name) != "" }
	claimed := !slices.ContainsFunc(l.claims, func(name string) bool { return !set(name) })
	if l.either {
		claimed = slices.ContainsFunc(l.claims, set)
	}
	return claimed && !slices.ContainsFunc(l.unless, set) && (l.also == nil || l.also(e))
}

// place reads the launcher's variables.
func (l launcher) place(e environment) (p Place, err error) {
	p = Place{LocalSize: 1, Launcher: cmp.Or(e.get(l.caller), l.name)}
	if p.Size, err = e.number(l.size, 1, 1<<20, l.hint); err != nil {
		return p, err
	}
	if p.Rank, err = e.number(l.rank, 0, p.Size-1, cmp.Or(l.hint, l.size+" is "+e.get(l.size))); err != nil {
		return p, err
	}
	if err := e.processes(l, p.Size); err != nil {
		return p, err
	}
	if err := l.local(e, &p); err != nil {
		return p, err
	}
	if l.attempt != "" && e.get(l.attempt) != "" {
		if p.Attempt, err = e.number(l.attempt, 0, 1<<20, ""); err != nil {
			return p, err
		}
	}
	var parts []string
	for _, name := range l.id {
		if value := e.get(name); value != "" {
			parts = append(parts, value)
		}
	}
	id := strings.Join(parts, ".")
	if p.Address, err = l.meet(e, p, id); err != nil {
		return p, err
	}
	if id == "" || id == "none" { // what torchrun has for runs that do not name themselves
		id = p.Address
	}
	p.Run = fmt.Sprintf("%s/%d", id, p.Attempt)
	if e.get(l.taken) == "True" {
		host, _, _ := net.SplitHostPort(p.Address)
		p.Address = net.JoinHostPort(host, strconv.Itoa(derivedPort(p.Run)))
	}
	return p, nil
}

// local reads the place among the ranks on this machine, where the launcher tells it.
func (l launcher) local(e environment, p *Place) (err error) {
	if l.tasks != "" {
		node, err := e.number(l.node, 0, 1<<20, "")
		if err != nil {
			return err
		}
		if p.LocalSize, err = tasksOn(e.get(l.tasks), node); err != nil {
			return fmt.Errorf("%s is %q, and %s is %d: %w", l.tasks, e.get(l.tasks), l.node, node, err)
		}
		p.LocalRank, err = e.number(l.localRank, 0, p.LocalSize-1, l.tasks+" is "+e.get(l.tasks))
		return err
	}
	if l.localRank == "" || e.get(l.localRank) == "" && e.get(l.localSize) == "" {
		return nil
	}
	if p.LocalSize, err = e.number(l.localSize, 1, p.Size, l.size+" is "+e.get(l.size)+"; "+l.localRank+" needs it"); err != nil {
		return err
	}
	p.LocalRank, err = e.number(l.localRank, 0, p.LocalSize-1, l.localSize+" is "+e.get(l.localSize))
	return err
}

// meet is where the ranks meet: MASTER_ADDR and MASTER_PORT, else the first machine of the launcher's list, else this
// machine where all ranks are on it, at a port that follows from the run's id. A socket of this machine
// takes precedence over these.
func (l launcher) meet(e environment, p Place, id string) (string, error) {
	if path := e.get(l.socket); path != "" {
		if !filepath.IsAbs(path) || p.LocalSize != p.Size {
			return "", fmt.Errorf("%s is %q, and %d of %d ranks are on this machine; want an absolute path, and all ranks here",
				l.socket, path, p.LocalSize, p.Size)
		}
		return path, nil
	}
	addr, portName := cmp.Or(l.addrName, "MASTER_ADDR"), cmp.Or(l.portName, "MASTER_PORT")
	host := e.get(addr)
	switch list := e.get(l.nodes); {
	case host != "":
		if strings.ContainsAny(host, "/ \t\n") {
			return "", fmt.Errorf("%s is %q; want a host's name or address", addr, host)
		}
	case p.LocalSize == p.Size:
		host = "127.0.0.1"
	case l.nodes != "":
		var err error
		if host, err = firstHost(list); err != nil {
			return "", fmt.Errorf("%s is %q: %w", l.nodes, list, err)
		}
	default:
		return "", fmt.Errorf("%s is not set; want the name or address of rank 0's machine, the same for all ranks", addr)
	}
	port := l.port
	if e.get(portName) != "" {
		var err error
		if port, err = e.number(portName, 1, 1<<16-1, ""); err != nil {
			return "", err
		}
	}
	if port == 0 {
		port = derivedPort(id)
	}
	return net.JoinHostPort(host, strconv.Itoa(port)), nil
}

// derivedPort is a port that follows from the id of a run, so that all its ranks know it and runs on the same machine
// hardly ever share one. It is below those that systems give to outgoing connections.
func derivedPort(id string) int {
	h := fnv.New32a()
	h.Write([]byte(id))
	return 20000 + int(h.Sum32()%10000)
}

// environment reads variables.
type environment struct{ getenv func(string) string }

// get is a variable's value, without spaces around it; "" of the variable "".
func (e environment) get(name string) string {
	if name == "" {
		return ""
	}
	return strings.TrimSpace(e.getenv(name))
}

// number is the whole number that a variable has. hint says, in an error, what else is to be known.
func (e environment) number(name string, low, high int, hint string) (int, error) {
	if hint != "" {
		hint = " (" + hint + ")"
	}
	value := e.get(name)
	if value == "" {
		return 0, fmt.Errorf("%s is not set; want a whole number%s", name, hint)
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < low || n > high {
		return 0, fmt.Errorf("%s is %q; want a whole number from %d to %d%s", name, value, low, high, hint)
	}
	return n, nil
}

// processes holds WORLD_SIZE against the number of pods where torchrun was to start several processes in each: it
// counts these processes, or the pods, by the version of the operator.
func (e environment) processes(l launcher, pods int) error {
	if l.size != "PET_NNODES" || e.get("WORLD_SIZE") == "" {
		return nil
	}
	world, err := e.number("WORLD_SIZE", 1, 1<<20, "")
	if err != nil {
		return err
	}
	each, err := strconv.Atoi(e.get("PET_NPROC_PER_NODE"))
	if err != nil {
		each = 1 // "auto", "cpu" and "gpu" are for torchrun to count
	}
	if world != pods && world != pods*each {
		return fmt.Errorf("WORLD_SIZE is %d; want PET_NNODES, which is %d, or that times PET_NPROC_PER_NODE", world, pods)
	}
	return nil
}

// tasksOn is the number of tasks on the node with this number, by a list such as "2(x3),1": two on each of the first
// three nodes, one on the fourth.
func tasksOn(list string, node int) (int, error) {
	at := node
	for part := range strings.SplitSeq(list, ",") {
		count, times := part, "1"
		if before, rest, ok := strings.Cut(part, "("); ok {
			inner, closed := strings.CutSuffix(rest, ")")
			x, marked := strings.CutPrefix(inner, "x")
			if !closed || !marked {
				return 0, fmt.Errorf("want numbers of tasks like 2(x3),1, not %q", part)
			}
			count, times = before, x
		}
		n, err := strconv.ParseUint(count, 10, 31)
		m, err2 := strconv.ParseUint(times, 10, 31)
		if errors.Join(err, err2) != nil || n < 1 || m < 1 {
			return 0, fmt.Errorf("want numbers of tasks like 2(x3),1, not %q", part)
		}
		if uint64(at) < m {
			return int(n), nil
		}
		at -= int(m)
	}
	return 0, fmt.Errorf("the list has fewer nodes")
}

// firstHost is the first machine of a list as Slurm compresses it: "a" of "a,b", "n07" of "n[07-12,20],m1", "r1n3" of
// "r[1-2]n[3,5]".
func firstHost(list string) (string, error) {
	var host strings.Builder
	for rest := list; rest != "" && rest[0] != ','; {
		at := strings.IndexAny(rest, "[],")
		if at < 0 {
			at = len(rest)
		}
		host.WriteString(rest[:at])
		rest = rest[at:]
		if rest == "" || rest[0] == ',' {
			break
		}
		inner, after, closed := strings.Cut(rest[1:], "]")
		if rest[0] == ']' || !closed {
			return "", fmt.Errorf("a bracket has no other; want a list of machines like n[01-04,7]")
		}
		for i, part := range strings.Split(inner, ",") {
			low, high, ranged := strings.Cut(part, "-")
			a, err := strconv.ParseUint(low, 10, 63)
			b := a
			if err == nil && ranged {
				b, err = strconv.ParseUint(high, 10, 63)
			}
			if err != nil || b < a {
				return "", fmt.Errorf("%q is no range of numbers; want a list of machines like n[01-04,7]", part)
			}
			if i == 0 {
				host.WriteString(low)
			}
		}
		rest = after
	}
	name := host.String()
	if name == "" || strings.ContainsAny(name, "/: \t\n()\x00") {
		return "", fmt.Errorf("the first machine would be %q; want a list of machines like n[01-04,7]", name)
	}
	return name, nil
}
