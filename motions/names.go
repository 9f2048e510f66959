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

// pairBodies maps the bodies of [HumanoidSkeleton], or of another target with its names, to the bodies of a source that
// are the same part of the body. Bodies of equal names are always paired. It fails if a thigh, shin or upper arm of the
// target has no pair.
func pairBodies(source, target *Skeleton) (map[string]string, error) {
	known := map[string]string{} // the source's names by their plain names
	for _, b := range source.Bodies {
		if p := plainName(b.Name); known[p] == "" {
			known[p] = b.Name
		}
	}
	out := map[string]string{}
	for i, b := range target.Bodies {
		if source.Body(b.Name) >= 0 {
			out[b.Name] = b.Name
			continue
		}
		side, part := cutSide(b.Name)
		for _, name := range humanoidNames[part] {
			if from := known[strings.TrimSuffix(side, "_")+name]; from != "" {
				out[b.Name] = from
				break
			}
		}
		if i == 0 && out[b.Name] == "" {
			out[b.Name] = source.Bodies[0].Name
		}
		if out[b.Name] == "" && slices.Contains([]string{"thigh", "shin", "upper_arm"}, part) {
			return nil, fmt.Errorf("no body of %s is known to be %s; name the pairs in RetargetConfig.Bodies",
				source.Name, b.Name)
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
