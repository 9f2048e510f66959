//go:build !linux

package workspace

import "os"

// lockDomain is empty if it is unknown which processes see each other's locks. There a process that has died is
// replaced LeaseTTL after its last sign of life, on the same machine too.
func lockDomain() string { return "" }

// lockFile takes no lock, so that leases have no Domain and their age alone decides.
func lockFile(*os.File) bool { return false }

// unlocked is never asked, as there is no Domain; false is the careful answer.
func unlocked(*os.File) bool { return false }
