// main.go -- calls the server as a Go program does, through go-redis, in both protocols. Started by go.sh.
//
// SPDX-License-Identifier: BSD-3-Clause

package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var ctx = context.Background()

// A test fails, and is named, if the server lacks one of its commands.
type test struct {
	name     string
	commands string
	body     func(c *redis.Client)
}

// equal panics if the values differ, and must panics if there is an error.
func equal(got, want any) {
	if !reflect.DeepEqual(got, want) {
		panic(fmt.Sprintf("got %#v, not %#v", got, want))
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func inOrder(words []string) []string {
	slices.Sort(words)
	return words
}

var tests = []test{
	{"strings", "", func(c *redis.Client) {
		equal(must(c.Set(ctx, "key", "value", time.Hour).Result()), "OK")
		equal(must(c.Get(ctx, "key").Result()), "value")
		equal(c.Get(ctx, "none").Err(), redis.Nil)
		equal(must(c.IncrBy(ctx, "n", 41).Result()), int64(41))
		equal(must(c.MGet(ctx, "key", "none").Result()), []any{"value", nil})
		if ttl := must(c.TTL(ctx, "key").Result()); ttl < 3590*time.Second || ttl > time.Hour {
			panic(ttl)
		}
	}},
	{"pipelines", "", func(c *redis.Client) {
		pipe := c.Pipeline()
		for i := range 1000 {
			pipe.Set(ctx, fmt.Sprint("p:", i), i, 0)
		}
		equal(len(must(pipe.Exec(ctx))), 1000)
		found := map[string]bool{}
		scan := c.Scan(ctx, 0, "p:*", 50).Iterator()
		for scan.Next(ctx) {
			found[scan.Val()] = true
		}
		equal(len(found), 1000)
	}},
	{"lists", "RPUSH LMOVE LMPOP", func(c *redis.Client) {
		equal(must(c.RPush(ctx, "list", "a", "b", "c").Result()), int64(3))
		equal(must(c.LPush(ctx, "list", "0").Result()), int64(4))
		equal(must(c.LRange(ctx, "list", 0, -1).Result()), []string{"0", "a", "b", "c"})
		equal(must(c.LInsertBefore(ctx, "list", "b", "x").Result()), int64(5))
		equal(must(c.LPos(ctx, "list", "x", redis.LPosArgs{}).Result()), int64(2))
		equal(must(c.LMove(ctx, "list", "other", "LEFT", "RIGHT").Result()), "0")
		equal(must(c.RPopCount(ctx, "list", 2).Result()), []string{"c", "b"})
		key, popped, err := c.LMPop(ctx, "left", 10, "none", "list").Result()
		equal([]any{key, popped, err}, []any{"list", []string{"a", "x"}, nil})
	}},
	{"hashes", "HSET HRANDFIELD HSCAN", func(c *redis.Client) {
		equal(must(c.HSet(ctx, "hash", "f", "v", "n", 5).Result()), int64(2))
		equal(must(c.HGetAll(ctx, "hash").Result()), map[string]string{"f": "v", "n": "5"})
		equal(must(c.HMGet(ctx, "hash", "n", "none").Result()), []any{"5", nil})
		equal(must(c.HIncrByFloat(ctx, "hash", "n", 0.5).Result()), 5.5)
		equal(len(must(c.HRandFieldWithValues(ctx, "hash", 5).Result())), 2)
		for i := range 1000 {
			c.HSet(ctx, "big", fmt.Sprint("f", i), i)
		}
		scan, words := c.HScan(ctx, "big", 0, "", 100).Iterator(), 0
		for scan.Next(ctx) {
			words++
		}
		equal(words, 2000)
		equal(must(c.HDel(ctx, "hash", "f", "n").Result()), int64(2))
	}},
	{"times of fields", "HEXPIRE HTTL HPERSIST", func(c *redis.Client) {
		c.HSet(ctx, "hash", "a", 1, "b", 2)
		equal(must(c.HExpire(ctx, "hash", 100*time.Second, "a").Result()), []int64{1})
		equal(must(c.HTTL(ctx, "hash", "b", "none").Result()), []int64{-1, -2})
		equal(must(c.HPExpire(ctx, "hash", 10*time.Millisecond, "b").Result()), []int64{1})
		time.Sleep(100 * time.Millisecond)
		equal(must(c.HKeys(ctx, "hash").Result()), []string{"a"})
		equal(must(c.HPersist(ctx, "hash", "a").Result()), []int64{1})
	}},
	{"sets", "SADD SINTERCARD SMISMEMBER", func(c *redis.Client) {
		equal(must(c.SAdd(ctx, "set", 1, 2, 3).Result()), int64(3))
		equal(must(c.SAdd(ctx, "other", 3, "x").Result()), int64(2))
		equal(inOrder(must(c.SMembers(ctx, "set").Result())), []string{"1", "2", "3"})
		equal(must(c.SMIsMember(ctx, "set", 1, 9).Result()), []bool{true, false})
		equal(inOrder(must(c.SDiff(ctx, "set", "other").Result())), []string{"1", "2"})
		equal(must(c.SInterCard(ctx, 0, "set", "other").Result()), int64(1))
		equal(must(c.SUnionStore(ctx, "all", "set", "other").Result()), int64(4))
		equal(len(must(c.SPopN(ctx, "all", 3).Result())), 3)
		equal(must(c.SCard(ctx, "all").Result()), int64(1))
	}},
	{"sorted sets", "ZADD ZRANGESTORE ZMPOP", func(c *redis.Client) {
		equal(must(c.ZAdd(ctx, "z", redis.Z{Score: 1, Member: "a"}, redis.Z{Score: 2.5, Member: "b"},
			redis.Z{Score: -1, Member: "c"}).Result()), int64(3))
		equal(must(c.ZRange(ctx, "z", 0, -1).Result()), []string{"c", "a", "b"})
		equal(must(c.ZRangeWithScores(ctx, "z", 2, 2).Result()), []redis.Z{{Score: 2.5, Member: "b"}})
		equal(must(c.ZScore(ctx, "z", "b").Result()), 2.5)
		equal(c.ZScore(ctx, "z", "none").Err(), redis.Nil)
		equal(must(c.ZRankWithScore(ctx, "z", "a").Result()), redis.RankScore{Rank: 1, Score: 1})
		equal(must(c.ZIncrBy(ctx, "z", 10, "c").Result()), 9.0)
		equal(must(c.ZRangeByScore(ctx, "z", &redis.ZRangeBy{Min: "(1", Max: "+inf"}).Result()), []string{"b", "c"})
		equal(must(c.ZPopMin(ctx, "z").Result()), []redis.Z{{Score: 1, Member: "a"}})
		equal(must(c.ZUnionStore(ctx, "sum", &redis.ZStore{Keys: []string{"z", "z"}}).Result()), int64(2))
		equal(must(c.ZScore(ctx, "sum", "b").Result()), 5.0)
	}},
	{"streams", "XADD XREADGROUP XAUTOCLAIM XINFO", func(c *redis.Client) {
		for _, id := range []string{"1-1", "2-1"} {
			equal(must(c.XAdd(ctx, &redis.XAddArgs{Stream: "stream", ID: id, Values: []any{"f", id}}).Result()), id)
		}
		equal(must(c.XLen(ctx, "stream").Result()), int64(2))
		equal(must(c.XRange(ctx, "stream", "-", "1-1").Result()),
			[]redis.XMessage{{ID: "1-1", Values: map[string]any{"f": "1-1"}}})
		equal(must(c.XGroupCreate(ctx, "stream", "group", "0").Result()), "OK")
		read := must(c.XReadGroup(ctx, &redis.XReadGroupArgs{Group: "group", Consumer: "me", Count: 1, Block: -1,
			Streams: []string{"stream", ">"}}).Result())
		equal(read[0].Messages[0].ID, "1-1")
		equal(must(c.XPending(ctx, "stream", "group").Result()).Count, int64(1))
		claimed, _, err := c.XAutoClaim(ctx, &redis.XAutoClaimArgs{Stream: "stream", Group: "group", Consumer: "you",
			Start: "0"}).Result()
		equal([]any{claimed[0].ID, err}, []any{"1-1", nil})
		equal(must(c.XAck(ctx, "stream", "group", "1-1").Result()), int64(1))
		equal(must(c.XInfoStreamFull(ctx, "stream", 10).Result()).Groups[0].Consumers[0].Name, "me")
		equal(must(c.XTrimMaxLen(ctx, "stream", 1).Result()), int64(1))
	}},
	{"what lies in strings and sorted sets", "PFADD GEOADD GEOSEARCH SETBIT BITFIELD", func(c *redis.Client) {
		for i := range 500 {
			c.PFAdd(ctx, "hll", i)
		}
		if count := must(c.PFCount(ctx, "hll").Result()); count < 450 || count > 550 {
			panic(count)
		}
		equal(must(c.GeoAdd(ctx, "places", &redis.GeoLocation{Name: "Palermo", Longitude: 13.361389,
			Latitude: 38.115556}).Result()), int64(1))
		equal(must(c.GeoSearch(ctx, "places", &redis.GeoSearchQuery{Longitude: 13, Latitude: 38, Radius: 100,
			RadiusUnit: "km"}).Result()), []string{"Palermo"})
		equal(must(c.SetBit(ctx, "bits", 7, 1).Result()), int64(0))
		equal(must(c.BitCount(ctx, "bits", nil).Result()), int64(1))
		equal(must(c.BitField(ctx, "field", "SET", "u8", 0, 255, "GET", "u4", 0).Result()), []int64{0, 15})
	}},
	{"sorting", "SORT RPUSH", func(c *redis.Client) {
		c.RPush(ctx, "list", 3, 1, 2)
		equal(must(c.Sort(ctx, "list", &redis.Sort{}).Result()), []string{"1", "2", "3"})
		equal(must(c.SortStore(ctx, "list", "sorted", &redis.Sort{Order: "DESC"}).Result()), int64(3))
	}},
	{"dump, restore and copy of each type", "RPUSH HSET SADD ZADD XADD", func(c *redis.Client) {
		c.RPush(ctx, "list", 1)
		c.HSet(ctx, "hash", "f", "v")
		c.SAdd(ctx, "set", "a")
		c.ZAdd(ctx, "zset", redis.Z{Score: 1, Member: "a"})
		c.XAdd(ctx, &redis.XAddArgs{Stream: "stream", Values: []any{"f", "v"}})
		for _, name := range []string{"list", "hash", "set", "zset", "stream"} {
			payload := must(c.Dump(ctx, name).Result())
			equal(must(c.Restore(ctx, "restored", 0, payload).Result()), "OK")
			equal(must(c.Type(ctx, "restored").Result()), name)
			equal(must(c.Copy(ctx, "restored", "copied", 0, true).Result()), int64(1))
			equal(must(c.Dump(ctx, "copied").Result()), payload)
			c.Del(ctx, "restored")
		}
		if err := c.LPush(ctx, "hash", 1).Err(); err == nil || !strings.HasPrefix(err.Error(), "WRONGTYPE") {
			panic(err)
		}
	}},
}

// trusted is the TLS configuration made from the folder of certificates, or nil for plain connections.
var trusted *tls.Config

func load(folder string) {
	authorities := x509.NewCertPool()
	if !authorities.AppendCertsFromPEM(must(os.ReadFile(folder + "/ca.crt"))) {
		panic("no authority in " + folder)
	}
	own := must(tls.LoadX509KeyPair(folder+"/client.crt", folder+"/client.key"))
	trusted = &tls.Config{RootCAs: authorities, Certificates: []tls.Certificate{own}, ServerName: "localhost"}
}

func connect(port string, protocol int) *redis.Client {
	return redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port, Protocol: protocol, TLSConfig: trusted})
}

