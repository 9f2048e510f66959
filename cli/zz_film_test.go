package cli

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func TestFilm(t *testing.T) {
	dir, url := os.Getenv("FILM"), os.Getenv("SHOTS_URL")
	if dir == "" {
		t.Skip()
	}
	b := chromium(t)
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 860, "height": 1060, "deviceScaleFactor": 1, "mobile": false}, nil)
	b.call("Page.navigate", map[string]any{"url": url}, nil)
	b.until(`document.querySelectorAll(".cards div").length > 2`)
	time.Sleep(2 * time.Second)
	b.do(`document.querySelector("svg").closest("section").scrollIntoView()`, nil)
	end := time.Now().Add(400 * time.Second)
	for n := 0; time.Now().Before(end); n++ {
		if _, err := os.Stat(dir + "/stop"); err == nil {
			break
		}
		must(t, os.WriteFile(fmt.Sprintf("%s/%03d.png", dir, n), b.shot(), 0o644))
		time.Sleep(2 * time.Second)
	}
}
