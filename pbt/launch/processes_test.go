package launch

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// crew makes a population of members with two ranks each, which are a few lines of shell.
func crew(t *testing.T, settings, member string) *File {
	t.Helper()
	f := job(t, "ranks_per_member: 2, restarts: {backoff: 1ms, max_backoff: 2ms, max: 2}, "+settings, member)
	f.Launcher.NumPolicies = 2
	return f
}

// Every rank of a member knows its place, and nothing of a launcher around this one.
func TestRanksKnowTheirPlaces(t *testing.T) {
	t.Setenv("CUDA_VISIBLE_DEVICES", "5,6,GPU-7,9")
	t.Setenv("TORCHELASTIC_RUN_ID", "outer")
	t.Setenv("RANK", "7")
	for settings, want := range map[string][2]string{
		"":        {"gpus 5,6,GPU-7,9 local 0 1", "gpus 5,6,GPU-7,9 local 2 3"},
		"gpus: 4": {"gpus 5,6 local 0 1", "gpus GPU-7,9 local 0 1"},
	} {
		f := crew(t, settings, `echo "rank $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE here, $GORL_PBT_RANKS ranks, outer '$TORCHELASTIC_RUN_ID', member $GORL_PBT_POLICY_IDX, run $GORL_RUN_ID at $MASTER_ADDR:$MASTER_PORT and $GORL_SOCKET, gpus $CUDA_VISIBLE_DEVICES local $GORL_PBT_LOCAL_IDX"`)
		var out buffer
		if err := Run(context.Background(), f, Options{Out: &out}); err != nil {
			t.Fatalf("%v\n%s", err, out.String())
		}
		address := regexp.MustCompile(`at 127\.0\.0\.1:\d+ and (/\S+/gorl-ranks-\d+/0),`)
		var addresses []string
		for member := range 2 {
			log := written(t, f, fmt.Sprintf("logs/%03d.log", member))
			gpus, locals, _ := strings.Cut(want[member], " local ")
			for rank, local := range strings.Fields(locals) {
				wantIn(t, "a member's log", log, fmt.Sprintf("rank %d of 2, %d of 2 here, 2 ranks, outer '', member %d, run gorl-pbt.%d at ", rank, rank, member, member), gpus+" local "+local+"\n")
			}
			found := address.FindAllStringSubmatch(log, -1)
			if len(found) != 2 || found[0][1] != found[1][1] {
				t.Fatalf("the ranks of member %d meet at %v", member, found)
			}
			addresses = append(addresses, found[0][1])
		}
		if addresses[0] == addresses[1] {
			t.Errorf("both members meet at %s", addresses[0])
		}
		wantIn(t, "the output", out.String(), "member 0: started as processes ", "member 1: finished")
	}
}

// A rank that fails ends the others of its member, however stubborn, and all are started again; another member goes on.
func TestRanksEndTogether(t *testing.T) {
	f := crew(t, "grace: 50ms", `
if [ "$GORL_PBT_POLICY_IDX" = 0 ] && [ ! -e "${GORL_PBT_CONFIG%/*}/failed" ]; then
	if [ "$RANK" = 1 ]; then touch "${GORL_PBT_CONFIG%/*}/failed"; exit 3; fi
	trap '' TERM
	while :; do sleep 1000; done
fi
echo "rank $RANK is through"
`)
	if err := Run(context.Background(), f, Options{}); err != nil {
		t.Fatal(err)
	}
	log := written(t, f, "logs/launcher.log")
	wantIn(t, "the launcher's log", log, "member 0: rank 1: exit status 3; restart 1 of 2", "member 0: finished", "member 1: finished")
	if n := strings.Count(log, "started as processes"); n != 3 {
		t.Errorf("members were started %d times, want 3:\n%s", n, log)
	}
	for member := range 2 {
		wantIn(t, "a member's log", written(t, f, fmt.Sprintf("logs/%03d.log", member)), "rank 0 is through", "rank 1 is through")
	}
}

// Ranks that yield, ask for a restart and finish do so as one member.
func TestRanksYieldTogether(t *testing.T) {
	f := crew(t, "max_parallel: 1", `
here="${GORL_PBT_CONFIG%/*}/$GORL_PBT_POLICY_IDX-$RANK"
echo >> "$here"
case $(wc -l < "$here") in
1) exit 75 ;;
2) exit 76 ;;
esac
`)
	if err := Run(context.Background(), f, Options{}); err != nil {
		t.Fatal(err)
	}
	for member := range 2 {
		for rank := range 2 {
			if got := written(t, f, fmt.Sprintf("%d-%d", member, rank)); got != "\n\n\n" {
				t.Errorf("rank %d of member %d was started %d times, want 3", rank, member, len(got))
			}
		}
	}
	wantIn(t, "the launcher's log", written(t, f, "logs/launcher.log"), "member 0: waits for its turn", "member 1: restarts for a setting that needs it")
}

