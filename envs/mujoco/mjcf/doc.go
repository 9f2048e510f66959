// Package mjcf reads MuJoCo's model files (MJCF) as documents: with their includes, and with the meshes and other files
// that they name. The documents can be changed before MuJoCo compiles them.
//
// Everything is read into memory. Includes must be in the model's folder, and assets there or in the folders that the
// file's compiler element names, so that a file cannot name arbitrary paths. The sizes of files are limited. Classes
// and defaults are not applied here; the compiled model has their values.
package mjcf
