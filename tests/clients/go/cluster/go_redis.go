// go_redis.go -- the cluster client of go-redis.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

var ctx = context.Background()

func goRedis(address, log string) int {
	options := func() *redis.ClusterOptions { return &redis.ClusterOptions{Addrs: []string{address}} }
	c := redis.NewClusterClient(options())
	primaries := func(body func(node *redis.Client)) {
		var lock sync.Mutex
		done(c.ForEachMaster(ctx, func(_ context.Context, node *redis.Client) error {
			lock.Lock()
			defer lock.Unlock()
			body(node)
			return nil
		}))
	}
	replicas := func(body func(node *redis.Client)) {
		var lock sync.Mutex
		done(c.ForEachSlave(ctx, func(_ context.Context, node *redis.Client) error {
			lock.Lock()
			defer lock.Unlock()
			body(node)
			return nil
		}))
	}

	cases := []testCase{
		{"discovery", func() {
			masters, slaves := 0, 0
			primaries(func(*redis.Client) { masters++ })
			replicas(func(*redis.Client) { slaves++ })
			equal([]int{masters, slaves}, []int{3, 3})
			slots := must(c.ClusterSlots(ctx).Result())
			equal(len(slots), 3)
			for _, row := range slots {
				equal(len(row.Nodes), 2)
			}
			// ClusterShards() refuses the field id, which Valkey 9.1 has.
			equal(len(must(c.Do(ctx, "CLUSTER", "SHARDS").Slice())), 3)
			equal(len(must(c.ClusterLinks(ctx).Result())), 10)
			equal(strings.Count(must(c.ClusterNodes(ctx).Result()), "connected"), 6)
			equal(must(c.ClusterKeySlot(ctx, "foo").Result()), 12182)
		}},
		{"many slots", func() {
			for i := range 500 {
				done(c.Set(ctx, fmt.Sprint("key:", i), i, 0).Err())
			}
			for i := range 500 {
				equal(must(c.Get(ctx, fmt.Sprint("key:", i)).Int()), i)
			}
			primaries(func(node *redis.Client) {
				if must(node.DBSize(ctx).Result()) < 100 {
					panic("a node has few keys")
				}
			})
			equal(must(c.DBSize(ctx).Result()), 500)
			equal(c.Get(ctx, "none").Err(), redis.Nil)
		}},
		{"hash tags", func() {
			done(c.MSet(ctx, "{t}a", 1, "{t}b", 2).Err())
			equal(must(c.MGet(ctx, "{t}a", "{t}b", "{t}none").Result()), []any{"1", "2", nil})
			done(c.Rename(ctx, "{t}a", "{t}c").Err())
			equal(must(c.Del(ctx, "{t}b", "{t}c").Result()), 2)
		}},
		{"cross-slot errors", func() {
			fails(c.MGet(ctx, "a", "b").Err(), "CROSSSLOT Keys in request don't hash to the same slot")
			fails(c.MSet(ctx, "a", 1, "b", 2).Err(), "CROSSSLOT")
		}},
		{"pipelines", func() {
			pipe := c.Pipeline()
			for i := range 500 {
				pipe.Set(ctx, fmt.Sprint("p:", i), i, 0)
				pipe.Get(ctx, fmt.Sprint("p:", i))
			}
			for i, answer := range must(pipe.Exec(ctx)) {
				if i%2 == 1 {
					equal(answer.(*redis.StringCmd).Val(), i/2)
				}
			}
		}},
		{"transactions", func() {
			answers := must(c.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
				pipe.Set(ctx, "{t}n", 1, 0)
				pipe.Incr(ctx, "{t}n")
				return nil
			}))
			equal(answers[1].(*redis.IntCmd).Val(), 2)
			err := c.Watch(ctx, func(tx *redis.Tx) error {
				done(c.Set(ctx, "{t}n", "changed", 0).Err())
				_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
					pipe.Set(ctx, "{t}n", "lost", 0)
					return nil
				})
				return err
			}, "{t}n")
			equal(errors.Is(err, redis.TxFailedErr), true)
			equal(c.Get(ctx, "{t}n").Val(), "changed")
		}},
		{"scripts", func() {
			script := redis.NewScript("return redis.call('incrby', KEYS[1], ARGV[1])")
			for i := range 20 { // NOSCRIPT at first, then EVALSHA
				equal(must(script.Run(ctx, c, []string{fmt.Sprint("n:", i%10)}, 5).Int()), 5*(1+i/10))
			}
			fails(c.Eval(ctx, "return redis.call('get', KEYS[2])", []string{"a", "b"}).Err(), "CROSSSLOT")
			done(c.FunctionLoadReplace(ctx,
				"#!lua name=lib\nserver.register_function('put', function(k, a) return server.call('set', k[1], a[1]) end)").Err())
		}},
		{"blocking pops", func() {
			popped := make(chan string)
			go func() { popped <- must(c.BLPop(ctx, 20*time.Second, "{q}a", "{q}b").Result())[1] }()
			node := must(c.MasterForKey(ctx, "{q}b"))
			within(func() bool { return strings.Contains(node.Info(ctx, "clients").Val(), "blocked_clients:1\r\n") })
			done(c.RPush(ctx, "{q}b", "x").Err())
			equal(<-popped, "x")
		}},
		{"channels", func() {
			for _, channel := range []string{"news", "sport", "weather"} {
				listener := c.SSubscribe(ctx, channel)
				must(listener.ReceiveTimeout(ctx, 20*time.Second))
				equal(must(c.SPublish(ctx, channel, channel+"!").Result()), 1)
				equal(must(listener.ReceiveMessage(ctx)).Payload, channel+"!")
				listener.Close()
			}
			listener := c.Subscribe(ctx, "everywhere")
			must(listener.ReceiveTimeout(ctx, 20*time.Second))
			primaries(func(node *redis.Client) { done(node.Publish(ctx, "everywhere", "hello").Err()) })
			for range 3 {
				equal(must(listener.ReceiveMessage(ctx)).Payload, "hello")
			}
			listener.Close()
		}},
		{"reads from replicas", func() {
			for i := range 60 {
				done(c.Set(ctx, fmt.Sprint("r:", i), i, 0).Err())
			}
			replicas(func(node *redis.Client) { done(node.ConfigResetStat(ctx).Err()) })
			choice := options()
			choice.ReadOnly = true
			reader := redis.NewClusterClient(choice)
			for i := range 60 {
				within(func() bool { return reader.Get(ctx, fmt.Sprint("r:", i)).Val() == fmt.Sprint(i) })
			}
			replicas(func(node *redis.Client) {
				if !strings.Contains(node.Info(ctx, "commandstats").Val(), "cmdstat_get:calls=") {
					panic("a replica was not asked")
				}
			})
			reader.Close()
		}},
		{"scan of all nodes", func() {
			for i := range 700 {
				done(c.Set(ctx, fmt.Sprint("scan:", i), i, 0).Err())
			}
			var found atomic.Int64
			keys := []string{}
			primaries(func(node *redis.Client) {
				iterator := node.Scan(ctx, 0, "scan:*", 50).Iterator()
				for iterator.Next(ctx) {
					found.Add(1)
					keys = append(keys, iterator.Val())
				}
			})
			equal(found.Load(), 700)
			slices.Sort(keys)
			equal(len(slices.Compact(keys)), 700)
		}},
		{"WAIT after a write on its connection", func() {
			node := must(c.MasterForKey(ctx, "w")).Conn()
			done(node.Set(ctx, "w", 1, 0).Err())
			equal(must(node.Wait(ctx, 1, 10*time.Second).Result()), 1)
			node.Close()
		}},
	}
	failed := runCases(cases, func() { primaries(func(node *redis.Client) { done(node.FlushAll(ctx).Err()) }) })
	return failed + load(log,
		func(key, value string) error { return c.Set(ctx, key, value, 0).Err() },
		func(key string) (string, error) { return c.Get(ctx, key).Result() })
}
