// Package mjcf reads MuJoCo's model files (MJCF) as documents: with their includes, and with the meshes and other files
// that they name. The documents can be changed before MuJoCo compiles them.
//
// Everything is read into memory, and nothing is read that an attacker could choose: includes must lie in the model's
// folder, assets there or in the folders that the file's compiler element names. Files are read once and have limits
// of size. Values that depend on classes and defaults are not interpreted here. A compiled model has them.
package mjcf
