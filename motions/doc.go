// Package motions holds reference motion clips: how a character should move.
//
// A [Clip] is a sequence of frames with durations. Its columns are described by a [Description]
// (root, hinges, rotations) or, for a skeleton without a description, left as raw numbers.
// [Clip.At] gives positions and velocities at any time, over any number of loops.
//
// Clips come from [Gait] (a built-in planar walk), from DeepMimic JSON files ([LoadDeepMimic]), from
// Isaac Lab npz files ([LoadIsaacLab]), or from numbers ([NewClip]). A [Library] draws weighted clips
// and moments; a [Source] turns them into the rows that an AMP discriminator is shown.
//
// Units are seconds, metres and radians. Rotations are unit quaternions, w first.
package motions
