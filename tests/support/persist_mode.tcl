# persist_mode.tcl -- ./runtest --persist: checks that the dataset of every test survives a reload, or is in the log.
#
#   reload             after each test, and at the end of each server: DEBUG RELOAD
#   always, everysec   servers have appendonly yes and this appendfsync; after each test another server starts on a copy
#                      of the log, and at the end of each server one starts on the log itself
#
# DEBUG DIGEST must be the same before and after. The checks use a connection of their own, so that they do not change
# those of the test. A server is excluded by start_server {tags own-files}, and all servers of a file by `own_files`:
# these are the tests of these settings.
#
# Limits      a dataset with keys or fields that expire within a minute, or with a maxmemory, is reloaded and not
#             compared, as it may change meanwhile. A log of more than `copied_bytes` is read only at the end of its
#             server.
#
# SPDX-License-Identifier: BSD-3-Clause

namespace eval persist_mode {
    variable mode ""
    variable comparing 1
    variable copied_bytes [expr {16 << 20}]
    variable soon_ms 60000
}

# Excludes the servers of this file, whose tests are about snapshots or append-only files.
proc own_files {} {
    set persist_mode::mode ""
}

# Excludes the running test, whose dataset is too large to be written and read again.
proc too_large_to_keep {} {
    set persist_mode::comparing 0
}

proc persist_mode::before_test {} {
    set persist_mode::comparing 1
}

# Returns the settings that the mode needs for a server with TAGS.
proc persist_mode::settings {tags} {
    variable mode
    if {$mode ni {always everysec} || "own-files" in $tags} {
        return {}
    }
    return [list appendonly yes appendfsync $mode]
}

# Returns whether the innermost server is to be checked, and can be.
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

# Called after a test of the innermost server has passed. Throws an error if the check fails.
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

# Called before the innermost server is stopped: returns {ENCODINGS DIGEST} that its files must give, {} if they are not
# compared.
proc persist_mode::before_stop {} {
    variable mode
    set wanted {}
    if {[concerned]} {
        with_link [srv port] link {
            if {$mode eq "reload"} {
                reload $link
            } elseif {![ends_soon $link]} {
                # A replica that has just synchronized is writing its first log, and would refuse to stop.
                wait_for_condition 20 {![regexp {aof_rewrite_(in_progress|scheduled):1} [$link INFO persistence]]}
                set wanted [list [encodings $link] [$link DEBUG DIGEST]]
            }
        }
    }
    return $wanted
}

# Called after SERVER has ended: its log must give WANTED. Returns complaints.
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

# Runs BODY with LINK as a new connection to PORT; does nothing if a password is needed or DEBUG refused.
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

# Starts a server on a copy of the log until it has the same dataset as this one. The log is written after the replies,
# and a key may expire between two digests: so it tries several times.
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
            after 100 ;# a rewrite has replaced a file
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

# DEBUG POPULATE is not logged: writes a new base, which has its keys.
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

# Returns the settings that determine the encodings of values, and with them the bytes of a HyperLogLog, and whether a
# score may be -0.
proc persist_mode::encodings {link} {
    set lines ""
    foreach {name value} [$link CONFIG GET *-max-listpack-* set-max-intset-entries hll-sparse-max-bytes] {
        append lines "$name $value\n"
    }
    return $lines
}

# Returns the digest of a server that is configured like SERVER, with ENCODINGS, and starts on the files in DIR.
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

# Returns whether a key or field expires within a minute.
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
            return 1 ;# some have expired and are not deleted yet
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

# -2 is a key that has expired since it was listed.
proc persist_mode::in_time {ms} {
    return [expr {$ms != -1 && $ms < $persist_mode::soon_ms}]
}
