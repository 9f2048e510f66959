package report_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/pbt/report"
)

func ExampleWrite() {
	dir, err := os.MkdirTemp("", "report")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	recorded, err := journal.Read(filepath.Join("testdata", "small.jsonl")) // usually <Options.Directory>/journal.jsonl
	if err != nil {
		log.Fatal(err)
	}
	history, err := journal.NewHistory(recorded)
	if err != nil {
		log.Fatal(err)
	}
	if err := report.Write(dir, history, report.Options{Title: "Four walkers"}); err != nil {
		log.Fatal(err)
	}
	files, err := os.ReadDir(dir)
	fmt.Println(files[0].Name(), err)
	// Output:
	// report.html <nil>
}
