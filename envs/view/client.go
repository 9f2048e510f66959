package view

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/coder/websocket"
)

// client is a page that is open.
type client struct {
	frames chan []byte // the newest that has not been sent; a slow page misses some
}

// put replaces the frame that waits. Only one goroutine calls it.
func (c *client) put(frame []byte) {
	select {
	case <-c.frames:
	default:
	}
	c.frames <- frame
}

// socket serves the WebSocket of a page until either side closes it.
func (v *Viewer) socket(w http.ResponseWriter, r *http.Request) {
	// Browsers send the page's origin with every WebSocket, so a request without an origin is not from this server's
	// page.
	if origin := r.Header.Values("Origin"); len(origin) != 1 || origin[0] != "http://"+r.Host {
		http.Error(w, fmt.Sprintf("this socket is for the server's own page, whose origin is %q", "http://"+r.Host),
			http.StatusForbidden)
		return
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return // the answer has been written
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(4096)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	if err := write(ctx, conn, v.scene); err != nil {
		return
	}
	c := &client{frames: make(chan []byte, 1)}
	select {
	case v.joins <- c:
	case <-v.ending:
		_ = conn.Close(websocket.StatusGoingAway, "the viewer has ended")
		return
	}
	defer func() { v.leaves <- c }() // Run waits for it
	go func() {
		defer cancel()
		v.listen(ctx, conn)
	}()
	for {
		select {
		case frame := <-c.frames:
			if err := write(ctx, conn, frame); err != nil {
				return
			}
		case <-v.ending:
			_ = conn.Close(websocket.StatusGoingAway, "the viewer has ended")
			return
		case <-ctx.Done():
			return
		}
	}
}

// listen passes a page's requests on until the connection ends. One that makes no sense ends it.
func (v *Viewer) listen(ctx context.Context, conn *websocket.Conn) {
	for {
		_, text, err := conn.Read(ctx)
		if err != nil {
			return
		}
		r, err := v.parse(text)
		if err != nil {
			_ = conn.Close(websocket.StatusPolicyViolation, err.Error())
			return
		}
		select {
		case v.requests <- r:
		case <-v.ending:
			return
		}
	}
}

// patience is how long a page may take to read a message before it is given up.
const patience = 10 * time.Second

func write(ctx context.Context, conn *websocket.Conn, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return conn.Write(ctx, websocket.MessageText, text)
}
