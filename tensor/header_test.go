package tensor

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// A library of another header is refused, and the message names the remedies. That of this header has been accepted,
// because the package's init has run.
func TestOtherLibraryIsRefused(t *testing.T) {
	changed := fmt.Sprintf("%x", sha256.Sum256(append([]byte("// "), header...)))
	for _, library := range []string{"", changed} {
		must.RefuseAs(t, library, checkHeader(library), "make setup", "gorl-setup")
	}
}
