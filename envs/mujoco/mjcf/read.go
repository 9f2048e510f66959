package mjcf

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// The largest sizes in bytes of all documents, of one asset, and of all assets.
	maxText, maxAsset, maxAssets = 16 << 20, 256 << 20, 1 << 30
	// maxIncludes limits the number of included files.
	maxIncludes = 256
)

// assetFiles are the attributes of an asset that name a file, by the asset's element.
var assetFiles = map[string][]string{
	"mesh": {"file"}, "hfield": {"file"},
	"texture": {"file", "fileright", "fileleft", "fileup", "filedown", "filefront", "fileback"},
}

// extensions are those of the files that MuJoCo reads as assets.
var extensions = []string{".stl", ".obj", ".msh", ".png", ".ktx", ".bin", ".hf"}

// Model is a model file with everything that it names, in memory.
type Model struct {
	// Root is the element mujoco, in which includes are replaced by what they name.
	Root *Element
	// Assets are the files of meshes, textures and height fields, by the names that Root uses for them. They are
	// not those on disk.
	Assets map[string][]byte
}

// Read reads a model file. Errors name the file and line.
func Read(path string) (*Model, error) {
	folder, err := filepath.EvalSymlinks(filepath.Dir(path))
	if err == nil {
		folder, err = filepath.Abs(folder)
	}
	if err != nil {
		return nil, fmt.Errorf("mjcf: %w", err)
	}
	r := reader{folder: folder, seen: map[string]bool{}}
	root, err := r.document(filepath.Join(folder, filepath.Base(path)))
	if err != nil {
		return nil, fmt.Errorf("mjcf: %w", err)
	}
	if root.Name != "mujoco" {
		return nil, fmt.Errorf("mjcf: %s: want a file of MuJoCo, <mujoco>", root.where())
	}
	for _, e := range root.All { // skins are not drawn
		e.Remove("skin")
	}
	if err := root.check(false, 0, 1); err != nil {
		return nil, fmt.Errorf("mjcf: %w", err)
	}
	m := &Model{Root: root, Assets: map[string][]byte{}}
	if err := r.assets(m); err != nil {
		return nil, fmt.Errorf("mjcf: %w", err)
	}
	return m, nil
}

// reader reads the files of one model.
type reader struct {
	// folder is the model's, without links.
	folder string
	// seen are the documents that were read.
	seen map[string]bool
	// bytes and text are the sizes of the assets and of the documents so far.
	bytes, text int64
}

// document reads a document and replaces its includes.
func (r *reader) document(path string) (*Element, error) {
	if r.seen[path] {
		return nil, fmt.Errorf("%s is included twice; MuJoCo allows a file once", path)
	}
	if len(r.seen) > maxIncludes {
		return nil, fmt.Errorf("%s: more than %d files are included", path, maxIncludes)
	}
	r.seen[path] = true
	text, err := read(path, maxText-r.text)
	if err != nil {
		return nil, err
	}
	r.text += int64(len(text))
	root, err := parse(path, text)
	if err != nil {
		return nil, err
	}
	return root, r.include(root)
}

// include replaces the includes in an element by the children of the files' root elements.
func (r *reader) include(e *Element) error {
	for i := 0; i < len(e.Children); i++ {
		c := e.Children[i]
		if c.Name != "include" {
			if err := r.include(c); err != nil {
				return err
			}
			continue
		}
		path, err := r.inside(r.folder, c.Get("file"), r.folder)
		if err != nil {
			// MuJoCo 3 also looks in the folder of the including file.
			beside, second := r.inside(filepath.Dir(e.file), c.Get("file"), r.folder)
			if second != nil {
				return fmt.Errorf("%s: %w", c.where(), err)
			}
			path = beside
		}
		other, err := r.document(path)
		if err != nil {
			return fmt.Errorf("%s: %w", c.where(), err)
		}
		e.Children = slices.Replace(e.Children, i, i+1, other.Children...)
		i += len(other.Children) - 1
	}
	return nil
}

