package mujoco

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/envs/mujoco/mjcf"
)

// openModel reads, prepares and compiles an MJCF file. The caller closes the loader's model.
func openModel(path string, cfg BodyConfig) (*loader, error) {
	file, err := mjcf.Read(path)
	if err != nil {
		return nil, err
	}
	l := &loader{cfg: cfg, root: file.Root, assets: file.Assets}
	if err := l.prepare(); err != nil {
		return nil, err
	}
	l.model, err = l.compile()
	return l, err
}

// explain puts before an error what was read.
func explain(err *error, what string) {
	if *err != nil {
		*err = fmt.Errorf("mujoco: %s: %w", what, *err)
	}
}

// prepare adds a floor and the options of the simulation.
func (l *loader) prepare() error {
	floor, world := false, (*mjcf.Element)(nil)
	for parent, e := range l.root.All {
		switch kind := e.Get("type"); {
		case e.Name == "worldbody":
			world = e
		case e.Name == "geom" && parent.Name == "worldbody":
			floor = floor || kind == "plane" || kind == "hfield"
		}
	}
	if world == nil {
		return errors.New("the file has no <worldbody>")
	}
	if !floor {
		world.Children = append([]*mjcf.Element{mjcf.New("geom", "name", "floor", "type", "plane", "size", "100 100 1",
			"contype", "1", "conaffinity", "1", "condim", "3", "friction", "1 0.005 0.0001", "group", "0",
			"rgba", "0.45 0.5 0.53 1")}, world.Children...)
	}
	option := mjcf.New("option", "integrator", "Euler")
	if l.cfg.TimeStep > 0 {
		option.Set("timestep", numbers(l.cfg.TimeStep))
	}
	if l.cfg.Iterations > 0 {
		option.Set("iterations", strconv.Itoa(l.cfg.Iterations))
	}
	l.root.Children = append(l.root.Children, option)
	l.root.Remove("sensor", "visual")
	if headerVersion < 3000000 { // MuJoCo 3's default
		l.root.Children = append([]*mjcf.Element{mjcf.New("compiler", "autolimits", "true")}, l.root.Children...)
	}
	for _, e := range l.root.All {
		e.Remove("camera")
		if e.Name == "option" && e != option {
			e.Drop("integrator")
		}
		if e.Name == "flag" {
			e.Drop("eulerdamp") // disabled, it makes stiff motors unstable
		}
		if headerVersion < 3000000 {
			l.dropNewer(e)
		}
	}
	return nil
}

// numbers formats numbers for MJCF.
func numbers(values ...float64) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strings.Join(words, " ")
}

// dropNewer removes attributes of MuJoCo 3 that MuJoCo 2 does not know from an element. Attributes of options only
// affect speed. Attributes of actuators change the motion, so a file with them needs an entry of Actuators for every
// hinge.
func (l *loader) dropNewer(e *mjcf.Element) {
	switch e.Name {
	case "option":
		e.Drop("ls_iterations", "ls_tolerance", "ccd_iterations", "ccd_tolerance", "sdf_iterations", "sdf_initpoints",
			"sleep_tolerance", "actuatorgroupdisable")
	case "joint", "position", "motor", "velocity", "general":
		e.Drop("inheritrange") // the range of controls, which characters do not use
		for _, name := range []string{"actuatorfrcrange", "actuatorfrclimited", "actuatorgravcomp", "kv", "dampratio"} {
			if name == "kv" && e.Name == "velocity" || e.Get(name) == "" {
				continue
			}
			e.Drop(name)
			l.newer = name
		}
	case "flag":
		e.Drop("nativeccd", "island", "multiccd")
	}
}

// compile compiles the prepared document.
func (l *loader) compile() (*Model, error) {
	m, err := parseModel(l.root.Text(), l.assets)
	if err != nil && headerVersion < 3000000 &&
		(strings.Contains(err.Error(), "Schema violation") || strings.Contains(err.Error(), "invalid keyword")) {
		return nil, fmt.Errorf("%w. If the file is for MuJoCo 3, remove that from it, or compile gorl with MuJoCo 3 "+
			"instead of %s", err, Version())
	}
	return m, err
}
