package film

import (
	"fmt"
	"image"
	"image/draw"
	"image/png"
	"io"

	"github.com/gorl-dev/gorl/internal/durable"
)

// SaveStrip writes a PNG of up to count pictures in a grid with the given number of columns. It shows a film frame by
// frame: the pictures are chosen at equal distances, from the first to the last, and placed row by row. All pictures
// must have the same size. After an error the file at path is unchanged.
func SaveStrip(path string, pictures []image.Image, count, columns int) error {
	if len(pictures) == 0 || count < 1 || columns < 1 {
		return fmt.Errorf("film: a strip of %d out of %d pictures in %d columns; all must be at least 1", count,
			len(pictures),
			columns)
	}
	count = min(count, len(pictures))
	chosen := make([]image.Image, count)
	for i := range chosen {
		chosen[i] = pictures[i*(len(pictures)-1)/max(1, count-1)]
		if chosen[i].Bounds().Size() != pictures[0].Bounds().Size() {
			return fmt.Errorf("film: a picture is %v, the first %v", chosen[i].Bounds(), pictures[0].Bounds())
		}
	}
	out := grid(chosen, min(columns, count))
	if err := durable.WriteFile(path, func(w io.Writer) error { return png.Encode(w, out) }); err != nil {
		return fmt.Errorf("film: saving the strip: %w", err)
	}
	return nil
}

// grid returns pictures row by row, on white. Each is in the upper left corner of a cell of the largest one's size.
func grid(pictures []image.Image, columns int) *image.RGBA {
	const gap = 4 // pixels between pictures
	var cell image.Point
	for _, img := range pictures {
		size := img.Bounds().Size()
		cell = image.Pt(max(cell.X, size.X), max(cell.Y, size.Y))
	}
	cell = cell.Add(image.Pt(gap, gap))
	rows := (len(pictures) + columns - 1) / columns
	out := image.NewRGBA(image.Rect(0, 0, columns*cell.X-gap, rows*cell.Y-gap))
	draw.Draw(out, out.Rect, image.White, image.Point{}, draw.Src)
	for i, img := range pictures {
		corner := image.Pt(i%columns*cell.X, i/columns*cell.Y)
		draw.Draw(out, image.Rectangle{corner, out.Rect.Max}, img, img.Bounds().Min, draw.Src)
	}
	return out
}
