package launch

// This file holds the section `launcher:` of a population's file: its keys and defaults, the checks that are made
// before any process starts, and the numbers that follow from several keys together (parallel, perGPU, slice).
// file.go reads the section; turns.go, slurm.go and kubernetes.go use it.

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/internal/config"
)

// maxMembers bounds the number of processes that a mistyped number can start.
const maxMembers = 1 << 16

// Config says how the members of a population are run: the section `launcher:` of its YAML file.
type Config struct {
	// Name is the population's name, for jobs and files: letters, digits, ".", "_" and "-".
	//
	// On Kubernetes the name must also be a DNS label of at most 52 characters, and different for every population in
	// one namespace: kubectl apply would replace the objects of the other population.
	Name string `yaml:"name"`
	// Command is the member program and its arguments. A program that uses [Main] need not give it.
	//
	// The program is started without a shell. Pipes and shell variables need ["bash", "-c", "..."].
	Command []string `yaml:"command"`
	// NumPolicies is the number of members; the section `pbt:` may give it instead.
	//
	// More members search more widely, and each takes the compute of one run.
	NumPolicies int `yaml:"num_policies" config:"min=0,max=65536"`
	// RanksPerMember is the number of processes that train one member, each with its own environments; the program
	// must support it, as `gorl member` does.
	//
	// More train a member sooner, on as many GPUs; with fewer, more members run at a time.
	RanksPerMember int `yaml:"ranks_per_member" config:"min=1,max=4096"`
	// MaxParallel is the number of members that run at a time; the others take turns. 0 is as many as MembersPerGPU
	// leaves room for, else all.
	MaxParallel int `yaml:"max_parallel" config:"min=0"`
	// GPUs is the number of devices for the members, the first of CUDA_VISIBLE_DEVICES if that is set; a member gets
	// one per rank. 0 shows every member all devices.
	GPUs int `yaml:"gpus" config:"min=0"`
	// MembersPerGPU is the greatest number of members per GPU at a time; 0 derives it from MaxParallel.
	//
	// More share memory and slow each other down.
	MembersPerGPU int `yaml:"members_per_gpu" config:"min=0"`
	// Env is added to the members' environment.
	Env Vars `yaml:"env"`
	// Slice is the number of intervals of a turn, if MaxParallel makes members take turns.
	//
	// Longer turns start fewer processes; shorter ones keep the members' ages closer. It has no effect where all
	// members run at a time: a member that never has to make room never yields.
	Slice int64 `yaml:"slice" config:"min=1"`
	// Logs is the folder of the members' outputs; empty is logs in the workspace.
	Logs string `yaml:"logs"`
	// Grace is the time to save before members are killed. Raise it if checkpoints take longer.
	//
	// A shorter time ends a run sooner after Ctrl-C where a member hangs and will never save.
	Grace time.Duration `yaml:"grace" config:"gt=0"`
	// Seed makes the random part of back-off times.
	//
	// What the members train does not depend on it; change it only to get other waits.
	Seed int64 `yaml:"seed"`
	// Restarts says how failed members are started again.
	Restarts Restarts `yaml:"restarts"`
	// Slurm and Kubernetes are used by `gorl-pbt slurm` and `gorl-pbt kubernetes` only.
	Slurm SlurmConfig `yaml:"slurm"`
	// Kubernetes is the same for Kubernetes.
	Kubernetes KubernetesConfig `yaml:"kubernetes"`
}

// Restarts says how failed members are started again: after Backoff, twice that after the second failure within
// Window, and so on up to MaxBackoff, and not at all after more than Max.
type Restarts struct {
	// Max is the greatest number of restarts of one member within Window.
	//
	// More survive more passing failures; fewer give up a broken member sooner.
	Max int `yaml:"max" config:"min=0"`
	// Window is the time after which a failure is forgotten. It must exceed the waits between Max restarts, or a
	// member that always fails is restarted for ever.
	Window time.Duration `yaml:"window" config:"gt=0"`
	// Backoff is the wait before the first restart.
	Backoff time.Duration `yaml:"backoff" config:"gt=0"`
	// MaxBackoff is the longest wait, before jitter.
	//
	// A longer one outlasts longer outages, for instance of a file server; a shorter one brings members back sooner
	// once the cause has passed.
	MaxBackoff time.Duration `yaml:"max_backoff" config:"gt=0"`
	// Jitter is the random part of a wait, so that members that fail together do not restart together.
	//
	// 0 waits exactly the back-off; 1 waits up to twice as long. Raise it where many members load the same file
	// server when they start.
	Jitter float64 `yaml:"jitter" config:"min=0,max=1"`
}

