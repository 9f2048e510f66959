package mujoco

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/gorl-dev/gorl/envs/mujoco/mjcf"
)

// TerrainConfig replaces the flat floor by a field of square patches. A row of patches has one level, a column one
// kind: slopes, steps or bumps. An episode begins in the middle of a patch, which is flat. Around it the ground rises,
// and falls again towards the edge of the patch. The zero value is the flat floor.
//
// Heights of the root, and limits of falls, are relative to the ground below the root. The first level is flat, and the
// heights grow linearly to those of the last.
type TerrainConfig struct {
	// Slope is the largest gradient of hills; Steps and Rough are the largest heights in metres of steps, 0.3 m deep,
	// and of bumps. They grow from 0 in the first level. 0 leaves a kind out.
	//
	// mjlab's slope is 1 at most; legged robots without cameras manage about 0.4. Bumps are 0.2 m apart.
	Slope float64 `yaml:"slope" config:"min=0,max=2"`
	Steps float64 `yaml:"steps" config:"min=0,max=1"`
	Rough float64 `yaml:"rough" config:"min=0,max=1"`
	// Levels is the number of levels; 0 is 10.
	Levels int `yaml:"levels" config:"min=0,max=100"`
	// Size is the side of a level's square in metres, with the start in its middle; 0 is 8.
	Size float64 `yaml:"size" config:"min=0,max=100"`
	// Curriculum begins at the first level: a character that leaves its square moves up, one that goes less than half
	// as far as commanded moves down. Otherwise levels are random.
	//
	// mjlab has the same curriculum. Above the last level a character goes on at a random one.
	Curriculum bool `yaml:"curriculum"`
}

const (
	// terrainCell is the distance of the field's heights in metres.
	terrainCell = 0.1
	// terrainMiddle is half the side of a patch's flat middle, and terrainTread the depth of a step, in metres.
	terrainMiddle, terrainTread = 1.0, 0.3
	// terrainSunk is the depth in metres of the flat floor below the field, so that feet touch only one of them.
	terrainSunk = 0.03
	// terrainFile is the name of the field's file, which is in memory.
	terrainFile = "gorl_terrain.bin"
)

// terrain is the field of a configuration.
type terrain struct {
	TerrainConfig
	// kinds has a function for each kind of ground. It returns the height in metres at the last level, at the distance
	// r in metres from a patch's middle. x and y are the indices of the place in the field.
	kinds []func(r float64, x, y int) float64
	// nx and ny are the numbers of heights along x and y. The field's middle is the world's origin.
	nx, ny int
	// heights (ny, nx) are in metres, and highest is the largest.
	heights []float32
	highest float64
}

// on reports whether the ground is not flat.
func (t *TerrainConfig) on() bool { return t.Slope != 0 || t.Steps != 0 || t.Rough != 0 }

// check validates the settings and fills in defaults. Errors have no prefix.
func (t *TerrainConfig) check() error {
	if !t.on() {
		if *t != (TerrainConfig{}) {
			return fmt.Errorf("Randomize.Terrain is %+v; give Slope, Steps or Rough", *t)
		}
		return nil
	}
	t.Levels, t.Size = cmp.Or(t.Levels, 10), cmp.Or(t.Size, 8)
	if cells := float64(3*t.Levels) * t.Size * t.Size / terrainCell / terrainCell; t.Size < 4 || cells > 2e7 {
		return fmt.Errorf("Randomize.Terrain has %d levels of patches of %g m; give patches of 4 m at least, and "+
			"fewer or smaller ones than for 20 million cells", t.Levels, t.Size)
	}
	return nil
}

