package launch

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
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
		f := crew(t, settings, `echo "rank $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE here," \
	"$GORL_PBT_RANKS ranks, outer '$TORCHELASTIC_RUN_ID', member $GORL_PBT_POLICY_IDX, run $GORL_RUN_ID" \
	"at $MASTER_ADDR:$MASTER_PORT and $GORL_SOCKET, gpus $CUDA_VISIBLE_DEVICES local $GORL_PBT_LOCAL_IDX"`)
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
				wantIn(t, "a member's log", log,
					fmt.Sprintf("rank %d of 2, %d of 2 here, 2 ranks, outer '', member %d, run gorl-pbt.%d at ", rank,
						rank, member, member), gpus+" local "+local+"\n")
			}
			found := address.FindAllStringSubmatch(log, -1)
			if len(found) != 2 || found[0][1] != found[1][1] {
				t.Fatalf("the ranks of member %d meet at %v", member, found)
			}
			addresses = append(addresses, found[0][1])
		}
		must.Not(t, addresses[0] == addresses[1], "both members meet at %s", addresses[0])
		wantIn(t, "the output", out.String(), "member 0: started as process ", "member 1: finished")
	}
}

// A rank that fails ends the others of its member, however stubborn, and all are started again; another member goes on.
// Its ranks yield, ask for a restart and finish as one member.
func TestRanksEndTogether(t *testing.T) {
	f := crew(t, "grace: 50ms", `
dir="${GORL_PBT_CONFIG%/*}"
if [ "$GORL_PBT_POLICY_IDX" = 0 ] && [ ! -e "$dir/failed" ]; then
	if [ "$RANK" = 1 ]; then touch "$dir/failed"; exit 3; fi
	trap '' TERM
	while :; do sleep 1000; done
fi
if [ "$GORL_PBT_POLICY_IDX" = 1 ]; then
	echo >> "$dir/$RANK"
	case $(wc -l < "$dir/$RANK") in 1) exit 75 ;; 2) exit 76 ;; esac
fi
echo "rank $RANK is through"
`)
	must.Do(t, Run(context.Background(), f, Options{}))
	log := written(t, f, "logs/launcher.log")
	wantIn(t, "the launcher's log", log, "member 0: rank 1: exit status 3; restart 1 of 2", "member 0: finished",
		"member 1: waits for its turn", "member 1: restarts for a setting that needs it", "member 1: finished")
	must.Is(t, strings.Count(log, "started as process"), 5, "starts of members")
	for member := range 2 {
		wantIn(t, "a member's log", written(t, f, fmt.Sprintf("logs/%03d.log", member)), "rank 0 is through",
			"rank 1 is through")
	}
}
