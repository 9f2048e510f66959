package durable

import (
	"strings"
	"testing"
)

func TestCheckName(t *testing.T) {
	long := strings.Repeat("ä", 128) // 256 bytes
	for path, fits := range map[string]bool{
		"": true, "runs/a": true, strings.Repeat("n", 255): true, strings.Repeat("abc/", 200): true,
		"runs/" + long + "/a": false, strings.Repeat("n", 256): false,
	} {
		if err := CheckName(path); (err == nil) != fits {
			t.Errorf("%.40q: %v", path, err)
		}
	}
}
