package durable

import (
	"io"
	"io/fs"
	"os"
)

// FS is what durable files need of a file system. Tests replace it by one that fails or loses power.
type FS interface {
	// MkdirAll creates a directory and its parents. It is no error where they exist.
	MkdirAll(path string) error
	// Create opens a new file for writing; an existing one is fs.ErrExist.
	Create(path string) (File, error)
	// Open opens a file for reading.
	Open(path string) (File, error)
	// Stat describes a file.
	Stat(path string) (fs.FileInfo, error)
	// ReadDir lists a directory in the order of names.
	ReadDir(path string) ([]fs.DirEntry, error)
	// Link gives a file a second name; an existing one is fs.ErrExist.
	Link(from, to string) error
	// Rename moves a file within its directory, replacing what has the name.
	Rename(from, to string) error
	// Remove deletes a name.
	Remove(path string) error
	// SyncDir makes the names in a directory durable.
	SyncDir(path string) error
}

// File is an open file of an FS.
type File interface {
	io.Reader
	io.Writer
	// Sync makes the contents durable.
	Sync() error
	Close() error
}

// OS is the operating system's file system.
var OS FS = osFS{}

type osFS struct{}

func (osFS) MkdirAll(path string) error { return MkdirAll(path, 0o755) }

func (osFS) Create(path string) (File, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

func (osFS) Open(path string) (File, error)             { return os.Open(path) }
func (osFS) Stat(path string) (fs.FileInfo, error)      { return os.Stat(path) }
func (osFS) ReadDir(path string) ([]fs.DirEntry, error) { return os.ReadDir(path) }
func (osFS) Link(from, to string) error                 { return os.Link(from, to) }
func (osFS) Rename(from, to string) error               { return os.Rename(from, to) }
func (osFS) Remove(path string) error                   { return os.Remove(path) }
func (osFS) SyncDir(path string) error                  { return SyncDir(path) }
