package mjcf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image/png"
	"math"
	"slices"
	"strconv"
	"strings"
)

const (
	// maxCells limits the cells of a picture or height field, and maxCopies the copies that attributes such as count
	// request. A document above them is refused, because a few bytes of text could take all memory.
	maxCells, maxCopies = 1 << 26, 1 << 16
	// maxNumber limits other sizes, and maxSubdivision parameters of generated meshes.
	maxNumber, maxSubdivision = 1 << 24, 1 << 10
	// maxMemory limits the memory of a simulation in bytes.
	maxMemory = 1 << 30
)

// numeric are the attributes whose numbers MuJoCo accepts even if they are not finite.
var numeric = []string{"pos", "quat", "axis", "axisangle", "xyaxes", "zaxis", "euler", "fromto", "size", "range", "ref",
	"springref", "mass", "diaginertia", "fullinertia", "damping", "armature", "stiffness", "friction", "frictionloss",
	"solref", "solimp", "margin", "gap", "density", "scale", "gravity", "timestep", "kp", "kv", "gear", "gainprm",
	"biasprm", "forcerange", "qpos", "qvel"}

// infinite reports whether a word is infinite or not a number.
func infinite(word string) bool {
	v, err := strconv.ParseFloat(word, 64)
	return v-v != 0 && (err == nil || errors.Is(err, strconv.ErrRange))
}

// check refuses elements that would read further files or take all memory. copies is the number of copies of the
// element that its ancestors request.
func (e *Element) check(asset bool, depth int, copies float64) error {
	if depth > maxDepth {
		return fmt.Errorf("%s: elements are nested more than %d deep", e.where(), maxDepth)
	}
	area := 1.0
	for _, a := range e.Attributes {
		key := a.Name.Local
		limit := 0.0
		switch {
		case slices.Contains(numeric, key) && slices.ContainsFunc(strings.Fields(a.Value), infinite):
			return fmt.Errorf("%s: the attribute %s is %q; it must be finite", e.where(), key, a.Value)
		case strings.HasPrefix(key, "file") && !(asset && assetFiles[e.Name] != nil):
			return fmt.Errorf("%s: the attribute %s names a file; files are read for meshes, textures and height "+
				"fields in <asset>", e.where(), key)
		case key == "memory" && e.Name == "size":
			limit = maxMemory
		case e.Name == "size", key == "actdim", key == "nsample", key == "size" && e.Name == "numeric":
			limit = maxNumber
		case key == "params" && e.Name == "mesh":
			limit = maxSubdivision
		case key == "count":
			if copies *= product(a.Value); !(copies <= maxCopies) {
				return fmt.Errorf("%s: the attribute count makes more than %d copies", e.where(), maxCopies)
			}
		case (e.Name == "texture" || e.Name == "hfield") &&
			(key == "width" || key == "height" || key == "nrow" || key == "ncol"):
			if area *= product(a.Value); !(area <= maxCells) {
				return fmt.Errorf("%s: there are more than %d cells", e.where(), maxCells)
			}
		}
		if limit > 0 && !(slices.Max(append(numbers(a.Value), 0)) <= limit) {
			return fmt.Errorf("%s: the attribute %s is %q; the limit is %g", e.where(), key, a.Value, limit)
		}
	}
	for _, c := range e.Children {
		if err := c.check(e.Name == "asset" && depth == 1, depth+1, copies); err != nil {
			return err
		}
	}
	return nil
}

// numbers returns the numbers of an attribute. Units of bytes (K, M, G, T, P, E) are factors. MuJoCo reports words that
// are not numbers.
func numbers(text string) []float64 {
	var out []float64
	for word := range strings.FieldsSeq(text) {
		factor, last := 1.0, len(word)-1
		if unit := strings.IndexByte("KMGTPE", strings.ToUpper(word)[last]); unit >= 0 && last > 0 {
			word, factor = word[:last], math.Pow(1024, float64(unit+1))
		}
		// Out of range, v is infinite, and MuJoCo reads the beginning of "1e9x".
		v, err := strconv.ParseFloat(word, 64)
		for err != nil && v == 0 && len(word) > 1 {
			word = word[:len(word)-1]
			v, err = strconv.ParseFloat(word, 64)
		}
		out = append(out, v*factor)
	}
	return out
}

