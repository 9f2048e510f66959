// Package robot drives a robot by a policy that was trained on it in simulation. It makes observations from what joint
// encoders and an inertial measurement unit (IMU) measure, lets the policy act, and turns actions into targets and
// gains of joint position control. A watchdog checks every step. At the first fault the robot goes into damping mode:
// no stiffness, and damping that lets it sink to the ground. It stays there until [Controller.Reset].
// [Controller.Drive] is the loop of a whole program.
//
// The policy's file must describe the robot (infer.Policy.Robot); gorl export sees to that. The package is plain Go
// without cgo. It does not stand a robot up: begin when the robot's own program holds it near the default pose.
//
// # Terms
//
// A [Controller] knows these parts of an observation. Vectors in the body's frame have x ahead, y left, z up.
//
//	base_ang_vel       angular velocity, rad/s, body frame
//	projected_gravity  direction of gravity, body frame: (0, 0, −1) upright
//	joint_pos          joint positions minus their zero positions, rad
//	joint_vel          joint velocities, rad/s
//	actions            the last actions, after clipping
//	command            the operator's command, with the names in the description
//	phase              sine and cosine of the clip's phase
//	zeros              zeros in place of terms that a finished curriculum has faded out
//	base_lin_vel       linear velocity, m/s, body frame: an estimate
//	height             height of the root, m: an estimate
//	features           all that gorl's own characters observe (mujoco.Character): the height, base_lin_vel and
//	                   key_positions (m, heading frame, relative to the root) in it are estimates
//
// Encoders and an IMU do not measure what is called an estimate here, nor any term of another name. A policy that
// observes one is refused unless Config.Estimates says that the caller supplies it, from a state estimator or from a
// simulation.
//
// # Packets
//
// [AppendState], [DecodeTargets], [Controller.Receive] and [Targets.Append] speak a format for datagrams. All numbers
// are little-endian. It is binary rather than JSON because a microcontroller fills it like a struct, because its size
// is fixed, so that a cut packet is found by its length, and because it can carry the NaN of a broken sensor.
//
//	state:   "GRS1", uint32 sequence, int64 time in ns, uint16 joints J, uint16 commands C, uint16 estimates E,
//	         uint16 0, then float32: positions (J), velocities (J), quaternion w x y z (4), angular velocity (3),
//	         commands (C), estimates (E)
//	targets: "GRT1", uint32 sequence, int64 time in ns, uint16 joints J, uint16 mode, uint32 0, then float32:
//	         positions (J), stiffness (J), damping (J)
//
// The sequence number of the robot's packets grows by one. Targets carry the sequence number and the time of the state
// that they answer, so that the robot measures the delay. The mode is 0 for targets of the policy and 1 for damping.
package robot
