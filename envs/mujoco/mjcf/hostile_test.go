package mjcf

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// secret is in a file outside of the model's folder, and is a mesh and a document.
const secret = `<mujoco><worldbody><body name="SECRET"/></worldbody></mujoco>`

// folder returns a model's folder with links out of it, a mesh, and a document that includes itself.
func folder(t testing.TB) string {
	out := t.TempDir()
	dir := filepath.Join(out, "model")
	write := func(name, text string) { must.Do(t, os.WriteFile(filepath.Join(out, name), []byte(text), 0o600)) }
	must.Do(t, os.MkdirAll(filepath.Join(dir, "meshes"), 0o700))
	must.Do(t, os.MkdirAll(filepath.Join(out, "shared"), 0o700))
	write("secret.xml", secret)
	write("secret.obj", secret)
	write("shared/secret.obj", secret)
	write("model/a.obj", "v 0 0 0")
	write("model/meshes/b.obj", "v 0 0 0")
	write("model/loop.xml", `<mujoco><include file="loop.xml"/></mujoco>`)
	write("model/part.xml", `<mujoco><worldbody><body name="part"/></worldbody></mujoco>`)
	write("model/bomb.xml", `<mujoco><include file="part.xml"/><include file="part.xml"/></mujoco>`)
	for link, to := range map[string]string{"link.xml": "../secret.xml", "link.obj": "../secret.obj", "out": "..",
		"zero.obj": "/dev/zero", "zero.xml": "/dev/zero"} {
		must.Do(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	must.Do(t, os.Truncate(filepath.Join(dir, "meshes", "b.obj"), 1<<10))
	f := must.Get(os.Create(filepath.Join(dir, "huge.xml")))(t)
	must.Do(t, f.Truncate(1<<40)) // a file with a hole
	must.Do(t, f.Close())
	return dir
}

// Hostile files are refused with a sentence, and nothing outside of the model's folder is read.
func TestHostileFilesAreRefused(t *testing.T) {
	dir := folder(t)
	asset := func(compiler, mesh string) string {
		return fmt.Sprintf("<mujoco><compiler %s/><asset><mesh %s/></asset></mujoco>", compiler, mesh)
	}
	for _, c := range []struct{ text, want string }{
		{`<mujoco><include file="../secret.xml"/></mujoco>`, "escapes"},
		{`<mujoco><include file="/etc/passwd"/></mujoco>`, "absolute path"},
		{`<mujoco><include/></mujoco>`, "attribute file is missing"},
		{`<mujoco><include file="link.xml"/></mujoco>`, "escapes"},
		{`<mujoco><include file="out/secret.xml"/></mujoco>`, "escapes"},
		{`<mujoco><include file="loop.xml"/></mujoco>`, "included twice"},
		{`<mujoco><include file="bomb.xml"/></mujoco>`, "included twice"},
		{`<mujoco><include file="huge.xml"/></mujoco>`, "at most"},
		{`<mujoco><include file="meshes"/></mujoco>`, "not a regular file"},
		{asset("", `file="../secret.obj"`), "escapes"},
		{asset("", `file="/etc/passwd.obj"`), "absolute path"},
		{asset("", `file="link.obj"`), "escapes"},
		{asset("", `file="zero.obj"`), "escapes"},
		{asset("", `file="part.xml"`), "MuJoCo reads"},
		{asset(`meshdir="/etc"`, `file="a.obj"`), "is absolute"},
		{asset(`meshdir="out"`, `file="secret.obj"`), "escapes"},
		{asset(`meshdir="../shared"`, `file="../secret.obj"`), "escapes"},
		{asset("", `file="a.obj" x:file="../secret.obj"`), "given twice"},
		{asset("", `builtin="supersphere" params="1e9 1 1"`), "the limit is"},
		{asset("", `builtin="supersphere" params="1000000000ex 1 1"`), "the limit is"},
		{`<mujoco><asset><texture builtin="flat" width="99999" height="99999"/></asset></mujoco>`, "cells"},
		{`<mujoco><asset><model file="a.xml"/></asset></mujoco>`, "names a file"},
		{`<mujoco><mesh file="../secret.obj"/></mujoco>`, "names a file"},
		{`<mujoco><replicate count="999"><replicate count="999"/></replicate></mujoco>`, "copies"},
		{`<mujoco><size memory="900T"/></mujoco>`, "the limit is"},
		{`<mujoco><custom><numeric name="n" size="1999999999"/></custom></mujoco>`, "the limit is"},
		{`<!DOCTYPE m [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><mujoco model="&b;"/>`, "invalid character entity"},
		{strings.Repeat("<mujoco>", 1000) + strings.Repeat("</mujoco>", 1000), "nested more than"},
		{`<urdf/>`, "want a file of MuJoCo"},
	} {
		path := filepath.Join(dir, "model.xml")
		must.Do(t, os.WriteFile(path, []byte(c.text), 0o600))
		start := time.Now()
		must.Refused(Read(path))(t, c.want)
		must.Not(t, time.Since(start) > 5*time.Second, "%.100s: took %v", c.text, time.Since(start))
	}
	must.Refused(Read(filepath.Join(dir, "huge.xml")))(t, "at most")
	// What a model may do: subfolders, and folders elsewhere that its compiler element names.
	for _, text := range []string{asset(`meshdir="meshes"`, `file="b.obj"`),
		asset(`meshdir="../shared"`, `file="secret.obj"`),
		asset(`strippath="true"`, `file="/home/me/a.obj"`), `<mujoco><include file="part.xml"/></mujoco>`} {
		path := filepath.Join(dir, "model.xml")
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		must.Get(Read(path))(t)
	}
}

// Whatever a document says, the reader returns, and nothing of outside is in the result. Its text can be read again.
func FuzzRead(f *testing.F) {
	dir := folder(f)
	for _, text := range []string{`<mujoco><include file="link.xml"/></mujoco>`,
		`<mujoco><compiler meshdir="meshes" strippath="true"/><asset><mesh file="x/b.obj" name="m"/></asset></mujoco>`,
		`<mujoco><include file="part.xml"/><asset><texture fileup="../out/secret.obj"/></asset></mujoco>`,
		`<mujoco><worldbody><body pos="0 0 1"><frame><geom size="&#10;.1"/></frame></body></worldbody></mujoco>`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if bytes.Contains(text, []byte("shared")) || bytes.Contains(text, []byte("SECRET")) {
			t.Skip("the compiler element may name that folder")
		}
		path := filepath.Join(dir, "model.xml")
		must.Do(t, os.WriteFile(path, text, 0o600))
		m, err := Read(path)
		if err != nil {
			return
		}
		again := must.Get(Parse([]byte(m.Root.Text())))(t)
		must.Is(t, again.Text(), m.Root.Text(), "read again")
		must.Not(t, strings.Contains(m.Root.Text(), "SECRET"), "a document outside of the folder was read: %q",
			m.Root.Text())
		if bytes.Contains(text, []byte("dir")) {
			return // it may name the folder above
		}
		for name, b := range m.Assets {
			must.Not(t, bytes.Contains(b, []byte("SECRET")), "the file %s comes from outside", name)
		}
	})
}
