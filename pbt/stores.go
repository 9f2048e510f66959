package pbt

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/checkpoint"
)

type stores struct{ dir string }

func openStores(dir string, members int) (*stores, error) {
	for id := range members {
		if err := os.MkdirAll(filepath.Join(dir, "members", fmt.Sprintf("%03d", id)), 0o755); err != nil {
			return nil, err
		}
	}
	return &stores{dir: dir}, os.MkdirAll(filepath.Join(dir, "best"), 0o755)
}

func (s *stores) path(id int, sequence int64) string {
	return filepath.Join(s.dir, "members", fmt.Sprintf("%03d", id), fmt.Sprintf("%06d.safetensors", sequence))
}

func put(path string, snapshot *checkpoint.Snapshot) error {
	var b bytes.Buffer
	if err := checkpoint.EncodeSafetensors(&b, snapshot); err != nil {
		return err
	}
	return writeFile(path, b.Bytes())
}

func get(path string) (*checkpoint.Snapshot, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return checkpoint.DecodeSafetensors(data)
}

func (s *stores) save(id int, sequence int64, snapshot *checkpoint.Snapshot) error {
	return put(s.path(id, sequence), snapshot)
}
func (s *stores) load(id int, sequence int64) (*checkpoint.Snapshot, error) {
	return get(s.path(id, sequence))
}
func (s *stores) saveBest(sequence int64, snapshot *checkpoint.Snapshot) error {
	return put(filepath.Join(s.dir, "best", fmt.Sprintf("%06d.safetensors", sequence)), snapshot)
}
func (s *stores) loadBest(sequence int64) (*checkpoint.Snapshot, error) {
	return get(filepath.Join(s.dir, "best", fmt.Sprintf("%06d.safetensors", sequence)))
}
