package models

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/config"
	"github.com/gorl-dev/gorl/internal/test/tensortest"
	"github.com/gorl-dev/gorl/spaces"
	"github.com/gorl-dev/gorl/tensor"
)

// parted is a space with a part of every kind. Names sort as bytes: ACTIONS, a, camera, mode.
var parted = spaces.NewDict(map[string]spaces.Space{
	"camera": spaces.NewPicture(2, 3, 2), "mode": spaces.NewDiscrete(3), "ACTIONS": spaces.Unbounded(2),
	"a": spaces.NewTuple(spaces.NewDiscrete(4), spaces.Unbounded(2)),
})

func TestParts(t *testing.T) {
	tensortest.CheckLive(t)
	row := []float32{30, 40, 3, 10, 20}
	for i := range 12 {
		row = append(row, float32(100+i))
	}
	row = append(row, 1)
	sp := spaces.Set{Observation: parted, State: spaces.NewTuple(spaces.Unbounded(2, 2), spaces.Unbounded(1)),
		Action: spaces.NewBox(-1, 1, 2)}
	known := inputNames(Spec{}, sp, 2)
	s := tensor.NoGrad()
	defer s.Close()
	in := Inputs{Observations: tensor.From(s, row, 1, 18), States: tensor.From(s, []float32{1, 2, 3, 4, 5}, 1, 5)}
	for text, want := range map[string][]float64{
		`OBSERVATIONS["a"][1]`:               {10, 20},
		`OBSERVATIONS['a'][-2]`:              {3},
		`OBSERVATIONS["ACTIONS"]`:            {30, 40}, // keys mean what they say
		`OBSERVATIONS["ACTIONS"][:, 1]`:      {40},
		`STATES[1] * 2 + STATES[0][:, 1, 0]`: {13},
		`STATES[0][:, 1]`:                    {3, 4},
		`STATES[0][:, :, 0:1]`:               {1, 3},
		`STATES[0][..., 1]`:                  {2, 4},
		`permute(STATES[0], (0, 2, 1))`:      {1, 3, 2, 4},
		`permute(STATES[0], [0, -1, 1])`:     {1, 3, 2, 4},
		`permute(OBSERVATIONS["camera"], (0, 3, 1, 2))`: {100, 102, 104, 106, 108, 110, 101, 103, 105,
			107, 109, 111},
		`OBSERVATIONS["camera"][..., 1:] / 2`:                                {50.5, 51.5, 52.5, 53.5, 54.5, 55.5},
		`OBSERVATIONS["camera"][:, 1, 2]`:                                    {110, 111},
		`OBSERVATIONS["camera"][:, :, -1:][:, 0]`:                            {104, 105},
		`permute(OBSERVATIONS["camera"], (0, 3, 1, 2))[:, 1] - 100`:          {1, 3, 5, 7, 9, 11},
		`one_hot_encoding(OBSERVATION_SPACE["a"][0], OBSERVATIONS["a"][0])`:  {0, 0, 0, 1},
		`concatenate([OBSERVATIONS["mode"], OBSERVATIONS["a"]])`:             {1, 3, 10, 20},
		`concatenate((STATES[0], STATES[0]))`:                                {1, 2, 3, 4, 1, 2, 3, 4},
		`one_hot_encoding(OBSERVATION_SPACE["mode"], OBSERVATIONS["mode"],)`: {0, 1, 0},
		`relu(permute(STATES[0], (0, 2, 1)) - 2)[:, 1]`:                      {0, 2},
	} {
		x, err := known.compile("x", text)
		if err != nil {
			t.Error(err)
			continue
		}
		got := tensortest.Float64s(t, s, computed(t, s, known.sp, x, in))
		if x.width != int64(len(want)) {
			t.Errorf("%s: width %d, want %d", text, x.width, len(want))
			continue
		}
		wantNear(t, text, got, want, 1e-6)
	}
}