// product returns the product of an attribute's numbers, counting those below 1 as 1.
func product(text string) float64 {
	p := 1.0
	for _, v := range numbers(text) {
		p *= max(1, v)
	}
	return p
}

// checkFile refuses an asset's file whose header gives another size than the file has.
func checkFile(element, ext string, data []byte) error {
	word := func(i int) int64 { return int64(int32(binary.LittleEndian.Uint32(data[4*i:]))) }
	switch ext {
	case ".png":
		c, err := png.DecodeConfig(bytes.NewReader(data))
		if err != nil {
			return err
		}
		if int64(c.Width)*int64(c.Height) > maxCells {
			return fmt.Errorf("the picture has %d × %d pixels; the limit is %d", c.Width, c.Height, maxCells)
		}
	case ".hf", ".bin":
		cell := int64(4) // a height
		if element == "texture" {
			cell = 3
		}
		if len(data) < 8 || word(0) < 1 || word(1) < 1 || word(0)*word(1) > maxCells ||
			8+cell*word(0)*word(1) != int64(len(data)) {
			return fmt.Errorf("the file of %d bytes has not the size that its first two numbers say", len(data))
		}
	case ".msh":
		if len(data) < 16 || word(0) < 4 || word(1) < 0 || word(2) < 0 || word(3) < 0 ||
			16+4*(3*word(0)+3*word(1)+2*word(2)+3*word(3)) != int64(len(data)) {
			return fmt.Errorf("the file of %d bytes is no MSH mesh", len(data))
		}
		for i := int64(len(data))/4 - 3*word(3); i < int64(len(data))/4; i++ {
			if v := word(int(i)); v < 0 || v >= word(0) {
				return fmt.Errorf("a face has the vertex %d; there are %d", v, word(0))
			}
		}
	case ".obj":
		return checkObject(data)
	case ".stl":
		if len(data) < 84 || 84+50*(int64(binary.LittleEndian.Uint32(data[80:]))) != int64(len(data)) {
			return fmt.Errorf("the file of %d bytes is no binary STL mesh", len(data))
		}
		for face := data[84:]; len(face) > 0; face = face[50:] { // a normal, three vertices, two bytes
			for i := 12; i < 48; i += 4 {
				if v := math.Float32frombits(binary.LittleEndian.Uint32(face[i:])); v-v != 0 {
					return fmt.Errorf("a vertex has the coordinate %g; it must be finite", v)
				}
			}
		}
	}
	return nil
}

// checkObject refuses an OBJ mesh whose faces refer to vertices, texture coordinates or normals that do not exist.
// MuJoCo 2.2 does not check this.
func checkObject(data []byte) error {
	kinds := []string{"v", "vt", "vn"}
	var count, largest [3]int
	for line := range bytes.Lines(data) {
		words := append(strings.Fields(string(line)), "")
		if k := slices.Index(kinds, words[0]); k >= 0 {
			count[k]++
		}
		if !slices.Contains([]string{"f", "l", "p"}, words[0]) {
			continue
		}
		for _, corner := range words[1 : len(words)-1] {
			for k, index := range strings.Split(corner, "/") {
				v, err := strconv.Atoi(index)
				if k > 0 && index == "" {
					continue // "1//2" has no texture coordinate
				}
				if k > 2 || err != nil || v == 0 {
					return fmt.Errorf("%q is no corner of a face", corner)
				}
				largest[k] = max(largest[k], v, -v)
			}
		}
	}
	for k, kind := range kinds {
		if largest[k] > count[k] {
			return fmt.Errorf("a face has the %s %d; there are %d", kind, largest[k], count[k])
		}
	}
	return nil
}
