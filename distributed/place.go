package distributed

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Place says which rank of how many this process is, and where the ranks meet. [Detect] reads it from the environment
// that a launcher gives its processes; [Join] makes a group of it.
type Place struct {
	// Rank is this process' number among all, from 0 and below Size.
	Rank, Size int
	// LocalRank is its number among the LocalSize ranks on this machine, which decides for instance which GPU it takes.
	LocalRank, LocalSize int
	// Address is the "host:port" at which the ranks meet, at rank 0's machine. For ranks of one machine it may be the
	// path of a unix socket.
	Address string
	// Run tells runs that meet at one address from each other: the run's id, "/", and Attempt. Ranks of another Run are
	// refused.
	Run string
	// Attempt is how often all ranks have been started again: torchrun's restarts, Slurm's requeues.
	Attempt int
	// Launcher says for people who started the ranks, for instance "torchrun".
	Launcher string
}

// ID is Run without the attempt: it names the same run after a restart of its ranks.
func (p Place) ID() string { return strings.TrimSuffix(p.Run, "/"+strconv.Itoa(p.Attempt)) }

// String names the rank for people: "rank 1 of 4".
func (p Place) String() string { return fmt.Sprintf("rank %d of %d", p.Rank, p.Size) }

// The environment by which programs tell a rank its place, beside torch's RANK, WORLD_SIZE, LOCAL_RANK,
// LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT.
const (
	// EnvRun is the id of a run, the same in all its ranks and attempts.
	EnvRun = "GORL_RUN_ID"
	// EnvAttempt is Place.Attempt, and EnvLauncher Place.Launcher.
	EnvAttempt  = "GORL_ATTEMPT"
	EnvLauncher = "GORL_LAUNCHER"
	// EnvSocket is the path of the unix socket at which the ranks of one machine meet, instead of at MASTER_ADDR and
	// MASTER_PORT.
	EnvSocket = "GORL_SOCKET"
	// EnvDistributed chooses the variables that [Detect] reads: none where it is "off", so that the process trains alone;
	// those of Kubeflow's Trainer and of Indexed Jobs where it is "kubernetes", which other programs in pods have, too.
	EnvDistributed = "GORL_DISTRIBUTED"
)

// Environ returns environ, as of os.Environ, with the variables from which [Detect] reads this place, and without those
// of torchrun and of an outer launcher that would say something else.
func (p Place) Environ(environ []string) ([]string, error) {
	kind, at, err := network(p.Address)
	if err != nil {
		return nil, err
	}
	socket := ""
	if kind == "unix" { // the port is for programs that do not use the socket
		socket, at = at, net.JoinHostPort("127.0.0.1", strconv.Itoa(derivedPort(p.Address)))
	}
	host, port, _ := net.SplitHostPort(at)
	var list []string
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, "TORCHELASTIC_") && !strings.HasPrefix(name, "PET_") && name != EnvDistributed {
			list = append(list, variable)
		}
	}
	return append(list,
		fmt.Sprintf("RANK=%d", p.Rank), fmt.Sprintf("WORLD_SIZE=%d", p.Size),
		fmt.Sprintf("LOCAL_RANK=%d", p.LocalRank), fmt.Sprintf("LOCAL_WORLD_SIZE=%d", p.LocalSize),
		"MASTER_ADDR="+host, "MASTER_PORT="+port,
		EnvSocket+"="+socket, EnvRun+"="+p.ID(), fmt.Sprintf("%s=%d", EnvAttempt, p.Attempt), EnvLauncher+"="+p.Launcher,
	), nil
}
