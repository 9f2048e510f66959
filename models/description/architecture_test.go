package description

import (
	"encoding/json"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/gorl-dev/gorl/internal/test/must"
	"github.com/gorl-dev/gorl/spaces"
)

func dict() spaces.Space {
	return spaces.NewDict(map[string]spaces.Space{
		"goal": spaces.Unbounded(3), "gripper": spaces.NewDiscrete(4),
		"arm": spaces.NewDict(map[string]spaces.Space{"modes": spaces.NewMultiDiscrete(2, 3),
			"speeds": spaces.Unbounded(2)}),
	})
}

func architecture(t testing.TB, s spaces.Space, encoder []int, latent int, head []int, activation string) Architecture {
	t.Helper()
	return must.Get(NewArchitecture(s, encoder, latent, head, activation))(t)
}

func TestNewArchitecture(t *testing.T) {
	a := architecture(t, dict(), []int{16}, 8, []int{64, 32}, "tanh")
	want := []Part{
		{Name: "arm.modes", Width: 2, Choices: []int{2, 3}, Encoder: Stack{Hidden: []int{16}}},
		{Name: "arm.speeds", Width: 2, Encoder: Stack{Hidden: []int{16}}},
		{Name: "goal", Width: 3, Encoder: Stack{Hidden: []int{16}}},
		{Name: "gripper", Width: 1, Choices: []int{4}, Encoder: Stack{Hidden: []int{16}}},
	}
	must.Equal(t, "parts", want, a.Parts)
	must.Is(t, a.String(), "5→[16] + 2→[16] + 3→[16] + 4→[16]→8→[64 32] tanh", "String()")
	modules := a.Modules()
	must.Equal(t, "modules", []Module{{Name: "encoder.arm.modes", Inputs: 5, Outputs: 8, Hidden: []int{16},
		Activations: []string{"tanh"}}, {Name: "head", Inputs: 32, Hidden: []int{64, 32},
		Activations: []string{"tanh", "tanh"}}}, []Module{modules[0], modules[4]})
	plain := architecture(t, spaces.Unbounded(4), nil, 0, []int{64}, "relu")
	must.Is(t, plain.Parts[0].Name, "observation", "the name of the only part")
	must.Do(t, plain.Fits(spaces.Unbounded(4)))
	must.RefuseAs(t, "another width", plain.Fits(spaces.Unbounded(5)), "reads 4 colu")
}

func TestArchitectureRefuses(t *testing.T) {
	for want, change := range map[string]func(a *Architecture){
		"at least one part":       func(a *Architecture) { a.Parts = nil },
		"latent is 0 with 4":      func(a *Architecture) { a.Latent = 0 },
		"name of its own":         func(a *Architecture) { a.Parts[0].Name = "goal" },
		"has 0 columns":           func(a *Architecture) { a.Parts[1].Width = 0 },
		"choices for 1":           func(a *Architecture) { a.Parts[0].Choices = []int{2} },
		"head: layer 1 has width": func(a *Architecture) { a.Head.Hidden[1] = 0 },
		"2 hidden layers and 1":   func(a *Architecture) { a.Head.Activations = []string{"relu"} },

		"picture: the latent is 0":         func(a *Architecture) { a.Parts, a.Latent = a.Parts[:1], 0 },
		"picture: whose product is that":   func(a *Architecture) { a.Parts[0].Picture = []int{24, 20, 4} },
		"picture: without convolutions":    func(a *Architecture) { a.Parts[0].Convolutions = nil },
		"picture: stride are 1 to":         func(a *Architecture) { a.Parts[0].Convolutions[1].Stride = 0 },
		"picture: is too small for it":     func(a *Architecture) { a.Parts[0].Convolutions[1].Kernel = 5 },
		"picture: recurrent layer of the":  func(a *Architecture) { a.Recurrent.Kind = "gruu" },
		"picture: want 1 to 1048576 value": func(a *Architecture) { a.Recurrent.Layers = 1 << 40 },
	} {
		a := architecture(t, dict(), []int{16}, 8, []int{64, 32}, "tanh")
		want, picture := strings.CutPrefix(want, "picture: ")
		if picture {
			a = remembering(t, RecurrentLayer{Kind: LSTM, HiddenSize: 32, Layers: 1})
		}
		change(&a)
		must.RefuseAs(t, want, a.Validate(), want)
	}
	must.RefusedAs(NewArchitecture(dict(), nil, 0, []int{4}, "relu"))(t, "several parts without a latent", "latent")
}

