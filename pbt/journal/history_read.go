package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ReadHistory reads what a population's journal tells: path is the folder of a population of one process (with
// [JournalFile]), the workspace of one of many (with 000, 001, ...), or a journal. A journal without events is an error.
func ReadHistory(path string) (*History, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("pbt: %w", err)
	}
	var events []Event
	if !info.IsDir() {
		events, err = Read(path)
	} else if events, err = Read(filepath.Join(path, File)); errors.Is(err, fs.ErrNotExist) {
		events, err = ReadWorkspace(path)
	}
	if err != nil {
		return nil, err
	}
	if len(events) == 0 {
		return nil, fmt.Errorf("pbt: the journal in %s is empty: the population has not begun to train", path)
	}
	return NewHistory(events)
}
