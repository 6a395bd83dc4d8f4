# benchmark.tcl -- valkey-benchmark from the outside: its requests, output and errors.
#
# SPDX-License-Identifier: BSD-3-Clause

set benchmark [file join [file dirname $srv::binary] valkey-benchmark]

# Runs valkey-benchmark. Returns {EXIT-CODE STDOUT STDERR}.
proc bench {args} {
    return [bench_with "" -p [srv port] {*}$args]
}

# The same with INPUT on stdin, and without the address of the server.
proc bench_with {input args} {
    set err [file join $srv::root bench-stderr]
    set in [file join $srv::root bench-stdin]
    write_file $in $input
    set code 0
    if {[catch {exec -keepnewline timeout 60 $::benchmark {*}$args <$in 2>$err} out options]} {
        set code [lindex [dict get $options -errorcode] 2]
        regsub {(\n)?child process exited abnormally$} $out {\1} out
    }
    return [list $code $out [read_file $err]]
}

# Returns the value of a Python expression of the JSON document `d` in FILE.
proc of_json {file expression} {
    return [exec python3 -c {
import json, sys
d = json.load(open(sys.argv[1]))
t = d["tests"]
print(*eval("[" + sys.argv[2] + "]"))
} $file $expression]
}

proc calls_of {command} {
    if {[regexp "cmdstat_$command:calls=(\\d+)" [r INFO commandstats] all calls]} {
        return $calls
    }
    return 0
}