// newTerrain computes the field of a checked configuration.
func newTerrain(cfg TerrainConfig) *terrain {
	t := &terrain{TerrainConfig: cfg}
	// up is the distance in metres to the flat middle or to the patch's edge, whichever is nearer: the ground rises to
	// a ridge and falls again.
	half := cfg.Size / 2
	up := func(r float64) float64 { return max(0, min(r-terrainMiddle, half-r)) }
	bumps := make([]float64, 1<<16)
	rng := rand.New(rand.NewPCG(0, 0x74657272)) // the same bumps in every field
	for i := range bumps {
		bumps[i] = rng.Float64()
	}
	if cfg.Slope > 0 {
		t.kinds = append(t.kinds, func(r float64, _, _ int) float64 { return cfg.Slope * up(r) })
	}
	if cfg.Steps > 0 {
		t.kinds = append(t.kinds, func(r float64, _, _ int) float64 {
			return cfg.Steps * math.Ceil(up(r)/terrainTread-1e-6)
		})
	}
	if cfg.Rough > 0 {
		t.kinds = append(t.kinds, func(r float64, x, y int) float64 {
			if up(r) == 0 {
				return 0
			}
			return cfg.Rough * bumps[(x/2*193+y/2*389)%len(bumps)]
		})
	}
	across := int(math.Round(cfg.Size / terrainCell))
	t.nx, t.ny = cfg.Levels*across+1, len(t.kinds)*across+1
	t.heights = make([]float32, t.nx*t.ny)
	for y := range t.ny {
		for x := range t.nx {
			level, kind := min(x/across, cfg.Levels-1), min(y/across, len(t.kinds)-1)
			dx, dy := float64(x-level*across)*terrainCell-half, float64(y-kind*across)*terrainCell-half
			hard := float64(level) / float64(max(1, cfg.Levels-1))
			if cfg.Levels == 1 {
				hard = 1
			}
			h := hard * t.kinds[kind](max(math.Abs(dx), math.Abs(dy)), x, y)
			t.heights[y*t.nx+x], t.highest = float32(h), max(t.highest, h)
		}
	}
	return t
}

// middle returns the middle of a patch in metres.
func (t *terrain) middle(level, kind int) (x, y float64) {
	at := func(i, n int) float64 { return (float64(i) + 0.5 - float64(n)/2) * t.Size }
	return at(level, t.Levels), at(kind, len(t.kinds))
}

// height returns the height of the ground in metres, relative to the middles of patches.
func (t *terrain) height(x, y float64) float64 {
	x, y = x/terrainCell+float64(t.nx-1)/2, y/terrainCell+float64(t.ny-1)/2
	if !(x >= 0 && y >= 0 && x <= float64(t.nx-1) && y <= float64(t.ny-1)) {
		return -terrainSunk
	}
	i, k := min(int(x), t.nx-2), min(int(y), t.ny-2)
	fx, fy := x-float64(i), y-float64(k)
	at := func(i, k int) float64 { return float64(t.heights[k*t.nx+i]) }
	return (1-fy)*((1-fx)*at(i, k)+fx*at(i+1, k)) + fy*((1-fx)*at(i, k+1)+fx*at(i+1, k+1))
}

// outside returns the x of a place outside the field, or 0 without a field.
func (t *terrain) outside() float64 {
	if t == nil {
		return 0
	}
	return float64(t.nx-1)/2*terrainCell + 5
}

// install adds the field to a body's model, and sinks the floor.
func (t *terrain) install(body *CharacterBody) error {
	root, err := mjcf.Parse([]byte(body.XML))
	if err != nil {
		return err
	}
	var floor, world *mjcf.Element
	for parent, e := range root.All {
		if floor == nil && parent != nil && parent.Name == "worldbody" && e.Name == "geom" && e.Get("type") == "plane" {
			floor, world = e, parent
		}
	}
	if floor == nil {
		return errors.New("Randomize.Terrain needs a floor: a <geom type=\"plane\"> in the model's <worldbody>")
	}
	pos := [3]float64{}
	_, _ = fmt.Sscan(floor.Get("pos"), &pos[0], &pos[1], &pos[2]) // MuJoCo has read it already
	const name = "gorl_terrain"
	ground := &mjcf.Element{Name: "geom", Attributes: slices.Clone(floor.Attributes)}
	world.Children = append(world.Children, ground)
	ground.Drop("size", "material")
	for key, value := range map[string]string{"name": name, "type": "hfield", "hfield": name,
		"pos": numbers(0, 0, pos[2])} {
		ground.Set(key, value)
	}
	floor.Set("pos", numbers(pos[0], pos[1], pos[2]-terrainSunk))
	half := func(n int) float64 { return float64(n-1) / 2 * terrainCell }
	field := mjcf.New("hfield", "name", name, "file", terrainFile, "size",
		numbers(half(t.nx), half(t.ny), t.highest, 1))
	root.Children = append(root.Children, &mjcf.Element{Name: "asset", Children: []*mjcf.Element{field}})
	for parent, e := range root.All {
		switch {
		case e.Name == "pair" && parent.Name == "contact": // what collides with the floor collides with the field
			for _, key := range []string{"geom1", "geom2"} {
				if e.Get(key) == floor.Get("name") {
					pair := &mjcf.Element{Name: "pair", Attributes: slices.Clone(e.Attributes)}
					pair.Set(key, name)
					parent.Children = append(parent.Children, pair)
				}
			}
		case e.Name == "size" && headerVersion < 3000000 && e.Get("njmax") != "":
			// A box touches a field in more points than a plane.
			for key, value := range map[string]string{"njmax": "400", "nconmax": "90", "nstack": "400000"} {
				e.Set(key, value)
			}
		}
	}
	body.XML = root.Text()
	assets := map[string][]byte{terrainFile: t.file()}
	maps.Copy(assets, body.Assets)
	body.Assets = assets
	return nil
}

