package progress_test

import (
	"fmt"
	"os"
	"time"

	"github.com/gorl-dev/gorl/tracking/progress"
)

func ExampleNew() {
	// On a terminal these are bars; here, where there is none, they are lines.
	noon := func() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }
	p := progress.New(os.Stdout, progress.Options{LineEvery: 0.5, Now: noon})
	bar := p.Bar("member 0", 100)
	for done := int64(0); done <= 100; done += 10 {
		bar.Set(done, fmt.Sprintf("objective %d", 2*done))
	}
	bar.Finish("objective 200")
	p.Wait()
	// Output:
	// member 0    0 %  0/100  objective 0
	// member 0   50 %  50/100  objective 100
	// member 0  100 %  100/100  in 0s  objective 200
}
