package loopback

import "testing"

func TestLocal(t *testing.T) {
	for name, want := range map[string]bool{"localhost:80": true, "localhost": true, "[::1]:80": true, "[::1]": true,
		"127.0.0.1": true, "127.0.0.1:1234": true, "evil.example": false, "192.0.2.1:80": false,
		"127.0.0.1:evil.com": false, "localhost:evil.com": false, "127.0.0.1:": false, "127.0.0.1:80:80": false,
		"[127.0.0.1]:80": false, "localhost.evil.com": false, "[::1%25lo]:80": false, "[::1%lo]": false} {
		if local(name) != want {
			t.Errorf("%q is this machine: %t", name, !want)
		}
	}
}
