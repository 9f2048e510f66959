// Command robot is the program on a robot's computer: it takes states from UDP and answers with joint targets, as often
// as the policy was trained to act. At a fault a watchdog puts the robot into damping mode. Enter stops the robot, too,
// and ends damping mode. Package infer/robot describes the packets. Any Go makes the program for any machine, without
// C:
//
//	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 go build ./snippets/robot
//	robot -robot 192.168.123.10:9871 policy.safetensors
package main

import (
	"bufio"
	"context"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"strings"

	"github.com/gorl-dev/gorl/infer"
	"github.com/gorl-dev/gorl/infer/robot"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:9870", "address of this program")
	peer := flag.String("robot", "127.0.0.1:9871", "address of the robot; packets of others are not received")
	estimates := flag.String("estimates", "", "observed values that the robot's program estimates, with commas between")
	flag.Parse()
	policy, err := infer.Load(flag.Arg(0))
	check(err)
	c, err := robot.New(policy, robot.Config{Estimates: strings.FieldsFunc(*estimates,
		func(r rune) bool { return r == ',' })})
	check(err)
	local, err := net.ResolveUDPAddr("udp", *listen)
	check(err)
	link, err := (&net.Dialer{LocalAddr: local}).Dial("udp", *peer)
	check(err)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	keys := make(chan struct{})
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			keys <- struct{}{}
		}
	}()
	times, err := c.Drive(ctx, link, robot.Operator{Toggle: keys, Changed: func(f *robot.Fault) {
		if f == nil {
			log.Print("driving")
		} else {
			log.Print(f)
		}
	}})
	check(err)
	log.Printf("%d steps; half of them took %v, 99 %% at most %v, the longest %v", times.Steps, times.Median, times.P99,
		times.Longest)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
