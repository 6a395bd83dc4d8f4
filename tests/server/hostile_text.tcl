# hostile_text.tcl -- text that a client chooses cannot add lines to output that is parsed by lines.
#
# SPDX-License-Identifier: BSD-3-Clause

# A text that imitates lines of INFO, of the log and of a configuration file, and parts of lines.
set ::hostile "h\r\nrole:slave\nforged:1\r9:M forged # x\x0b\x0cuser forged on,state=online\x1b\x7f\b\t\"\\ y"

proc http_body {port} {
    set channel [socket 127.0.0.1 $port]
    fconfigure $channel -translation binary
    puts -nonewline $channel "GET /metrics HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
    flush $channel
    set answer [read $channel]
    close $channel
    return [string range $answer [string first \r\n\r\n $answer]+4 end]
}

# Returns the lines of TEXT that do not match PATTERN; END is the line end.
proc odd_lines {text end pattern} {
    set odd {}
    foreach line [split [string map [list $end \x00] [string trimright $text $end]] \x00] {
        if {![regexp -- "^(?:$pattern)\$" $line] || [regexp {[\x01-\x08\x0a-\x1f\x7f]} $line]} {
            lappend odd $line
        }
    }
    return $odd
}

# Uses the text wherever a client can; errors are ignored.
proc name_everything {} {
    set h $::hostile
    set c [connect]
    foreach command [list \
        [list ACL SETUSER $h on] [list ACL SETUSER "forged\x01\x1b\"b" on nopass ~* &* +@all] \
        [list ACL SETUSER forged~ ~$h] [list ACL SETUSER forged& &$h] [list ACL SETUSER forged+ +$h] \
        [list ACL SETUSER forged> >$h] [list ACL SETUSER forged( "(~$h +get)"] \
        [list CLIENT SETNAME $h] [list CLIENT SETINFO lib-name $h] [list CLIENT SETINFO lib-ver $h] \
        [list HELLO 2 SETNAME $h] [list HELLO 2 AUTH $h x] [list AUTH $h x] [list AUTH $h] \
        [list CONFIG SET availability-zone $h] [list CONFIG SET masteruser $h] [list CONFIG SET masterauth $h] \
        [list CONFIG SET replica-announce-ip $h] [list CONFIG SET proc-title-template $h] \
        [list CONFIG SET notify-keyspace-events $h] [list CONFIG SET $h $h] [list CONFIG SET dbfilename $h] \
        [list $h x] [list GET $h x] [list SET $h $h] [list OBJECT $h] [list EXPIRE $h $h] [list SUBSCRIBE $h] \
        [list UNSUBSCRIBE $h] [list PUBLISH $h $h] [list XADD $h $h a b] [list FUNCTION LOAD "#!lua name=$h\n"] \
        [list EVAL "return {err=ARGV\[1\]}" 0 $h] [list EVAL "return redis.error_reply(ARGV\[1\])" 0 $h] \
        [list EVAL "return {err=ARGV\[1\]}" 0 "A:B#C,D=1 $h"] [list EVAL "error(ARGV\[1\])" 0 $h] \
        [list EVAL "redis.log(redis.LOG_WARNING, ARGV\[1\])" 0 $h] [list EVAL $h 0] [list FCALL $h 0] \
        [list REPLCONF ip-address $h] [list REPLCONF listening-port 7] [list REPLCONF version $h] \
        [list DEBUG $h] [list CLIENT KILL ADDR $h] [list MIGRATE $h 1 k 0 1 KEYS $h] [list LATENCY HISTOGRAM $h] \
        [list AUTH "forged\x01\x1b\"b" x]] {
        catch {$c {*}$command}
    }
    $c destroy
}

set web_port [free_port]
start_server [list overrides [list metrics-port $web_port slowlog-log-slower-than 0 loglevel debug]] {
    test "Codes of errors are counted as the reply has them, without what separates in INFO" {
        foreach {text name} {
            "x\r\nrole:slave y" x  "A\nB: x" A  "A:B#C x" A_B_C  "A,B=1 x" A,B=1  " x" ""  "noblank" ERR
            "Q23456789012345678901234567890 x" Q23456789012345678901234567890
            "Q234567890123456789012345678901 x" ERR  "A\x00B x" ERR
        } {
            r CONFIG RESETSTAT
            catch {r EVAL {return {err=ARGV[1]}} 0 $text}
            assert_equal "# Errorstats\r\nerrorstat_$name:count=1\r\n" [r INFO errorstats]
        }
    }

    test "INFO and CLIENT LIST keep to their lines, whatever text clients name" {
        r CONFIG RESETSTAT
        name_everything
        catch {r REPLICAOF $::hostile 1}
        r REPLICAOF NO ONE
        set c [connect]
        catch {$c AUTH "forged\x01\x1b\"b" x}
        set text [r INFO everything]
        assert_equal {} [odd_lines $text \r\n {|# [A-Z][A-Za-z_ ]*|[^:]+:.*}]
        assert_equal {role:master} [regexp -all -inline -line {^role:[a-z]*} [string map {\r {}} $text]]
        assert_equal {} [odd_lines [r CLIENT LIST] \n {id=\d+ addr=\S+ laddr=\S+ fd=\d+ name=\S* .* tot-cmds=\d+}]
        assert_match "* user=forged\\?\\?\"b *" [r CLIENT LIST]
        catch {r REPLICAOF $::hostile 1}
        set text [r INFO replication]
        assert_equal {} [odd_lines $text \r\n {# Replication|[a-z_0-9]+:.*}]
        assert_equal {role:slave} [regexp -all -inline -line {^role:[a-z]*} [string map {\r {}} $text]]
        r REPLICAOF NO ONE
        $c destroy
    }

    test "Metrics keep to their lines, whatever text clients name" {
        # The first response may have earlier figures.
        http_body $::web_port
        set text [http_body $::web_port]
        assert_equal {} [odd_lines $text \n {#.*|[a-z_0-9]+(\{([a-z_0-9]+="([^"\\]|\\.)*",?)*\})? \S+( \S+)?}]
        assert {[string match {*err="A_B_C,D=1"*} $text]}
    }

    foreach {format pattern} {
        legacy {\d+:[MSC] \d\d \w{3} \d{4} [\d:.]+ [-.*#] .*}
        logfmt {pid=\d+ role=\w+ timestamp="[^"]*" level=\w+ message="[^"]*"}
        json {\{"pid":\d+,"role":"\w+","timestamp":"[^"]*","level":"\w+","message":"([^"\\]|\\["\\nrtbf]|\\u[0-9a-f]{4})*"\}}
    } {
        test "The log ($format) keeps to its lines, whatever text clients name" {
            r CONFIG SET log-format $format
            set before [string length [srv log]]
            name_everything
            r EVAL {redis.log(redis.LOG_WARNING, ARGV[1])} 0 "bytes \xff\xc3\xa9"
            r CONFIG SET log-format legacy
            set text [string range [srv log] $before end]
            assert_match "*forged:1*" $text
            assert_equal {} [odd_lines $text \n $pattern]
        }
    }

    test "MONITOR keeps to its lines, whatever text clients name" {
        set channel [socket 127.0.0.1 [srv port]]
        fconfigure $channel -translation binary
        puts -nonewline $channel "MONITOR\r\n"
        flush $channel
        assert_equal "+OK\r" [gets $channel]
        name_everything
        r PING end-of-monitor
        set lines {}
        while {[gets $channel line] >= 0 && ![string match *end-of-monitor* $line]} {
            lappend lines $line
        }
        assert {[llength $lines] > 10}
        assert_equal {} [odd_lines [string map {\r {}} [join $lines \n]] \n {\+\d+\.\d+ \[\d+ [^]]+\]( ".*")+}]
        close $channel
    }

    test "CONFIG REWRITE and the ACL's lines keep to their lines, whatever text clients name" {
        name_everything
        foreach line [r ACL LIST] {
            assert_equal {} [odd_lines [string map {\x01 {} \x1b {}} $line] \n {user \S+ .*}]
        }
        r CONFIG REWRITE
        set text [read_file [info_field config_file server]]
        assert_match "*forged:1*" $text
        set odd [odd_lines $text \n {|#.*|[a-z-]+ .*}]
        assert_equal {} [lsearch -all -inline -not $odd "user forged*"]
        assert_equal {} [regexp -all -inline -line {^(?:role|forged|9).*} $text]
        set acl [r ACL LIST]
        restart_server
        assert_equal [lsort $acl] [lsort [r ACL LIST]]
        assert_equal [list availability-zone $::hostile] [r CONFIG GET availability-zone]
    }
}
