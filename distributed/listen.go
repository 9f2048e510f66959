package distributed

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"syscall"
)

// network returns the network and the address of a place: host:port, or the path of a unix socket.
func network(address string) (kind, at string, err error) {
	if filepath.IsAbs(address) {
		return "unix", address, nil
	}
	_, text, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(text, 10, 16)
	}
	if err != nil {
		return "", "", fmt.Errorf("distributed: the ranks' address is %q; want host:port, or the path of a unix "+
			"socket: %w", address, err)
	}
	return "tcp", address, nil
}

// listen listens at rank 0's address only. A host name may reach this machine although none of its addresses belongs to
// it: a Service of Kubernetes, or the 127.0.1.1 that Debian gives a machine's own name. Then it listens at all
// addresses.
func listen(ctx context.Context, address string) (net.Listener, error) {
	kind, at, err := network(address)
	if err != nil {
		return nil, err
	}
	var lc net.ListenConfig
	if kind == "unix" {
		return lc.Listen(ctx, kind, at)
	}
	host, port, _ := net.SplitHostPort(at)
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return nil, err
	}
	named := net.ParseIP(host) == nil && host != "localhost"
	for _, ip := range ips {
		if named && ip.IP.IsLoopback() {
			continue
		}
		l, err := lc.Listen(ctx, kind, net.JoinHostPort(ip.String(), port))
		if !errors.Is(err, syscall.EADDRNOTAVAIL) { // an address of another machine
			return l, err
		}
	}
	return lc.Listen(ctx, kind, ":"+port)
}

// listenBehind listens for the ranks after this one, on the network on which this rank has reached rank 0.
func listenBehind(ctx context.Context, p Place, toZero net.Conn) (net.Listener, error) {
	var lc net.ListenConfig
	switch own := toZero.LocalAddr().(type) {
	case *net.TCPAddr:
		host, _, _ := net.SplitHostPort(p.Address)
		if own.IP.IsLoopback() && host != "localhost" && !net.ParseIP(host).IsLoopback() {
			return lc.Listen(ctx, "tcp", ":0") // rank 0's machine, whose name has another address on other machines
		}
		return lc.Listen(ctx, "tcp", net.JoinHostPort(own.IP.String(), "0"))
	default:
		return lc.Listen(ctx, "unix", filepath.Join(filepath.Dir(p.Address), strconv.Itoa(p.Rank)))
	}
}
