package launch

import (
	"strings"
	"testing"
)

func TestKubernetesRefuses(t *testing.T) {
	const good = "image: member, claim: shared"
	for _, c := range []struct{ pbt, launcher, kubernetes, want string }{
		{"", "", "claim: shared", `"kubernetes.image" is ""`},
		{"", "", "image: a b, claim: shared", `"kubernetes.image" is "a b"`},
		{"", "", "image: member", `"kubernetes.claim" is ""`},
		{"", "", "image: member, claim: Shared", `"kubernetes.claim" is "Shared"`},
		{"", "", good + ", namespace: a.b", `"kubernetes.namespace" is "a.b"`},
		{"", "", good + ", service_account: a_b", `"kubernetes.service_account" is "a_b"`},
		{"", "", good + ", mount_path: data", `"kubernetes.mount_path" is "data"`},
		{"", "", good + ", mount_path: /", `"kubernetes.mount_path" is "/"`},
		{"directory: /etc", "", good + ", mount_path: /etc", "would hide /etc/gorl-pbt"},
		{"directory: runs", "", good, `make "runs/pbt_workspace", which the pods do not share`},
		{"directory: /data/../tmp", "", good, `make "/tmp/pbt_workspace"`},
		{"directory: /database", "", good, `which the pods do not share`},
		{"", "name: Walker", good, `"launcher.name" is "Walker"`},
		{"", "name: " + strings.Repeat("a", 53), good, `at most 52`},
		{"", "command: []", good, `"launcher.command" is empty`},
		{"", "", good + ", resources: {cpu: many}", `has cpu: "many"`},
		{"", "", good + ", tolerations: [{key: a, operator: Exists, value: b}]", "takes none"},
		{"", "", good + ", tolerations: [{value: b}]", "has no key"},
		{"", "", good + ", tolerations: [{key: a, effect: Never}]", `"Never"`},
	} {
		if c.pbt == "" {
			c.pbt = "directory: /data"
		}
		if !strings.Contains(c.launcher, "command") {
			c.launcher += ", command: [member]"
		}
		text := "pbt: {num_policies: 2, " + c.pbt + "}\nlauncher: {" + strings.TrimPrefix(c.launcher, ", ") + ", kubernetes: {" + c.kubernetes + "}}"
		f, err := Parse([]byte(text))
		if err == nil {
			_, err = Kubernetes(f)
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s\n\tgives %v\n\twant one with %s", text, err, c.want)
		}
	}
}

func TestKubernetesTakesTurns(t *testing.T) {
	for settings, want := range map[string]string{
		"":                              "parallelism: 6\n",
		"max_parallel: 4":               "parallelism: 4\n",
		"kubernetes: {parallelism: 2}":  "parallelism: 2\n",
		"kubernetes: {parallelism: 99}": "parallelism: 6\n",
	} {
		f, err := Parse([]byte("pbt: {num_policies: 6, directory: /data}\nlauncher: {command: [member], slice: 5, " + settings + "}"))
		if err != nil {
			t.Fatal(err)
		}
		f.Launcher.Kubernetes.Image, f.Launcher.Kubernetes.Claim = "member", "shared"
		out, err := Kubernetes(f)
		if err != nil {
			t.Fatal(err)
		}
		slice := `value: "5"`
		if strings.HasSuffix(want, " 6\n") {
			slice = `value: "0"`
		}
		if !strings.Contains(string(out), want) || !strings.Contains(string(out), "GORL_PBT_SLICE\n              "+slice) {
			t.Errorf("with %q there is not %q and %q:\n%s", settings, want, slice, out)
		}
	}
}