// SlurmConfig is what a job array asks of Slurm.
type SlurmConfig struct {
	// Partition is the partition; empty is Slurm's default.
	Partition string `yaml:"partition"`
	// GPUsPerMember is the number of devices per member, one per rank.
	GPUsPerMember int `yaml:"gpus_per_member" config:"min=0"`
	// CPUsPerMember is the number of processors per member, divided among its ranks.
	//
	// More processors let a member step its environments in parallel; fewer let the cluster place more members at a
	// time.
	CPUsPerMember int `yaml:"cpus_per_member" config:"min=1"`
	// Memory is the memory per member, such as "16G"; empty is Slurm's default. Slurm kills a member that needs
	// more.
	Memory string `yaml:"memory"`
	// Time is the limit of one run of a member, such as "4:00:00"; empty is the partition's. The member saves a
	// minute earlier and queues again, so short limits lose nothing.
	Time string `yaml:"time"`
	// Nodes is the number of nodes per member.
	//
	// Ranks are divided evenly among the nodes. A member of one rank runs on the first node only; more than 1 then
	// suits a program that starts its own processes on the other nodes.
	Nodes int `yaml:"nodes" config:"min=1"`
	// Extra are further options of sbatch, such as "--account=robots".
	Extra []string `yaml:"extra"`
	// Setup are shell lines before the member, such as "module load cuda".
	Setup []string `yaml:"setup"`
}

// KubernetesConfig is what an Indexed Job asks of Kubernetes.
type KubernetesConfig struct {
	// Image is the container image with the member program.
	Image string `yaml:"image"`
	// Namespace is the namespace; empty is that of kubectl's context.
	Namespace string `yaml:"namespace"`
	// Resources are requests and limits per rank, such as {cpu: 4, memory: 16Gi, nvidia.com/gpu: 1}.
	Resources Vars `yaml:"resources"`
	// Claim is the PersistentVolumeClaim of all pods: ReadWriteMany if they run on several nodes.
	Claim string `yaml:"claim"`
	// MountPath is its path in the pods. The workspace must be inside.
	MountPath string `yaml:"mount_path"`
	// NodeSelector are labels of nodes.
	NodeSelector Vars `yaml:"node_selector"`
	// Tolerations allow nodes with taints.
	Tolerations []Toleration `yaml:"tolerations"`
	// ServiceAccount is the pods' account; empty is the namespace's default.
	ServiceAccount string `yaml:"service_account"`
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

// DefaultConfig is what holds where a file says nothing.
func DefaultConfig() Config {
	return Config{
		Name: "gorl-pbt", RanksPerMember: 1, Slice: 1, Grace: 30 * time.Second,
		Restarts: Restarts{Max: 5, Window: 10 * time.Minute, Backoff: time.Second, MaxBackoff: time.Minute,
			Jitter: 0.25},
		Slurm:      SlurmConfig{CPUsPerMember: 1, Nodes: 1},
		Kubernetes: KubernetesConfig{MountPath: "/data"},
	}
}

// plainName is what is safe as a file name, as a name of a Slurm job and within a batch script.
var plainName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)

