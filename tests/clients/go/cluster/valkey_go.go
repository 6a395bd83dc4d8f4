// valkey_go.go -- the cluster client of valkey-go, in RESP3 with its cache.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/valkey-io/valkey-go"
)

func valkeyGo(address, log string) int {
	options := valkey.ClientOption{InitAddress: []string{address}}
	c := must(valkey.NewClient(options))
	do := func(words ...string) valkey.ValkeyResult {
		// The slot is that of the first key, the second word.
		return c.Do(ctx, c.B().Arbitrary(words[0]).Keys(words[1]).Args(words[2:]...).Build())
	}
	// each calls body with the primaries, or the replicas.
	each := func(role string, body func(node valkey.Client)) {
		found := 0
		for _, node := range c.Nodes() {
			if facts := must(node.Do(ctx, node.B().Role().Build()).ToArray()); must(facts[0].ToString()) == role {
				found++
				body(node)
			}
		}
		equal(found, 3)
	}

	cases := []testCase{
		{"discovery", func() {
			equal(len(c.Nodes()), 6)
			equal(len(must(c.Do(ctx, c.B().ClusterSlots().Build()).ToArray())), 3)
			for _, shard := range must(c.Do(ctx, c.B().ClusterShards().Build()).ToArray()) {
				facts := must(shard.AsMap())
				nodes := facts["nodes"]
				equal(len(must(nodes.ToArray())), 2)
			}
		}},
		{"many slots", func() {
			for i := range 500 {
				done(do("SET", fmt.Sprint("key:", i), fmt.Sprint(i)).Error())
			}
			for i := range 500 {
				equal(must(do("GET", fmt.Sprint("key:", i)).ToString()), i)
			}
			each("master", func(node valkey.Client) {
				if must(node.Do(ctx, node.B().Dbsize().Build()).ToInt64()) < 100 {
					panic("a node has few keys")
				}
			})
			keys := []string{"key:1", "key:2", "none"} // of several nodes
			got := must(valkey.MGet(c, ctx, keys))
			there, none := got["key:2"], got["none"]
			equal([]bool{there.IsNil(), none.IsNil()}, []bool{false, true})
			for _, err := range valkey.MSet(c, ctx, map[string]string{"x": "1", "y": "2", "z": "3"}) {
				done(err)
			}
		}},
		{"hash tags", func() {
			done(do("MSET", "{t}a", "1", "{t}b", "2").Error())
			equal(must(do("MGET", "{t}a", "{t}b").AsStrSlice()), []string{"1", "2"})
		}},
		{"cross-slot errors", func() {
			fails(do("MGET", "a", "b").Error(), "CROSSSLOT Keys in request don't hash to the same slot")
		}},
		{"pipelines", func() {
			commands := make(valkey.Commands, 0, 1000)
			for i := range 500 {
				key := fmt.Sprint("p:", i)
				commands = append(commands, c.B().Set().Key(key).Value(fmt.Sprint(i)).Build(), c.B().Get().Key(key).Build())
			}
			for i, answer := range c.DoMulti(ctx, commands...) {
				if i%2 == 1 {
					equal(must(answer.ToString()), i/2)
				}
			}
		}},
		{"transactions", func() {
			done(c.Dedicated(func(d valkey.DedicatedClient) error {
				done(d.Do(ctx, d.B().Watch().Key("{t}n").Build()).Error())
				answers := d.DoMulti(ctx, d.B().Multi().Build(), d.B().Set().Key("{t}n").Value("1").Build(),
					d.B().Incr().Key("{t}n").Build(), d.B().Exec().Build())
				equal(len(must(answers[3].ToArray())), 2)
				done(d.Do(ctx, d.B().Watch().Key("{t}n").Build()).Error())
				done(do("SET", "{t}n", "changed").Error())
				answers = d.DoMulti(ctx, d.B().Multi().Build(), d.B().Incr().Key("{t}n").Build(), d.B().Exec().Build())
				equal(valkey.IsValkeyNil(answers[2].Error()), true)
				return nil
			}))
		}},
		{"scripts", func() {
			script := valkey.NewLuaScript("return redis.call('incrby', KEYS[1], ARGV[1])")
			for i := range 20 {
				equal(must(script.Exec(ctx, c, []string{fmt.Sprint("n:", i%10)}, []string{"5"}).AsInt64()), 5*(1+i/10))
			}
		}},
		{"shard channels", func() {
			for _, channel := range []string{"news", "sport", "weather"} {
				var got atomic.Value
				ended := make(chan error)
				go func() {
					ended <- c.Receive(ctx, c.B().Ssubscribe().Channel(channel).Build(), func(m valkey.PubSubMessage) {
						got.Store(m.Message)
					})
				}()
				within(func() bool {
					done(c.Do(ctx, c.B().Spublish().Channel(channel).Message(channel+"!").Build()).Error())
					return got.Load() != nil
				})
				equal(got.Load(), channel+"!")
				done(c.Do(ctx, c.B().Sunsubscribe().Channel(channel).Build()).Error())
				done(<-ended)
			}
		}},
		{"the client's cache", func() {
			done(do("SET", "cached", "one").Error())
			get := func() valkey.ValkeyResult {
				return c.DoCache(ctx, c.B().Get().Key("cached").Cache(), time.Minute)
			}
			equal(must(get().ToString()), "one")
			equal(get().IsCacheHit(), true)
			done(do("SET", "cached", "two").Error())
			within(func() bool { return must(get().ToString()) == "two" })
		}},
		{"reads from replicas", func() {
			for i := range 60 {
				done(do("SET", fmt.Sprint("r:", i), fmt.Sprint(i)).Error())
			}
			each("slave", func(node valkey.Client) { done(node.Do(ctx, node.B().ConfigResetstat().Build()).Error()) })
			choice := options
			choice.SendToReplicas = func(cmd valkey.Completed) bool { return cmd.IsReadOnly() }
			reader := must(valkey.NewClient(choice))
			for i := range 60 {
				within(func() bool {
					got, err := reader.Do(ctx, reader.B().Get().Key(fmt.Sprint("r:", i)).Build()).ToString()
					return err == nil && got == fmt.Sprint(i)
				})
			}
			reader.Close()
			each("slave", func(node valkey.Client) {
				text := must(node.Do(ctx, node.B().Info().Section("commandstats").Build()).ToString())
				if !strings.Contains(text, "cmdstat_get:calls=") {
					panic("a replica was not asked")
				}
			})
		}},
		{"scan of all nodes", func() {
			for i := range 700 {
				done(do("SET", fmt.Sprint("scan:", i), "x").Error())
			}
			found := map[string]bool{}
			each("master", func(node valkey.Client) {
				for cursor := uint64(0); ; {
					entry := must(node.Do(ctx, node.B().Scan().Cursor(cursor).Match("scan:*").Count(50).Build()).AsScanEntry())
					for _, key := range entry.Elements {
						found[key] = true
					}
					if cursor = entry.Cursor; cursor == 0 {
						break
					}
				}
			})
			equal(len(found), 700)
		}},
	}
	failed := runCases(cases, func() {
		each("master", func(node valkey.Client) { done(node.Do(ctx, node.B().Flushall().Build()).Error()) })
	})
	return failed + load(log,
		func(key, value string) error { return c.Do(ctx, c.B().Set().Key(key).Value(value).Build()).Error() },
		func(key string) (string, error) { return c.Do(ctx, c.B().Get().Key(key).Build()).ToString() })
}
