package lab

import (
	"context"
	"fmt"
	"strings"
)

// Scenario is something that can go wrong, with what must hold when it does.
type Scenario struct {
	Name    string
	Summary string
}

// scenario is how a Scenario is played.
type scenario struct {
	Scenario
	spec clusterSpec
	// play does what the scenario is about. An error means that it could not be
	// played to its end; what was found not to hold is in the stage's checks.
	play func(context.Context, *stage) error
}

// registry lists the scenarios.
func registry() []scenario {
	return []scenario{
		ownerCrash(),
		agentKill(),
		agentHang(),
		agentStop(),
		drainNode(),
		flap(),
		partitionHeal(),
		scaleVIPs(),
	}
}

// Scenarios lists the scenarios in the order in which they should be run.
func Scenarios() []Scenario {
	var list []Scenario
	for _, s := range registry() {
		list = append(list, s.Scenario)
	}
	return list
}

// find returns the scenario of that name.
func find(name string) (scenario, error) {
	var names []string
	for _, s := range registry() {
		if s.Name == name {
			return s, nil
		}
		names = append(names, s.Name)
	}
	return scenario{}, fmt.Errorf("no scenario is called %q: there are %s", name, strings.Join(names, ", "))
}
