//go:build !unix

package durable

// alive cannot tell here, and leaves it to a leftover's age.
func alive(int) bool { return true }
