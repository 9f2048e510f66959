package view

import (
	"net/http"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// The server is for pages of its own on this machine, and only gives what is embedded.
func TestOnlyLocal(t *testing.T) {
	s := open(t, walker(t))
	host := strings.TrimPrefix(s.server.URL, "http://")
	status := func(method, path, host, origin string) int {
		t.Helper()
		r := must.Get(http.NewRequestWithContext(t.Context(), method, s.server.URL+path, nil))(t)
		r.Host = host
		if path == "/socket" {
			for key, value := range map[string]string{"Connection": "Upgrade", "Upgrade": "websocket",
				"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="} {
				r.Header.Set(key, value)
			}
			if origin != "" {
				r.Header.Set("Origin", origin)
			}
		}
		answer := must.Get(http.DefaultTransport.RoundTrip(r))(t)
		answer.Body.Close()
		return answer.StatusCode
	}
	for _, x := range []struct {
		method, path string
		want         int
	}{{"GET", "/", 200}, {"HEAD", "/page.js", 200}, {"GET", "/three/three.core.min.js", 200}, {"GET", "/view.go", 404},
		{"POST", "/", 405}} {
		must.Is(t, status(x.method, x.path, host, ""), x.want, "%s %s: status", x.method, x.path)
	}
	for from, want := range map[string]int{"http://" + host: 101, "": 403, "null": 403, "http://evil.example": 403,
		"http://127.0.0.1:1": 403, "http://user@" + host: 403, "https://" + host: 403, "http://" + host + "/": 403} {
		must.Is(t, status("GET", "/socket", host, from), want, "a socket from %q: status", from)
	}
	must.Is(t, status("GET", "/", "evil.example", ""), 403, "another host: status")
}
