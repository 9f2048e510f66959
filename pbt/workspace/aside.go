package workspace

import (
	"errors"
	"fmt"
	"os"
	"path"
	"runtime"
	"syscall"

	"github.com/gorl-dev/gorl/internal/durable"
)

// writeAside makes name hold the text: it writes a temporary file in the same folder, asks permitted, renames, and where
// durable is set syncs both the file and the folder.
func (f *Folder) writeAside(name, temporary string, text []byte, durable bool, permitted func() error) error {
	temp := path.Dir(name) + "/" + temporary
	file, err := f.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil && durable {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = permitted()
	}
	if err == nil {
		if err = f.root.Rename(temp, name); err != nil && f.irregular(name) {
			err = fmt.Errorf("%s: %w", f.path(name), errIrregular)
		}
	}
	if err != nil {
		f.root.Remove(temp)
		return err
	}
	if durable {
		return f.syncDir(path.Dir(name))
	}
	return nil
}

// irregular reports whether a name stands for something that is not a plain file.
func (f *Folder) irregular(name string) bool {
	info, err := f.root.Lstat(name)
	return err == nil && !info.Mode().IsRegular()
}

// syncDir makes the names in a folder durable, where folders can be synced.
func (f *Folder) syncDir(folder string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := f.root.Open(folder)
	if err != nil {
		return err
	}
	return durable.SyncOpened(dir)
}

// unsupported reports whether a file system does not know an operation.
func unsupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EMLINK)
}
