package metrics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/motions"
)

// feetOf are the heights of the quadruped's feet, 30 a second, with noise.
func feetOf(c *motions.Clip, steps int, noise float64) [][]float64 {
	rng := rand.New(rand.NewPCG(3, 1))
	s := c.Skeleton()
	row, positions := make([]float64, c.Width()), make([]float64, 3*len(s.Bodies))
	signals := make([][]float64, 4)
	for k := range steps {
		c.At(float64(k)/30, row, nil)
		s.Forward(row, positions, nil)
		for i, leg := range []string{"FR", "FL", "RR", "RL"} {
			signals[i] = append(signals[i], positions[3*s.Body(leg+"_foot")+2]+noise*rng.NormFloat64())
		}
	}
	return signals
}

// The phases and the frequency of generated gaits are found from their feet in 20 s, with noise of 1 cm on them, too.
func TestPhases(t *testing.T) {
	for _, speed := range []float64{0.3, 0.8, 1.5} {
		for noise, allowed := range map[float64]float64{0: 0.005, 0.01: 0.02} { // m, and of a cycle
			cfg := motions.TrotConfig{Speed: speed}
			c, err := motions.Trot(cfg)
			if err != nil {
				t.Fatal(err)
			}
			phases, frequency, err := Phases(feetOf(c, 600, noise), 1./30, 1, 4)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(frequency*c.Duration()-1) > 0.03 {
				t.Errorf("%g m/s: %g Hz, want %g", speed, frequency, 1/c.Duration())
			}
			for leg, want := range cfg.LegPhases() {
				if off := math.Abs(math.Remainder(phases[leg]-want, 1)); off > allowed {
					t.Errorf("%g m/s, noise %g: leg %d at %.3f, want %.3f", speed, noise, leg, phases[leg], want)
				}
			}
		}
	}
}

func TestPhasesRejects(t *testing.T) {
	still := make([]float64, 100)
	for want, f := range map[string]func() error{
		"phases need signals":    func() error { _, _, err := Phases(nil, 0.1, 1, 2); return err },
		"half the sampling rate": func() error { _, _, err := Phases([][]float64{still}, 0.1, 1, 6); return err },
		"need two cycles":        func() error { _, _, err := Phases([][]float64{still[:10]}, 0.1, 1, 4); return err },
		"signal 1 has 50 values": func() error { _, _, err := Phases([][]float64{still, still[:50]}, 0.1, 1, 4); return err },
		"do not move":            func() error { _, _, err := Phases([][]float64{still}, 0.1, 1, 4); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func ExamplePhases() {
	trot, err := motions.Trot(motions.TrotConfig{Speed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	phases, frequency, err := Phases(feetOf(trot, 120, 0), 1.0/30, 1, 4)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("FL %.2f, RR %.2f, RL %.2f of a cycle ahead of FR, at %.1f Hz\n", phases[1], phases[2], phases[3], frequency)
	// Output: FL 0.50, RR 0.48, RL 0.98 of a cycle ahead of FR, at 2.5 Hz
}