start_server {each {r FLUSHALL; r CONFIG RESETSTAT} overrides {unixsocket bench.sock}} {
    if {![file executable $benchmark]} {
        test "valkey-benchmark is there" {skip "no $benchmark"}
        return
    }

    test "-n is the number of requests" {
        foreach {depth threads} {1 1 16 1 7 3 2 0} {
            r CONFIG RESETSTAT
            lassign [bench -t set -n 1001 -P $depth --threads $threads -q] code
            assert_equal 0 $code
            # Other generators round up to whole pipelines.
            assert_between 1001 [expr {1001 + 50 * $depth}] [calls_of set]
        }
    }

    test "Without -r there is one key, with -r at most so many" {
        bench -t set -n 1000 -q
        assert_equal 1 [r DBSIZE]
        r FLUSHALL
        bench -t set -n 2000 -r 20 -q
        assert_equal 20 [r DBSIZE]
        assert_equal 3 [string length [r GET key:000000000007]]
    }

    # The key that a test of each name leaves, and the commands that it has called.
    foreach {name commands key type length} {
        lpush {lpush 300} mylist list {r LLEN mylist}
        rpush {rpush 300} mylist list {r LLEN mylist}
        sadd {sadd 300} myset set {r SCARD myset}
        hset {hset 300} myhash hash {r HLEN myhash}
        zadd {zadd 300} myzset zset {r ZCARD myzset}
        xadd {xadd 300} mystream stream {r XLEN mystream}
    } {
        test "-t $name fills a $type" {
            need_command $name
            lassign [bench -t $name -n 300 -c 3 -d 5 -q] code out
            assert_equal 0 $code
            assert_regexp "[string toupper $name]: \\d" $out
            assert_equal [lindex $commands 1] [calls_of [lindex $commands 0]]
            assert_equal $type [r TYPE $key]
            assert_equal [expr {$name in {sadd hset zadd} ? 1 : 300}] [eval $length]
            r FLUSHALL
            bench -t $name -n 300 -c 3 -r 20 -q
            assert_equal [expr {$name in {sadd hset zadd} ? 20 : 300}] [eval $length]
        }
    }

    test "-t of what takes away, with and without elements" {
        foreach {name fill} {lpop {RPUSH mylist} rpop {RPUSH mylist} spop {SADD myset} zpopmin {ZADD myzset}} {
            need_command $name
            r FLUSHALL
            r CONFIG RESETSTAT
            for {set i 0} {$i < 30} {incr i} {
                r {*}$fill {*}[expr {$name eq "zpopmin" ? [list $i m$i] : $i}]
            }
            lassign [bench -t $name -n 40 -c 2 -q] code
            assert_equal 0 $code
            assert_equal 40 [calls_of $name]
            assert_equal 0 [r EXISTS [lindex $fill 1]]
        }
    }

    test "-t lrange fills a list and asks for four lengths" {
        need_command LRANGE
        lassign [bench -t lrange -n 700 -q -d 3] code out
        assert_equal 0 $code
        assert_regexp {LPUSH \(needed to benchmark LRANGE\).*LRANGE_100.*LRANGE_300.*LRANGE_500.*LRANGE_600} $out
        assert_equal {700 2800} [list [calls_of lpush] [calls_of lrange]]
        r CONFIG RESETSTAT
        bench -t lrange_300 -n 100 -q
        assert_equal {100 100} [list [calls_of lpush] [calls_of lrange]]
    }

    test "Without -t everything the server knows is measured, in the order of the field" {
        foreach command {LPUSH SADD HSET ZADD XADD FCALL} {
            need_command $command
        }
        lassign [bench -n 50 -c 2 -q] code out
        assert_equal 0 $code
        set titles [regexp -all -inline {[A-Z][A-Z_0-9]+(?= ?[^\n\r:]*: [\d.]+ requests per second)} $out]
        assert_equal [concat PING_INLINE PING_MBULK SET GET INCR LPUSH RPUSH LPOP RPOP SADD HSET SPOP ZADD ZPOPMIN \
            LPUSH LRANGE LRANGE_100 LRANGE_300 LRANGE_500 LRANGE_600 MSET MGET XADD FUNCTION LOAD FCALL] $titles
    }

    test "--sequential meets every key" {
        bench -t set -n 500 -r 500 --sequential -P 4 -q -d 10
        assert_equal 500 [r DBSIZE]
        assert_equal 10 [string length [r GET key:000000000499]]
    }

    test "A command of one's own, with data" {
        bench -n 100 -r 10 -d 7 -q SET k:__rand_int__ x__data__x
        assert_regexp {^x.{7}x$} [r GET k:000000000003]
    }

    test "A sequence of commands" {
        lassign [bench -n 400 -q -- SET a 1 ";" 3 INCR counter] code out
        assert_equal 0 $code
        assert_between 300 700 [r GET counter]
    }

    test "CSV has a header and a row per test" {
        lassign [bench -t set,get,ping_mbulk -n 500 --csv] code out
        set lines [split [string trim $out] \n]
        assert_equal 4 [llength $lines]
        assert_equal {"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"} \
            [lindex $lines 0]
        assert_regexp {^"PING_MBULK"(,"[0-9.]+"){7}$} [lindex $lines 1]
        assert_match {"SET",*} [lindex $lines 2]
    }

    test "The long report has its parts" {
        lassign [bench -t set -n 1000] code out
        foreach part {"====== SET ======\n" "  50 parallel clients\n" "  3 bytes payload\n" "  keep alive: 1\n"
                      "  host configuration \"save\": \n" "  multi-thread: no\n" "Latency by percentile distribution:\n"
                      "100.000% <= " "(cumulative count 1000)\n" "Cumulative distribution of latencies:\n"
                      "  throughput summary: " "  latency summary (msec):\n"
                      "          avg       min       p50       p95       p99       max\n"} {
            assert {[string first $part $out] >= 0}
        }
    }

    test "-q prints one line per test" {
        lassign [bench -t ping -n 500 -q] code out
        assert_regexp {PING_INLINE: [0-9.]+ requests per second, p50=[0-9.]+ msec\n.*PING_MBULK: } $out
    }

    test "--dbnum and -3" {
        bench -t set -n 10 -q --dbnum 4 -3
        r SELECT 4
        assert_equal 1 [r DBSIZE]
        r SELECT 0
        assert_equal 0 [r DBSIZE]
    }

    test "-k 0 reconnects for each pipeline" {
        lassign [bench -t ping_mbulk -n 200 -c 5 -k 0 -q] code
        assert_equal 0 $code
        regexp {total_connections_received:(\d+)} [r INFO stats] all connections
        assert_between 200 300 $connections
    }

    test "--rps limits the rate" {
        assert_between 800 60000 [elapsed_ms {bench -t ping_mbulk -n 1000 --rps 1000 -q}]
        assert_between 800 60000 [elapsed_ms {bench -t ping_mbulk -n 1000 --rps 1000 -q --threads 3 -P 10}]
    }

    test "With --rps a latency counts from the time the request was to be sent" {
        # The server takes 300 ms for each reply and sends one at a time, so reply i comes after (i + 1) * 300 ms;
        # request i was due at i * 10 ms. Counted from sending, no latency would be near a second.
        lassign [fake_server "ping" "slow +PONG"] port pid
        lassign [bench_with "" -p $port -c 1 -n 5 --rps 100 --csv ping] code out
        exec kill $pid
        assert_equal 0 $code
        lassign [split [string map {\" {}} [lindex [split $out \n] 1]] ,] title rate avg min p50 p95 p99 max
        assert {$max >= 5 * 300 - 4 * 10}
        assert {$avg >= (1 + 5) * 300 / 2 - 4 * 10 / 2}
    }

    test "With --rps what a slow server has not been sent in time is told" {
        lassign [fake_server "ping" "slow +PONG"] port pid
        lassign [bench_with "" -p $port -c 1 --duration 1 --rps 100 -q ping] code out err
        exec kill $pid
        assert_equal 0 $code
        # In T seconds 100 * T are due, and at most T / 0.3 + 1 are sent; the test takes at least a second.
        assert_regexp {WARNING: ping: \d+ requests of the requested rate were not sent\n} $err
        regexp {(\d+) requests of the requested rate were not sent} $err all unsent
        assert {$unsent >= 90}
    }

    test "With --rps all connections have their turn, and none is waited for at the end" {
        with_clients monitor {
            $monitor MONITOR
            lassign [bench -n 50 -c 5 --rps 100 -q ECHO turn] code
            assert_equal 0 $code
            set ports {}
            while {[llength $ports] < 50} {
                if {[regexp {:(\d+)\] "ECHO" "turn"} [$monitor read] all port]} {
                    lappend ports $port
                }
            }
        }
        assert_equal 5 [llength [lsort -unique $ports]]
        # Connections do not wait for requests that will not come: 200 connections would take 100 seconds.
        assert_equal 0 [lindex [bench -n 2 -c 200 --rps 2 -q PING] 0]
    }

    test "--duration ends by time" {
        assert_between 900 60000 [elapsed_ms {bench -t ping_mbulk --duration 1 -q}]
        assert_between 900 60000 [elapsed_ms {bench -t ping_mbulk --duration 1 --rps 10 -q}]
    }

    test "--warmup is load that does not count" {
        set file [file join $srv::root warmup.json]
        r CONFIG RESETSTAT
        assert_equal 0 [lindex [bench -t incr -n 100 --warmup 1 -q --json $file] 0]
        assert_equal 100 [of_json $file {t[0]["requests"]}]
        assert {[calls_of incr] > 100}
    }

    test "--json has settings, percentiles and the rate over time" {
        set file [file join $srv::root bench.json]
        lassign [bench -t set,get -n 2000 -r 100 -d 7 -P 4 -c 8 --threads 2 --seed 5 -q --json $file] code
        assert_equal 0 $code
        assert_equal "SET GET" [of_json $file {" ".join(x["test"] for x in t)}]
        assert_equal "8 2 4 7 100 5 set,get None" [of_json $file {" ".join(str(d["settings"][x]) for x in
            "clients threads pipeline data_bytes keys seed tests command".split())}]
        assert_equal [info_field valkey_version] [of_json $file {d["server"]["version"]}]
        set rules {
            {x["requests"] == 2000 == sum(i["requests"] for i in x["intervals"])}
            {x["intervals"][0]["from_s"] == 0 and abs(x["intervals"][-1]["to_s"] - x["seconds"]) < 0.1}
            {all(a["to_s"] == b["from_s"] for a, b in zip(x["intervals"], x["intervals"][1:]))}
            {x["percentiles"][-1]["requests"] == 2000 and x["percentiles"][-1]["percentile"] == 100}
            {sorted(p["ms"] for p in x["percentiles"]) == [p["ms"] for p in x["percentiles"]]}
            {x["percentiles"][-1]["ms"] == x["latency_ms"]["max"]}
            {x["latency_counts_from"] == "sending" and x["not_sent"] == 0}
        }
        set held [of_json $file "*(all(r for r in q) for q in zip(*((([join $rules {), (}])) for x in t)))"]
        foreach rule $rules holds $held {
            assert_equal "$rule: True" "$rule: $holds"
        }
    }

    test "--json and --plot on stdout are all that is there" {
        lassign [bench -n 100 --json - SET "\"a\\" 1] code out
        assert_equal 0 $code
        set file [file join $srv::root out.json]
        write_file $file $out
        assert_equal {SET "a\ 1} [of_json $file {" ".join(d["settings"]["command"])}]
        lassign [bench -n 100 --plot - PING] code out
        assert_equal 0 $code
        assert_match "<svg *</svg>\n" $out
    }

    test "--plot is a picture with a part for each test" {
        set file [file join $srv::root bench.svg]
        lassign [bench -t ping,set -n 500 -q --plot $file] code
        assert_equal 0 $code
        assert_equal "3 3" [exec python3 -c {
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1]).getroot()
texts = [e.text for e in root.iter("{http://www.w3.org/2000/svg}text")]
print(texts.count("Requests per second"), sum(x in texts for x in ("PING_INLINE", "PING_MBULK", "SET")))
} $file]
    }

    test "A file of results that cannot be written is told before there is a load" {
        foreach option {--json --plot} {
            lassign [bench $option /nowhere/at/all -n 100 -t set] code out err
            assert_equal 1 $code
            assert_equal "Cannot write the results to '/nowhere/at/all': No such file or directory\n" $err
        }
        assert_equal 0 [calls_of set]
    }

    test "Large replies and many connections" {
        r SET key:__rand_int__ [string repeat x 300000]
        lassign [bench -t get -n 300 -c 100 -q] code
        assert_equal 0 $code
    }

    test "An error of the server ends the run with its text" {
        lassign [bench -n 100 -q NONSENSE] code out err
        assert_equal 1 $code
        assert_match "*Error from server: ERR unknown command 'NONSENSE'*" $err
    }

    test "A server that is not there is told" {
        lassign [bench -p 1 -q] code out err
        assert_equal 1 $code
        assert_match "Could not connect to server at 127.0.0.1:1: Connection refused*" $err
    }

    test "Where the server is: -h and -p, -s, -u" {
        foreach where [list [list -h 127.0.0.1 -p [srv port]] \
            [list -s [file join [srv dir] bench.sock]] [list -u valkey://127.0.0.1:[srv port]/3] [list -u redis://127.0.0.1:[srv port]]] {
            assert_equal "$where 0" "$where [lindex [bench_with {} {*}$where -n 10 -q SET key 1] 0]"
        }
        r SELECT 3
        assert_equal 1 [r EXISTS key]
        r SELECT 0
        assert_equal 1 [lindex [bench_with "" -s /nowhere/at/all -n 10 -q PING] 0]
    }

    test "-a, --user, and both in a URI" {
        r ACL SETUSER bob on >secret ~* +@all
        foreach login [list [list --user bob -a secret] [list -u valkey://bob:secret@127.0.0.1:[srv port]]] {
            assert_equal 0 [lindex [bench {*}$login -n 100 -q -t set] 0]
        }
        lassign [bench --user bob -a wrong -n 10 -q -t set] code out err
        assert_equal 1 $code
        assert_match "*WRONGPASS*" $err
        r ACL DELUSER bob
        with_config {requirepass sesame} {
            assert_equal 0 [lindex [bench -a sesame -n 100 -q -t set] 0]
            lassign [bench -n 100 -q -t set] code out err
            assert_equal 1 $code
            assert_match "*NOAUTH*" $err
        }
    }

    test "-x takes the last argument from stdin" {
        lassign [bench_with "two\nlines" -p [srv port] -n 5 -q -x SET key] code
        assert_equal 0 $code
        assert_equal "two\nlines" [r GET key]
    }

    test "--seed gives the same keys again, another seed others" {
        foreach {seed name} {7 one 7 same 8 other} {
            r FLUSHALL
            assert_equal 0 [lindex [bench -t set -c 1 -n 20 -r 1000000 --seed $seed -q] 0]
            set $name [lsort [r KEYS *]]
        }
        assert_equal $one $same
        assert_not_equal $one $other
    }

    test "--num-functions and --num-keys-in-fcall" {
        need_command FCALL
        assert_equal 0 [lindex [bench -t function_load --num-functions 3 -n 5 -q] 0]
        set library [lindex [r FUNCTION LIST] 0]
        assert_equal 3 [llength [lindex $library [expr {[lsearch -exact $library functions] + 1}]]]
        with_clients monitor {
            $monitor MONITOR
            assert_equal 0 [lindex [bench -t fcall --num-keys-in-fcall 4 -c 1 -n 1 -q] 0]
            while {![string match -nocase {*"fcall" "foo1"*} [set line [$monitor read]]]} continue
        }
        assert_match {*"foo1" "4" "key1" "key2" "key3" "key4"} $line
    }

    test "--enable-tracking" {
        with_clients monitor {
            $monitor MONITOR
            assert_equal 0 [lindex [bench -t get --enable-tracking -3 -c 2 -n 10 -q] 0]
            set line ""
            while {![string match -nocase {*"client" "tracking" "on"} $line]} {
                set line [$monitor read]
            }
        }
    }

    test "-I opens connections and sends nothing" {
        set channel [open [list |$::benchmark -p [srv port] -I -c 7 </dev/null 2>@1] r]
        wait_for_condition 20 {[info_field connected_clients] == 8}
        exec kill [pid $channel]
        catch {close $channel}
        wait_for_condition 20 {[info_field connected_clients] == 1}
    }

    test "-l begins again" {
        r CONFIG RESETSTAT
        set pid [exec $::benchmark -p [srv port] -l -n 10 -q -t set </dev/null >/dev/null 2>/dev/null &]
        wait_for_condition 20 {[calls_of set] > 200}
        exec kill $pid
    }

    test "--mptcp, where the system has it" {
        lassign [bench --mptcp -n 10 -q PING] code out err
        if {$code != 0} {
            assert_match "Could not connect to server at *: Protocol not *" $err
            skip "this system has no MPTCP"
        }
    }

    test "-e is known and changes nothing" {
        lassign [bench -e -n 10 -q -t set] code out err
        assert_equal 0 $code
        assert_match "*-e*" $err
    }

    test "--precision: digits of latencies" {
        assert_regexp {p50=\d+\.\d{4} msec} [lindex [bench --precision 4 -n 10 -q PING] 1]
    }

    test "An unknown option is named" {
        lassign [bench --nonsense] code out err
        assert_equal 1 $code
        assert_match "Unknown option '--nonsense'.\n*" $err
        assert_match "*Did you mean --threads?*" [lindex [bench --thread 2] 2]
        assert_match "Option '-n' requires a value.\n*" [lindex [bench -n] 2]
        assert_match "Option '--cluster' is not supported: *" [lindex [bench --cluster] 2]
        assert_match {Invalid value 'x' for option '-n': expected a number from 1 to *} [lindex [bench -n x] 2]
    }

    test "An unknown test is named, and nothing runs" {
        r CONFIG RESETSTAT
        lassign [bench -t set,zpopmn -n 10] code out err
        assert_equal {1 {}} [list $code $out]
        assert_match "Unknown test 'zpopmn'. Did you mean zpopmin?\n*" $err
        assert_equal 0 [calls_of set]
    }

    test "Options that contradict each other are named" {
        foreach {options message} {
            {-n 5 --duration 1} "Options '-n' and '--duration' cannot be used together: *"
            {-I --json x} "Options '-I' and '--json' cannot be used together: *"
            {-I -t set} "Options '-I' and '-t' cannot be used together: *"
            {-I PING} "Option '-I' cannot be used with a command: *"
            {-s x --mptcp} "Options '-s' and '--mptcp' cannot be used together: *"
            {--json - --plot -} "Options '--json -' and '--plot -' cannot be used together: *"
            {--json - --csv} "Options '--json -' and '--csv' cannot be used together: *"
            {--plot - -q} "Options '--plot -' and '-q' cannot be used together: *"
            {--json - -l} "Options '--json -' and '-l' cannot be used together: *"
            {--user bob} "Option '--user' requires a password: *"
            {-x -t set} "Option '-x' requires a command, *"
        } {
            lassign [bench {*}$options] code out err
            assert_equal "$options: 1 {}" "$options: [list $code $out]"
            assert_match $message $err
        }
    }

    test "Options that change nothing are told, and the run goes on" {
        lassign [bench --sequential --cacert /nowhere -n 10 -q PING] code out err
        assert_equal 0 $code
        assert_match "WARNING: option '--sequential' has no effect without '-r': *" $err
        assert_match "*WARNING: option '--cacert' has no effect without '--tls': *" $err
    }

    # ---- Random commands ------------------------------------------------------------------------------------------

    # Returns the numbers of commands, errors, missing replies and lost connections.
    proc fuzz_result {out} {
        assert_regexp {^\d+ random commands of \d+ kinds in [\d.]+ seconds \(seed \d+\)\nerror replies: \d+, missing replies: \d+, connections lost: \d+\n$} $out
        regexp {^(\d+) .*error replies: (\d+), missing replies: (\d+), connections lost: (\d+)} $out -> commands errors unanswered lost
        return [list $commands $errors $unanswered $lost]
    }

    test "--fuzz sends random commands that mostly succeed" {
        r CONFIG RESETSTAT
        lassign [bench --fuzz -n 3000 -c 4 -P 3 --seed 5] code out err
        lassign [fuzz_result $out] commands errors unanswered lost
        assert_equal {0 {} 3000 0 0} [list $code $err $commands $unanswered $lost]
        assert_between 1 1000 $errors
        set called [regexp -all -inline {cmdstat_([a-z|-]+):} [r INFO commandstats]]
        assert {[dict size [lreverse $called]] > 200}
        foreach command {shutdown debug monitor replicaof client|kill config|set subscribe} {
            assert {$command ni $called}
        }
    }

    test "--fuzz sends the same with the same seed, and --fuzz-loglevel debug shows it" {
        foreach run {one two} {
            lassign [bench --fuzz -n 300 -c 3 --seed 8 --fuzz-loglevel debug] code out err
            lappend sent [lmap line [split $err \n] {
                if {[string match {    "*} $line]} {set line} else {continue}
            }]
        }
        assert_equal 300 [llength [lindex $sent 0]]
        assert_equal {*}$sent
        assert_equal {0 {} {}} [bench --fuzz -n 10 --fuzz-loglevel none]
    }

    test "--fuzz-mode damages commands, and changes settings" {
        lassign [fuzz_result [lindex [bench --fuzz -n 3000 -c 2 --seed 9] 1]] commands well
        r CONFIG RESETSTAT
        set result [bench --fuzz -n 3000 -c 2 --seed 9 --fuzz-mode malformed-commands,config-commands]
        lassign [fuzz_result [lindex $result 1]] commands damaged
        assert {$damaged > 1.3 * $well}
        assert_match "calls=*" [info_field {cmdstat_config|set} commandstats]
        foreach setting {dir dbfilename requirepass port} {
            assert_equal 0 [string match "*\"$setting\"*" [lindex $result 2]]
        }
    }

    test "--fuzz says what a connection has sent before it was lost" {
        set file [file join $srv::root fuzz-out]
        exec sh -c "'$::benchmark' -p [srv port] --fuzz -c 3 --duration 2; echo code \$?" >$file 2>@1 &
        wait_for_condition 10 {[info_field connected_clients clients] >= 4}
        after 200
        assert {[r CLIENT KILL TYPE normal SKIPME yes] >= 3}
        wait_for_condition 20 {[string match "*code *" [read_file $file]]}
        assert_match "*Last commands of the connection:\n    \"*connections lost: 3\ncode 1\n" [read_file $file]
    }

    test "--fuzz refuses what makes no sense with it" {
        assert_match "Invalid value 'x' for option '--fuzz-mode': *" [lindex [bench --fuzz --fuzz-mode x] 2]
        assert_match "Invalid value 'x' for option '--fuzz-loglevel': *" [lindex [bench --fuzz --fuzz-loglevel x] 2]
        assert_match "Options '--fuzz' and '-t' cannot be used together: *" [lindex [bench --fuzz -t set] 2]
        assert_match "Option '--fuzz' cannot be used with a command*" [lindex [bench --fuzz -- get k] 2]
        assert_match "WARNING: option '--fuzz-mode' has no effect without '--fuzz': *" \
            [lindex [bench -q -n 1 -t set --fuzz-mode malformed-commands] 2]
    }

    test "--version, -v and --help" {
        foreach option {--version -v} {
            assert_regexp {^valkey-benchmark \d+\.\d+\.\d+\n$} [lindex [bench $option] 1]
        }
        assert_match "Usage: valkey-benchmark*" [lindex [bench --help] 1]
    }

    test "--help names every option, and no other" {
        set source [read_file [file join [file dirname [file dirname $::support]] src tools bench bench_options.c]]
        set known [lmap {all name} [regexp -all -inline {\n    \{"(-[^"]+)", OPT_} $source] {set name}]
        assert {[llength $known] > 40}
        set help [lindex [bench --help] 1]
        set named [lsort -unique [lmap {all name} [regexp -all -inline {(?:^|[\s,(])(--?[a-zA-Z0-9][a-z-]*)} $help] {set name}]]
        foreach option $known {
            assert_equal "$option 1" "$option [expr {$option in $named}]"
        }
        foreach option $named {
            assert_equal "$option 1" "$option [expr {$option in $known}]"
        }
    }
}