func TestRanksRefuse(t *testing.T) {
	for settings, want := range map[string]string{
		"ranks_per_member: 0":                                               `"ranks_per_member" is 0`,
		"ranks_per_member: 2, gpus: 1":                                      `"gpus" is 1 and "ranks_per_member" 2`,
		"ranks_per_member: 3, slurm: {nodes: 2}":                            `"ranks_per_member" is 3 and "slurm.nodes" 2`,
		"ranks_per_member: 2, env: {MASTER_PORT: 1}":                        `"env" sets MASTER_PORT`,
		"ranks_per_member: 2, kubernetes: {env: {RANK: 1}}":                 `"kubernetes.env" sets RANK`,
		"ranks_per_member: 2, gpus: 2, members_per_gpu: 2, max_parallel: 3": `"max_parallel" is 3`,
	} {
		_, err := Parse([]byte("pbt: {num_policies: 4}\nlauncher: {" + settings + "}"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %s", settings, err, want)
		}
	}
	// Timeouts of ranks are settings of members that have several.
	const timeout = "distributed: {timeout: 1m}\npbt: {num_policies: 4}\n"
	if _, err := Parse([]byte(timeout)); err == nil || !strings.Contains(err.Error(), `set "launcher.ranks_per_member"`) {
		t.Errorf("a population without ranks says %v", err)
	}
	if _, err := Parse([]byte(timeout + "launcher: {ranks_per_member: 2}")); err != nil {
		t.Error(err)
	}
	// A program that does not know of ranks must not train one member several times at once.
	if err := (Program{}).Train(t.Context(), Process{Ranks: 2}); err == nil || !strings.Contains(err.Error(), "multirank.Train") {
		t.Errorf("a program of one process says %v", err)
	}
}

func TestSlurmRanks(t *testing.T) {
	f, err := Parse([]byte(`
pbt: {num_policies: 3, directory: /shared, workspace: w}
launcher: {command: [gorl, member], ranks_per_member: 4, slurm: {nodes: 2, gpus_per_member: 4, cpus_per_member: 6}}
`))
	if err != nil {
		t.Fatal(err)
	}
	job, err := Slurm(f)
	if err != nil {
		t.Fatal(err)
	}
	wantIn(t, "the script", job.Script, "#SBATCH --array=0-2\n", "#SBATCH --nodes=2\n", "#SBATCH --ntasks=4\n", "#SBATCH --ntasks-per-node=2\n",
		"#SBATCH --cpus-per-task=2\n", "#SBATCH --gres=gpu:2\n", "export GORL_PBT_RANKS=4\n",
		"\tsrun --ntasks=4 --cpus-per-task=2 --kill-on-bad-exit=0 --wait=0 gorl member & child=$!\n")
}

func TestKubernetesRanks(t *testing.T) {
	parse := func(settings string) (string, error) {
		f, err := Parse([]byte("pbt: {num_policies: 3, directory: /data}\nlauncher: {name: walkers, command: [member], ranks_per_member: 2, " + settings + "}"))
		if err != nil {
			return "", err
		}
		f.Launcher.Kubernetes.Image, f.Launcher.Kubernetes.Claim = "member", "shared"
		out, err := Kubernetes(f)
		return string(out), err
	}
	out, err := parse("slice: 2")
	if err != nil {
		t.Fatal(err)
	}
	wantIn(t, "the manifest", out, "kind: Service\n", "clusterIP: None\n", "subdomain: walkers\n", "completions: 6\n", "parallelism: 6\n", "maxFailedIndexes: 6\n", "name: GORL_PBT_RANKS\n              value: \"2\"\n")
	if strings.Contains(out, EnvMember) {
		t.Errorf("the index would be the member's:\n%s", out)
	}
	for settings, want := range map[string]string{
		"max_parallel: 2": "2 of 3 members run at a time", "kubernetes: {parallelism: 1}": "1 of 3 members run at a time",
	} {
		if _, err := parse(settings); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s gives %v, want %s", settings, err, want)
		}
	}
	// The pods are the ranks: that of index 3 is rank 1 of member 1, and meet at its first pod.
	env := map[string]string{EnvConfig: "/etc/c.yaml", EnvRanks: "2", envService: "walkers", envCompletionIndex: "3"}
	getenv := func(name string) string { return env[name] }
	p, ok, err := fromEnvironment(getenv)
	if err != nil || !ok || p.Member != 1 || p.Ranks != 2 {
		t.Errorf("the process is %+v, %t, %v", p, ok, err)
	}
	if diff := cmp.Diff(Vars{"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "walkers-2.walkers"}, podRanks(getenv)); diff != "" {
		t.Error(diff)
	}
	env[EnvRanks] = "none"
	if _, _, err := fromEnvironment(getenv); err == nil || !strings.Contains(err.Error(), EnvRanks) {
		t.Errorf("the error is %v", err)
	}
}
