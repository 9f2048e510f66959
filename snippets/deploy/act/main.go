// Command act is the program of a robot's board: it reads a policy and observations, one line of numbers each, and
// prints an action a line. An empty line begins an episode anew, for policies with memory. It needs neither libtorch
// nor cgo, so any Go makes it for any machine:
//
//	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 go build ./snippets/deploy/act
package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/gorl-dev/gorl/infer"
)

func main() {
	if len(os.Args) != 2 {
		log.Fatal("usage: act policy.safetensors < observations")
	}
	policy, err := infer.Load(os.Args[1])
	check(err)
	sp := policy.Spaces()
	observation, action := make([]float32, sp.Observation.Width()), make([]float32, sp.Action.Width())
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 {
			check(policy.Reset())
			continue
		}
		if len(fields) != len(observation) {
			log.Fatalf("an observation of %d numbers, want %d", len(fields), len(observation))
		}
		for i, f := range fields {
			x, err := strconv.ParseFloat(f, 32)
			check(err)
			observation[i] = float32(x)
		}
		check(policy.Act(observation, action))
		fmt.Println(strings.Trim(fmt.Sprint(action), "[]"))
	}
	check(lines.Err())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
