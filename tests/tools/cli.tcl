# cli.tcl -- valkey-cli from the outside: its output and exit code for given arguments (support/cli.tcl).
#
# SPDX-License-Identifier: BSD-3-Clause

source [file join $support cli.tcl]

# Runs valkey-cli with INPUT on stdin. Returns {EXIT-CODE STDOUT STDERR}.
proc cli_with {input args} {
    set in [file join $srv::root cli-stdin]
    write_file $in $input
    return [cli_run [srv port] $in {*}$args]
}

proc cli {args} {
    return [lindex [cli_with "" {*}$args] 1]
}

start_server {each {r FLUSHALL}} {
    if {![file executable $cli]} {
        test "valkey-cli is there" {skip "no $cli"}
        return
    }

    # ---- Formats ----------------------------------------------------------------------------------------------

    test "A pipe gets raw replies" {
        assert_equal "OK\n" [cli SET key value]
        assert_equal "value\n" [cli GET key]
        assert_equal "\n" [cli GET missing]
        assert_equal "1\n" [cli EXISTS key]
        assert_equal "value\n\n" [cli MGET key missing]
    }

    test "--no-raw shows types" {
        r SET key "a\"b"
        assert_equal "\"a\\\"b\"\n" [cli --no-raw GET key]
        assert_equal "(nil)\n" [cli --no-raw GET missing]
        assert_equal "(integer) 1\n" [cli --no-raw EXISTS key]
        assert_equal "1) \"a\\\"b\"\n2) (nil)\n" [cli --no-raw MGET key missing]
        assert_equal "(error) ERR syntax error\n" [cli --no-raw SET key value nonsense]
        assert_equal "PONG\n" [cli --no-raw PING]
    }

    test "RESP3 maps are shown as such" {
        assert_equal "1# \"save\" => \"\"\n" [cli -3 --no-raw CONFIG GET save]
        assert_equal "1) \"save\"\n2) \"\"\n" [cli -2 --no-raw CONFIG GET save]
        assert_equal "{\"save\":\"\"}\n" [cli --json CONFIG GET save]
        assert_equal "\[\"save\",\"\"\]\n" [cli -2 --json CONFIG GET save]
    }

    test "--csv and --json" {
        r SET key "x\ny"
        assert_equal "\"x\\ny\",NULL\n" [cli --csv MGET key missing]
        assert_equal "\[\"x\\ny\",null\]\n" [cli --json MGET key missing]
        assert_equal "ERROR,\"ERR syntax error\"\n" [cli --csv SET key value nonsense]
        assert_equal "error:\"ERR syntax error\"\n" [cli --json SET key value nonsense]
    }

    test "-d and -D choose delimiters" {
        r MSET a 1 b 2
        assert_equal "1,2\n" [cli -d , MGET a b]
        assert_equal "1\n2;" [cli -D ";" MGET a b]
    }

    test "INFO is shown as text in every format" {
        foreach option {--raw --no-raw --csv --json} {
            assert_match "# Server\n*" [cli $option INFO server]
        }
    }

    # ---- Arguments --------------------------------------------------------------------------------------------

    test "-x takes the last argument from stdin" {
        cli_with "binary\x00value" -x SET key
        assert_equal "binary\x00value" [r GET key]
    }

    test "-X takes a tagged argument from stdin" {
        cli_with "value" -X TAG SET key TAG NX
        assert_equal value [r GET key]
        lassign [cli_with "value" -X TAG SET key other] code
        assert_equal 1 $code
    }

    test "--quoted-input resolves quotes" {
        cli --quoted-input SET {"a\x00b"} {'c'}
        assert_equal c [r GET "a\x00b"]
        foreach word {{"open} {a"b} "two words" ""} {
            lassign [cli_with "" --quoted-input SET $word x] code
            assert_equal 1 $code
        }
    }

    test "-r repeats" {
        assert_equal "1\n2\n3\n" [cli -r 3 INCR counter]
        assert_between 180 60000 [elapsed_ms {cli -r 3 -i 0.1 PING}]
    }

    test "-n selects a database" {
        cli -n 5 SET key five
        r SELECT 5
        assert_equal five [r GET key]
        r SELECT 0
    }

    test "A URI names the server and the database" {
        cli -n 3 SET key three
        assert_equal "three\n" [cli -u redis://127.0.0.1:[srv port]/3 GET key]
        assert_equal "three\n" [cli -u redis://127.0.0.1:[srv port]/3x?a=b GET key]
        assert_equal "\n" [cli -n 3 -u redis://127.0.0.1:[srv port]/x GET key]
        lassign [cli_with "" -u nonsense PING] code
        assert_equal 1 $code
    }

    test "A URI without a user but with a colon names the empty user; no database is chosen for another one" {
        r ACL SETUSER "" on nopass ~* +@all
        lassign [cli_with "CLIENT INFO\n" -u redis://:@127.0.0.1:[srv port]/3] code out
        assert_match "* db=3 *user= *" $out
        r ACL DELUSER ""
        lassign [cli_with "CLIENT INFO\n" -u redis://nobody:pw@127.0.0.1:[srv port]/3] code out err
        assert_match "* db=0 *user=default *" $out
        assert_match "*AUTH failed: WRONGPASS *" $err
    }

    # ---- Subscriptions from a pipe ----------------------------------------------------------------------------

    test "Lines go on being commands while channels are subscribed; the end of the input ends the program" {
        lassign [cli_with "SUBSCRIBE ch\nPING\nGET x\nPING\n"] code out err
        assert_equal [list 0 {}] [list $code $err]
        assert_equal "subscribe\nch\n1\npong\n\nERR Can't execute 'get': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context\n\npong\n\n" $out
        assert_equal [list 0 "psubscribe\na*\n1\npsubscribe\nb*\n2\npunsubscribe\na*\n1\npunsubscribe\nb*\n0\nPONG\n" {}] \
            [cli_with "PSUBSCRIBE a* b*\nPUNSUBSCRIBE a*\nPUNSUBSCRIBE\nPING"]
    }

    test "A message is not taken for the reply to a command" {
        lassign [cli_with "SUBSCRIBE ch\nPUBLISH ch hello\nPUBLISH ch again\nUNSUBSCRIBE\nECHO end\n" -3] code out err
        assert_equal [list 0 {}] [list $code $err]
        set lines [split [string trim $out] \n]
        assert_equal {subscribe ch 1} [lrange $lines 0 2]
        assert_equal {unsubscribe ch 0 end} [lrange $lines end-3 end]
        assert_equal [lsort {1 1 message ch hello message ch again}] [lsort [lrange $lines 3 end-4]]
    }

    # ---- Exit codes and errors --------------------------------------------------------------------------------

    test "-e tells a failed command by the exit code" {
        lassign [cli_with "" -e SET key] code out err
        assert_equal 1 $code
        assert_match "ERR wrong number of arguments for 'set' command*" $err
        lassign [cli_with "" SET key] code
        assert_equal 0 $code
    }

    test "-e tells of lines when they are through" {
        lassign [cli_with "SET key\nPING\n" -e] code out err
        assert_equal {1 {}} [list $code $err]
        assert_match "ERR wrong number of arguments*\nPONG\n" $out
        assert_equal [list 0 "PONG\n"] [lrange [cli_with "PING\n" -e] 0 1]
        assert_equal 0 [lindex [cli_with "SET key\n"] 0]
    }

    test "--name names the connection" {
        assert_equal "somebody\n" [cli --name somebody CLIENT GETNAME]
        assert_match "CLIENT SETNAME failed: *" [lindex [cli_with "" --name "two words" PING] 2]
    }

    test "--help names every option" {
        set help [cli --help]
        set cluster_help [cli --cluster help]
        set source [read_file [file join $::support .. .. src tools cli cli_options.c]]
        set table [regexp -all -inline {(?:\{|VALUED\(|FLAG\(|SET\(|= )"(--?[-a-zA-Z0-9]+)",} $source]
        assert_between 120 400 [llength $table]
        foreach {row option} $table {
            if {$option eq "--slave" || [regexp {^--cluster-.*(master|slave|atomic)} $option]} continue
            set text [expr {[string match --cluster-* $option] ? $cluster_help : $help}]
            assert_regexp "(^|\[\\s,\])$option\[\\s,\]" $text
        }
    }

    test "A server that is not there is told on stderr" {
        lassign [cli_with "" -p 1 PING] code out err
        assert_equal {1 {}} [list $code $out]
        assert_equal "Could not connect to Valkey at 127.0.0.1:1: Connection refused\n" $err
    }

    test "An unknown option is named" {
        lassign [cli_with "" --nonsense] code out err
        assert_equal 1 $code
        assert_match "Unknown option '--nonsense'.\n*" $err
        assert_match "*Did you mean --hotkeys?*" [lindex [cli_with "" --hots] 2]
        assert_equal "Option '-n' requires a value.\n" [lindex [cli_with "" -n] 2]
    }

    test "Only addresses of the wanted family are tried" {
        assert_equal "PONG\n" [cli -4 -h 127.0.0.1 PING]
        lassign [cli_with "" -6 -h 127.0.0.1 PING] code out err
        assert_equal {1 {}} [list $code $out]
        assert_match "Could not connect to Valkey at 127.0.0.1:*: *" $err
    }

    test "A wrong password is told, and a password in arguments warned of" {
        lassign [cli_with "" -a secret PING] code out err
        assert_match "Warning: Using a password*AUTH failed: *" $err
        lassign [cli_with "" --no-auth-warning -a secret PING] code out err
        assert_match "AUTH failed: *" $err
        set ::env(VALKEYCLI_AUTH) secret
        lassign [cli_with "" PING] code out err
        unset ::env(VALKEYCLI_AUTH)
        assert_match "AUTH failed: *" $err
    }

    test "A mode ends when the login or the database is refused" {
        r SET key value
        foreach {options refusal} {{-n 999} "SELECT 999 failed: *" {--no-auth-warning -a secret} "AUTH failed: *"} {
            foreach mode {{--scan} {--stat -r 1} {--bigkeys} {--pipe}} {
                lassign [cli_with "" {*}$options {*}$mode] code out err
                assert_equal {1 {}} [list $code $out]
                assert_match $refusal $err
            }
        }
    }

    # ---- Cluster ----------------------------------------------------------------------------------------------

    # Runs BODY with two servers, of which the first has no keys: PORTS and LOGS of both.
    proc with_cluster {body} {
        lassign [fake_server "get *" "+here"] second pid2 log2
        lassign [fake_server "get moved" "-MOVED 866 127.0.0.1:$second" "get ask" "-ASK 866 127.0.0.1:$second" \
            "get near" "-MOVED 866 :$second" "get bad" "-MOVED 866 127.0.0.1:nowhere" "get gone" "-MOVED 866 127.0.0.1:1" \
            "get more" "+there"] first pid1 log1
        set ::first $first
        set ::second $second
        set ::logs [list $log1 $log2]
        try {
            uplevel #0 $body
        } finally {
            exec kill $pid1 $pid2
        }
    }

    test "-c follows redirections, without it they are replies" {
        with_cluster {
            assert_equal "here\n" [cli -p $first -c GET moved]
            assert_equal "here\n" [cli -p $first -c GET near]
            assert_equal "MOVED 866 127.0.0.1:$second\n\n" [cli -p $first GET moved]
            assert_equal "get moved\nget near\n" [read_file [lindex $logs 1]]
        }
    }

    test "-c asks before a command that was sent on by ASK" {
        with_cluster {
            assert_equal "here\n" [cli -p $first -c GET ask]
            assert_equal "asking\nget ask\n" [read_file [lindex $logs 1]]
        }
    }

    test "-c names each redirection between lines and stays with the server" {
        with_cluster {
            lassign [cli_with "GET moved\nGET more\n" -p $first -c] code out
            assert_equal "-> Redirected to slot \[866\] located at 127.0.0.1:$second\nhere\nhere\n" $out
            assert_equal "get moved\n" [read_file [lindex $logs 0]]
        }
    }

    test "-c tells redirections that lead nowhere" {
        with_cluster {
            assert_equal "MOVED 866 127.0.0.1:nowhere\n\n" [cli -p $first -c GET bad]
            lassign [cli_with "" -p $first -c GET gone] code out err
            assert_equal {1 {}} [list $code $out]
            assert_match "Could not connect to Valkey at 127.0.0.1:1: Connection refused\n*" $err
        }
    }

    test "-c ends when servers send in circles" {
        set port [free_port]
        lassign [fake_server "get *" "-MOVED 866 127.0.0.1:$port"] other pid2
        lassign [fake_server_at $port "get *" "-MOVED 866 127.0.0.1:$other"] port pid1 log
        assert_match "MOVED 866 *" [cli -p $port -c GET key]
        exec kill $pid1 $pid2
        assert_between 2 20 [llength [split [string trim [read_file $log]] \n]]
    }

    # ---- Lines from a pipe ------------------------------------------------------------------------------------

    test "Lines of a pipe are commands" {
        lassign [cli_with "SET \"a key\" 'a value'\nGET \"a key\"\n\n2 INCR n\nGET \"open\nPING\n"] code out
        assert_equal 0 $code
        assert_equal "OK\na value\n1\n2\nInvalid argument(s)\nPONG\n" $out
    }

    test "Quotes open and close within a word" {
        assert_equal "ab\nab cd\n" [lindex [cli_with "ECHO \"a\"b\nECHO a\"b c\"'d'\n"] 1]
    }

    test "A slow answer's time is told where types are" {
        assert_regexp {^\(nil\)\n\(\d+\.\d\ds\)\nPONG\n} [lindex [cli_with "BLPOP none 0.5\nPING\n" --no-raw] 1]
        assert_equal "\n" [lindex [cli_with "BLPOP none 0.5\n"] 1]
        assert_equal "(nil)\n" [cli --no-raw BLPOP none 0.5]
    }

    test "quit ends the lines" {
        assert_equal "PONG\n" [lindex [cli_with "PING\nquit\nPING\n"] 1]
    }

    # ---- Modes ------------------------------------------------------------------------------------------------

    test "--scan lists the keys" {
        for {set i 0} {$i < 100} {incr i} {
            r SET key:$i $i
        }
        r SET other x
        assert_equal 100 [llength [cli --scan --pattern key:* --count 7]]
        assert_equal "\"other\"\n" [cli --no-raw --scan --pattern o*]
        assert_equal "other\n" [cli --scan --quoted-pattern "\"\\x6fth*\""]
    }

    test "--bigkeys finds the biggest" {
        r SET small x
        r SET large [string repeat x 1000]
        assert_match "*Biggest string found '\"large\"' has 1000 bytes*2 strings with 1001 bytes (100.00% of keys*" \
            [cli --bigkeys]
    }

    proc one_of_each_type {} {
        r SET string [string repeat x 5000]
        foreach command {{RPUSH list a b c} {HSET hash f v g w} {SADD set a b c d} {ZADD zset 1 a} {XADD stream 1-1 f v}} {
            need_command [lindex $command 0]
            r {*}$command
        }
    }

    test "--bigkeys tells the elements of each type" {
        one_of_each_type
        set out [cli --bigkeys]
        foreach {type size} {list "3 items" hash "2 fields" set "4 members" zset "1 members" stream "1 entries" string "5000 bytes"} {
            assert_match "*Biggest [format %6s $type] found '\"$type\"' has $size\n*" $out
            assert_match "*1 ${type}s with $size (16.67% of keys, *" $out
        }
    }

    test "--memkeys tells the memory of each type" {
        one_of_each_type
        foreach out [list [cli --memkeys] [cli --memkeys-samples 0]] {
            foreach type {list hash set zset stream} {
                assert_regexp "Biggest +$type found '\"$type\"' has \\d+ bytes" $out
                assert_no_match "*'\"$type\"' has 0 bytes*" $out
            }
        }
    }

    test "--keystats tells heaviest and longest keys, and the spread" {
        for {set i 0} {$i < 99} {incr i} {
            r SET key:$i x
        }
        r SET heavy [string repeat x 100000]
        set out [cli --keystats --top 2]
        assert_match "*Sampled 100 keys in the keyspace!\n*" $out
        assert_regexp {Heaviest keys\n +1\. +1\d{5} bytes  string  "heavy"\n +2\. +\d+ bytes  string  "key:\d+"\n\n} $out
        assert_match "*\nMost elements\nstring   \"heavy\" has 100000 bytes\n*" $out
        assert_regexp {\n  99\.0% of keys: at most \d{2,3} bytes\n} $out
        assert_regexp {\n 100\.0% of keys: at most 1\d{5} bytes\n} $out
        assert_regexp {\nstring +100 100\.00% +\d+ +[\d.]+ +100099 +1000\.99\n} $out
        assert_no_match "*Not all keys*" $out
    }

    test "--keystats tells each type" {
        one_of_each_type
        foreach out [list [cli --keystats] [cli --keystats-samples 0]] {
            foreach {type size} {list "3 items" hash "2 fields" set "4 members" zset "1 members" stream "1 entries"} {
                assert_match "*\n[format %-8s $type] \"$type\" has $size\n*" $out
                assert_regexp "\\n$type +1 +16\\.67% +\\d+ +\\d+\\.00 +[lindex $size 0] +[lindex $size 0]\\.00\\n" $out
            }
        }
    }

    test "--keystats of nothing, and from a cursor" {
        assert_match "*Sampled 0 keys in the keyspace!\n" [cli --keystats]
        assert_match "*ERROR: ERR invalid cursor*" [lindex [cli_with "" --keystats --cursor x] 2]
        assert_match "*option '--top': expected a number*" [lindex [cli_with "" --keystats --top 0] 2]
    }

    test "--memkeys asks for so many samples as it is told" {
        r SET key [string repeat x 1000]
        assert_match "*Biggest string found '\"key\"' has [r MEMORY USAGE key SAMPLES 0] bytes*" [cli --memkeys-samples 0]
    }

    test "--pipe transfers commands and counts replies" {
        set input ""
        for {set i 0} {$i < 20000} {incr i} {
            append input "*3\r\n\$3\r\nSET\r\n\$[string length key:$i]\r\nkey:$i\r\n\$1\r\nx\r\n"
        }
        lassign [cli_with $input --pipe] code out
        assert_equal 0 $code
        assert_match "*errors: 0, replies: 20000\n" $out
        assert_equal 20000 [r DBSIZE]
    }

    test "--pipe counts errors" {
        lassign [cli_with "PING\r\nNONSENSE\r\n" --pipe] code out
        assert_equal 1 $code
        assert_match "*errors: 1, replies: 2\n" $out
    }

    test "--pipe waits for the last reply as long as it is told to" {
        r CLIENT PAUSE 2500 ALL
        set begun [clock milliseconds]
        lassign [cli_with "PING\r\n" --pipe --pipe-timeout 1] code out
        assert {[clock milliseconds] - $begun >= 1000}
        assert_equal 1 $code
        assert_match "*errors: 1, replies: 0\n" $out
        lassign [cli_with "PING\r\n" --pipe --pipe-timeout 60] code out
        assert_equal 0 $code
        assert_match "*errors: 0, replies: 1\n" $out
    }

    test "--lru-test finds what it stored" {
        assert_regexp {^\d+ Gets/sec \| Hits: \d+ \(\d+\.\d\d%\) \| Misses: \d+ \(\d+\.\d\d%\)\n$} [cli --lru-test 100 -i 0.2 -r 1]
        assert_between 1 100 [r DBSIZE]
    }

    test "--latency samples for the interval" {
        assert_regexp {^\d+ \d+ \d+\.\d\d \d+\n$} [cli --latency -i 0.2]
    }

    test "--latency-dist shows shares" {
        assert_regexp {PINGs  20us  50us .* more\n +\d+( +([\d.]+|\.)){12}\n$} [cli --no-raw --latency-dist -i 0.2 -r 1]
    }

    test "--version and --help" {
        assert_regexp {^valkey-cli \d+\.\d+\.\d+} [cli --version]
        foreach option {--help -h} {
            assert_match "*Usage: valkey-cli*Connection\n*-h HOST*" [cli $option]
        }
    }
}
