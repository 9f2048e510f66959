// Package golden finds and reads what skrl 2.0.0 computed, and compares gorl's numbers with it. Only tests use it.
//
// The numbers of single building blocks are in testdata here, the rollouts and updates of whole agents in
// agents/testdata, beside the tests that replay them. Where the environment variable GORL_FIXTURES names a folder, its
// files are read too. Such a folder has building blocks in skrl/parts.npz, cases of one update in skrl/NAME.json +
// NAME.npz, those of networks with memory likewise in skrl_rnn and of skrl 2.1 in skrl_2_1, of several updates in
// skrl_two_updates/NAME.json and of networks in skrl_models/NAME.json + NAME.npz; each may be missing.
package golden

// Tensor is an array of a case, row-major.
type Tensor struct {
	Shape []int     `json:"shape"`
	Data  []float64 `json:"data"`
}

// Float32s returns the elements.
func (x Tensor) Float32s() []float32 {
	out := make([]float32, len(x.Data))
	for i, v := range x.Data {
		out[i] = float32(v)
	}
	return out
}

// Bools returns which elements are not 0.
func (x Tensor) Bools() []bool {
	out := make([]bool, len(x.Data))
	for i, v := range x.Data {
		out[i] = v != 0
	}
	return out
}

// Row is x[t].
func (x Tensor) Row(t int) Tensor {
	n := len(x.Data) / x.Shape[0]
	return Tensor{Shape: x.Shape[1:], Data: x.Data[t*n : (t+1)*n]}
}
