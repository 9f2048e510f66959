// Package tictactoe has players of classic.TicTacToe to measure policies against. Only tests and benchmarks use it.
package tictactoe

import (
	"math/rand/v2"
	"sync"
)

// fields is the number of fields of the board.
const fields = 9

// lines are the fields of every three in a row.
var lines = [...][3]int{{0, 1, 2}, {3, 4, 5}, {6, 7, 8}, {0, 3, 6}, {1, 4, 7}, {2, 5, 8}, {0, 4, 8}, {2, 4, 6}}

// board has 1 for a mark of the player who is next, -1 for the other's, and 0 for an empty field.
type board [fields]int8

// read returns the board of an observation (18) of a seat that is next.
func read(observation []float32) (b board) {
	for i := range b {
		b[i] = int8(observation[i] - observation[fields+i])
	}
	return b
}

// Random returns an empty field, each with the same probability. observation (18) is that of the seat that is next.
func Random(observation []float32, rng *rand.Rand) float32 {
	return pick(rng, read(observation).empty())
}

// Perfect returns a field with which the seat that is next reaches the best result that it can force (minimax). Among
// several such fields each has the same probability.
func Perfect(observation []float32, rng *rand.Rand) float32 {
	b, top := read(observation), -2
	var best []int
	for _, field := range b.empty() {
		switch v := -values()[b.after(field)]; {
		case v > top:
			best, top = []int{field}, v
		case v == top:
			best = append(best, field)
		}
	}
	return pick(rng, best)
}

func pick(rng *rand.Rand, from []int) float32 { return float32(from[rng.IntN(len(from))]) }

func (b board) empty() (free []int) {
	for i, mark := range b {
		if mark == 0 {
			free = append(free, i)
		}
	}
	return free
}

// after returns the board with a mark of the player who is next in a field, from the view of the other.
func (b board) after(field int) board {
	b[field] = 1
	for i := range b {
		b[i] = -b[i]
	}
	return b
}

// values are the best results that the player who is next can force on all boards, computed once.
var values = sync.OnceValue(func() map[board]int {
	all := map[board]int{}
	var solve func(b board) int
	solve = func(b board) int {
		if v, known := all[b]; known {
			return v
		}
		v := 0 // of a full board
		switch free := b.empty(); {
		case b.lost():
			v = -1
		case len(free) > 0:
			v = -1
			for _, field := range free {
				v = max(v, -solve(b.after(field)))
			}
		}
		all[b] = v
		return v
	}
	solve(board{})
	return all
})

// lost reports whether the other player, who moved last, has three in a row.
func (b board) lost() bool {
	for _, line := range lines {
		if b[line[0]]+b[line[1]]+b[line[2]] == -3 {
			return true
		}
	}
	return false
}
