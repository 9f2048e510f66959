package distributed

// Place says which rank of how many this process is, and where the ranks meet.
type Place struct {
	// Rank is the number of this process among Size, from 0 on.
	Rank, Size int
	// LocalRank is its number among the LocalSize ranks on this machine.
	LocalRank, LocalSize int
	// Address is where the ranks meet, "host:port".
	Address string
	// Serve says that rank 0 opens that port itself. It is false where another process, such as torchrun's agent, listens
	// there already.
	Serve bool
	// Run keeps runs apart that meet at one address.
	Run string
	// Attempt counts how often the ranks have been started again.
	Attempt int
	// Launcher is who started the ranks, for messages ("torchrun", "Slurm").
	Launcher string
}
