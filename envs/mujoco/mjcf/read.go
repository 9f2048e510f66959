package mjcf

import (
	"cmp"
	"errors"
	"fmt"
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
func Read(path string) (_ *Model, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("mjcf: %w", err)
		}
	}()
	r := reader{folder: filepath.Dir(path), seen: map[string]bool{filepath.Base(path): true}}
	if r.root, err = os.OpenRoot(r.folder); err != nil {
		return nil, err
	}
	defer r.root.Close()
	file, err := filepath.EvalSymlinks(path) // the file itself may be a link out of its folder
	if err != nil {
		return nil, err
	}
	home, err := os.OpenRoot(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	defer home.Close()
	text, err := read(home, filepath.Base(file), maxText)
	if err != nil {
		return nil, err
	}
	root, err := r.document(filepath.Base(path), text)
	if err != nil {
		return nil, err
	}
	if root.Name != "mujoco" {
		return nil, fmt.Errorf("%s: want a file of MuJoCo, <mujoco>", root.where())
	}
	for _, e := range root.All { // skins are not drawn
		e.Remove("skin")
	}
	if err := root.check(false, 0, 1); err != nil {
		return nil, err
	}
	m := &Model{Root: root, Assets: map[string][]byte{}}
	return m, r.assets(m)
}

// reader reads the files of one model.
type reader struct {
	// folder is the model's. Nothing outside of it is read, except for assets in a folder that the compiler element
	// names.
	folder string
	root   *os.Root
	// seen are the documents that were read, by their paths in the folder.
	seen map[string]bool
	// bytes and text are the sizes of the assets and of the documents so far.
	bytes, text int64
}

// document parses a document and replaces its includes.
func (r *reader) document(name string, text []byte) (*Element, error) {
	r.text += int64(len(text))
	root, err := parse(name, text)
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
		other, err := r.included(c.Get("file"), filepath.Dir(e.file))
		if err != nil {
			return fmt.Errorf("%s: %w", c.where(), err)
		}
		e.Children = slices.Replace(e.Children, i, i+1, other.Children...)
		i += len(other.Children) - 1
	}
	return nil
}

// included reads an included document: in the model's folder or, as in MuJoCo 3, in that of the including file.
func (r *reader) included(name, folder string) (*Element, error) {
	text, err := read(r.root, name, maxText-r.text)
	if err != nil {
		var second error
		if text, second = read(r.root, filepath.Join(folder, name), maxText-r.text); second != nil {
			return nil, err
		}
		name = filepath.Join(folder, name)
	}
	if name = filepath.Clean(name); r.seen[name] {
		return nil, fmt.Errorf("%s is included twice; MuJoCo allows a file once", name)
	}
	if r.seen[name] = true; len(r.seen) > maxIncludes {
		return nil, fmt.Errorf("%s: more than %d files are included", name, maxIncludes)
	}
	return r.document(name, text)
}

// read returns the content of a regular file in a folder, of at most limit bytes.
func read(folder *os.Root, name string, limit int64) ([]byte, error) {
	if name == "" {
		return nil, errors.New("the attribute file is missing")
	}
	if filepath.IsAbs(name) {
		return nil, fmt.Errorf("%s is an absolute path; give it relative to the model's folder", name)
	}
	info, err := folder.Stat(name)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	case info.Size() > limit:
		return nil, fmt.Errorf("%s has %d bytes; at most %d are read", name, info.Size(), limit)
	}
	return folder.ReadFile(name)
}

// assets reads the files of assets, and replaces their paths by names without folders.
func (r *reader) assets(m *Model) error {
	folders, strip := map[string]string{}, false
	for _, e := range m.Root.Children {
		if e.Name != "compiler" {
			continue
		}
		for _, key := range []string{"assetdir", "meshdir", "texturedir"} {
			folders[key] = cmp.Or(e.Get(key), folders[key])
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
		folder := folders["meshdir"]
		if e.Name == "texture" {
			folder = folders["texturedir"]
		}
		for _, key := range assetFiles[e.Name] {
			name := e.Get(key)
			if name == "" {
				continue
			}
			if strip {
				name = filepath.Base(name)
			}
			if err := r.asset(m, e, key, cmp.Or(folder, folders["assetdir"], "."), name); err != nil {
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
	base, err := r.root.OpenRoot(folder)
	if !filepath.IsLocal(folder) {
		base, err = os.OpenRoot(filepath.Join(r.folder, folder))
	}
	if err != nil {
		return err
	}
	defer base.Close()
	b, err := read(base, name, min(maxAsset, maxAssets-r.bytes))
	if err != nil {
		return err
	}
	if err := checkFile(e.Name, ext, b); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	r.bytes += int64(len(b))
	if key == "file" && e.Get("name") == "" { // MuJoCo takes the name of the file
		e.Set("name", strings.TrimSuffix(filepath.Base(name), filepath.Ext(name)))
	}
	own := fmt.Sprintf("asset%d%s", len(m.Assets), ext)
	m.Assets[own] = b
	e.Set(key, own)
	return nil
}
