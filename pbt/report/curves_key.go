package report

import (
	"maps"
	"slices"
	"strconv"
)

// key says at the top right which colour is whose weights, where there are few enough to tell apart.
func (c *chart) key() {
	seen := make(map[int]bool)
	for _, member := range c.lanes {
		for _, s := range c.courses[member] {
			seen[s.founder] = true
		}
	}
	founders := slices.Sorted(maps.Keys(seen))
	if len(founders) < 2 || len(founders) > maxInks {
		return
	}
	const line, gap = 14.0, 12.0
	entries := 0.0
	for _, founder := range founders {
		entries += line + 4 + wordsWidth(strconv.Itoa(founder), fontSize) + gap
	}
	words := "weights that began with member"
	if room := c.right - c.left - c.titled - gap; wordsWidth(words, fontSize)+gap+entries > room {
		words = "weights of"
		if wordsWidth(words, fontSize)+gap+entries > room {
			return
		}
	}
	x, y := c.right-wordsWidth(words, fontSize)-entries, 16.0
	c.scene.words(x, y, fontSize, inkMuted, toLeft, words)
	x += wordsWidth(words, fontSize) + gap
	for _, founder := range founders {
		c.scene.add(item{kind: stroke, ink: c.inks[founder], width: 2.2, path: path{{'M', [3]point{2: {x, y - 4}}}, {'L', [3]point{2: {x + line, y - 4}}}}})
		number := strconv.Itoa(founder)
		c.scene.words(x+line+4, y, fontSize, inkMuted, toLeft, number)
		x += line + 4 + wordsWidth(number, fontSize) + gap
	}
}
