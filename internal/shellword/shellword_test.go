package shellword

import (
	"os/exec"
	"strings"
	"testing"
)

func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "plain", "it's", "$HOME `x` \\", "-n", "a\nb", "~", "{a,b}", "*", "é"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsRune(s, 0) {
			return
		}
		out, err := exec.Command("/bin/sh", "-c", "printf %s\\| "+Quote(s)).Output()
		if err != nil || string(out) != s+"|" {
			t.Errorf("%q is quoted as %s, of which a shell makes %q (%v)", s, Quote(s), out, err)
		}
	})
}
