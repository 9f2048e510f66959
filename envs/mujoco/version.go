package mujoco

// #include "engine.h"
import "C"

import "strings"

// Version returns the version of the MuJoCo library that this process loaded, such as "2.2.2".
func Version() string { return C.GoString(C.mj_versionString()) }

// headerVersion is the version that this package was compiled with: major * 1000000 + minor * 1000 + patch.
const headerVersion = int(C.GM_VERSION)

// builtIn returns one of this package's models for the version of MuJoCo that the package was compiled with. MuJoCo 3
// has no attribute that limits collisions to the listed pairs. Geoms whose contype and conaffinity are 0 collide in no
// other pair either, but MuJoCo 2.2 would search for such pairs in every step.
func builtIn(xml string) string {
	if headerVersion < 3000000 {
		return xml
	}
	xml = strings.Replace(xml, ` collision="predefined"`, "", 1)
	return strings.Replace(xml, `<geom `, `<geom contype="0" conaffinity="0" `, 1) // the first geom is the default of all
}
