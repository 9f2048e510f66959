package launch

// This file shows where a population stands from its folder alone, for gorl-pbt status, and lays out the table that
// Run shows too. It needs no launcher: the members may have been started by Slurm, by Kubernetes or by hand.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gorl-dev/gorl/pbt/workspace"
	"github.com/gorl-dev/gorl/tracking"
)

// DefaultSilence is the time without a heartbeat after which Status calls a member silent: some ten of the default
// heartbeats, so that one slow write to a shared folder is not taken for a failure.
const DefaultSilence = time.Minute

// Status says where the members of a population stand, from its folder alone: on any machine that sees it, whatever
// started the members. A member whose last heartbeat says that it trains or waits, and is older than silence, is called
// silent. Nothing is written. A folder without a population is an error.
func Status(dir string, silence time.Duration) ([]Row, error) {
	store, err := openStatus(dir)
	if err != nil {
		return nil, err
	}
	return status(store, silence)
}

// Watch shows Status on w until the context ends, redrawn in place where w is a terminal, else when something has
// changed.
func Watch(ctx context.Context, w io.Writer, dir string, silence, every time.Duration) error {
	store, err := openStatus(dir)
	if err != nil {
		return err
	}
	d := newDisplay(w, every, false)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		rows, err := status(store, silence)
		if err != nil {
			return err
		}
		d.show(rows)
		select {
		case <-ctx.Done():
			d.end(rows)
			return nil
		case <-ticker.C:
		}
	}
}

// openStatus opens a population's folder to be read.
func openStatus(dir string) (workspace.Store, error) {
	n, err := countMembers(dir)
	if err != nil {
		return nil, err
	}
	store, err := workspace.OpenFolder(dir, n, workspace.FolderOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	return store, nil
}

// countMembers is the number of members in a population's folder: what its file says, else that of the folders 000,
// 001, and so on.
func countMembers(dir string) (int, error) {
	f, err := ReadFile(filepath.Join(dir, ConfigFile))
	if err == nil {
		return f.Launcher.NumPolicies, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	// Without the file the members were started one by one. Their folders tell how many have begun.
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, fmt.Errorf("launch: %w", err)
	}
	n := 0
	for _, e := range entries {
		if i, err := strconv.Atoi(e.Name()); err == nil && e.IsDir() && e.Name() == fmt.Sprintf("%03d", i) && i >= 0 &&
			i < maxMembers {
			n = max(n, i+1)
		}
	}
	if n == 0 {
		return 0, fmt.Errorf("launch: %s holds neither %s nor folders of members (000, 001, …); give a population's folder",
			dir, ConfigFile)
	}
	return n, nil
}

// status makes a row of every member's newest heartbeat and records.
func status(store workspace.Store, silence time.Duration) ([]Row, error) {
	view, err := store.View()
	if err != nil {
		return nil, fmt.Errorf("launch: %w", err)
	}
	rows := make([]Row, len(view.Members))
	for i, p := range view.Members {
		rows[i] = statusRow(p, view.Now.Sub(p.Seen), silence)
	}
	return rows, nil
}

// statusRow is the row of a member whose heartbeat was written age ago. Damaged files are named in its note, as the
// member itself passes over them.
func statusRow(p workspace.MemberView, age, silence time.Duration) Row {
	row := Row{Member: p.Member, Phase: "not started", Beat: p.Heartbeat}
	var notes []string
	if b := p.Heartbeat; b != nil {
		row.Phase = string(b.Phase)
		// A member that is finished or stopped writes no more heartbeats, so its silence means nothing.
		if age > silence && (b.Phase == workspace.Training || b.Phase == workspace.Waiting) {
			row.Phase = "silent"
			notes = append(notes, fmt.Sprintf("%s when last seen %v ago", b.Phase, age.Round(time.Second)))
		}
		if b.Note != "" {
			notes = append(notes, b.Note)
		}
	}
	for _, err := range p.Damaged {
		notes = append(notes, err.Error())
	}
	row.Note = strings.Join(notes, "; ")
	return row
}

// Row is one member in the table of a population.
type Row struct {
	// Member is its number, from 0.
	Member int
	// Phase says what the member does, in a word or two.
	Phase string
	// Beat is its last sign of life; nil where there was none.
	Beat *workspace.Heartbeat
	// Restarts is the number of times it was restarted after a failure, GPU the one it runs on; -1 for none. Both are
	// known to its launcher only.
	Restarts int
	GPU      string
	// Note is for people.
	Note string
}

// WriteTable writes rows as a table. Without launched it leaves out what only a launcher knows.
func WriteTable(w io.Writer, rows []Row, launched bool) error {
	header := []string{"member", "phase", "iteration", "environment steps", "objective", "parent"}
	if launched {
		header = append(header, "restarts", "gpu")
	}
	header = append(header, "note")
	var cells [][]string
	for _, r := range rows {
		line := []string{strconv.Itoa(r.Member), r.Phase, "-", "-", "-", "-"}
		if b := r.Beat; b != nil {
			line[2], line[3] = strconv.FormatInt(b.Iteration, 10), strconv.FormatInt(b.Steps, 10)
			if b.HasObjective {
				line[4] = strconv.FormatFloat(b.Objective, 'g', 6, 64)
			}
			if b.Parent >= 0 {
				line[5] = strconv.Itoa(b.Parent)
			}
		}
		if launched {
			gpu := r.GPU
			if gpu == "" {
				gpu = "-"
			}
			line = append(line, strconv.Itoa(r.Restarts), gpu)
		}
		cells = append(cells, append(line, r.Note))
	}
	return tracking.Table(w, header, cells)
}
