package launch

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/internal/config"
)

// maxPolicies bounds what a slip of the finger can start.
const maxPolicies = 1 << 16

// Description says how the members of a population are run: the section `launcher:` of its YAML file.
type Description struct {
	// Name is the population's name, for jobs and files: letters, digits, ".", "_" and "-".
	Name string `yaml:"name"`
	// Command is the member program and its arguments. A program that uses [Main] need not give it: its members are
	// itself, with its own arguments.
	Command []string `yaml:"command"`
	// NumPolicies is the number of policies; the section `pbt:` may give it instead.
	NumPolicies int `yaml:"num_policies" config:"min=0,max=65536"`
	// MaxParallel is the greatest number of members that run at a time. With 0 these are as many as there is room for
	// where MembersPerGPU is given, else all. Where there are more policies, they take turns.
	MaxParallel int `yaml:"max_parallel" config:"min=0"`
	// GPUs is the number of devices to divide members among, the first of CUDA_VISIBLE_DEVICES where that is set. 0
	// leaves CUDA_VISIBLE_DEVICES as it is.
	GPUs int `yaml:"gpus" config:"min=0"`
	// MembersPerGPU is the greatest number of members on one GPU at a time; 0: as many as MaxParallel needs.
	MembersPerGPU int `yaml:"members_per_gpu" config:"min=0"`
	// Env is added to the members' environment.
	Env Vars `yaml:"env"`
	// Slice is the number of intervals that a member trains before another has its turn, where there are more policies
	// than MaxParallel.
	Slice int64 `yaml:"slice" config:"min=1"`
	// Logs is the folder of the members' outputs; the folder `logs` in the workspace if empty.
	Logs string `yaml:"logs"`
	// LogSize is the size in bytes at which an output's file is put aside and another begun; of those put aside the
	// newest LogFiles are kept. 0 never puts a file aside.
	LogSize int64 `yaml:"log_size" config:"min=0"`
	// LogFiles is the number of files put aside to keep.
	LogFiles int `yaml:"log_files" config:"min=1,max=99"`
	// Grace is the time that members are given to save before they are killed.
	Grace time.Duration `yaml:"grace"`
	// Seed makes the random part of back-off times.
	Seed int64 `yaml:"seed"`
	// Restarts says how failed members are started again.
	Restarts Restarts `yaml:"restarts"`
	// Slurm and Kubernetes are used by `gorl-pbt slurm` and `gorl-pbt kubernetes` only.
	Slurm SlurmDescription `yaml:"slurm"`
	// Kubernetes is the same for Kubernetes.
	Kubernetes KubernetesDescription `yaml:"kubernetes"`
}

// Restarts says how failed members are started again: after Backoff, twice that after the second failure within
// Window, and so on up to MaxBackoff, and not at all after more than Max.
type Restarts struct {
	// Max is the greatest number of restarts of one member within Window.
	Max int `yaml:"max" config:"min=0"`
	// Window is the time after which a failure is forgotten.
	Window time.Duration `yaml:"window"`
	// Backoff is the first wait.
	Backoff time.Duration `yaml:"backoff"`
	// MaxBackoff is the longest wait, before jitter.
	MaxBackoff time.Duration `yaml:"max_backoff"`
	// Jitter is the part of a wait that is random, so that members that fail together do not come back together.
	Jitter float64 `yaml:"jitter" config:"min=0,max=1"`
}

// SlurmDescription is what a job array asks of Slurm.
type SlurmDescription struct {
	// Partition is the partition; Slurm's default if empty.
	Partition string `yaml:"partition"`
	// GPUsPerMember and CPUsPerMember are what each member gets.
	GPUsPerMember int `yaml:"gpus_per_member" config:"min=0"`
	// CPUsPerMember is the number of processors.
	CPUsPerMember int `yaml:"cpus_per_member" config:"min=1"`
	// Memory is that of a member, e.g. "16G"; Slurm's default if empty.
	Memory string `yaml:"memory"`
	// Time is the limit of one run of a member, e.g. "4:00:00"; the partition's if empty. A minute before it is up the
	// member saves and goes back into the queue.
	Time string `yaml:"time"`
	// Nodes is the number of nodes of one member.
	Nodes int `yaml:"nodes" config:"min=1"`
	// Extra are further options of sbatch, one each, e.g. "--account=robots".
	Extra []string `yaml:"extra"`
	// Setup are lines of shell to run before the member, e.g. "module load cuda". They are run as they are.
	Setup []string `yaml:"setup"`
}

