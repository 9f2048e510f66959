package distributed

import (
	"time"

	"github.com/gorl-dev/gorl/internal/config"
)

// Config configures the ranks' exchange of data.
type Config struct {
	// Backend adds up tensors on CUDA devices: "nccl" is NVIDIA's library; "sockets" copies through the host, so
	// that ranks may share a GPU; "auto" is nccl if it was built in and every rank has a GPU, otherwise sockets.
	// Tensors on the CPU always use sockets. Default "auto".
	//
	// Set sockets if NCCL cannot connect the machines. All ranks must have the same Backend. "gloo" is an older name of
	// sockets.
	Backend string `yaml:"backend" config:"oneof=auto|sockets|nccl|gloo"`
	// Timeout is the time that a rank waits for the others in each operation, before it ends with an error that
	// names the missing ranks. Default 10 minutes.
	//
	// It must be longer than the work of a single rank between operations: rank 0 saves, draws and evaluates, and
	// environments may be slow. A shorter one detects a rank that hangs sooner.
	Timeout time.Duration `yaml:"timeout" config:"gt=0"`
	// JoinTimeout is the time to wait for the others to start. Default 5 minutes.
	//
	// Use a larger one if a queue starts machines one after the other. A smaller one detects a missing rank sooner.
	JoinTimeout time.Duration `yaml:"join_timeout" config:"gt=0"`
}

// DefaultConfig returns the defaults named in [Config].
func DefaultConfig() Config {
	return Config{Backend: "auto", Timeout: 10 * time.Minute, JoinTimeout: 5 * time.Minute}
}

func init() { config.Declare("distributed", "distributed", DefaultConfig()) }

// FromDict returns the defaults with the settings of a dictionary, which is the section distributed of a run's file.
func FromDict(dict map[string]any) (Config, error) {
	cfg := DefaultConfig()
	err := config.Merge(&cfg, dict, config.Options{Prefix: "distributed"})
	return cfg, err
}

// Validate returns an error that names every invalid field.
func (c Config) Validate() error { return config.Check(c, "distributed") }
