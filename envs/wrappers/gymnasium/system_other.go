//go:build !linux

package gymnasium

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// futexNumber is 0: the system has none.
const futexNumber = 0

func futexWait(*uint32, uint32, time.Duration) {}

func futexWake(*uint32) {}

func anonymousFile() (*os.File, error) {
	return nil, fmt.Errorf("the bridge to Gymnasium needs Linux: %w", errors.ErrUnsupported)
}

func mapFile(*os.File, int) ([]byte, error) { return nil, errors.ErrUnsupported }

func unmap([]byte) error { return nil }

func killMarked(string) {}

func stopped(int) bool { return false }

func alive(int) bool { return false }
