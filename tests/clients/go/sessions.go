// sessions.go -- transactions, blocking pops and channels with go-redis, which has no client-side cache.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

func within(condition func() bool) {
	for end := time.Now().Add(10 * time.Second); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			panic("it does not happen")
		}
	}
}

func blocked(c *redis.Client, n int) {
	within(func() bool {
		return strings.Contains(must(c.Info(ctx, "clients").Result()), fmt.Sprintf("blocked_clients:%d\r\n", n))
	})
}

// next returns the next message of a subscription.
func next(p *redis.PubSub) *redis.Message {
	select {
	case m := <-p.Channel():
		return m
	case <-time.After(10 * time.Second):
		panic("no message")
	}
}

var sessionTests = []test{
	{"transactions", "MULTI EXEC", func(c *redis.Client) {
		var get *redis.StringCmd
		must(c.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, "a", 1, 0)
			pipe.Incr(ctx, "a")
			get = pipe.Get(ctx, "a")
			return nil
		}))
		equal(get.Val(), "2")
		answers, err := c.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, "a", "text", 0)
			pipe.Incr(ctx, "a")
			pipe.Set(ctx, "b", 1, 0)
			return nil
		})
		equal(err != nil && answers[1].Err() != nil && answers[2].Err() == nil, true)
		_, err = c.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
			pipe.Set(ctx, "a", "none", 0)
			pipe.Do(ctx, "NOSUCHCOMMAND")
			return nil
		})
		equal(err != nil, true)
		equal(must(c.Get(ctx, "a").Result()), "text")
	}},
	{"WATCH", "WATCH EXEC", func(c *redis.Client) {
		err := c.Watch(ctx, func(tx *redis.Tx) error {
			c.Set(ctx, "n", 5, 0)
			_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error { return pipe.Set(ctx, "n", 1, 0).Err() })
			return err
		}, "n")
		equal(err, redis.TxFailedErr)
		c.Del(ctx, "n")
		var all sync.WaitGroup
		for range 6 {
			all.Add(1)
			go func() {
				defer all.Done()
				for range 25 {
					for redis.TxFailedErr == c.Watch(ctx, func(tx *redis.Tx) error {
						n, _ := strconv.Atoi(tx.Get(ctx, "n").Val())
						_, err := tx.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
							return pipe.Set(ctx, "n", n+1, 0).Err()
						})
						return err
					}, "n") {
						time.Sleep(time.Millisecond)
					}
				}
			}()
		}
		all.Wait()
		equal(must(c.Get(ctx, "n").Result()), "150")
	}},
	{"blocking pops", "BLPOP BLMOVE BLMPOP BZPOPMIN", func(c *redis.Client) {
		c.RPush(ctx, "list", "a", "b", "c")
		equal(must(c.BLPop(ctx, time.Second, "none", "list").Result()), []string{"list", "a"})
		equal(must(c.BLMove(ctx, "list", "other", "LEFT", "RIGHT", time.Second).Result()), "b")
		key, popped, err := c.BLMPop(ctx, time.Second, "right", 5, "none", "other").Result()
		equal([]any{key, popped, err}, []any{"other", []string{"b"}, nil})
		c.ZAdd(ctx, "z", redis.Z{Score: 1, Member: "m"})
		equal(must(c.BZPopMin(ctx, time.Second, "z").Result()).Member, any("m"))
		equal(errors.Is(c.BLPop(ctx, time.Second, "none").Err(), redis.Nil), true)
	}},
	{"served in the order of arrival", "BLPOP", func(c *redis.Client) {
		got := make([]string, 5)
		var all sync.WaitGroup
		for i := range got {
			all.Add(1)
			go func() {
				defer all.Done()
				got[i] = must(c.BLPop(ctx, 15*time.Second, "queue").Result())[1]
			}()
			blocked(c, i+1)
		}
		c.RPush(ctx, "queue", 0, 1, 2, 3, 4)
		all.Wait()
		equal(got, []string{"0", "1", "2", "3", "4"})
	}},
	{"waiting for a stream", "XREAD XREADGROUP", func(c *redis.Client) {
		c.XGroupCreateMkStream(ctx, "stream", "group", "$")
		got := make(chan string, 2)
		go func() {
			got <- must(c.XRead(ctx, &redis.XReadArgs{Streams: []string{"stream", "$"}, Block: 15 * time.Second}).
				Result())[0].Messages[0].ID
		}()
		go func() {
			got <- must(c.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "group", Consumer: "me",
				Streams: []string{"stream", ">"}, Block: 15 * time.Second}).Result())[0].Messages[0].ID
		}()
		blocked(c, 2)
		id := must(c.XAdd(ctx, &redis.XAddArgs{Stream: "stream", Values: []any{"f", "v"}}).Result())
		equal([]string{<-got, <-got}, []string{id, id})
	}},
	{"channels", "SUBSCRIBE PSUBSCRIBE SSUBSCRIBE PUBLISH SPUBLISH PUBSUB", func(c *redis.Client) {
		p := c.Subscribe(ctx, "news")
		defer p.Close()
		must(p.Receive(ctx))
		for i := range 300 {
			equal(must(c.Publish(ctx, "news", i).Result()), int64(1))
		}
		for i := range 300 {
			equal(next(p).Payload, fmt.Sprint(i))
		}
		patterns := c.PSubscribe(ctx, "n*")
		defer patterns.Close()
		must(patterns.Receive(ctx))
		equal(must(c.Publish(ctx, "news", "both").Result()), int64(2))
		equal(next(patterns).Pattern, "n*")
		shard := c.SSubscribe(ctx, "shard")
		defer shard.Close()
		must(shard.Receive(ctx))
		equal(must(c.SPublish(ctx, "shard", "x").Result()), int64(1))
		equal(next(shard).Payload, "x")
		equal(must(c.PubSubChannels(ctx, "*").Result()), []string{"news"})
		equal(must(c.PubSubNumSub(ctx, "news").Result()), map[string]int64{"news": 1})
		equal(must(c.PubSubNumPat(ctx).Result()), int64(1))
		if err := p.Ping(ctx); err != nil {
			panic(err)
		}
	}},
	{"events of keys", "PSUBSCRIBE", func(c *redis.Client) {
		c.ConfigSet(ctx, "notify-keyspace-events", "KEA")
		defer c.ConfigSet(ctx, "notify-keyspace-events", "")
		p := c.PSubscribe(ctx, "__keyspace@0__:key")
		defer p.Close()
		must(p.Receive(ctx))
		c.Set(ctx, "key", "x", 0)
		c.Expire(ctx, "key", time.Hour)
		c.Del(ctx, "key")
		equal([]string{next(p).Payload, next(p).Payload, next(p).Payload}, []string{"set", "expire", "del"})
	}},
}
