package checkpoint

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Temporary names are "<name>.tmp-<host>-<process>-<nonce>-<count>", so that whoever finds a leftover can tell whether
// its owner still lives.
const temporary = ".tmp-"

// staleAfter is the age at which a leftover counts as abandoned where its owner's fate cannot be told, being on another
// machine. No write goes on for so long without touching its file.
const staleAfter = time.Hour

var (
	thisHost    = hostHash()
	thisProcess = os.Getpid()
	thisNonce   = nonce()
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

func nonce() string {
	b := make([]byte, 6)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// temporaryName returns a name beside path that no other write has.
func temporaryName(path string) string {
	return fmt.Sprintf("%s%s%s-%d-%s-%d", path, temporary, thisHost, thisProcess, thisNonce, writes.Add(1))
}

// abandoned reports whether a file is a temporary one whose owner will not finish it.
func abandoned(info fs.FileInfo, now time.Time) bool {
	_, owner, ok := strings.Cut(info.Name(), temporary)
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
		// The number is this process's now; another nonce means that the one who had it before is gone.
		return parts[2] != thisNonce
	}
	return !alive(pid)
}
