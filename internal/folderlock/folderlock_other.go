//go:build !unix

package folderlock

// Take does nothing where the system has no advisory locks that end with the process.
func Take(string, string) (release func() error, err error) {
	return func() error { return nil }, nil
}
