package actors

import (
	"github.com/gorl-dev/gorl/models"
	"github.com/gorl-dev/gorl/spaces"
)

// remembering are policies with memory, and those that read pictures.
func remembering() []Case {
	bounded := spaces.Set{Observation: vector, Action: box}
	clipped := models.DefaultGaussianConfig()
	clipped.ClipActions = true
	var list []Case
	for name, layer := range map[string]models.RecurrentLayer{
		"gru": models.GRU(12), "lstm": models.LSTM(9, 2), "rnn": models.RNN(10), "gru/layers": models.GRU(7, 3),
		"gru/frames": models.GRU(8, 2).OfFrames(7), "lstm/frames": models.LSTM(8).OfFrames(7),
	} {
		list = append(list, Case{Name: name, Spaces: bounded, Scaled: name == "lstm", AMP: name == "gru/layers",
			Models: valued(bounded, clipped, func(outputs int, seed int64) (models.Network, error) {
				return models.NewMLP(models.MLPConfig{Inputs: 7, Outputs: outputs, Recurrent: layer, Hidden: []int{16},
					Activation: "elu", OutputGain: 3}, seed)
			})})
	}
	camera := spaces.Set{Observation: spaces.NewPicture(9, 8, 3), Action: box}
	first := spaces.Set{Observation: spaces.Unbounded(4, 7, 9), Action: free}
	parts := spaces.Set{Observation: spaces.NewDict(map[string]spaces.Space{"camera": spaces.NewPicture(9, 8, 3),
		"joints": spaces.Unbounded(3), "mode": spaces.NewDiscrete(4)}), Action: box}
	memories := models.Spec{Class: "Gaussian", Gaussian: clipped, Output: "2 * tanh(ACTIONS)",
		Network: []models.Container{
			{Name: "seen", Input: "OBSERVATIONS", Activations: []string{"tanh"},
				Layers: []models.Layer{{Out: "6"}, {Recurrent: "gru", Out: "4", Layers: 2}, {Out: "5"}}},
			{Name: "both", Input: "concatenate([seen, OBSERVATIONS])", Activations: []string{"elu", "elu"},
				Layers: []models.Layer{{Flatten: true}, {Recurrent: "lstm", Out: "NUM_ACTIONS", Layers: 1}}},
		}}
	normed := models.Spec{Class: "Gaussian", Gaussian: clipped, Output: "2 * ACTIONS", Network: []models.Container{
		{Name: "net", Input: "OBSERVATIONS", Activations: []string{"elu"},
			Layers: []models.Layer{{Recurrent: "lstm", Out: "8", Layers: 1}, {Norm: true}, {Out: "9"}, {Norm: true},
				{Out: "6"}}},
	}}
	pixels := models.Spec{Class: "Gaussian", Gaussian: clipped, Output: "3 * ACTIONS", Network: []models.Container{
		{Name: "net", Input: "permute(OBSERVATIONS, (0, 3, 1, 2)) / 255",
			Activations: []string{"relu", "relu", "", "elu"},
			Layers: []models.Layer{
				{Out: "6", Conv: &models.Conv{Kernel: [2]int{3, 2}, Stride: [2]int{2, 1}, Padding: [2]int{1, 0}}},
				{Out: "4", Conv: &models.Conv{Kernel: [2]int{2, 4}, Same: true}}, {Flatten: true}, {Out: "9"}}},
	}}
	kernels := models.Spec{Class: "Gaussian", Gaussian: models.DefaultGaussianConfig(), Output: "3 * ACTIONS",
		Network: []models.Container{{Name: "net", Input: "permute(OBSERVATIONS, (0, 1, 2, 3))",
			Activations: []string{"elu", "tanh"}, Layers: []models.Layer{
				{Out: "6", NoBias: true, Conv: &models.Conv{Kernel: [2]int{2, 3}, Dilation: [2]int{2, 3},
					Padding: [2]int{1, 2}, Groups: 2}},
				{Out: "5", Conv: &models.Conv{Kernel: [2]int{3, 3}, Stride: [2]int{2, 2}}}, {Flatten: true}}}}}
	watching := models.Spec{Class: "Gaussian", Gaussian: clipped, Output: "2 * ACTIONS", Network: []models.Container{
		{Name: "cnn", Input: `permute(OBSERVATIONS["camera"], (0, 3, 1, 2)) / 255`, Activations: []string{"relu"},
			Layers: []models.Layer{{Out: "5", Conv: &models.Conv{Kernel: [2]int{3, 3}, Stride: [2]int{2, 2}}},
				{Flatten: true}, {Out: "6"}}},
		{Name: "net", Input: `concatenate([cnn, OBSERVATIONS["joints"], ` +
			`one_hot_encoding(OBSERVATION_SPACE["mode"], OBSERVATIONS["mode"])])`,
			Activations: []string{"elu"}, Layers: []models.Layer{{Recurrent: "gru", Out: "8", Layers: 1}, {Out: "7"}}},
	}}
	for name, c := range map[string]struct {
		sp   spaces.Set
		spec models.Spec
	}{"spec/memory": {bounded, memories}, "spec/layer_norm": {bounded, normed}, "spec/conv": {camera, pixels},
		"spec/groups": {first, kernels}, "spec/dict/gru": {parts, watching}} {
		list = append(list, Case{Name: name, Spaces: c.sp, Models: specified(c.spec, c.sp)})
	}
	list = append(list, Case{Name: "cnn/dict", Spaces: parts,
		Models: valued(parts, clipped, func(outputs int, seed int64) (models.Network, error) {
			return models.NewCNN(models.CNNConfig{Space: parts.Observation, Convolutions: []models.Convolution{
				{Channels: 6, Kernel: 3, Stride: 2}, {Channels: 5, Kernel: 2, Padding: 1}}, Features: 9,
				Hidden: []int{8}, Activation: "relu", Outputs: outputs, OutputGain: 3}, seed)
		})})
	policy, value := memories, memories
	policy.Network = policy.Network[:1]
	value.Network, value.Class, value.Output = policy.Network, "Deterministic", "ONE"
	return append(list, Case{Name: "shared/gru", Spaces: bounded, Scaled: true,
		Models: func(seed int64) (models.Policy, models.Network, error) {
			return models.BuildShared(policy, value, bounded, seed)
		}})
}
