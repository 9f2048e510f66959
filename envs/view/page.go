package view

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"io/fs"
	"net/http"
	"strings"
)

//go:embed page
var page embed.FS

// Page serves the files of the viewer's page. The page shows the messages of the WebSocket "socket" in the same folder
// of the server. Its Content-Security-Policy allows its own scripts and nothing from elsewhere. Only pages of the same
// server may embed the page.
func Page() http.Handler {
	files, _ := fs.Sub(page, "page") // the folder is part of the program
	index, _ := fs.ReadFile(files, "index.html")
	_, imports, _ := strings.Cut(string(index), `<script type="importmap">`)
	imports, _, _ = strings.Cut(imports, "</script>")
	sum := sha256.Sum256([]byte(imports))
	policy := "default-src 'none'; script-src 'self' 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) +
		"'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; " +
		"frame-ancestors 'self'"
	server := http.FileServerFS(files)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		server.ServeHTTP(w, r)
	})
}
