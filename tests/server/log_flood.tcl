# log_flood.tcl -- log lines that a peer without permissions can cause: the first at once, then few, with a count.
#
# Each test causes a line many times and reads the log. The counts of suppressed lines are logged after a minute, or
# when the server exits.
#
# SPDX-License-Identifier: BSD-3-Clause

set tries 40

proc log_count {pattern} {
    return [regexp -all $pattern [srv log]]
}

# Sends BYTES to PORT and closes the connection.
proc say_and_leave {port bytes} {
    set channel [socket 127.0.0.1 $port]
    fconfigure $channel -translation binary -buffering none
    catch {puts -nonewline $channel $bytes}
    catch {read $channel}
    catch {close $channel}
}

# Runs BODY many times; afterwards PATTERN must be in the log at least once and at most MOST times. LATER is the text
# with which the server reports the number of suppressed lines when it exits.
proc expect_few {pattern most later body} {
    global tries expected
    for {set i 0} {$i < $tries} {incr i} {
        uplevel 1 $body
    }
    wait_for_condition 20 {[log_count $pattern] >= 1}
    r PING
    assert_between 1 $most [log_count $pattern]
    lappend expected $later
}

start_server {overrides {requirepass secret} each {r AUTH secret}} {
    set expected {}

    test "POST and Host: as a command are logged once a minute" {
        expect_few {Possible SECURITY ATTACK detected} 1 "connections that sent POST or Host: as a command" {
            say_and_leave [srv port] "POST / HTTP/1.1\r\nHost: x\r\n\r\n"
        }
    }

    test "Other things a stranger can do leave no line at all" {
        set before [llength [split [srv log] \n]]
        for {set i 0} {$i < $tries} {incr i} {
            say_and_leave [srv port] "*1\r\n\$-5\r\n"
            say_and_leave [srv port] "AUTH wrong\r\nAUTH nobody wrong\r\nHELLO 3 AUTH a b\r\nMONITOR\r\nSYNC\r\nPSYNC ? -1\r\nQUIT\r\n"
            say_and_leave [srv port] "REPLCONF listening-port 1\r\nREPLICAOF a 1\r\nSHUTDOWN\r\nDEBUG LOG x\r\nQUIT\r\n"
        }
        assert_equal $before [llength [split [srv log] \n]]
    }

    test "Connections beyond maxclients leave no line" {
        r CONFIG SET maxclients 1
        set before [llength [split [srv log] \n]]
        for {set i 0} {$i < $tries} {incr i} {
            say_and_leave [srv port] ""
        }
        r CONFIG SET maxclients 100
        assert_equal $before [llength [split [srv log] \n]]
    }

    test "A client over its output limit is logged a few times a minute" {
        expect_few {for overcoming of output buffer limits} 4 "clients that reached their output buffer limit" {
            set channel [socket 127.0.0.1 [srv port]]
            fconfigure $channel -translation binary -buffering none
            catch {puts -nonewline $channel "[string repeat "GET key\r\n" 5000]QUIT\r\n"}
            catch {read $channel}
            catch {close $channel}
        }
    }

    test "The end of the server says how many lines were left out" {
        expect_exit 0
        catch {r SHUTDOWN NOSAVE}
        wait_exit [srv dir] 20
        assert_equal 2 [llength $expected]
        foreach what $expected {
            assert_match "*# \[1-9\]* more log lines were left out: $what\n*" [srv log]
        }
        assert_match "* 39 more log lines were left out: connections that sent POST*" [srv log]
    }
}

start_server {overrides {repl-diskless-sync-delay 3600}} {
    set expected {}

    test "A query buffer over its limit is logged once a minute" {
        r CONFIG SET client-query-buffer-limit 1048576
        set request "*2\r\n\$4\r\nECHO\r\n\$2000000\r\n[string repeat x 1100000]"
        set tries 10
        expect_few {reached max query buffer length} 1 "clients that reached client-query-buffer-limit" {
            say_and_leave [srv port] $request
        }
        set tries 40
    }

    test "Requests of replicas are logged a few times a minute" {
        set asked 0
        expect_few {asks for synchronization} 4 "replicas that asked for synchronization" {
            incr asked
            set channel [socket 127.0.0.1 [srv port]]
            fconfigure $channel -translation binary -buffering none
            puts -nonewline $channel "REPLCONF capa eof\r\n"
            gets $channel
            puts -nonewline $channel "PSYNC [string repeat 0123456789 4] 1\r\n"
            wait_for_condition 20 {[info_field sync_full stats] == $asked}
            close $channel
        }
        wait_for_condition 20 {[info_field connected_slaves replication] == 0}
        # Five kinds of lines, each four times, and that more are left out.
        assert_between 1 25 [log_count {(?n)^.*([Rr]eplica|BGSAVE|Partial).*$}]
    }
}
