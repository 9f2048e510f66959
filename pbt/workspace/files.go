package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"github.com/gorl-dev/gorl/internal/durable"
)

// sharedFiles reads and replaces the files of a [Folder], all by their names below it, with forward slashes. Other
// processes read and replace files at the same time, from other machines too, and may crash at any time.
type sharedFiles struct {
	dir string // as an absolute path
	// root is dir, opened so that no name in it leads out of it, not even through a link.
	root     *os.Root
	readOnly bool
}

// clockName is the file that now writes to read the file server's time.
const clockName = "clock"

// errIrregular says that a name stands for something that is not a plain file.
var errIrregular = errors.New("it is a link, a folder or a device, where only a plain file may be: remove it")

// path is a store's name on the file system, for messages and for the checkpoint package.
func (f *sharedFiles) path(name string) string { return filepath.Join(f.dir, filepath.FromSlash(name)) }

// now returns the time of the file server, which is that of a file written now. If none can be written it returns
// this machine's, and ok is false.
func (f *sharedFiles) now() (now time.Time, ok bool) {
	if f.readOnly {
		return time.Now(), false
	}
	file, err := f.root.OpenFile(clockName, os.O_WRONLY|os.O_CREATE, 0o666)
	if err == nil {
		_, err = file.WriteAt([]byte{'\n'}, 0)
		err = errors.Join(err, file.Close()) // a network file system writes when it closes
	}
	var info fs.FileInfo
	if err == nil {
		info, err = f.root.Stat(clockName)
	}
	if err != nil {
		return time.Now(), false
	}
	return info.ModTime(), true
}

// list returns the names in a folder of the store; none if it does not exist.
func (f *sharedFiles) list(folder string) ([]string, error) {
	dir, names, err := f.open(folder)
	if dir != nil {
		dir.Close()
	}
	return names, err
}

// folder returns what is known of a folder of the store without opening it; nil if it does not exist.
func (f *sharedFiles) folder(name string) (fs.FileInfo, error) {
	info, err := f.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && !info.IsDir() {
		err = errors.New("it is not a folder but a link or a file; remove it")
	}
	return info, err
}

// open opens a folder of the store and lists its names; dir is nil if it does not exist. Names in a folder that is open
// are looked up in one step.
func (f *sharedFiles) open(folder string) (dir *os.Root, names []string, err error) {
	info, err := f.folder(folder)
	if err != nil || info == nil {
		return nil, nil, err
	}
	if dir, err = f.root.OpenRoot(folder); err != nil {
		return nil, nil, err
	}
	list, err := dir.Open(".")
	if err == nil {
		names, err = list.Readdirnames(-1)
		list.Close()
	}
	if err != nil {
		dir.Close()
		return nil, nil, err
	}
	return dir, names, nil
}

// readFile reads a file of the store of at most limit bytes, by its name with forward slashes. It tries again if a
// network file system says that the file was replaced in between (ESTALE).
func (f *sharedFiles) readFile(name string, limit int64) (text []byte, info fs.FileInfo, err error) {
	for range 3 {
		text, info, err = f.readOnce(name, limit)
		if !errors.Is(err, syscall.ESTALE) { // replaced while it was read, on another machine
			break
		}
	}
	return text, info, err
}

// readOnce is one try of readFile. It returns the information of the file that it read, not of the one that has the
// name now.
func (f *sharedFiles) readOnce(name string, limit int64) ([]byte, fs.FileInfo, error) {
	info, err := f.root.Lstat(name)
	if err != nil {
		return nil, nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, info, errIrregular
	}
	file, err := f.root.Open(name)
	if err != nil {
		return nil, info, err
	}
	defer file.Close()
	if info, err = file.Stat(); err != nil {
		return nil, info, err
	}
	if info.Size() > limit { // compared first, so that a wrong file costs no memory
		return nil, info, fmt.Errorf("%d bytes, where at most %d belong", info.Size(), limit)
	}
	text := make([]byte, info.Size())
	_, err = io.ReadFull(file, text)
	return text, info, err
}

// writeAside makes name hold the text: it writes a temporary file in the same folder, calls permitted, and renames. An
// error of permitted, which looks at the lease, keeps name as it was. Where sync is set it syncs the file before the
// rename and the folder after it, so that the change survives a power failure; otherwise only a crash of the process.
func (f *sharedFiles) writeAside(name, temporary string, text []byte, sync bool, permitted func() error) error {
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
func (f *sharedFiles) irregular(name string) bool {
	info, err := f.root.Lstat(name)
	return err == nil && !info.Mode().IsRegular()
}

// syncDir makes the names in a folder survive a power failure. It is durable.SyncDir within the store's folder, which
// it cannot leave by a link. Windows cannot sync folders.
func (f *sharedFiles) syncDir(folder string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	dir, err := f.root.Open(folder)
	if err != nil {
		return err
	}
	return durable.SyncOpened(dir)
}
