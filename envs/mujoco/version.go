package mujoco

// #include "engine.h"
import "C"

import (
	"fmt"
	"strings"
)

// Version returns the version of the MuJoCo library that this process loaded, such as "2.2.2".
func Version() string { return C.GoString(C.mj_versionString()) }

// headerVersion is the version that this package was compiled with: major * 1000000 + minor * 1000 + patch.
const headerVersion = int(C.GM_VERSION)

// checkLibrary compares the headers' version with the version of the library that the process loaded. The structs of
// two versions have different layouts, so every access would read and write wrong fields.
func checkLibrary() error {
	library := int(C.mj_version())
	if library == C.mjVERSION_HEADER {
		return nil
	}
	return fmt.Errorf("mujoco: this program was compiled with the headers of MuJoCo %s, and the loaded libmujoco is "+
		"%s: compile it again with headers and library of one version", written(C.mjVERSION_HEADER), written(library))
}

// written formats a version number of MuJoCo as "major.minor.patch". Each part has three decimal digits since MuJoCo
// 3.5, and one digit before.
func written(version int) string {
	digits := 1000
	if version < 1000000 {
		digits = 10
	}
	return fmt.Sprintf("%d.%d.%d", version/digits/digits, version/digits%digits, version%digits)
}

// builtIn adapts the MJCF text of one of this package's models to the version of MuJoCo that the package was compiled
// with. In the models only the listed pairs of geoms collide, by the attribute collision="predefined". MuJoCo 3 has no
// such attribute. There, contype and conaffinity of 0 have the same effect. With MuJoCo 2.2 the attribute stays: with
// contype and conaffinity it would search for pairs in every step.
func builtIn(xml string) string {
	if headerVersion < 3000000 {
		return xml
	}
	return portable(xml)
}

// portable is builtIn for MuJoCo 3.
func portable(xml string) string {
	xml = strings.Replace(xml, ` collision="predefined"`, "", 1)
	// The first geom element of the text is the default for all geoms.
	return strings.Replace(xml, `<geom `, `<geom contype="0" conaffinity="0" `, 1)
}
