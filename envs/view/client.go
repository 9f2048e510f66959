package view

import (
	"context"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/gorl-dev/gorl/internal/loopback"
)

// client is a page that is open in a browser: the newest frame that has not been sent yet. A slow page misses some, and
// does not slow the others down.
type client chan []byte

// put replaces the frame that waits to be sent. Only the goroutine of Run calls it: two callers could block each
// other.
func (c client) put(frame []byte) {
	select {
	case <-c:
	default:
	}
	c <- frame
}

// socket serves the WebSocket of a page until either side closes it: the scene, then frames as they come. Requests of
// the page are read by another goroutine, listen.
func (v *Viewer) socket(w http.ResponseWriter, r *http.Request) {
	if !loopback.OwnPage(w, r) {
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
	c := make(client, 1)
	select {
	case v.joins <- c:
	case <-v.ending:
		_ = conn.Close(websocket.StatusGoingAway, "the viewer has ended")
		return
	}
	// Run receives until every page has left, so this never blocks for ever.
	defer func() { v.leaves <- c }()
	go func() {
		defer cancel()
		v.listen(ctx, conn)
	}()
	for {
		select {
		case frame := <-c:
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

// listen passes a page's requests on to Run until the connection ends. A request that is not valid ends the
// connection, with the reason in the closing message.
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

// patience is how long a page may take to read a message before the connection is given up. It bounds the wait for a
// page in a suspended browser tab.
const patience = 10 * time.Second

// write sends one message to a page, within patience.
func write(ctx context.Context, conn *websocket.Conn, text []byte) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	return conn.Write(ctx, websocket.MessageText, text)
}
