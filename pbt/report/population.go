package report

import (
	"fmt"
	"image/color"

	"github.com/gorl-dev/gorl/pbt/journal"
	"github.com/gorl-dev/gorl/tracking/plot"
)

// WritePNG draws the population in one picture at path, which holds either the old content or the new one: the
// objective and each hyperparameter over environment steps, as in a report, with arrows in the first panel from the
// member that was copied to where the copying member left off. Of more than 8 lineages those 7 have names and colours
// that most members end in, the others are grey. events are the whole journal; one without members is an error.
func WritePNG(path string, events []journal.Event) error {
	history, err := journal.NewHistory(events)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	f, err := gather(history)
	if err != nil {
		return err
	}
	// Beyond eight lineages not all can have a colour and an entry in the legend, see maxNamed.
	title, others := fmt.Sprintf("population of %d, coloured by founding member", f.Run.Members), ""
	if len(f.Members) > maxNamed {
		others = "; grey: other lineages"
	}
	if err := plot.WritePNG(path, title+others, f.population(), 0); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return nil
}

// population returns the panels of WritePNG: those of a report, without the best's path, which arrows would cover,
// and with all curves in full colour. Each has one curve for every stretch, in the order of drawn. Up to 8 members
// dots mark the intervals' ends: a member that was replaced after its first interval has one point, which no line
// would show.
func (f *facts) population() []plot.Panel {
	objective := f.objective()
	objective.YLabel, objective.Title, objective.Marks = objective.Title, "objective", nil
	objective.Links = f.links()
	panels := []plot.Panel{objective}
	for _, key := range f.keys {
		p := f.hyperparameter(key)
		p.Title, p.YLabel = plot.Plain(key, 60), plot.Plain(key, 60)
		panels = append(panels, p)
	}
	stretches := f.drawn()
	for k := range panels {
		panels[k].Series = panels[k].Series[:len(stretches)] // without the best's path, which is the last
		for i, s := range stretches {
			c := &panels[k].Series[i]
			c.Markers = k == 0 && len(f.Members) <= maxNamed
			c.Color = f.ink(s.founder)
			if f.name(s.founder) == "" {
				c.Color = color.Gray{0xc4}
			}
		}
	}
	return panels
}

// links returns arrows between the stretches of drawn: from the one that was copied to the one that the copy ended,
// at the steps of the member that copied. An arrow's length is what the member gained by the copy. The stretch that
// was copied is the one that had begun before the source's steps at that moment: a source that was itself replaced at
// the same moment had handed on its old weights.
func (f *facts) links() (links []plot.Link) {
	index := make(map[*stretch]int)
	for i, s := range f.drawn() {
		index[s] = i
	}
	for _, member := range f.lanes {
		for i, c := range f.Members[member].Copies {
			course := f.courses[c.Parent]
			from := &course[0]
			for k := range course {
				if s := &course[k]; s.copied != nil && s.copied.Steps < c.ParentSteps {
					from = s
				}
			}
			if n, ok := index[from]; ok {
				links = append(links, plot.Link{From: n, To: index[&f.courses[member][i]], X: float64(c.Steps)})
			}
		}
	}
	return links
}
