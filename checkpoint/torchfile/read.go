package torchfile

import (
	"archive/zip"
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Limits of a file, far above what files of models need.
const (
	maxPickle  = 64 << 20 // bytes of the pickle
	maxEntries = 1 << 18  // of the archive
	// maxExpansion limits the bytes of all tensors, as a multiple of the file's size. A tensor may repeat elements of
	// its storage, and tensors may share a storage.
	maxExpansion = 16
)

// Open reads the file at path. Errors are those of [Read], with the path. A missing file is fs.ErrNotExist.
func Open(path string) (any, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("torchfile: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("torchfile: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("torchfile: %s is not a regular file", path)
	}
	v, err := Read(f, info.Size())
	if err != nil {
		return nil, addPath(path, err)
	}
	return v, nil
}

// Read reads a file of the given size. It executes nothing. The error of a bad file is an *[Error], of the kind
// [Hostile] if the pickle asks for anything that tensors do not need, or [ErrLegacy]. Memory grows with the bytes that
// are there, not with the sizes that the file claims.
func Read(r io.ReaderAt, size int64) (any, error) {
	a, err := openArchive(r, size)
	if err != nil {
		return nil, err
	}
	pickle, err := a.record("data.pkl", maxPickle)
	if err != nil {
		return nil, err
	}
	return (&machine{code: pickle, archive: a, budget: maxExpansion*size + 1<<20}).run()
}

// ReadPickle reads a bare pickle of plain values, as Python's pickle.dump writes it. It executes nothing. A pickle that
// asks for more than numbers, strings, lists, tuples and dicts is refused as [Hostile]. It cannot hold tensors.
func ReadPickle(pickle []byte) (any, error) {
	if len(pickle) > maxPickle {
		return nil, damaged("it has %d bytes; %d are allowed", len(pickle), maxPickle)
	}
	return (&machine{code: pickle, archive: &archive{}}).run()
}

// archive is the zip file around a pickle.
type archive struct {
	records  map[string]*zip.File // by name without the leading folder
	storages map[string][]byte    // those that were read
}

func openArchive(r io.ReaderAt, size int64) (*archive, error) {
	start := make([]byte, 15)
	n, _ := r.ReadAt(start, 0)
	if err := checkStart(start[:n]); err != nil {
		return nil, err
	}
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, damaged("it is no zip archive, or only a part of one: %v", err)
	}
	if len(z.File) > maxEntries {
		return nil, damaged("its archive has %d entries; %d are allowed", len(z.File), maxEntries)
	}
	a := &archive{map[string]*zip.File{}, map[string][]byte{}}
	folder, left := "", uint64(size)
	for i, f := range z.File {
		top, name, ok := strings.Cut(f.Name, "/")
		if i == 0 {
			folder = top
		}
		switch {
		case !ok || name == "" || top != folder || !isPlainPath(f.Name):
			return nil, damaged("its archive has an entry %.80q; PyTorch's lie in one folder", f.Name)
		case a.records[name] != nil:
			return nil, damaged("its archive has two entries %.80q", f.Name)
		case f.Method != zip.Store || f.CompressedSize64 != f.UncompressedSize64:
			return nil, unsupported("the entry %.80q is compressed, which PyTorch does not do; unpack it and save it "+
				"again", f.Name)
		case f.UncompressedSize64 > left:
			return nil, damaged("its entries have more bytes than the file")
		}
		left -= f.UncompressedSize64
		a.records[name] = f
	}
	if a.records["constants.pkl"] != nil {
		return nil, unsupported("it is a TorchScript program, not saved tensors; save model.state_dict() with " +
			"torch.save")
	}
	if a.records["data.pkl"] == nil || a.records["version"] == nil {
		return nil, damaged("its archive has no data.pkl or no version, so torch.save did not write it")
	}
	if a.records["byteorder"] != nil {
		order, err := a.record("byteorder", 16)
		if err != nil {
			return nil, err
		}
		if string(order) != "little" {
			return nil, unsupported("its byte order is %q; load it and save it again on a little-endian machine", order)
		}
	}
	return a, nil
}

// isPlainPath reports whether an entry's name is a plain relative path.
func isPlainPath(name string) bool {
	return fs.ValidPath(strings.TrimSuffix(name, "/")) && !strings.ContainsAny(name, "\\\x00:")
}

// checkStart returns an error if the file begins with a pickle instead of an archive.
func checkStart(start []byte) error {
	const magic = "\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."
	switch s := string(start); {
	case len(s) >= 2 && s[0] == 0x80 && strings.HasPrefix(s[2:], magic):
		return ErrLegacy
	case len(s) >= 2 && s[0] == 0x80 && s[1] <= 5:
		return unsupported("it is a bare pickle, which torch.save does not write; save a dictionary of tensors with " +
			"torch.save")
	}
	return nil
}

// record returns the bytes of an entry.
func (a *archive) record(name string, limit uint64) ([]byte, error) {
	f := a.records[name]
	if f == nil {
		return nil, damaged("its archive has no entry %.80q", name)
	}
	if f.UncompressedSize64 > limit {
		return nil, damaged("the entry %.80q has %d bytes; %d are allowed", name, f.UncompressedSize64, limit)
	}
	r, err := f.Open()
	if err != nil {
		return nil, damaged("the entry %.80q: %v", name, err)
	}
	defer r.Close()
	data := bytes.NewBuffer(make([]byte, 0, f.UncompressedSize64+bytes.MinRead))
	if _, err := data.ReadFrom(r); err != nil { // the reader compares the checksum at the end
		return nil, damaged("the entry %.80q: %v", name, err)
	}
	return data.Bytes(), nil
}

// storage returns the bytes of a storage. It reads each one once.
func (a *archive) storage(key string) ([]byte, error) {
	if data, known := a.storages[key]; known {
		return data, nil
	}
	data, err := a.record("data/"+key, 1<<62)
	if err != nil {
		return nil, err
	}
	a.storages[key] = data
	return data, nil
}
