package workspace

// This file replaces files of the store as a whole. Readers look at them at any time, from other machines too, and
// processes may crash at any time; a file that is written under another name and then renamed is never seen half
// written.

import (
	"errors"
	"fmt"
	"os"
	"path"
	"runtime"
	"syscall"

	"github.com/gorl-dev/gorl/internal/durable"
)

// writeAside makes name hold the text: it writes a temporary file in the same folder, calls permitted, and renames. An
// error of permitted, which looks at the lease, keeps name as it was. Where sync is set it syncs the file before the
// rename and the folder after it, so that the change survives a power failure; otherwise only a crash of the process.
func (f *Folder) writeAside(name, temporary string, text []byte, sync bool, permitted func() error) error {
	temp := path.Dir(name) + "/" + temporary
	file, err := f.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(text)
	if err == nil && sync {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	// permitted is called as late as possible, so that the time in which another process can take over unseen is short.
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
	if sync {
		return f.syncDir(path.Dir(name))
	}
	return nil
}

// irregular reports whether a name stands for something that is not a plain file, such as a link.
func (f *Folder) irregular(name string) bool {
	info, err := f.root.Lstat(name)
	return err == nil && !info.Mode().IsRegular()
}

// syncDir makes the names in a folder survive a power failure. It is durable.SyncDir within the store's folder, which
// it cannot leave by a link. Windows cannot sync folders.
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

// unsupported reports whether an error says that the file system has no links, or allows none.
func unsupported(err error) bool {
	return errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EMLINK)
}
