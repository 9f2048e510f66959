package classic

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/must"
)

// Four in a row win in every direction, three do not, and a full column is masked, refused, or lost without masks.
func TestConnectFour(t *testing.T) {
	for name, c := range map[string]struct {
		board  string // rows from the bottom: o the agent's discs, x the opponent's
		column float32
		reward float64
		ended  bool
	}{
		"row":      {"oo.o...", 2, 1, true},
		"column":   {"o...... o...... o......", 0, 1, true},
		"rising":   {"oxxx... xoxx... xxox... xxx....", 3, 1, true},
		"falling":  {"xxxxo.. xxxo... xxo.... x......", 1, 1, true},
		"three":    {"oo.....", 2, 0, false},
		"a corner": {".....oo o......", 4, 0, false}, // rows do not go on in the next one
	} {
		m := &ConnectFour{rng: rand.New(rand.NewPCG(1, 1))}
		for at, disc := range strings.ReplaceAll(c.board, " ", "") {
			m.board[at] = map[rune]int8{'o': 1, 'x': -1}[disc]
		}
		out := rowOf(m)
		reward, terminated, _, err := m.Step([]float32{c.column}, out)
		must.Not(t, err != nil || reward != c.reward || terminated != c.ended,
			"%s: reward %g, terminated %t, %v; want %g, %t", name, reward, terminated, err, c.reward, c.ended)
	}
	full := &ConnectFour{rng: rand.New(rand.NewPCG(1, 1))}
	for row := range boardRows {
		full.board[row*boardColumns+3] = int8(1 - 2*(row%2))
	}
	out := rowOf(full)
	if full.show(out); out.ActionMask[3] != 0 || out.ActionMask[2] != 1 {
		t.Errorf("the mask is %v where column 3 is full", out.ActionMask)
	}
	_, _, _, err := full.Step([]float32{3}, out)
	must.Refuse(t, err, "")
	full.unmasked = true
	if reward, terminated, _, err := full.Step([]float32{3}, out); err != nil || reward != -1 || !terminated ||
		full.EpisodeMetrics()["illegal"] != 1 {
		t.Errorf("without masks a full column gives %g, %t, %v; want -1, true", reward, terminated, err)
	}
	r, g, b, _ := must.Get(full.Render())(t).At(140, 220).RGBA()
	must.Not(t, r>>8 < 200 || g>>8 < 150 || b>>8 > 100, "the lowest disc of column 3 is %d %d %d; want yellow", r, g, b)
}