// KubernetesDescription is what an Indexed Job asks of Kubernetes.
type KubernetesDescription struct {
	// Image is the container image that holds the member program.
	Image string `yaml:"image"`
	// Namespace is the namespace; that of kubectl's context if empty.
	Namespace string `yaml:"namespace"`
	// Resources are requests and limits of a member, e.g. {cpu: 4, memory: 16Gi, nvidia.com/gpu: 1}.
	Resources Vars `yaml:"resources"`
	// Claim is the PersistentVolumeClaim that all pods share; its access mode must be ReadWriteMany where they run on
	// several nodes.
	Claim string `yaml:"claim"`
	// MountPath is where it appears in the pods. The workspace must lie there.
	MountPath string `yaml:"mount_path"`
	// Parallelism is the number of pods at a time; MaxParallel if 0.
	Parallelism int `yaml:"parallelism" config:"min=0"`
	// NodeSelector are labels that nodes must have.
	NodeSelector Vars `yaml:"node_selector"`
	// Tolerations let pods onto nodes with taints.
	Tolerations []Toleration `yaml:"tolerations"`
	// ServiceAccount is the pods' account; the namespace's default if empty.
	ServiceAccount string `yaml:"service_account"`
	// Env is added to the members' environment, over that of the launcher's section.
	Env Vars `yaml:"env"`
}

// Toleration is one of Kubernetes' tolerations.
type Toleration struct {
	// Key is the taint's; empty with operator Exists for every taint.
	Key string `yaml:"key,omitempty"`
	// Operator is Equal, or Exists, which takes no value.
	Operator string `yaml:"operator,omitempty" config:"oneof=|Equal|Exists"`
	// Value is the taint's.
	Value string `yaml:"value,omitempty"`
	// Effect is the taint's; empty for all.
	Effect string `yaml:"effect,omitempty" config:"oneof=|NoSchedule|PreferNoSchedule|NoExecute"`
}

// DefaultDescription is what holds where a file says nothing.
func DefaultDescription() Description {
	return Description{
		Name: "gorl-pbt", Slice: 1, LogSize: 16 << 20, LogFiles: 3, Grace: 30 * time.Second,
		Restarts:   Restarts{Max: 5, Window: 10 * time.Minute, Backoff: time.Second, MaxBackoff: time.Minute, Jitter: 0.25},
		Slurm:      SlurmDescription{CPUsPerMember: 1, Nodes: 1},
		Kubernetes: KubernetesDescription{MountPath: "/data"},
	}
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// Validate checks what can be checked before anything is started. NumPolicies must be known by now.
func (d Description) Validate() error {
	errs := []error{config.Check(d, "launch")}
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("launch: "+format, args...)) }
	if !plainName.MatchString(d.Name) {
		wrong(`"name" is %q: want at most 63 letters, digits, ".", "_" and "-", a letter or digit first`, d.Name)
	}
	if d.NumPolicies < 1 {
		wrong(`"num_policies" is %d: want at least 1, here or in the section "pbt"`, d.NumPolicies)
	}
	if d.MembersPerGPU > 0 && d.GPUs == 0 {
		wrong(`"members_per_gpu" is %d without "gpus": say how many GPUs there are`, d.MembersPerGPU)
	}
	if d.GPUs > 0 && d.MembersPerGPU > 0 && d.MaxParallel > d.GPUs*d.MembersPerGPU {
		wrong(`"max_parallel" is %d, and %d GPUs have room for %d members each: make it at most %d`, d.MaxParallel, d.GPUs, d.MembersPerGPU, d.GPUs*d.MembersPerGPU)
	}
	for key, v := range map[string]time.Duration{"grace": d.Grace, "restarts.window": d.Restarts.Window, "restarts.backoff": d.Restarts.Backoff, "restarts.max_backoff": d.Restarts.MaxBackoff} {
		if v <= 0 {
			wrong(`%q is %v: want a time above 0, like "30s"`, key, v)
		}
	}
	if d.Restarts.MaxBackoff < d.Restarts.Backoff {
		wrong(`"restarts.max_backoff" is %v: want at least "restarts.backoff", %v`, d.Restarts.MaxBackoff, d.Restarts.Backoff)
	}
	if len(d.Command) > 0 && d.Command[0] == "" {
		wrong(`"command" begins with an empty word: want the member program`)
	}
	for _, vars := range []struct {
		key string
		v   Vars
	}{{"env", d.Env}, {"kubernetes.env", d.Kubernetes.Env}} {
		if err := vars.v.checkNames(vars.key); err != nil {
			errs = append(errs, err)
		}
	}
	if _, set := d.Env["CUDA_VISIBLE_DEVICES"]; set && d.GPUs > 0 {
		wrong(`"env" sets CUDA_VISIBLE_DEVICES, and so does "gpus": give one of them`)
	}
	for i, word := range d.Command {
		if strings.ContainsRune(word, 0) {
			wrong(`"command[%d]" holds a zero byte`, i)
		}
	}
	return errors.Join(errs...)
}

// parallel is the number of members that may run at a time.
func (d Description) parallel() int {
	n := d.MaxParallel
	if n == 0 && d.GPUs > 0 && d.MembersPerGPU > 0 {
		n = d.GPUs * d.MembersPerGPU
	}
	if n == 0 || n > d.NumPolicies {
		n = d.NumPolicies
	}
	return n
}

// perGPU is the number of members that one GPU has room for.
func (d Description) perGPU() int {
	if d.MembersPerGPU > 0 || d.GPUs == 0 {
		return d.MembersPerGPU
	}
	return (d.parallel() + d.GPUs - 1) / d.GPUs
}

// slice is what members are told in EnvSlice.
func (d Description) slice() int64 {
	if d.parallel() < d.NumPolicies {
		return d.Slice
	}
	return 0
}