// What is wrong about parts and pictures is said with the place and what to do.
func TestPartErrors(t *testing.T) {
	tensortest.CheckLive(t)
	sp := spaces.Set{Observation: parted, State: spaces.NewTuple(spaces.NewPicture(8, 9, 3), spaces.Unbounded(1)),
		Action: spaces.NewBox(-1, 1, 2)}
	input := func(text string) string {
		return "network: [{name: net, input: '" + strings.ReplaceAll(text, "'", "''") + "', layers: [4]}]"
	}
	layers := func(text string) string {
		return `network: [{name: net, input: 'permute(STATES[0], (0, 3, 1, 2))', layers: [` + text + `]}]`
	}
	for _, c := range [][2]string{
		{input(`OBSERVATIONS["camra"]`),
			`there is no part "camra" (did you mean "camera"?); there are "ACTIONS", "a", "camera", "mode"`},
		{input(`OBSERVATIONS["camera"]["left"]`), "Box(2, 3, 2, uint8) has no parts"},
		{input(`OBSERVATIONS[0]`), `the parts of a Dict have names: "ACTIONS"`},
		{input(`OBSERVATIONS["a"]["x"]`), "the parts of a Tuple have numbers, from [0] to [1]"},
		{input(`OBSERVATIONS["a"][2]`), "there are the parts 0 to 1"},
		{input(`STATES[0][0]`), "a first index would choose rows"},
		{input(`(OBSERVATIONS["a"] * 2)[0]`), "a first index would choose rows"},
		{input(`(OBSERVATIONS["a"] * 2)["x"]`), "name them at OBSERVATIONS or STATES"},
		{input(`OBSERVATIONS["a`), "is never closed"},
		{input(`OBSERVATION_SPACE["a"]`), "is no rows"},
		{input(`one_hot_encoding(OBSERVATION_SPACE["camera"], OBSERVATIONS)`), "needs a Discrete"},
		{input(`STATES[0][:, 0, 0, 0, 0]`), ""}, // what is left of a picture is a row
		{input(`STATES[0][:, 0, 0:2, 0, 0, 0]`), "no dimension 2"},
		{input(`STATES[0] + STATES[0][:, 1:3]`), "widths 216 and 54"},
		{input(`permute(STATES[0], (0, 1, 2, 3)) + OBSERVATIONS`), "do not combine"},
		{input(`concatenate([permute(STATES[0], (0, 3, 1, 2)), STATES[1]])`), "(3, 8, 9) and (1) do not join"},
		{input(`permute(STATES[0], (0, 3, 1))`), "name the 3 dimensions of (8, 9, 3)"},
		{input(`permute(STATES[0], (1, 0, 2, 3))`), "must begin with 0"},
		{input(`permute(STATES[0], (0, 1, 1, 2))`), "once"},
		{input(`permute(STATES[1], (0, 1))`), "these rows are flat"},
		{input(`softmax(permute(STATES[0], (0, 3, 1, 2)))`), "softmax() is over a row"},
		{input(`permute(STATES[0], (0, 3, 1, 2))`),
			"its input is a picture of shape (3, 8, 9); put a layer flatten before it"},
		{`network: [{name: n, input: "STATES[0]", layers: [{conv2d: [4, 3]}]}]`,
			"write the input as permute(STATES[0], (0, 3, 1, 2))"},
		{`network: [{name: n, input: "STATES[1]", layers: [{conv2d: [4, 3]}]}]`, "its input has the shape (1)"},
		{layers(`{conv2d: [4, 3]}`), `output: its input is a picture of shape (4, 6, 7)`},
		{layers(`{conv2d: [4, 3]}, 5`),
			"network[0].layers[1]: its input is a picture of shape (4, 6, 7); put a layer flatten before it"},
		{layers(`{conv2d: [4, 10]}`), "too small"},
		{layers(`{conv2d: [4]}`), "[out_channels, kernel_size"},
		{layers(`{conv2d: [4, 3, 1, 0, 1]}`), `"bias"`},
		{layers(`{conv2d: [4, [3, 3, 3]]}`), "or two for rows and columns"},
		{layers(`{conv2d: {out_channels: 4, kernel: 3}}`), `unknown key "kernel"`},
		{layers(`{conv2d: {out_channels: 4, kernel_size: 3, padding: big}}`), `"same" or "valid"`},
		{layers(`{conv2d: {out_channels: 4, kernel_size: 3, padding: same, stride: 2}}`), "needs strides of 1"},
		{layers(`{conv2d: {out_channels: 4, kernel_size: 3, padding_mode: reflect}}`),
			`"reflect"; pictures are padded with zeros only`},
		{layers(`{conv2d: {out_channels: 4, kernel_size: 3, in_channels: 8}}`),
			"in_channels: it is 8, but the layer's input has the shape (3, 8, 9)"},
		{layers(`{conv2d: {out_channels: 4, kernel_size: 3, groups: 2}}`), "2 groups, which must divide the 3 channels"},
		{layers(`{conv2d: {kernel_size: 3}}`), "out_channels"},
		{layers(`flatten, {conv2d: [4, 3]}`), "its input has the shape (216)"},
		{layers(`{flatten: [2, -1]}, 4`), "of shape (3, 8, 9)"},
		{layers(`{flatten: {start_dim: 0}}, 4`), "the batch is dimension 0"},
		{`network: [{name: n, input: "permute(STATES[0], (0, 3, 1, 2))", layers: [{conv2d: [4, 3]}, flatten], activations: softmax}]`,
			"does not follow a convolution"},
		{layers(`{conv2d: {features: 4, kernel_size: [2, 3], strides: [1, 2], use_bias: false, in_channels: 3, dilation: 2, padding: valid}}, {flatten: [1, 3]}, 4`),
			""},
		{layers(`{conv2d: [4, 3]}`) + "\noutput: net", `output: "net" is a picture of shape (4, 6, 7)`},
	} {
		text, want := c[0], c[1]
		if !strings.Contains(text, "output:") {
			text += "\noutput: ACTIONS"
		}
		dict, err := config.FromYAML([]byte("class: Gaussian\n" + text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		s, err := ParseSpec(dict)
		if err == nil {
			var p Policy
			if p, err = s.BuildPolicy(sp, 1); err == nil {
				p.Close()
			}
		}
		switch {
		case want == "" && err != nil:
			t.Errorf("%s\n  error %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(),
			"models: ")):
			t.Errorf("%s\n  error %v\n  want %s", text, err, want)
		}
	}
}

// The policy, the value and the discriminator of one agent each read parts of their own.
func TestAsymmetricParts(t *testing.T) {
	tensortest.CheckLive(t)
	sp := spaces.Set{
		Observation: spaces.NewDict(map[string]spaces.Space{"camera": spaces.NewPicture(6, 5, 3),
			"joints": spaces.Unbounded(2)}),
		State:  spaces.NewDict(map[string]spaces.Space{"map": spaces.Unbounded(4, 4, 1), "pose": spaces.Unbounded(3)}),
		Action: spaces.NewBox(-1, 1, 2),
	}
	amp := spaces.Set{Observation: spaces.NewTuple(spaces.NewPicture(5, 5, 1), spaces.Unbounded(3)), Action: sp.Action}
	picture := func(input string) string {
		return `{name: cnn, input: 'permute(` + input +
			`, (0, 3, 1, 2)) / 255', layers: [{conv2d: [2, 3]}, flatten], activations: tanh}`
	}
	policy, err := specOf(t, "class: Gaussian\nnetwork: ["+picture(`OBSERVATIONS["camera"]`)+", {name: net, input: "+
		"'concatenate([cnn, OBSERVATIONS[\"joints\"]])', layers: [4]}]\noutput: ACTIONS").BuildPolicy(sp, 1)
	must(t, err)
	defer policy.Close()
	value, err := specOf(t, "class: Deterministic\nnetwork: ["+picture(`STATES["map"]`)+", {name: net, input: "+
		"'concatenate([cnn, STATES[\"pose\"], OBSERVATIONS[\"joints\"]])', layers: [4]}]\noutput: ONE").BuildNetwork(sp, 1)
	must(t, err)
	defer value.Close()
	discriminator, err := specOf(t, "class: Deterministic\nnetwork: ["+picture(`OBSERVATIONS[0]`)+", {name: net, input: "+
		"'concatenate([cnn, OBSERVATIONS[1]])', layers: [4]}]\noutput: ONE").BuildNetwork(amp, 1)
	must(t, err)
	defer discriminator.Close()
	s := tensor.NoGrad()
	defer s.Close()
	rng := rand.New(rand.NewPCG(1, 1))
	rows := func(sp spaces.Space) []float32 {
		out := sp.Rows(1)
		sp.Sample(rng, out)
		return out
	}
	// depends lists which columns of a row a result depends on.
	depends := func(width int, row []float32, compute func(x tensor.Tensor) tensor.Tensor) (columns []int) {
		at := func(row []float32) []float64 {
			return tensortest.Float64s(t, s, compute(tensor.From(s, row, 1, int64(width))))
		}
		before := at(row)
		for i := range row {
			moved := slices.Clone(row)
			moved[i] += 50
			if !slices.Equal(at(moved), before) {
				columns = append(columns, i)
			}
		}
		return columns
	}
	obs, states, film := rows(sp.Observation), rows(sp.State), rows(amp.Observation)
	both := Inputs{Observations: tensor.From(s, obs, 1, int64(len(obs))), States: tensor.From(s, states, 1,
		int64(len(states)))}
	if got := depends(len(obs), obs, func(x tensor.Tensor) tensor.Tensor {
		return policy.Mode(s,
			Inputs{Observations: x})
	}); len(got) != len(obs) {
		t.Errorf("the policy depends on %d of %d columns", len(got), len(obs))
	}
	if got := depends(len(states), states, func(x tensor.Tensor) tensor.Tensor {
		return value.Forward(s, Inputs{Observations: both.Observations, States: x})
	}); len(got) != len(states) {
		t.Errorf("the value depends on %d of %d columns of the states", len(got), len(states))
	}
	if got := depends(len(obs), obs, func(x tensor.Tensor) tensor.Tensor {
		return value.Forward(s, Inputs{Observations: x, States: both.States})
	}); !slices.Equal(got, []int{90, 91}) {
		t.Errorf("the value depends on the columns %v of the observations, want the joints", got)
	}
	if got := depends(len(film), film, func(x tensor.Tensor) tensor.Tensor {
		return discriminator.Forward(s,
			Inputs{Observations: x})
	}); len(got) != len(film) {
		t.Errorf("the discriminator depends on %d of %d columns", len(got), len(film))
	}
}

// The single-agent networks that Isaac Lab 2.3.2's cartpoles come with (its "showcase"): every kind of observation and
// of action, with a camera and without. Structure and numbers are its; the trunk is shared, and the value's own network
// is not built.
func TestIsaacLabCartpoles(t *testing.T) {
	tensortest.CheckLive(t)
	net := func(input string) string {
		return "{name: net, input: '" + input + "', layers: [32, 32], activations: elu}"
	}
	halves := func(positions, velocities, join string) string {
		return "{name: net_pos, input: '" + positions + "', layers: [16, 16], activations: elu}, {name: net_vel, input: '" +
			velocities + "', layers: [16, 16], activations: elu}, {name: net, input: 'net_pos " + join +
			" net_vel', layers: [], activations: []}"
	}
	convolutions := `{conv2d: {out_channels: 32, kernel_size: 8, stride: 4, padding: 0}}, {conv2d: {out_channels: 64, kernel_size: 4, stride: 2, padding: 0}}, ` +
		`{conv2d: {out_channels: 64, kernel_size: 3, stride: 1, padding: 0}}, flatten`
	extractor := func(input string) string {
		return "{name: features_extractor, input: 'permute(" + input + ", (0, 3, 1, 2))', layers: [" + convolutions +
			", {linear: 512}, {linear: 16}], activations: [relu, relu, relu, null, tanh, tanh]}"
	}
	camera := spaces.Unbounded(100, 100, 3)
	pairs := map[string]spaces.Space{"joint-positions": spaces.Unbounded(2), "joint-velocities": spaces.Unbounded(2)}
	for _, c := range []struct {
		name        string
		observation spaces.Space
		network     string
		parameters  int // of the trunk
	}{
		{"box", spaces.Unbounded(4), net("OBSERVATIONS"), 4*32 + 32 + 32*32 + 32},
		{"discrete", spaces.NewDiscrete(16), net("one_hot_encoding(OBSERVATION_SPACE, OBSERVATIONS)"), 16*32 + 32 + 32*32 +
			32},
		{"multidiscrete", spaces.NewMultiDiscrete(2, 2, 2, 2), net("one_hot_encoding(OBSERVATION_SPACE, OBSERVATIONS)"),
			8*32 + 32 + 32*32 + 32},
		{"dict", spaces.NewDict(pairs), halves(`OBSERVATIONS["joint-positions"]`, `OBSERVATIONS["joint-velocities"]`, "+"),
			2 * (2*16 + 16 + 16*16 + 16)},
		{"tuple", spaces.NewTuple(spaces.Unbounded(2), spaces.Unbounded(2)), halves("OBSERVATIONS[0]", "OBSERVATIONS[1]",
			"*"), 2 * (2*16 + 16 + 16*16 + 16)},
		{"camera alone", camera, "{name: features_extractor, input: 'permute(OBSERVATIONS, (0, 3, 1, 2))', layers: [" +
			convolutions + "], activations: relu}, {name: net, input: features_extractor, layers: [512], activations: " +
			"elu}", cameraParameters + 5184*512 + 512},
		{"camera box", camera, extractor("OBSERVATIONS") + ", " + net("features_extractor"), featureParameters + 16*32 + 32 +
			32*32 + 32},
		{"camera dict", spaces.NewDict(map[string]spaces.Space{"camera": camera, "joint-velocities": spaces.Unbounded(2)}),
			extractor(`OBSERVATIONS["camera"]`) + ", " +
				net(`concatenate([features_extractor, OBSERVATIONS["joint-velocities"]])`), featureParameters + 18*32 + 32 + 32*32 +
				32},
		{"camera tuple", spaces.NewTuple(camera, spaces.Unbounded(2)),
			extractor("OBSERVATIONS[0]") + ", {name: proprioception, input: 'OBSERVATIONS[1]', layers: [16, 8], activations: " +
				"elu}, " +
				net("concatenate([features_extractor, proprioception])"), featureParameters + 2*16 + 16 + 16*8 + 8 + 24*32 + 32 +
				32*32 + 32},
	} {
		for class, action := range map[string]spaces.Space{
			"GaussianMixin": spaces.NewBox(-1, 1,
				1), "CategoricalMixin": spaces.NewDiscrete(3), "MultiCategoricalMixin": spaces.NewMultiDiscrete(3, 2),
		} {
			t.Run(fmt.Sprintf("%s/%s", c.name, class), func(t *testing.T) {
				policy := specOf(t, "class: "+class+"\nnetwork: ["+c.network+"]\noutput: ACTIONS")
				value := specOf(t, "class: DeterministicMixin\nclip_actions: false\nnetwork: ["+c.network+"]\noutput: ONE")
				sp := spaces.Set{Observation: c.observation, Action: action}
				p, v, err := BuildShared(policy, value, sp, 1)
				must(t, err)
				defer v.Close()
				defer p.Close()
				trunk := 0
				for _, q := range p.Parameters() {
					if strings.HasPrefix(q.Name, "trunk.") {
						trunk += int(tensor.Numel(q.Tensor))
					}
				}
				if trunk != c.parameters {
					t.Errorf("the trunk has %d parameters, want %d", trunk, c.parameters)
				}
				s := tensor.NoGrad()
				defer s.Close()
				in := Inputs{Observations: sampled(s, c.observation, 2)}
				if got := tensor.Shape(p.Mode(s, in)); !slices.Equal(got, []int64{2, int64(action.Width())}) {
					t.Errorf("actions of shape %v", got)
				}
				if got := tensor.Shape(v.Forward(s, in)); !slices.Equal(got, []int64{2, 1}) {
					t.Errorf("values of shape %v", got)
				}
				if s.Err() != nil {
					t.Error(s.Err())
				}
			})
		}
	}
}

// The numbers of parameters of Isaac Lab's convolutions for pictures of 100 × 100, which leave 64 × 9 × 9 values, and
// of all its features.
const (
	cameraParameters  = 3*32*64 + 32 + 32*64*16 + 64 + 64*64*9 + 64
	featureParameters = cameraParameters + 5184*512 + 512 + 512*16 + 16
)
