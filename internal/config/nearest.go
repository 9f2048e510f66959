package config

// Nearest returns the candidate closest to name, or "" where none is close enough to be what was meant. Case and hyphens
// instead of underscores cost nothing.
func Nearest(name string, candidates []string) string { return nearest(name, candidates) }
