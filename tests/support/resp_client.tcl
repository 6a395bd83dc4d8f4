# resp_client.tcl -- a RESP2/RESP3 client in plain Tcl, for the tests.
#
# A test needs the exact reply of the server and not a library's interpretation. So replies are decoded to plain Tcl
# values, in which the cases that matter differ, and every lower level (bytes sent, bytes received) is accessible.
#
#   simple string, bulk, verbatim   the bytes                  null            (nil)
#   integer, double, big number     the text on the wire       boolean         true / false
#   array, set                      a list                     map             a flat list key value key value
#   error                           a Tcl error with the text; inside an array "(error) TEXT"
#
# Not here    starting servers (server.tcl), assertions about replies (assert.tcl).
# Invariants  1. A channel is binary and does not block; every wait for bytes has a time limit.
#             2. buf[pos..] are the bytes received and not yet decoded.
#             3. Push messages are stored in order of arrival and are never replies to a command.
#
# SPDX-License-Identifier: BSD-3-Clause

namespace eval resp {
    variable wakeup 0
    # A read fails after so many seconds (of this process and the servers) without a single byte; the runner raises it
    # for slow builds.
    variable patience 15

    # Returns a command as an array of bulk strings.
    proc encode {words} {
        set out "*[llength $words]\r\n"
        foreach word $words {
            append out "\$[string length $word]\r\n$word\r\n"
        }
        return $out
    }

    # Returns the UTF-8 bytes of a Tcl text, which may contain any character.
    proc utf8 {text} {
        return [encoding convertto utf-8 $text]
    }

    proc wake {} {
        variable wakeup
        incr wakeup
    }

    # Runs pending events, such as new connections.
    proc pause {} {
        after 1 ::resp::wake
        vwait ::resp::wakeup
    }

    # Waits until CHANNEL can be read or MILLISECONDS have passed by the clock. Returns whether it can be read. For
    # input that must not come.
    proc wait_readable {channel milliseconds} {
        variable ready 0
        variable wakeup
        fileevent $channel readable {set ::resp::ready 1; ::resp::wake}
        set timer [after $milliseconds ::resp::wake]
        vwait ::resp::wakeup
        after cancel $timer
        catch {fileevent $channel readable {}}
        return $ready
    }

    # The same for input that must come. Most of it comes at once, so the limit begins only after a first wait.
    proc await_readable {channel milliseconds} {
        if {[wait_readable $channel [expr {min(250, $milliseconds)}]]} {
            return 1
        }
        set limit [patience::start [expr {($milliseconds - 250) / 1000.0}] {*}[server_pids]]
        while {![patience::over $limit]} {
            if {[wait_readable $channel 250]} {
                return 1
            }
        }
        return 0
    }
}

