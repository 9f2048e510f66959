package motions

import (
	"embed"
	"fmt"
)

//go:embed clips
var clipFiles embed.FS

// Builtin returns a clip that comes with gorl: "humanoid_walk", one loop of walking of 1.03 s at 1.53 m/s, or
// "humanoid_run", one loop of running of 0.77 s at 3.54 m/s. Both are on [HumanoidSkeleton], go along x and wrap. They
// are Carnegie Mellon University's motion capture by way of Isaac Lab, cut to a loop and repaired.
//
// The data was obtained from mocap.cs.cmu.edu; the database was created with funding from NSF EIA-0196217. Isaac Lab's
// licence (BSD-3-Clause) is in motions/clips/LICENSE.txt. Programs that contain the clips reproduce it.
func Builtin(name string) (*Clip, error) {
	data, err := clipFiles.ReadFile("clips/" + name + ".npz")
	if err != nil {
		return nil, fmt.Errorf("motions: there is no built-in clip %.40q; there are humanoid_run and humanoid_walk",
			name)
	}
	c, err := parse(data, name)
	return c, named("built-in "+name, err)
}
