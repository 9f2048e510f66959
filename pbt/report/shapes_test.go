package report

import (
	"testing"

	"github.com/gorl-dev/gorl/pbt/journal"
)

// Edits of pictures and memory are edits of the architecture, and their layers count as hidden ones.
func TestShapesOfPicturesAndMemory(t *testing.T) {
	for _, text := range []string{"encoder.camera.add_channel(layer 0, 16)", "encoder.camera.change_kernel(layer 1, 3)", "memory.remove_node(32)"} {
		if got := mutationOf(journal.Event{Mutation: text}); got != mutationArchitecture {
			t.Errorf("%s is of kind %d", text, got)
		}
	}
	if got := hiddenNodes("policy 84×84×3→[16k8s4 24k3p1+2:elu]→64→gru[40 40]→[7] relu, value 4→[3] relu"); got != 16+24+40+40+7+3 {
		t.Errorf("%d nodes", got)
	}
}