func TestArchitectureEqual(t *testing.T) {
	a := architecture(t, dict(), []int{16}, 8, []int{64, 32}, "ReLU")
	for what, c := range map[string]struct {
		change func(a *Architecture)
		equal  bool
	}{
		"another name for relu": {func(a *Architecture) { a.Activation = "relu" }, true},
		"layers spelled out":    {func(a *Architecture) { a.Head.Activations = []string{"relu", "relu"} }, true},
		"a layer's activation":  {func(a *Architecture) { a.Head.Activations = []string{"relu", "elu"} }, false},
		"encoder":               {func(a *Architecture) { a.Parts[1].Encoder.Hidden[0] = 17 }, false},
		"choices":               {func(a *Architecture) { a.Parts[0].Choices[0] = 3 }, false},
	} {
		b := a.Clone()
		c.change(&b)
		must.Not(t, a.Equal(b) != c.equal || b.Equal(a) != c.equal, "%s: equal %t", what, a.Equal(b))
	}
}

// roundTrip puts an architecture through JSON, YAML and the values of snapshots.
func roundTrip(t *testing.T, a Architecture) {
	t.Helper()
	var fromJSON, fromYAML Architecture
	must.Do(t, json.Unmarshal(must.Get(json.Marshal(a))(t), &fromJSON))
	must.Do(t, yaml.Unmarshal(must.Get(yaml.Marshal(a))(t), &fromYAML))
	for i, b := range []Architecture{fromJSON, fromYAML, must.Get(ArchitectureOf(a.Values()))(t)} {
		must.Not(t, !a.Equal(b), "through %s: %v, want %v", []string{"JSON", "YAML", "values"}[i], b, a)
	}
}

func FuzzArchitecture(f *testing.F) {
	for _, a := range []Architecture{
		architecture(f, dict(), []int{16}, 8, []int{64, 32}, "tanh"),
		architecture(f, spaces.NewDiscrete(3), nil, 4, nil, ""),
		architecture(f, spaces.Unbounded(4), nil, 0, []int{64}, "SELU"),
	} {
		f.Add(must.Get(json.Marshal(a))(f))
	}
	f.Add([]byte("parts: [{name: ~, width: 1}]\nlatent: 3\nhead: {hidden: [2, 3], activations: [elu, " +
		"none]}\nactivation: relu"))
	f.Add([]byte(`{"parts":[{"name":"1e3","width":1},{"name":"no","width":2,"choices":[1,2]}],"latent":1}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, parse := range []func([]byte, any) error{json.Unmarshal, yaml.Unmarshal} {
			var a Architecture
			if parse(text, &a) == nil && a.Validate() == nil {
				roundTrip(t, a)
				must.Not(t, !a.Equal(a.Clone()), "%v is not its copy %v", a, a.Clone())
			}
		}
	})
}

// seen is a space with a picture of bytes beside other parts.
func seen() spaces.Space {
	return spaces.NewDict(map[string]spaces.Space{"camera": spaces.NewPicture(20, 24, 3), "goal": spaces.Unbounded(2),
		"gripper": spaces.NewDiscrete(3)})
}

// remembering is an architecture with pictures and memory.
func remembering(t testing.TB, kind RecurrentLayer) Architecture {
	t.Helper()
	a := architecture(t, seen(), []int{16}, 16, []int{32}, "tanh")
	a.Recurrent = kind
	must.Do(t, a.Validate())
	return a
}

func TestArchitectureOfPictures(t *testing.T) {
	a := remembering(t, RecurrentLayer{Kind: GRU, HiddenSize: 48, Layers: 2})
	must.Is(t, a.String(), "20×24×3→[16k8s4 32k4s2] + 2→[16] + 3→[16]→16→gru[48 48]→[32] tanh", "String()")
	roundTrip(t, a)
	b := a.Clone()
	b.Parts[0].Convolutions[0].Kernel++
	must.Is(t, a.Parts[0].Convolutions[0].Kernel, 8, "a kernel, after a change to the copy's")
	must.Do(t, a.Fits(seen()))
	other := spaces.NewDict(map[string]spaces.Space{"camera": spaces.NewPicture(24, 20, 3), "goal": spaces.Unbounded(2),
		"gripper": spaces.NewDiscrete(3)})
	must.RefuseAs(t, "another picture", a.Fits(other), `"camera"`)
	s := spaces.NewBox(0, 1, 84, 84, 3)
	got := architecture(t, s, nil, 8, nil, "relu").String()
	must.Not(t, !strings.Contains(got, "[16k8s4 32k4s2 32k3]"), "a large picture has %s", got)
}
