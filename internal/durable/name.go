package durable

import (
	"fmt"
	"path/filepath"
	"strings"
)

// MaxName is how many bytes the name of a file or folder may have on the file systems in use.
const MaxName = 255

// CheckName returns an error where a part of a path is too long to name a file or a folder.
func CheckName(path string) error {
	for part := range strings.SplitSeq(filepath.ToSlash(path), "/") {
		if len(part) > MaxName {
			return fmt.Errorf("the name %.20q... has %d bytes; a file or folder may have %d", part, len(part), MaxName)
		}
	}
	return nil
}