// run returns whether the test passed.
func run(t test, port string, protocol int) (passed bool) {
	c := connect(port, protocol)
	defer c.Close()
	defer func() {
		if problem := recover(); problem != nil {
			fmt.Printf("[fail] %s (RESP%d): %v\n", t.name, protocol, problem)
			passed = false
		}
	}()
	must(c.FlushAll(ctx).Result())
	t.body(c)
	return true
}

func main() {
	port := os.Args[1]
	if len(os.Args) > 2 {
		load(os.Args[2])
	}
	c := connect(port, 2)
	known := must(c.Command(ctx).Result())
	c.Close()
	passed, failed := 0, 0
	for _, protocol := range []int{2, 3} {
		for _, t := range append(tests, sessionTests...) {
			missing := slices.DeleteFunc(strings.Fields(t.commands), func(name string) bool {
				return known[strings.ToLower(name)] != nil
			})
			if len(missing) > 0 {
				failed++
				fmt.Printf("[fail] %s (RESP%d): the server has no %s\n", t.name, protocol, strings.Join(missing, " "))
			} else if run(t, port, protocol) {
				passed++
			} else {
				failed++
			}
		}
	}
	fmt.Printf("%d passed, %d failed, 0 skipped\n", passed, failed)
	if failed > 0 {
		os.Exit(1)
	}
}