// Validate checks what can be checked before anything is started, and reports every problem. NumPolicies must be above
// 0 by now, also where the file gives it in the section `pbt:`.
func (c Config) Validate() error {
	errs := []error{config.Check(c, "launch")}
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("launch: "+format, args...)) }
	if !plainName.MatchString(c.Name) {
		wrong(`"name" is %q: want at most 63 letters, digits, ".", "_" and "-", a letter or digit first`, c.Name)
	}
	if c.NumPolicies < 1 {
		wrong(`"num_policies" is %d: want at least 1, here or in the section "pbt"`, c.NumPolicies)
	}
	if c.MembersPerGPU > 0 && c.GPUs == 0 {
		wrong(`"members_per_gpu" is %d without "gpus": say how many GPUs there are`, c.MembersPerGPU)
	}
	// The GPUs would silently run fewer members than max_parallel asks for.
	if c.GPUs > 0 && c.MembersPerGPU > 0 && c.MaxParallel > c.room() {
		wrong(`"max_parallel" is %d, and %d GPUs have room for %d members each: make it at most %d`, c.MaxParallel,
			c.GPUs, c.MembersPerGPU, c.room())
	}
	if c.GPUs > 0 && c.GPUs < c.RanksPerMember {
		wrong(`"gpus" is %d and "ranks_per_member" %d: every rank takes a GPU; leave "gpus" out if they share one`,
			c.GPUs, c.RanksPerMember)
	}
	ranks, gpus, nodes := c.RanksPerMember, c.Slurm.GPUsPerMember, c.Slurm.Nodes
	if ranks > 1 && nodes > 0 && (ranks%nodes != 0 || gpus%nodes != 0) {
		wrong(`"ranks_per_member" is %d, "slurm.gpus_per_member" %d and "slurm.nodes" %d: want multiples of the `+
			`nodes, as ranks and GPUs are divided evenly among them`, ranks, gpus, nodes)
	}
	if c.Restarts.MaxBackoff < c.Restarts.Backoff {
		wrong(`"restarts.max_backoff" is %v: want at least "restarts.backoff", %v`, c.Restarts.MaxBackoff,
			c.Restarts.Backoff)
	}
	if len(c.Command) > 0 && c.Command[0] == "" {
		wrong(`"command" begins with an empty word: want the member program`)
	}
	errs = append(errs, c.Env.checkNames(c.RanksPerMember))
	// Each would overwrite the other, and members would train on another device than the table shows.
	if _, set := c.Env["CUDA_VISIBLE_DEVICES"]; set && c.GPUs > 0 {
		wrong(`"env" sets CUDA_VISIBLE_DEVICES, and so does "gpus": give one of them`)
	}
	return errors.Join(errs...)
}

// room is the number of members that the GPUs have room for.
func (c Config) room() int { return c.GPUs * c.MembersPerGPU / max(1, c.RanksPerMember) }

// parallel is the number of members that may run at a time: MaxParallel or, if that is 0, the room on the GPUs or,
// where that is unknown too, all. It never exceeds the number of members.
func (c Config) parallel() int {
	n := c.MaxParallel
	if n == 0 && c.GPUs > 0 && c.MembersPerGPU > 0 {
		n = c.room()
	}
	if n == 0 || n > c.NumPolicies {
		n = c.NumPolicies
	}
	return n
}

// perGPU is the number of members that one GPU has room for: MembersPerGPU or, if that is 0, the smallest number
// with which all GPUs together hold parallel members. It is 0 without GPUs.
func (c Config) perGPU() int {
	if c.MembersPerGPU > 0 || c.GPUs == 0 {
		return c.MembersPerGPU
	}
	return (c.parallel()*c.RanksPerMember + c.GPUs - 1) / c.GPUs
}

// slice is the value of EnvSlice: Slice where members take turns; 0, which means that they never yield, where all fit
// at once.
func (c Config) slice() int64 {
	if c.parallel() < c.NumPolicies {
		return c.Slice
	}
	return 0
}

func init() { config.Declare("launcher", "launcher", DefaultConfig()) }

// Vars are names and texts, as in an environment. In YAML whole numbers and booleans may stand without quotes.
type Vars map[string]string

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// SetConfig reads a mapping from YAML. Floating-point numbers are refused, because YAML keeps no trailing zeros: a
// version 1.10 without quotes would arrive as 1.1.
func (v *Vars) SetConfig(value any) error {
	if vars, ok := value.(Vars); ok {
		*v = maps.Clone(vars)
		return nil
	}
	dict, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("want names and texts, {NAME: text}")
	}
	vars := make(Vars, len(dict))
	for _, name := range slices.Sorted(maps.Keys(dict)) {
		switch x := dict[name].(type) {
		case string, int, bool:
			vars[name] = fmt.Sprint(x)
		default:
			return fmt.Errorf("%s is %v: want a text; put it in quotes", name, x)
		}
	}
	*v = vars
	return nil
}

// checkNames refuses names that cannot stand in an environment, and those that the launcher sets itself for a member of
// so many ranks.
func (v Vars) checkNames(ranks int) error {
	for _, name := range slices.Sorted(maps.Keys(v)) {
		switch {
		case !variableName.MatchString(name):
			return fmt.Errorf("launch: \"env\" has %q: want a name of letters, digits and _", name)
		case strings.HasPrefix(name, "GORL_PBT_"):
			return fmt.Errorf("launch: \"env\" has %q, which the launcher sets itself; leave it out", name)
		case ranks > 1 && slices.Contains(rankVariables, name):
			return fmt.Errorf("launch: \"env\" sets %s, by which the ranks of a member find each other; leave it out",
				name)
		}
	}
	return nil
}

// list are the variables as NAME=text, sorted.
func (v Vars) list() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		list = append(list, name+"="+v[name])
	}
	return list
}
