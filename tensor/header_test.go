package tensor

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

// A library of another header is refused, and the message names the remedies. That of this header has been accepted,
// because the package's init has run.
func TestOtherLibraryIsRefused(t *testing.T) {
	changed := fmt.Sprintf("%x", sha256.Sum256(append([]byte("// "), header...)))
	for _, library := range []string{"", changed} {
		err := checkHeader(library)
		if err == nil || !strings.Contains(err.Error(), "make setup") || !strings.Contains(err.Error(), "gorl-setup") {
			t.Errorf("the header %q: %v", library, err)
		}
	}
}
