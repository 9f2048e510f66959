package workspace

import "testing"

func openFolder(t *testing.T, dir string, policies int, opt FolderOptions) *Folder {
	t.Helper()
	f, err := OpenFolder(dir, policies, opt)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
