# monitor.tcl -- MONITOR: the commands of others, and the parts that are hidden.
#
# Not here    scripts (script/observed.tcl), transactions (transaction.tcl), blocked clients (blocking.tcl).
#
# SPDX-License-Identifier: BSD-3-Clause

# Returns the output of MONITOR up to now, without times: a list of "[DB ADDRESS] WORDS". OTHERS must get the same.
proc shown {monitor args} {
    r ECHO end
    set all [lines_until_end $monitor]
    foreach other $args {
        assert_equal $all [lines_until_end $other]
    }
    return $all
}

proc lines_until_end {monitor} {
    set all {}
    while 1 {
        set line [$monitor reply]
        assert_regexp {^[0-9]{10}\.[0-9]{6} \[[0-9]+ [0-9.:]+\] "} $line
        assert_between [expr {[clock seconds] - 60}] [expr {[clock seconds] + 1}] [lindex [split $line .] 0]
        set line [string range $line [string first "\[" $line] end]
        if {[string match "*\] \"ECHO\" \"end\"" $line]} {
            return $all
        }
        lappend all $line
    }
}

# The same, with only the words.
proc words_shown {args} {
    return [lmap line [shown {*}$args] {string range $line [string first "\] " $line]+2 end}]
}

start_server {each {r FLUSHALL; r SELECT 0}} {
    test "MONITOR shows the database, who asks and the words as they came, with all that cannot be printed escaped" {
        with_clients {monitor other} {
            assert_equal OK [$monitor MONITOR]
            set me [client_field [r CLIENT INFO] addr]
            set it [client_field [$other CLIENT INFO] addr]
            r SET k "a b\r\n\t\"\\\0\x7f\xff'\a\b"
            r SELECT 9
            r gEt k
            $other PING
            assert_equal [list \
                "\[0 $me\] \"CLIENT\" \"INFO\"" \
                "\[0 $it\] \"CLIENT\" \"INFO\"" \
                "\[0 $me\] \"SET\" \"k\" \"a b\\r\\n\\t\\\"\\\\\\x00\\x7f\\xff'\\a\\b\"" \
                "\[9 $me\] \"SELECT\" \"9\"" \
                "\[9 $me\] \"gEt\" \"k\"" \
                "\[0 $it\] \"PING\""] [shown $monitor]
        }
    }

    # Administrative, unknown and refused commands are not shown; commands that fail during execution are.
    foreach {command words} {
        {INCR text} {"INCR" "text"}
        {GET} {}
        {NOSUCH} {}
        {INFO server} {"INFO" "server"}
        {COMMAND COUNT} {"COMMAND" "COUNT"}
        {FLUSHALL} {"FLUSHALL"}
        {LASTSAVE} {"LASTSAVE"}
        {CONFIG GET port} {}
        {ACL WHOAMI} {"ACL" "WHOAMI"}
        {ACL SETUSER bob >pw} {}
        {ACL DELUSER bob} {}
        {DEBUG SLEEP 0} {}
        {CLIENT KILL ID 999999} {}
        {CLIENT ID} {"CLIENT" "ID"}
        {SLOWLOG LEN} {}
        {SCRIPT LOAD "return 1"} {"SCRIPT" "LOAD" "return 1"}
        {AUTH secret} {"AUTH" "(redacted)"}
        {AUTH default secret} {"AUTH" "(redacted)" "(redacted)"}
        {HELLO 2 AUTH default secret SETNAME me} {"HELLO" "2" "AUTH" "(redacted)" "(redacted)" "SETNAME" "me"}
        {HELLO 2 SETNAME me} {"HELLO" "2" "SETNAME" "me"}
        {MIGRATE 127.0.0.1 1 "" 0 10 AUTH secret KEYS none}
            {"MIGRATE" "127.0.0.1" "1" "" "0" "10" "AUTH" "(redacted)" "KEYS" "none"}
        {MIGRATE 127.0.0.1 1 "" 0 10 AUTH2 joe secret KEYS none}
            {"MIGRATE" "127.0.0.1" "1" "" "0" "10" "AUTH2" "(redacted)" "(redacted)" "KEYS" "none"}
    } {
        test "MONITOR is shown of [lrange $command 0 end]: [expr {$words eq "" ? "nothing" : $words}]" {
            r SET text value
            with_clients monitor {
                $monitor MONITOR
                catch {r {*}$command}
                assert_equal $words [join [words_shown $monitor]]
            }
        }
    }

    test "What an ACL refuses is not shown to MONITOR" {
        r ACL SETUSER joe on nopass +get ~a
        with_clients {monitor joe} {
            $joe AUTH joe x
            $monitor MONITOR
            assert_error "NOPERM*" {$joe GET b}
            assert_error "NOPERM*" {$joe SET a 1}
            $joe GET a
            assert_equal {{"GET" "a"}} [words_shown $monitor]
        }
        r ACL DELUSER joe
    }

    test "A monitor may ask, but not for keys; RESET makes it a client like others" {
        with_clients {monitor other} {
            set id [$monitor CLIENT ID]
            assert_equal OK [$monitor MONITOR]
            assert_equal O [client_field [$other CLIENT LIST ID $id] flags]
            foreach command {{GET k} {SET k v} {PUBLISH a b} {EVAL "return 1" 0}} {
                set line [$monitor raw {*}$command]
                assert_equal "-ERR Replica can't interact with the keyspace\r\n" $line
            }
            assert_equal 0 [r EXISTS k]
            shown $monitor
            $monitor send MONITOR ;# is a monitor already: no reply
            assert_equal RESET [$monitor RESET]
            assert_equal {OK v N} [list [$monitor SET k v] [$monitor GET k] [client_field [$monitor CLIENT INFO] flags]]
        }
    }

    test "Each monitor is shown the same, a long line too, and nothing any more when it is none" {
        with_clients {one other} {
            $one MONITOR
            $other MONITOR
            r SET k [string repeat "x\n" 20000]
            assert_equal [list "\"SET\" \"k\" \"[string repeat "x\\n" 20000]\""] [words_shown $one $other]
            $one send RESET
            assert_equal RESET [$one reply]
            r SET k 2
            assert_equal PONG [$one PING]
            assert_equal (nil) [$one GET none]
            assert_equal {{"RESET"} {"SET" "k" "2"} {"PING"} {"GET" "none"}} [words_shown $other]
        }
    }

    test "MONITOR is not for transactions" {
        r MULTI
        r MONITOR
        assert_equal {{(error) ERR MONITOR isn't allowed for DENY BLOCKING client}} [r EXEC]
        assert_equal N [client_field [r CLIENT INFO] flags]
    }
}
