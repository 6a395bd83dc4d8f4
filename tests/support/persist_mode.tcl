# persist_mode.tcl -- ./runtest --persist: is the dataset of every test there after a reload, or in the log?
#
#   reload             after each test, and at the end of each server: DEBUG RELOAD
#   always, everysec   servers have appendonly yes and this appendfsync; after each test another server starts on a copy
#                      of the log, and at the end of each server one starts on the log itself
#
# DEBUG DIGEST has to be the same before and after. What this asks it asks over a connection of its own, so that a test
# finds its connections as it left them. A server that is not to be looked at says so: start_server {tags own-files};
# a file in which none is says `own_files`: those are the tests of these very settings.
#
# Limits      a dataset with keys or fields that end within a minute, or beside a maxmemory, is reloaded and not
#             compared: it may change meanwhile. A log beyond `copied_bytes` is read at its server's end only.
#
# SPDX-License-Identifier: BSD-3-Clause

namespace eval persist_mode {
    variable mode ""
    variable comparing 1
    variable copied_bytes [expr {16 << 20}]
    variable soon_ms 60000
}

# The servers of this file are about snapshots or append-only files themselves.
proc own_files {} {
    set persist_mode::mode ""
}

# What the running test leaves is too large to be written and read again.
proc too_large_to_keep {} {
    set persist_mode::comparing 0
}

proc persist_mode::before_test {} {
    set persist_mode::comparing 1
}

# Settings of a server with TAGS that the mode asks for.
proc persist_mode::settings {tags} {
    variable mode
    if {$mode ni {always everysec} || "own-files" in $tags} {
        return {}
    }
    return [list appendonly yes appendfsync $mode]
}

# Is the innermost server one that is looked at, and can be?
proc persist_mode::concerned {} {
    variable mode
    variable comparing
    if {$mode eq "" || !$comparing || ![llength $srv::stack]} {
        return 0
    }
    set server [lindex $srv::stack end]
    return [expr {"own-files" ni [dict get $server tags] && [dict get $server expect_exit] eq "0" \
        && ![file exists [dict get $server dir]/exit]}]
}

# A test of the innermost server has passed. Throws what is wrong.
proc persist_mode::after_test {} {
    variable mode
    if {![concerned]} {
        return
    }
    with_link [srv port] link {
        if {$mode eq "reload"} {
            reload $link
        } elseif {[log_bytes [srv dir]] <= $persist_mode::copied_bytes} {
            read_copy $link
        }
    }
}

# The innermost server is about to be stopped: {ENCODINGS DIGEST} that its files must give, {} where none is compared.
proc persist_mode::before_stop {} {
    variable mode
    set wanted {}
    if {[concerned]} {
        with_link [srv port] link {
            if {$mode eq "reload"} {
                reload $link
            } elseif {![ends_soon $link]} {
                # A replica that was synchronized a moment ago is writing its first log, and would refuse to stop.
                wait_for_condition 20 {![regexp {aof_rewrite_(in_progress|scheduled):1} [$link INFO persistence]]}
                set wanted [list [encodings $link] [$link DEBUG DIGEST]]
            }
        }
    }
    return $wanted
}

# SERVER has ended; its log must give what is WANTED. Returns complaints.
proc persist_mode::after_stop {server wanted} {
    if {![llength $wanted] || [string trim [read_file [dict get $server dir]/exit]] ne "0"} {
        return {}
    }
    set dir [dict get $server dir]
    foreach name {stdout stderr} {
        file rename -force $dir/$name $dir/$name.life
    }
    if {[catch {digest_of_files $server $dir [lindex $wanted 0]} found]} {
        return [list "does not start on its log: $found"]
    }
    if {$found ne [lindex $wanted 1]} {
        return [list "its log gives another dataset"]
    }
    return {}
}

# Run BODY with LINK as a new connection to PORT; leave it out where a password or DEBUG is refused.
proc persist_mode::with_link {port name body} {
    upvar 1 $name link
    set link [RespClient new $port]
    set code [catch {
        if {![catch {$link DEBUG HELP}]} {
            uplevel 1 $body
        }
    } message options]
    catch {$link destroy}
    return -options $options $message
}

