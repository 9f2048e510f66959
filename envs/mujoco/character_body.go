package mujoco

import (
	_ "embed" // for the models
)

//go:embed humanoid.xml
var humanoidText string

//go:embed quadruped.xml
var quadrupedText string

// humanoidXML and quadrupedXML are the embedded models for the version of MuJoCo in use.
var humanoidXML, quadrupedXML = builtIn(humanoidText), builtIn(quadrupedText)

// CharacterBody describes a model with a free root and a position actuator for each hinge.
type CharacterBody struct {
	// Name is a short word, the prefix of batch metrics.
	Name string
	// XML is the MJCF text. Its first joint is free, all others are hinges, and actuator i moves hinge i.
	XML string
	// Assets are the files that XML names, such as meshes, by their names there.
	Assets map[string][]byte
	// Substeps is the number of the model's time steps in a control step.
	Substeps int
	// Feet are the bodies that may touch the floor. A contact of any other body ends the episode. If Feet is empty,
	// contacts end no episode.
	Feet []string
	// Keys are the bodies whose positions are observed: hands and feet.
	Keys []string
	// MinHeight is the root's height in metres below which a character has fallen. MaxTilt is the angle in radians
	// between the root's z axis and the vertical above which it has fallen.
	MinHeight, MaxTilt float64
	// DefaultPose (hinges) are the angles in radians about which the targets of actions move. Nil means the middle of
	// the clips' ranges. DefaultHeight is the height in metres of the root in this pose.
	DefaultPose   []float64
	DefaultHeight float64
	// Actuators (hinges) describe the motors by the names of their joints, for [LoadBody] and for the robot. Their
	// ActionScale is that of actions. If there are none, the clips' ranges set it.
	Actuators []ActuatorConfig
}

// HumanoidBody returns a humanoid of 15 bodies and 28 hinges, 48.9 kg and 1.61 m. Its skeleton is that of the AMP
// humanoid of Isaac Lab and Isaac Gym. A control step is 1/30 s: four time steps of the simulation.
func HumanoidBody() CharacterBody {
	return CharacterBody{
		Name: "humanoid", XML: humanoidXML, Substeps: 4,
		Feet:      []string{"right_foot", "left_foot"},
		Keys:      []string{"right_hand", "left_hand", "right_foot", "left_foot"},
		MinHeight: 0.6, MaxTilt: 1,
	}
}

// QuadrupedBody returns a quadruped of 17 bodies and 12 hinges, 12.5 kg, with the proportions of a small robot dog. A
// control step is 1/30 s: four time steps of the simulation.
func QuadrupedBody() CharacterBody {
	feet := []string{"FR_foot", "FL_foot", "RR_foot", "RL_foot"}
	return CharacterBody{Name: "quadruped", XML: quadrupedXML, Substeps: 4, Feet: feet, Keys: feet, MinHeight: 0.15,
		MaxTilt: 1}
}
