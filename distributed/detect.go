package distributed

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Detect returns the place of this process among the ranks of a run, from the environment that getenv (usually
// os.Getenv) reads. ok is false if no launcher has started the process as a rank. A single rank is a place too.
//
// It knows torchrun, the variables RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT of other launchers, Open MPI, MPICH
// and Intel MPI, Slurm's srun, Kubeflow's PyTorchJob, and, with GORL_DISTRIBUTED=kubernetes, Kubeflow's Trainer and
// Indexed Jobs. docs/distributed.md has the table. MASTER_ADDR and MASTER_PORT are also the meeting point for launchers
// that have none. An invalid variable is an error that names the variable, its value, and what is allowed.
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
		return Place{}, false, fmt.Errorf("distributed: %s is %q; want off or kubernetes, or leave it out",
			EnvDistributed, choice)
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
		return Place{}, false, fmt.Errorf("distributed: %s is kubernetes, and neither PET_NODE_RANK nor "+
			"JOB_COMPLETION_INDEX is set, as in pods of Kubeflow's Trainer and of Indexed Jobs", EnvDistributed)
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
	if id == "" || id == "none" { // torchrun's id of a run without a name
		id = p.Address
	}
	p.Run = fmt.Sprintf("%s/%d", id, p.Attempt)
	if e.get(l.taken) == "True" {
		host, _, _ := net.SplitHostPort(p.Address)
		p.Address = net.JoinHostPort(host, strconv.Itoa(derivedPort(p.Run)))
	}
	return p, nil
}

// local reads the place among the ranks on this machine, if the launcher sets it.
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
	hint := l.size + " is " + e.get(l.size) + "; " + l.localRank + " needs it"
	if p.LocalSize, err = e.number(l.localSize, 1, p.Size, hint); err != nil {
		return err
	}
	p.LocalRank, err = e.number(l.localRank, 0, p.LocalSize-1, l.localSize+" is "+e.get(l.localSize))
	return err
}

// meet returns the address at which the ranks meet: the socket, else MASTER_ADDR and MASTER_PORT. Without MASTER_ADDR
// it is this machine if all ranks are on it, else the first machine of the launcher's list. Without MASTER_PORT the
// port is the launcher's, else derived from the run's id.
func (l launcher) meet(e environment, p Place, id string) (string, error) {
	if path := e.get(l.socket); path != "" {
		if !filepath.IsAbs(path) || p.LocalSize != p.Size {
			return "", fmt.Errorf("%s is %q, and %d of %d ranks are on this machine; want an absolute path, and "+
				"all ranks here", l.socket, path, p.LocalSize, p.Size)
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
		return "", fmt.Errorf("%s is not set; want the name or address of rank 0's machine, the same for all ranks",
			addr)
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

// derivedPort returns a port that follows from the id of a run. All ranks know it, and runs on one machine rarely share
// one. It is below the ports of outgoing connections.
func derivedPort(id string) int {
	h := fnv.New32a()
	h.Write([]byte(id))
	return 20000 + int(h.Sum32()%10000)
}

// environment reads variables.
type environment struct{ getenv func(string) string }

// get returns a variable's value without surrounding spaces. The variable "" has the value "".
func (e environment) get(name string) string {
	if name == "" {
		return ""
	}
	return strings.TrimSpace(e.getenv(name))
}

// number returns the whole number of a variable. Errors quote the hint.
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
