package strategy_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/gorl-dev/gorl/pbt/strategy"
)

// generationOf has members with these objectives.
func generationOf(objectives ...float64) strategy.Generation {
	g := strategy.Generation{Iteration: 1}
	for i, o := range objectives {
		g.Members = append(g.Members, strategy.Status{Member: i, Objective: o, HasObjective: true})
	}
	return g
}

func printDecisions(decisions []strategy.Decision) {
	for _, d := range decisions {
		if d.Action != strategy.Keep {
			fmt.Println(d.Member, d.Action, d.Reason)
		}
	}
}

func ExampleDefaultIsaacLab() {
	printDecisions(strategy.DefaultIsaacLab().Decide(generationOf(1, 1.5, 2), rand.New(rand.NewPCG(1, 1))))
	// Output:
	// 0 replace underperformer: 1 < 1.45918; copies leader 2
}

func ExampleDefaultIsaacGymEnvs() {
	rule := strategy.DefaultIsaacGymEnvs()
	printDecisions(rule.Decide(generationOf(1, 2, 3, 4, 5, 6, 7, 8), rand.New(rand.NewPCG(5, 0))))
	// Output:
	// 0 replace among the worst 1; 6 behind 6, more than 1 and 0.35
}

func ExampleDefaultSampleFactory() {
	rule := strategy.DefaultSampleFactory()
	printDecisions(rule.Decide(generationOf(1, 5, 9), rand.New(rand.NewPCG(1, 0))))
	// Output:
	// 0 replace among the worst; behind 2 by 8 > 1e-06, relatively 0.8889 > 0.1
	// 1 self-mutate neither among the best nor the worst 1
}

func ExampleDefaultQuantile() {
	printDecisions(strategy.DefaultQuantile().Decide(generationOf(4, 3, 2, 1), rand.New(rand.NewPCG(1, 0))))
	// Output:
	// 3 replace lower quantile of 1; copies 0 of the upper
}

func ExampleLimited() {
	rule := strategy.Limited{Strategy: strategy.DefaultIsaacLab(), MaxCopies: 1}
	printDecisions(rule.Decide(generationOf(1, 2, 9), rand.New(rand.NewPCG(1, 0))))
	// Output:
	// 0 replace underperformer: 1 < 3.6441; copies leader 2
}

// podium lets all members but the best copy the best.
type podium struct{ places int }

func (p podium) Decide(g strategy.Generation, _ *rand.Rand) []strategy.Decision {
	best, ok := g.Best()
	var decisions []strategy.Decision
	for _, m := range g.Members[min(p.places, len(g.Members)):] {
		if ok && m.Member != best.Member {
			decisions = append(decisions, strategy.Decision{Member: m.Member, Action: strategy.Replace,
				Source: best.Member, Mutate: true})
		}
	}
	return decisions
}

// A file names the strategy then: pbt: {strategy: Podium, strategy_kwargs: {places: 1}}.
func ExampleRegister() {
	type settings struct {
		Places int `yaml:"places" config:"min=0"`
	}
	strategy.Register("Podium", settings{Places: 3}, func(s settings) (strategy.Strategy, error) {
		return podium{s.Places}, nil
	})
	rule, err := strategy.New("Podium", map[string]any{"places": 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, d := range rule.Decide(generationOf(1, 5, 9), nil) {
		fmt.Println(d.Member, d.Action, d.Source)
	}
	// Output: 1 replace 2
}
