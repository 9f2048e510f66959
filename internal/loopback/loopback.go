// Package loopback guards web servers that are for browsers on this machine alone.
package loopback

import (
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// Only returns a handler that refuses requests that name another host than this machine, and methods other than GET
// and HEAD. Another site's name may point to 127.0.0.1 (DNS rebinding): its pages would then be of the same origin as
// this server's.
func Only(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !local(r.Host) {
			http.Error(w, "this server is for this machine alone; open it as 127.0.0.1", http.StatusForbidden)
			return
		}
		ReadOnly(h).ServeHTTP(w, r)
	})
}

// ReadOnly returns a handler that refuses methods other than GET and HEAD.
func ReadOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "only GET and HEAD", http.StatusMethodNotAllowed)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// OwnPage reports whether a request for a WebSocket comes from a page of this server, and otherwise refuses it.
// Browsers send the page's origin with every WebSocket, so a request without an origin is not from such a page.
func OwnPage(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Values("Origin")
	if len(origin) == 1 && origin[0] == "http://"+r.Host {
		return true
	}
	http.Error(w, fmt.Sprintf("this socket is for the server's own page, whose origin is %q", "http://"+r.Host),
		http.StatusForbidden)
	return false
}

// local reports whether a request's Host is this machine: "localhost" or a loopback address, with or without a port.
func local(host string) bool {
	if port, ok := strings.CutPrefix(host, "localhost"); ok {
		host = "127.0.0.1" + port
	}
	at, err := netip.ParseAddrPort(host)
	if err != nil {
		at, err = netip.ParseAddrPort(host + ":80")
	}
	return err == nil && at.Addr().IsLoopback() && at.Addr().Zone() == ""
}
