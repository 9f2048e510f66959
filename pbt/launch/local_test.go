package launch

import (
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// The place of a member is what its launcher says; a process that sees one device counts from it.
func TestLocalIndex(t *testing.T) {
	for _, x := range []struct {
		env  map[string]string
		want int
		err  string
	}{
		{nil, 0, ""},
		{map[string]string{EnvLocal: "3", "CUDA_VISIBLE_DEVICES": "7", "SLURM_LOCALID": "5"}, 3, ""},
		{map[string]string{"SLURM_LOCALID": "5", "CUDA_VISIBLE_DEVICES": "0,1,2,3,4,5"}, 5, ""},
		{map[string]string{"SLURM_LOCALID": "5", "CUDA_VISIBLE_DEVICES": "GPU-8f1c"}, 0, ""},
		{map[string]string{"SLURM_LOCALID": "-1"}, 0, `SLURM_LOCALID is "-1"`},
	} {
		got, err := localIndex(func(name string) string { return x.env[name] })
		if x.err == "" && (err != nil || got != x.want) || x.err != "" &&
			(err == nil || !strings.Contains(err.Error(), x.err)) {
			t.Errorf("%v: %d, %v; want %d, %s", x.env, got, err, x.want, x.err)
		}
	}
}

// cuda:LOCAL becomes the member's device in agent and environment, and only there; the sections stay as they are.
func TestLocalised(t *testing.T) {
	sections := func(device string) map[string]any {
		return map[string]any{
			"agent": map[string]any{"class": "PPO", "device": device},
			"environment": map[string]any{"id": "isaaclab:X", "kwargs": map[string]any{"device": device,
				"list": []any{device, 1}}},
			"trainer": map[string]any{"name": LocalDevice},
		}
	}
	given := sections(LocalDevice)
	got := must.Get(localised(given, func(name string) string { return Vars{EnvLocal: "2"}[name] }))(t)
	must.Equal(t, "the sections", sections("cuda:2"), got)
	must.Equal(t, "the file has changed", sections(LocalDevice), given)
	// Without it nothing is asked of the environment, wrong or not.
	got = must.Get(localised(sections("cpu"), func(string) string { return "nonsense" }))(t)
	must.Equal(t, "the sections", sections("cpu"), got)
}
