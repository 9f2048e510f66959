package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gorl-dev/gorl/internal/commandline"
	"github.com/gorl-dev/gorl/internal/durable"
)

// exists reports whether there is a file or a folder at a path, which may be given in parts.
func exists(path ...string) bool {
	_, err := os.Stat(filepath.Join(path...))
	return err == nil
}

// isKind reports whether a file's name ends in one of the kinds, in small letters or capitals.
func isKind(path string, kinds ...string) bool {
	return slices.Contains(kinds, strings.ToLower(filepath.Ext(path)))
}

// isYAML reports whether a path is named like a configuration.
func isYAML(path string) bool { return isKind(path, ".yaml", ".yml") }

// folderName returns the name of a folder, also of "." and "..".
func folderName(dir string) string {
	if full, err := filepath.Abs(dir); err == nil {
		dir = full
	}
	return filepath.Base(dir)
}

// sameFile reports whether two paths lead to one file.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	y, wrong := os.Stat(b)
	return err == nil && wrong == nil && os.SameFile(x, y)
}

// vacant refuses a path at which there is something, unless a flag says that it may be replaced.
func vacant(path string, force bool) error {
	if _, err := os.Lstat(path); err == nil && !force {
		return commandline.Usagef("%s exists; --force replaces it", path)
	}
	return nil
}

// manifest returns the path of a checkpoint's manifest.
func manifest(path string) string { return strings.TrimSuffix(path, ".safetensors") + ".json" }

// spoils refuses to write tensors to a .safetensors file with a manifest, which would then call the file damaged.
func spoils(out string) error {
	if exists(manifest(out)) && filepath.Ext(out) == ".safetensors" {
		return commandline.Usagef("%s is the manifest of %s, so that is a checkpoint of a trainer; choose another name",
			manifest(out), out)
	}
	return nil
}

// writeFile replaces the file at a path, and makes its folder.
func writeFile(path string, text []byte) error {
	if err := durable.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return durable.WriteFile(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}