// inside returns the path of a file named in folder, without links. The file must lie in the folder root.
func (r *reader) inside(folder, name, root string) (string, error) {
	if name == "" {
		return "", errors.New("the attribute file is missing")
	}
	if filepath.IsAbs(name) {
		return "", fmt.Errorf("%s is an absolute path; give it relative to the model's folder", name)
	}
	path, err := filepath.EvalSymlinks(filepath.Join(folder, filepath.FromSlash(name)))
	if err != nil {
		return "", err
	}
	if below, err := filepath.Rel(root, path); err != nil || !filepath.IsLocal(below) {
		return "", fmt.Errorf("%s is outside of the folder %s", name, root)
	}
	return path, nil
}

// read returns the content of a regular file of at most limit bytes.
func read(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read", path, info.Size(), limit)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("%s has more than %d bytes", path, limit)
	}
	return b, err
}

// assets reads the files of assets, and replaces their paths by names without folders.
func (r *reader) assets(m *Model) error {
	folders, strip := map[string]string{}, false
	for _, e := range m.Root.Children {
		if e.Name != "compiler" {
			continue
		}
		for _, key := range []string{"assetdir", "meshdir", "texturedir"} {
			if v := e.Get(key); v != "" {
				folders[key] = v
			}
			e.Drop(key)
		}
		strip = strip || e.Get("strippath") == "true"
		e.Drop("strippath")
	}
	for parent, e := range m.Root.All {
		if parent == nil || parent.Name != "asset" {
			continue
		}
		if e.Name == "model" {
			return fmt.Errorf("%s: models in models are not read; include them", e.where())
		}
		key := "meshdir"
		if e.Name == "texture" {
			key = "texturedir"
		}
		folder := cmp.Or(folders[key], folders["assetdir"])
		for _, key := range assetFiles[e.Name] {
			name := e.Get(key)
			if name == "" {
				continue
			}
			if strip {
				name = filepath.Base(filepath.FromSlash(name))
			}
			if err := r.asset(m, e, key, folder, name); err != nil {
				return fmt.Errorf("%s: %w", e.where(), err)
			}
		}
	}
	return nil
}

// asset reads the file of an attribute of an asset, and changes the attribute to a name of its own. folder is that of
// the compiler element.
func (r *reader) asset(m *Model, e *Element, key, folder, name string) error {
	if filepath.IsAbs(folder) {
		return fmt.Errorf("the compiler's folder %s is absolute; give it relative to the model's folder", folder)
	}
	ext := strings.ToLower(filepath.Ext(name))
	if !slices.Contains(extensions, ext) {
		return fmt.Errorf("%s: MuJoCo reads %s", name, strings.Join(extensions, ", "))
	}
	base := filepath.Join(r.folder, filepath.FromSlash(folder))
	if real, err := filepath.EvalSymlinks(base); err == nil {
		if below, err := filepath.Rel(r.folder, real); filepath.IsLocal(filepath.Clean(folder)) &&
			(err != nil || !filepath.IsLocal(below)) {
			return fmt.Errorf("the compiler's folder %s is a link out of the model's folder", folder)
		}
		base = real
	}
	path, err := r.inside(base, name, base)
	if err != nil {
		return err
	}
	b, err := read(path, maxAsset)
	if err != nil {
		return err
	}
	if err := checkFile(e.Name, ext, b); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if r.bytes += int64(len(b)); r.bytes > maxAssets {
		return fmt.Errorf("the model's files have more than %d bytes", maxAssets)
	}
	if key == "file" && e.Get("name") == "" { // MuJoCo takes the name of the file
		e.Set("name", strings.TrimSuffix(filepath.Base(filepath.FromSlash(name)), filepath.Ext(name)))
	}
	own := fmt.Sprintf("asset%d%s", len(m.Assets), ext)
	m.Assets[own] = b
	e.Set(key, own)
	return nil
}
