package report

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"regexp"
	"strings"
)

//go:embed page
var page embed.FS

// scripts finds the scripts that index.html loads, in their order.
var scripts = regexp.MustCompile(`<script src="(.*)" defer></script>`)

// Page returns the files of the page: index.html, page.css, scripts, and the charting library uPlot.
func Page() fs.FS {
	files, err := fs.Sub(page, "page")
	if err != nil {
		panic(err) // the folder is part of the program
	}
	return files
}

// WritePage writes the page to w with data in it, as one file that needs no other. Its Content-Security-Policy allows
// the page's own scripts by their checksums and forbids everything else, so that text from a journal or a run can do no
// harm. data is encoded as JSON; the page reads the keys "runs", "curves" and "populations".
func WritePage(w io.Writer, title string, data any) error {
	text, err := json.Marshal(data) // escapes <, > and &
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	whole := read("index.html")
	replace := func(old, now string) { whole = strings.Replace(whole, old, now, 1) }
	policy := "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src"
	for _, name := range []string{"uplot/uPlot.min.css", "page.css"} {
		replace(`<link rel="stylesheet" href="`+name+`">`, "<style>"+read(name)+"</style>")
	}
	for _, tag := range scripts.FindAllStringSubmatch(whole, -1) {
		script := read(tag[1])
		sum := sha256.Sum256([]byte(script))
		policy += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		replace(tag[0], "")
		replace("</body>", "<script>"+script+"</script>\n</body>")
	}
	replace("<title>gorl</title>", `<meta http-equiv="Content-Security-Policy" content="`+policy+`">`+
		"\n<title>"+html.EscapeString(strings.ToValidUTF8(title, "�"))+"</title>")
	replace("<script>", `<script type="application/json" id="data">`+string(text)+"</script>\n<script>")
	_, err = io.WriteString(w, whole)
	return err
}

// read returns a file of the page.
func read(name string) string {
	text, err := page.ReadFile("page/" + name)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(text)
}
