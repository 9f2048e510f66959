package mujoco

import (
	"math"

	"gonum.org/v1/gonum/spatial/r3"
)

// hit returns the first point at which the ray from o along d meets the terrain, at most limit of d's lengths away.
// base is the height of its patches' middles. normal is the unit normal there.
func (t *terrain) hit(o, d r3.Vec, base, limit float64) (p, normal r3.Vec, ok bool) {
	height := func(p r3.Vec) float64 { return p.Z - base - t.height(p.X, p.Y) }
	at := func(s float64) r3.Vec { return r3.Add(o, r3.Scale(s, d)) }
	// The ray can meet the terrain only between the terrain's highest and lowest height.
	from := 0.0
	if top := base + t.highest; o.Z > top {
		if d.Z >= 0 {
			return p, normal, false
		}
		from = (top - o.Z) / d.Z
	}
	step := 0.8 * terrainCell / r3.Norm(d)
	if d.Z < 0 {
		limit = min(limit, (base-terrainSunk-o.Z)/d.Z+step/100) // the floor beside the field counts
	}
	for s := from; s < limit+step; s += step {
		if height(at(s)) > 0 {
			continue
		}
		low, high := max(0, s-step), s // above and below the ground
		for range 8 {
			if mid := (low + high) / 2; height(at(mid)) > 0 {
				low = mid
			} else {
				high = mid
			}
		}
		p = at(high)
		const e = terrainCell / 2
		normal = r3.Unit(r3.Vec{X: t.height(p.X-e, p.Y) - t.height(p.X+e, p.Y),
			Y: t.height(p.X, p.Y-e) - t.height(p.X, p.Y+e), Z: 2 * e})
		return p, normal, high <= limit
	}
	return p, normal, false
}

// shade returns how much darker than flat ground a part of the terrain is, by its normal: 0 to 1.
func shade(normal r3.Vec) float64 {
	return math.Round(tones*max(0, min(1, 1.6*(sun.Z-r3.Dot(normal, sun))+0.3*(1-normal.Z)))) / tones
}