// patch returns the middle of the patch on which environment i begins, in metres.
func (r *randomizer) patch(i int) (x, y float64) {
	return r.terrain.middle(int(r.memoryOf(i)[r.level]), i%len(r.terrain.kinds))
}

// place moves the first state of an episode to the environment's patch.
func (r *randomizer) place(s *State) {
	if r != nil && r.terrain != nil {
		x, y := r.patch(s.Env)
		s.QPos[0] += x
		s.QPos[1] += y
	}
}

// finish changes the environment's level by the distance that the character covered in the episode that ends with s.
func (r *randomizer) finish(s *State, rng *rand.Rand) {
	if !r.climbs() {
		return
	}
	x, y := r.patch(s.Env)
	level, far := &r.memoryOf(s.Env)[r.level], math.Hypot(s.QPos[0]-x, s.QPos[1]-y)
	switch {
	case far > r.terrain.Size/2:
		if *level++; *level >= float64(r.terrain.Levels) {
			*level = float64(rng.IntN(r.terrain.Levels))
		}
	case far < r.task.commandedDistance(s)/2:
		*level = max(0, *level-1)
	}
}

// climbs reports whether the terrain has a curriculum.
func (r *randomizer) climbs() bool { return r != nil && r.terrain != nil && r.terrain.Curriculum }

// levels returns the levels of all environments, or nil without a curriculum of the terrain.
func (r *randomizer) levels() (all []int) {
	if !r.climbs() {
		return nil
	}
	for i := range r.batch.n {
		all = append(all, int(r.memoryOf(i)[r.level]))
	}
	return all
}

// setLevels spreads levels over the environments. On an error it changes nothing.
func (r *randomizer) setLevels(levels []int) error {
	if len(levels) == 0 || !r.climbs() {
		return nil
	}
	for _, v := range levels {
		if v < 0 || v >= r.terrain.Levels {
			return fmt.Errorf("it has a character on the level %d; the terrain has %d", v, r.terrain.Levels)
		}
	}
	for i := range r.batch.n {
		r.memoryOf(i)[r.level] = float64(levels[i*len(levels)/r.batch.n])
	}
	return nil
}

// commandedDistance returns the distance in metres that the command of s covers in a whole episode.
func (c *characterTask) commandedDistance(s *State) float64 {
	mem := c.memory(s)
	speed := mem[memorySpeed]
	if c.cfg.Task == Velocity {
		speed = math.Hypot(mem[memoryForward], mem[memoryLeftward])
	}
	return speed * float64(c.cfg.EpisodeLength) * c.dt
}

// file returns the field in MuJoCo's format.
func (t *terrain) file() []byte {
	b, _ := binary.Append(nil, binary.LittleEndian, []int32{int32(t.ny), int32(t.nx)}) // numbers have a size: no error
	b, _ = binary.Append(b, binary.LittleEndian, t.heights)
	return b
}
