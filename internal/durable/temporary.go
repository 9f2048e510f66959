package durable

import (
	"crypto/rand"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Temporary separates the name of a file from the rest of a temporary name, which is
// "<name>.tmp-<host>-<process>-<nonce>-<count>". By it a process that finds a leftover can tell whether its owner still
// lives.
const Temporary = ".tmp-"

// staleAfter is the age at which a leftover counts as abandoned although its owner may run on another machine, where
// this process cannot see it. No write goes on for so long without touching its file.
const staleAfter = time.Hour

var (
	thisHost    = hostHash()
	thisProcess = os.Getpid()
	thisNonce   = rand.Text()
	writes      atomic.Uint64
)

func hostHash() string {
	name, err := os.Hostname()
	if err != nil {
		name = "unknown"
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return fmt.Sprintf("%08x", h.Sum32())
}

// TemporaryName returns a name beside path that no other write has.
func TemporaryName(path string) string {
	return fmt.Sprintf("%s%s%s-%d-%s-%d", path, Temporary, thisHost, thisProcess, thisNonce, writes.Add(1))
}

// Abandoned reports whether a file is a temporary one whose owner will not finish it.
func Abandoned(info fs.FileInfo, now time.Time) bool {
	_, owner, ok := strings.Cut(info.Name(), Temporary)
	if !ok {
		return false
	}
	if now.Sub(info.ModTime()) > staleAfter {
		return true
	}
	parts := strings.Split(owner, "-")
	if len(parts) != 4 || parts[0] != thisHost {
		return false
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil || pid <= 0 {
		return false
	}
	if pid == thisProcess {
		// The system gave the number of a process that has ended to this one; the nonce tells them apart.
		return parts[2] != thisNonce
	}
	return !alive(pid)
}
