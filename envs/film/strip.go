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
	columns = min(columns, count)
	size := pictures[0].Bounds().Size()
	const gap = 4 // white pixels between pictures
	rows := (count + columns - 1) / columns
	out := image.NewRGBA(image.Rect(0, 0, columns*(size.X+gap)-gap, rows*(size.Y+gap)-gap))
	draw.Draw(out, out.Rect, image.White, image.Point{}, draw.Src)
	for i := range count {
		k := 0
		if count > 1 {
			k = i * (len(pictures) - 1) / (count - 1)
		}
		img := pictures[k]
		if img.Bounds().Size() != size {
			return fmt.Errorf("film: picture %d is %v, the first %v", k, img.Bounds().Size(), size)
		}
		corner := image.Pt(i%columns*(size.X+gap), i/columns*(size.Y+gap))
		draw.Draw(out, image.Rectangle{corner, corner.Add(size)}, img, img.Bounds().Min, draw.Src)
	}
	if err := durable.WriteFile(path, func(w io.Writer) error { return png.Encode(w, out) }); err != nil {
		return fmt.Errorf("film: saving the strip: %w", err)
	}
	return nil
}
