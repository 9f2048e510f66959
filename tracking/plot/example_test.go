package plot_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/tracking/plot"
)

func ExampleWritePNG() {
	dir, err := os.MkdirTemp("", "plot")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "population.png")

	steps := []float64{0, 100_000, 200_000, 300_000}
	objective := plot.Panel{
		Title: "Objective", XLabel: "steps", YLabel: "mean episode length",
		Series: []plot.Series{
			{Name: "member 0", X: steps, Y: []float64{20, 150, 240, 280}},
			{Name: "member 1", X: steps, Y: []float64{20, 40, 45, 250}},
		},
	}
	if err := plot.WritePNG(path, "Population", []plot.Panel{objective}, 1); err != nil {
		log.Fatal(err)
	}
	_, err = os.Stat(path)
	fmt.Println(err)
	// Output: <nil>
}
