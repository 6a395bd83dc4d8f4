// load.go -- the runner of cases and the load of the Go programs, as in tests/clients/cluster/load.py.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"bufio"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const writers = 4

type testCase struct {
	name string
	body func()
}

// runCases runs each case on an empty dataset and returns the number of those that failed.
func runCases(cases []testCase, flush func()) int {
	failed := 0
	for _, one := range cases {
		func() {
			defer func() {
				if problem := recover(); problem != nil {
					failed++
					fmt.Printf("[fail] %s: %v\n%s\n", one.name, problem, debug.Stack())
				}
			}()
			flush()
			one.body()
		}()
	}
	fmt.Printf("%d passed, %d failed, 0 skipped\n", len(cases)-failed, failed)
	return failed
}

// load writes until a line comes from standard input, logs each result, and returns the number of wrong keys at the end.
func load(path string, write func(key, value string) error, read func(key string) (string, error)) int {
	log := must(os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0))
	var ending atomic.Bool
	var group sync.WaitGroup
	counts := make([]int, writers)
	fmt.Println("load begins")
	for w := range writers {
		group.Add(1)
		go func() {
			defer group.Done()
			for !ending.Load() {
				key := fmt.Sprintf("load:%d:%d", w, counts[w])
				if err := write(key, key); err != nil {
					fmt.Fprintf(log, "error %s\n", strings.ReplaceAll(err.Error(), "\n", " "))
					time.Sleep(20 * time.Millisecond)
					continue
				}
				fmt.Fprintf(log, "ok %s\n", key)
				counts[w]++
				time.Sleep(time.Millisecond)
			}
		}()
	}
	bufio.NewReader(os.Stdin).ReadString('\n')
	ending.Store(true)
	group.Wait()
	wrong := 0
	for w, count := range counts {
		for n := max(0, count-20); n < count; n++ {
			key := fmt.Sprintf("load:%d:%d", w, n)
			if got, err := read(key); got != key || err != nil {
				fmt.Printf("[fail] not read back: %s: %q %v\n", key, got, err)
				wrong++
			}
		}
	}
	return wrong
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func done(err error) {
	if err != nil {
		panic(err)
	}
}

func equal(got, want any) {
	if g, w := fmt.Sprintf("%v", got), fmt.Sprintf("%v", want); g != w {
		panic(fmt.Sprintf("got %s, not %s", g, w))
	}
}

// fails panics unless err has the text.
func fails(err error, text string) {
	if err == nil || !strings.Contains(err.Error(), text) {
		panic(fmt.Sprintf("no error with %q: %v", text, err))
	}
}

func within(condition func() bool) {
	for end := time.Now().Add(20 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			panic("it does not happen")
		}
	}
}

func main() {
	name, port, log := os.Args[1], os.Args[2], os.Args[3]
	programs := map[string]func(address, log string) int{"go-redis": goRedis, "valkey-go": valkeyGo}
	if programs[name]("127.0.0.1:"+port, log) > 0 {
		os.Exit(1)
	}
}
