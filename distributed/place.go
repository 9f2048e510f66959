package distributed

import (
	"fmt"
	"net"
	"strconv"
	"strings"
)

// Place is the rank of this process among all ranks, and the address at which they meet. [Detect] reads it from the
// environment that a launcher sets. [Join] connects the ranks.
type Place struct {
	// Rank is the number of this process, from 0 to Size − 1.
	Rank, Size int
	// LocalRank is its number among the LocalSize ranks on this machine. It selects the GPU.
	LocalRank, LocalSize int
	// Address is the "host:port" on rank 0's machine at which the ranks meet. For ranks of one machine it may be the
	// path of a unix socket.
	Address string
	// Run identifies the run: its id, "/", and Attempt. Ranks of another Run are refused.
	Run string
	// Attempt is the number of restarts of all ranks: torchrun's restarts, Slurm's requeues.
	Attempt int
	// Launcher is the name of the program that started the ranks, for example "torchrun".
	Launcher string
}

// ID returns Run without the attempt. It is the same after a restart of the ranks.
func (p Place) ID() string { return strings.TrimSuffix(p.Run, "/"+strconv.Itoa(p.Attempt)) }

// String returns text such as "rank 1 of 4".
func (p Place) String() string { return fmt.Sprintf("rank %d of %d", p.Rank, p.Size) }

// The environment variables of a rank's place, in addition to torch's RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
// MASTER_ADDR and MASTER_PORT.
const (
	// EnvRun is the id of a run, the same in all its ranks and attempts.
	EnvRun = "GORL_RUN_ID"
	// EnvAttempt is Place.Attempt, and EnvLauncher Place.Launcher.
	EnvAttempt  = "GORL_ATTEMPT"
	EnvLauncher = "GORL_LAUNCHER"
	// EnvSocket is the path of the unix socket at which the ranks of one machine meet. It replaces MASTER_ADDR and
	// MASTER_PORT.
	EnvSocket = "GORL_SOCKET"
	// EnvDistributed selects the variables that [Detect] reads. With "off" it reads none, and the process trains alone.
	// With "kubernetes" it reads those of Kubeflow's Trainer and of Indexed Jobs, which other programs in pods have
	// too.
	EnvDistributed = "GORL_DISTRIBUTED"
)

// Environ returns environ with the variables from which [Detect] reads this place, and without those of torchrun and of
// an outer launcher that would contradict it.
func (p Place) Environ(environ []string) ([]string, error) {
	kind, at, err := network(p.Address)
	if err != nil {
		return nil, err
	}
	socket := ""
	if kind == "unix" { // programs that do not use the socket take the port
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
	return append(list, fmt.Sprintf("RANK=%d", p.Rank), fmt.Sprintf("WORLD_SIZE=%d", p.Size),
		fmt.Sprintf("LOCAL_RANK=%d", p.LocalRank), fmt.Sprintf("LOCAL_WORLD_SIZE=%d", p.LocalSize),
		"MASTER_ADDR="+host, "MASTER_PORT="+port,
		EnvSocket+"="+socket, EnvRun+"="+p.ID(), fmt.Sprintf("%s=%d", EnvAttempt, p.Attempt),
		EnvLauncher+"="+p.Launcher), nil
}
