package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// longestFolder is the largest length in bytes of the path of a folder for a unix socket. The system allows 107 bytes
// for the whole path of a socket.
const longestFolder = 80

// socketFolder is the prefix of the names of folders that SocketAddress makes.
const socketFolder = "gorl-ranks-"

// SocketAddress returns the path of a unix socket in a new folder that no other user may enter. remove deletes the
// folder.
func SocketAddress() (address string, remove func(), err error) {
	parent := os.TempDir()
	if len(parent) > longestFolder {
		parent = "/tmp"
	}
	dir, err := os.MkdirTemp(parent, socketFolder)
	if err != nil {
		return "", nil, fmt.Errorf("a folder for the ranks' sockets: %w", err)
	}
	return filepath.Join(dir, "0"), func() { _ = os.RemoveAll(dir) }, nil // a folder that remains does no harm
}

// RemoveSocketFolder removes the folder of an address that SocketAddress has returned, if nothing listens there any
// more. The launcher removes it, too, unless the launcher is killed.
func RemoveSocketFolder(address string) {
	if dir := filepath.Dir(address); strings.HasPrefix(filepath.Base(dir), socketFolder) {
		_ = os.Remove(dir) // fails if the folder is not empty
	}
}
