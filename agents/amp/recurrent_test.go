package amp

import (
	"testing"

	"github.com/gorl-dev/gorl/internal/test/agenttest"
	"github.com/gorl-dev/gorl/models"
)

// TestDiscriminatorWithoutMemory: a discriminator that keeps a state from row to row is refused.
func TestDiscriminatorWithoutMemory(t *testing.T) {
	agenttest.CheckLive(t)
	m, err := MLPs(plain, []int{8}, "tanh").Make(1)
	must(t, err)
	m.Discriminator.Close()
	m.Discriminator, err = models.NewMLP(models.MLPConfig{Inputs: 3, Outputs: 1, Recurrent: models.GRU(4)}, 1)
	must(t, err)
	_, err = New(Options{Spaces: plain, Models: m, Motions: &agenttest.Motion{Width: 3}, Dict: small(nil)})
	const want = `amp: the discriminator network keeps a state from row to row, and is shown rows in any order; give its recurrent layers "frames"`
	if err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
}