oo::class create RespClient {
    variable channel buf pos pushes

    # TARGET is a port on 127.0.0.1, or HOST PORT, or -channel and a connected channel, which the client then owns.
    constructor {args} {
        if {[lindex $args 0] eq "-channel"} {
            set channel [lindex $args 1]
        } elseif {[llength $args] == 1} {
            set channel [client_socket {*}$args]
        } else {
            set channel [socket {*}$args]
        }
        fconfigure $channel -translation binary -blocking 0 -buffering full -buffersize 65536
        set buf ""
        set pos 0
        set pushes {}
    }

    destructor {
        catch {close $channel}
    }

    # Any other method is a command: sends it and waits for the reply.
    method unknown {args} {
        my send {*}$args
        return [my reply]
    }

    # Sends a command without reading its reply.
    method send {args} {
        my write [resp::encode $args]
    }

    # Sends many commands (a list of lists) in as few writes as possible.
    method pipeline {commands} {
        set out ""
        foreach command $commands {
            append out [resp::encode $command]
        }
        my write $out
    }

    method write {bytes} {
        puts -nonewline $channel $bytes
        flush $channel
    }

    # Returns the next reply, decoded; an error reply becomes a Tcl error.
    method reply {} {
        lassign [my tagged_reply] kind value
        if {$kind eq "error"} {
            return -code error -errorcode RESP $value
        }
        return $value
    }

    # Returns the next reply as {KIND VALUE}, where an error is a value.
    method tagged_reply {} {
        while 1 {
            lassign [my decode] kind value
            my compact
            if {$kind ne "push"} {
                return [list $kind $value]
            }
            lappend pushes $value
        }
    }

    # Returns COUNT replies as a list, errors as "(error) TEXT".
    method replies {count} {
        set all {}
        for {set i 0} {$i < $count} {incr i} {
            lassign [my tagged_reply] kind value
            if {$kind eq "error"} { set value "(error) $value" }
            lappend all $value
        }
        return $all
    }

    # Returns the push messages received so far and forgets them.
    method take_pushes {} {
        set taken $pushes
        set pushes {}
        return $taken
    }

    # Returns the next push message, waiting if necessary.
    method next_push {} {
        if {[llength $pushes] == 0} {
            lassign [my decode] kind value
            my compact
            if {$kind ne "push"} {
                error "expected a push message, got $kind {$value}"
            }
            return $value
        }
        set pushes [lassign $pushes first]
        return $first
    }

    # Returns the bytes of exactly one reply.
    method raw_reply {} {
        set start $pos
        my decode
        set bytes [string range $buf $start $pos-1]
        my compact
        return $bytes
    }

    # Sends a command and returns the bytes of its reply.
    method raw {args} {
        my send {*}$args
        return [my raw_reply]
    }

    # Returns exactly COUNT bytes.
    method raw_bytes {count} {
        my need $count
        set bytes [string range $buf $pos [expr {$pos + $count - 1}]]
        incr pos $count
        my compact
        return $bytes
    }

    # Returns all bytes up to and including MARK.
    method raw_bytes_until {mark} {
        while {[set at [string first $mark $buf $pos]] < 0} {
            my need [expr {[string length $buf] - $pos + 1}]
        }
        return [my raw_bytes [expr {$at + [string length $mark] - $pos}]]
    }

    # Returns all bytes until the server closes the connection.
    method raw_until_eof {} {
        while {[my fill]} {}
        set bytes [string range $buf $pos end]
        set pos [string length $buf]
        return $bytes
    }

    # Returns whether nothing arrives for MILLISECONDS.
    method silent_for {milliseconds} {
        if {$pos < [string length $buf]} {
            return 0
        }
        if {![resp::wait_readable $channel $milliseconds]} {
            return 1
        }
        append buf [read $channel]
        return [expr {$pos == [string length $buf] && ![eof $channel]}]
    }

    # Returns whether the server closes the connection within MILLISECONDS; bytes before that are dropped.
    method closed_within {milliseconds} {
        set limit [patience::start [expr {$milliseconds / 1000.0}] {*}[server_pids]]
        while {![patience::over $limit]} {
            if {[catch {read $channel}] || [eof $channel]} {
                return 1
            }
            resp::wait_readable $channel 250
        }
        return 0
    }

    # Closes the sending half; replies can still be read. Not over TLS: the package tls closes both halves at once.
    method half_close {} {
        close $channel write
    }

    method local_port {} {
        return [lindex [fconfigure $channel -sockname] 2]
    }

    method channel {} {
        return $channel
    }

    # Takes one reply from the buffer as {KIND VALUE}.
    method decode {} {
        set line [my line]
        set rest [string range $line 1 end]
        switch -- [string index $line 0] {
            + - : - , - ( { return [list plain $rest] }
            - { return [list error $rest] }
            _ { return [list null (nil)] }
            # { return [list bool [expr {$rest eq "t" ? "true" : "false"}]] }
            ! { return [list error [my bulk $rest]] }
            = { return [list verbatim [string range [my bulk $rest] 4 end]] }
            $ {
                if {$rest < 0} { return [list null (nil)] }
                return [list bulk [my bulk $rest]]
            }
            * - ~ - > {
                if {$rest < 0} { return [list null (nil)] }
                set kind [expr {[string index $line 0] eq ">" ? "push" : "array"}]
                return [list $kind [my items $rest]]
            }
            % { return [list map [my items [expr {2 * $rest}]]] }
            | {
                my items [expr {2 * $rest}]
                return [my decode]
            }
        }
        error "not a reply: [string range $line 0 80]"
    }

    method items {count} {
        set all {}
        for {set i 0} {$i < $count} {incr i} {
            lassign [my decode] kind value
            if {$kind eq "error"} { set value "(error) $value" }
            lappend all $value
        }
        return $all
    }

    method bulk {length} {
        my need [expr {$length + 2}]
        set bytes [string range $buf $pos [expr {$pos + $length - 1}]]
        incr pos [expr {$length + 2}]
        return $bytes
    }

    method line {} {
        while {[set end [string first "\r\n" $buf $pos]] < 0} {
            if {![my fill]} {
                error "connection closed by the server" "" {RESP EOF}
            }
        }
        set line [string range $buf $pos $end-1]
        set pos [expr {$end + 2}]
        return $line
    }

    method need {count} {
        while {[string length $buf] - $pos < $count} {
            if {![my fill]} {
                error "connection closed by the server" "" {RESP EOF}
            }
        }
    }

    # Appends received bytes to the buffer, waiting for at least one. Returns 0 at the end of the stream.
    method fill {} {
        while 1 {
            if {[catch {read $channel} chunk] || ($chunk eq "" && [eof $channel])} {
                return 0
            }
            if {$chunk ne ""} {
                append buf $chunk
                return 1
            }
            if {![resp::await_readable $channel [expr {1000 * $resp::patience}]]} {
                error "no reply within $resp::patience seconds" "" {RESP TIMEOUT}
            }
        }
    }

    # Drops decoded bytes once they are most of the buffer, so that a long pipeline takes linear time.
    method compact {} {
        if {$pos == [string length $buf]} {
            set buf ""
            set pos 0
        } elseif {$pos > 1000000} {
            set buf [string range $buf $pos end]
            set pos 0
        }
    }
}
