package workspace

// This file knows the names of the store's files. They share the member's folder with its state and journal, which
// package pbt keeps.

import (
	"fmt"
	"regexp"
	"strconv"
)

// fileKind says what a file in a member's folder is. Everything the store reads or deletes is chosen by its name, so
// that the other files of a member, such as its state and journal, are never touched.
type fileKind int

const (
	otherFile    fileKind = iota
	recordFile            // 000012.yaml
	weightsFile           // 000012.safetensors, or 000012-2.safetensors where the name was taken
	manifestFile          // 000012.json, the weights' manifest
	leaseFile             // lease-000003.json
)

var (
	// Up to 18 digits fit an int64; six at least make names sort by number in listings for people.
	numbered = regexp.MustCompile(`^(lease-)?([0-9]{6,18})(-[0-9]{1,9})?\.(yaml|safetensors|json)$`)
	kinds    = map[string]fileKind{"yaml": recordFile, "safetensors": weightsFile, "json": manifestFile,
		"lease-json": leaseFile}
	// Temporary files, by which package wrote them: saving of checkpoint.Store, for weights; ours of
	// folderLease.temporary, with the token of its lease.
	saving = regexp.MustCompile(`^[0-9]{6,18}(-[0-9]{1,9})?\.(safetensors|json)\.tmp-`)
	ours   = regexp.MustCompile(`^\.(heartbeat\.json|lease|[0-9]{6,18}\.yaml)-([0-9a-f]+)-[0-9]+$`)
)

// parseName returns what the name of a file in a member's folder says: its kind, and the number of its iteration or
// lease. A number that this package would write in another way, such as 0000012, makes it a file of another kind, so
// that no two names mean the same record.
func parseName(name string) (n int64, kind fileKind) {
	m := numbered.FindStringSubmatch(name)
	if m == nil {
		return 0, otherFile
	}
	kind = kinds[m[1]+m[4]]
	n, err := strconv.ParseInt(m[2], 10, 64)
	second := m[3] != "" && kind != weightsFile && kind != manifestFile
	if err != nil || n == 0 || kind == otherFile || second || fmt.Sprintf("%06d", n) != m[2] {
		return 0, otherFile
	}
	return n, kind
}
