package motions

import (
	"fmt"
	"slices"
	"strings"
)

// humanoidNames are plain names of humanoids' bodies, without sides, the best first: of SMPL, CMU, LAFAN1, Mixamo,
// 100STYLE and others.
var humanoidNames = map[string][]string{
	"pelvis":    {"pelvis", "hips", "hip", "root"},
	"torso":     {"torso", "spine3", "chest4", "chest3", "chest2", "upperchest", "spine2", "chest", "spine1", "spine"},
	"head":      {"head", "neck"},
	"upper_arm": {"upperarm", "arm", "uparm", "shoulder"},
	"lower_arm": {"lowerarm", "forearm", "lowarm", "loarm", "elbow"},
	"hand":      {"hand", "wrist"},
	"thigh":     {"thigh", "upleg", "upperleg", "hip"},
	"shin":      {"shin", "leg", "lowerleg", "lowleg", "loleg", "knee", "calf"},
	"foot":      {"ankle", "foot"},
}

// robotNames begin the plain names of robots' links. The last link of a limb is the part of the body.
var robotNames = map[string][]string{"torso": {"torso", "waist"}, "upper_arm": {"shoulder"}, "lower_arm": {"elbow"},
	"hand": {"wrist"}, "thigh": {"hip"}, "shin": {"knee"}, "foot": {"ankle"}}

// parts returns the bodies of a humanoid skeleton by the part of the body: "torso", "left_thigh".
func (s *Skeleton) parts() map[string]int {
	plain := map[string]int{}
	names := make([]string, len(s.Bodies))
	for i, b := range s.Bodies {
		names[i] = plainName(b.Name)
		if _, ok := plain[names[i]]; !ok {
			plain[names[i]] = i
		}
	}
	out := map[string]int{}
	for part, known := range humanoidNames {
		sides := []string{"right_", "left_"}
		if slices.Contains([]string{"pelvis", "torso", "head"}, part) {
			sides = []string{""}
		}
		for _, side := range sides {
			start := strings.TrimSuffix(side, "_")
			for _, name := range slices.Backward(known) { // the best name last
				if i, ok := plain[start+name]; ok {
					out[side+part] = i
				}
			}
			if _, ok := out[side+part]; ok {
				continue
			}
			for _, name := range slices.Backward(robotNames[part]) {
				for i := range names {
					if strings.HasPrefix(names[i], start+name) {
						out[side+part] = i
					}
				}
			}
		}
	}
	return out
}

// ProposeBodies proposes RetargetConfig.Bodies by the names of the bodies: the target's, with the source's that each
// follows. Bodies of equal names are always paired. It knows the names of SMPL, CMU, LAFAN1, Mixamo, 100STYLE, and of
// robots' links (hip, knee, ankle, waist, shoulder, elbow, wrist). It fails if a thigh, shin or upper arm of the target
// has no pair.
func ProposeBodies(source, target *Skeleton) (map[string]string, error) {
	known, out := source.parts(), map[string]string{}
	partOf := map[int]string{}
	for part, i := range target.parts() {
		partOf[i] = part
	}
	for i, b := range target.Bodies {
		part, from := partOf[i], source.Body(b.Name)
		if j, ok := known[part]; ok && from < 0 {
			from = j
		}
		if from < 0 && i == 0 {
			from = 0
		}
		if from >= 0 {
			out[b.Name] = source.Bodies[from].Name
			continue
		}
		if _, limb := cutSide(part); slices.Contains([]string{"thigh", "shin", "upper_arm"}, limb) {
			return nil, fmt.Errorf("no body of %s is known to be %s, %s of %s; name the pairs in RetargetConfig.Bodies",
				source.Name, part, b.Name, target.Name)
		}
	}
	return out, nil
}

// cutSide splits "right_" or "left_" off a name.
func cutSide(name string) (side, rest string) {
	for _, side := range []string{"right_", "left_"} {
		if rest, ok := strings.CutPrefix(name, side); ok {
			return side, rest
		}
	}
	return "", name
}

// plainName returns a name in lower case without signs or a rig's prefix, its side first: "mixamorig:LeftUpLeg" becomes
// "leftupleg", "UpperLeg_L" "leftupperleg".
func plainName(name string) string {
	name = name[strings.LastIndexByte(name, ':')+1:]
	side := ""
	for _, w := range [][2]string{{"L", "left"}, {"R", "right"}} {
		for _, end := range []string{"_" + w[0], "." + w[0]} {
			if rest, ok := strings.CutSuffix(name, end); ok {
				name, side = rest, w[1]
			}
		}
		if rest, ok := strings.CutPrefix(name, w[0]+"_"); ok {
			name, side = rest, w[1]
		}
	}
	plain := strings.Map(func(r rune) rune {
		if (r >= 'a' && r <= 'z') || (r >= '0' && r <= '9') {
			return r
		}
		return -1
	}, strings.ToLower(name))
	return side + plain
}
