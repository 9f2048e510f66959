// Command robot is the program on a robot's computer: it takes states from UDP and answers with joint targets, as often
// as the policy was trained to act. At a fault a watchdog puts the robot into damping mode. Enter stops the
// robot, too, and ends damping mode. Package infer/robot describes the packets. Any Go makes the program for any machine,
// without C:
//
//	CGO_ENABLED=0 GOOS=linux GOARCH=arm64 go build ./snippets/robot
//	robot -robot 192.168.123.10:9871 policy.safetensors
package main

import (
	"bufio"
	"flag"
	"log"
	"net"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

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
	remote, err := net.ResolveUDPAddr("udp", *peer)
	check(err)
	conn, err := net.DialUDP("udp", local, remote)
	check(err)
	packets, keys, stop := make(chan []byte, 256), make(chan bool), make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	go func() {
		for {
			b := make([]byte, 2048)
			if n, err := conn.Read(b); err == nil { // an error is "refused": the robot is not there yet
				packets <- b[:n]
			}
		}
	}()
	go func() {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			keys <- true
		}
	}()
	var out []byte
	var took []time.Duration
	tick := time.NewTicker(c.Period())
	for fault, ended := c.Fault(), false; !ended; {
		select {
		case <-stop:
			ended = true
			c.Stop()
		case <-keys:
			if c.Fault() == nil {
				c.Stop()
			} else {
				check(c.Reset())
				log.Print("driving")
			}
			continue
		case <-tick.C:
		}
		begun := time.Now()
		for range len(packets) {
			c.Receive(begun, <-packets)
		}
		out = c.Step(begun).Append(out[:0])
		_, _ = conn.Write(out) // a robot that is not there gets no targets
		took = append(took, time.Since(begun))
		if now := c.Fault(); now != fault && now != nil {
			log.Print(now)
		}
		fault = c.Fault()
	}
	slices.Sort(took)
	log.Printf("%d steps; half of them took %v, 99 %% at most %v, the longest %v", len(took), took[len(took)/2],
		took[len(took)*99/100], took[len(took)-1])
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