proc persist_mode::reload {link} {
    set compare [expr {[lindex [$link CONFIG GET maxmemory] 1] == 0 && ![ends_soon $link]}]
    set before [$link DEBUG DIGEST]
    if {[$link DEBUG RELOAD] ne "OK"} {
        fail "DEBUG RELOAD has failed"
    }
    if {$compare && [$link DEBUG DIGEST] ne $before} {
        fail "another dataset after DEBUG RELOAD"
    }
}

# Start a server on a copy of the log, until it has what this one has. The log is written behind the replies, and a key may
# end between two digests: so more than once.
proc persist_mode::read_copy {link} {
    set server [lindex $srv::stack end]
    set limit [patience::start [expr {10 * $srv::slow}] [srv pid]]
    while 1 {
        set digest [$link DEBUG DIGEST]
        set dir [make_server_dir]
        if {[catch {file copy [srv dir]/appendonlydir $dir/appendonlydir} message]} {
            if {[patience::over $limit]} {
                fail $message
            }
            after 100 ;# a file was replaced by a rewrite meanwhile
            continue
        }
        set found [digest_of_files $server $dir [encodings $link]]
        if {$found eq $digest} {
            file delete -force $dir
            return
        }
        if {[patience::over $limit]} {
            fail "the log gives another dataset: $dir"
        }
        after 100
    }
}

# DEBUG POPULATE goes into no log: a new base has what it made.
proc persist_mode::populated {} {
    variable mode
    if {$mode eq "reload" || ![concerned]} {
        return
    }
    with_link [srv port] link {
        $link BGREWRITEAOF
        wait_for_condition 60 {[string match "*aof_rewrite_scheduled:0*" [set info [$link INFO persistence]]] \
            && [string match "*aof_rewrite_in_progress:0*" $info]}
        assert_match *aof_last_bgrewrite_status:ok* $info
    }
}

# Settings that decide how a value is kept, and with it the bytes of a HyperLogLog, and whether a score may be -0.
proc persist_mode::encodings {link} {
    set lines ""
    foreach {name value} [$link CONFIG GET *-max-listpack-* set-max-intset-entries hll-sparse-max-bytes] {
        append lines "$name $value\n"
    }
    return $lines
}

# What a server gives that is configured as SERVER was, with ENCODINGS, and starts on the files in DIR.
proc persist_mode::digest_of_files {server dir encodings} {
    set port [free_port]
    write_file $dir/again.conf "[read_file [dict get $server conf]]\n$encodings\nport $port\ndir $dir\nrequirepass \"\"\nmetrics-port 0\ntls-port 0\n"
    set pid [launch $dir [list $dir/again.conf {*}$srv::extra]]
    set code [catch {
        await_ready [dict create dir $dir pid $pid]
        set link [RespClient new $port]
        set digest [$link DEBUG DIGEST]
        $link destroy
    } message options]
    catch {exec kill -KILL $pid}
    wait_exit $dir 5
    if {$code} {
        return -options $options $message
    }
    set complaints [log_complaints [server_log $dir]]
    if {[llength $complaints]} {
        error [join $complaints {; }]
    }
    return $digest
}

proc persist_mode::log_bytes {dir} {
    set sum 0
    foreach path [glob -nocomplain $dir/appendonlydir/*] {
        catch {incr sum [file size $path]}
    }
    return $sum
}

# Does any key or field end within a minute?
proc persist_mode::ends_soon {link} {
    set databases {}
    foreach {line database rest} [regexp -all -inline -line {^db(\d+):(.*)$} [$link INFO keyspace]] {
        if {![regexp {expires=0,.*keys_with_volatile_items=0} $rest]} {
            lappend databases $database
        }
    }
    foreach database $databases {
        $link SELECT $database
        set keys [$link KEYS *]
        if {[llength $keys] != [$link DBSIZE]} {
            return 1 ;# some are over, and not gone yet
        }
        foreach key $keys {
            if {[in_time [$link PTTL $key]] || [$link TYPE $key] eq "hash" && [fields_end_soon $link $key]} {
                return 1
            }
        }
    }
    return 0
}

proc persist_mode::fields_end_soon {link key} {
    foreach field [$link HKEYS $key] {
        if {[in_time [lindex [$link HPTTL $key FIELDS 1 $field] 0]]} {
            return 1
        }
    }
    return 0
}

# -2 is a key that has ended since it was listed.
proc persist_mode::in_time {ms} {
    return [expr {$ms != -1 && $ms < $persist_mode::soon_ms}]
}
