package inspection

import (
	"fmt"
	"strings"

	"github.com/gorl-dev/gorl/envs/mujoco"
)

// writeModel writes what a model has and lacks.
func writeModel(b *page, m *mujoco.ModelReport) {
	b.line("name", "%s", m.Name)
	b.line("mass", "%.4g kg", m.Mass)
	b.line("time step", "%g s", m.TimeStep)
	b.line("meshes", "%d", m.Meshes)
	b.line("actuators", "%d in the file", m.Motors)
	if m.Height != 0 {
		b.line("height", "%.3f m in the default pose", m.Height)
	}
	proposed := ""
	if m.Proposed {
		proposed = " (proposed)"
	}
	b.line("feet", "%s%s", strings.Join(m.Feet, ", "), proposed)
	var rows [][]string
	for _, body := range m.Bodies {
		row := []string{body.Name, body.Parent, fmt.Sprintf("%.4g", body.Mass)}
		for _, j := range body.Joints {
			cells := []string{j.Name, j.Kind, "", "", "", "", "", ""}
			if j.Limited {
				cells[2] = fmt.Sprintf("%.3g to %.3g", j.Low, j.High)
			}
			if j.Kind == "hinge" || j.Kind == "slide" {
				cells[3] = fmt.Sprintf("%.3g", j.Default)
			}
			for k, v := range []float64{j.Motor.Stiffness, j.Motor.Damping, j.Motor.Armature, j.Motor.EffortLimit} {
				if v != 0 {
					cells[4+k] = fmt.Sprintf("%.4g", v)
				}
			}
			rows = append(rows, append(row, cells...))
			row = []string{"", "", ""}
		}
		if len(body.Joints) == 0 {
			rows = append(rows, row)
		}
	}
	b.table([]string{"body", "parent", "kg", "joint", "kind", "range", "default", "stiffness", "damping", "armature",
		"effort"}, rows)
	if len(m.Missing) == 0 {
		b.WriteString("\nNothing is missing for the environment Character.\n")
		return
	}
	b.WriteString("\nMissing for the environment Character:\n")
	for _, text := range m.Missing {
		fmt.Fprintf(b, "  %s\n", text)
	}
}
