package workspace

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gorl-dev/gorl/internal/test/dialogue"
	"github.com/gorl-dev/gorl/internal/test/must"
)

func TestGoldenPruneIsaacLab(t *testing.T)     { pruneDialogue(t, "isaaclab") }
func TestGoldenPruneIsaacGymEnvs(t *testing.T) { pruneDialogue(t, "isaacgymenvs") }

func whole(t *testing.T, text string) int64 {
	t.Helper()
	return must.Get(strconv.ParseInt(text, 10, 64))(t)
}

// pruneDialogue runs the cases of a file: what to keep, the iterations, "----", and the answer.
func pruneDialogue(t *testing.T, name string) {
	dialogue.Run(t, filepath.Join("testdata", "prune", name+".txt"), func(t *testing.T, c dialogue.Case) string {
		return pruneAnswer(t, c.Words, strings.Join(c.Input, " ")) + "\n"
	})
}

func pruneAnswer(t *testing.T, args []string, input string) string {
	var oldest int64
	for _, arg := range args {
		oldest = whole(t, strings.TrimPrefix(arg, "oldest="))
	}
	var iterations []int64
	for _, word := range strings.Fields(input) {
		first, last, span := strings.Cut(word, "..")
		if !span {
			last = first
		}
		for n := whole(t, first); n <= whole(t, last); n++ {
			iterations = append(iterations, n)
		}
	}
	before := slices.Clone(iterations)
	gone := superfluous(iterations, oldest)
	must.Same(t, iterations, before, "the argument of superfluous")
	left := slices.DeleteFunc(before, func(n int64) bool { return slices.Contains(gone, n) })
	return "remove " + spans(gone) + "\nkeep " + spans(left)
}

// spans writes numbers as 1..3 5 7..9.
func spans(numbers []int64) string {
	if len(numbers) == 0 {
		return "nothing"
	}
	var words []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		if word := strconv.FormatInt(numbers[i], 10); i == j {
			words = append(words, word)
		} else {
			words = append(words, fmt.Sprintf("%s..%d", word, numbers[j]))
		}
		i = j + 1
	}
	return strings.Join(words, " ")
}
