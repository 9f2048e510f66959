package process

import (
	"fmt"
	"os"
	"path/filepath"
)

// longestFolder is the longest path in bytes in which a unix socket may have a name: the system allows 107 in all.
const longestFolder = 80

// SocketAddress returns the path of a unix socket in a new folder that no other user may enter. remove deletes the
// folder.
func SocketAddress() (address string, remove func(), err error) {
	parent := os.TempDir()
	if len(parent) > longestFolder {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, "gorl-ranks-")
	if err != nil {
		return "", nil, fmt.Errorf("a folder for the ranks' sockets: %w", err)
	}
	return filepath.Join(dir, "0"), func() { _ = os.RemoveAll(dir) }, nil // one that is left over does no harm
}
