# loading.tcl -- loading snapshots at the start: the dataset, rejected files, and replies to clients meanwhile.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

# Reads snapshots and their expected contents: rdb_files.txt describes its lines.
proc read_rdb_files {path} {
    set files {}
    foreach line [split [read_file $path] \n] {
        set rest [lassign $line word]
        switch -- $word {
            file { lappend files [dict create name [lindex $rest 0] args {} key {} use {} field {} info {} refused {} rdb {}] }
            args - info { lset files end [dict replace [lindex $files end] $word $rest] }
            key - use - field { lset files end [dict replace [lindex $files end] $word \
                [concat [dict get [lindex $files end] $word] [list $rest]]] }
            refused {
                set mode [lindex $rest 0]
                set text [string range $line [string length "refused $mode "] end]
                lset files end [dict replace [lindex $files end] refused \
                    [dict replace [dict get [lindex $files end] refused] $mode $text]]
            }
            rdb { lset files end [dict replace [lindex $files end] rdb [binary decode base64 [lindex $rest 0]]] }
        }
    }
    return $files
}

set here [file join [file dirname [file normalize [info script]]]]
set rdb_files [read_rdb_files $here/rdb_files.txt]

proc rdb_file {name} {
    foreach given $::rdb_files {
        if {[dict get $given name] eq $name} {
            return [dict get $given rdb]
        }
    }
}

proc hex {words} {
    return [lmap word $words {expr {$word eq "-" ? "" : [binary decode hex $word]}}]
}

# Returns a value in the notation of rdb_files.txt.
proc content_of {key type} {
    switch -- $type {
        string { return [list [r GET $key]] }
        list { return [r LRANGE $key 0 -1] }
        set { return [lsort [r SMEMBERS $key]] }
        zset { return [r ZRANGE $key 0 -1 WITHSCORES] }
        hash { return [concat {*}[lsort -index 0 [lmap {f v} [r HGETALL $key] {list $f $v}]]] }
        stream { return [concat {*}[lmap entry [r XRANGE $key - +] {concat [lindex $entry 0] [lindex $entry 1]}]] }
    }
}

# Runs BODY with a server that has loaded BYTES as its snapshot.
proc with_snapshot {bytes arguments body} {
    set saved $srv::extra
    set srv::extra [concat $srv::extra $arguments]
    set dir [make_server_dir]
    write_file $dir/given.rdb $bytes
    set code [catch {
        start_server [list overrides [list dir $dir dbfilename given.rdb]] {
            uplevel 1 $body
        }
    } message options]
    set srv::extra $saved
    return -options $options $message
}

# Starts a server with BYTES as its snapshot, which must exit: returns its exit code and its log.
proc refused_start {bytes arguments} {
    set dir [make_server_dir]
    write_file $dir/given.rdb $bytes
    set outcome [run_to_end [list --port [free_port] --save "" --dir $dir --dbfilename given.rdb {*}$arguments] $dir]
    assert_equal $bytes [read_file $dir/given.rdb]
    return $outcome
}

foreach given $rdb_files {
    dict with given {
        if {[dict exists $refused strict]} {
            test "a snapshot is refused: $name" {
                lassign [refused_start $rdb {}] code log
                assert_equal 1 $code
                assert_match "*[dict get $refused strict]*" $log
                assert_match "*Fatal error loading the DB, check server logs. Exiting.*" $log
            }
            lappend args --rdb-version-check relaxed
        }
        if {[dict exists $refused relaxed]} {
            test "a snapshot is refused by a server that takes all versions: $name" {
                lassign [refused_start $rdb $args] code log
                assert_equal 1 $code
                assert_match "*[dict get $refused relaxed]*" $log
            }
            continue
        }
        with_snapshot $rdb $args {
            test "a snapshot is loaded: $name" {
                foreach one $use {
                    lassign $one name kind number
                    if {$kind eq "freq"} {
                        assert_equal $number [r OBJECT FREQ {*}[hex $name]]
                    } else {
                        assert_between $number [expr {$number + 5}] [r OBJECT IDLETIME {*}[hex $name]]
                    }
                }
                foreach one $key {
                    set words [lassign $one db name type encoding expire]
                    set name [lindex [hex $name] 0]
                    r SELECT $db
                    assert_equal $type [r TYPE $name]
                    assert_equal $encoding [r OBJECT ENCODING $name]
                    assert_equal $expire [r PEXPIRETIME $name]
                    assert_equal [hex $words] [content_of $name $type]
                }
                r SELECT 0
                foreach one $field {
                    lassign $one name of when
                    assert_equal $when [r HPEXPIRETIME {*}[hex $name] FIELDS 1 {*}[hex $of]]
                }
                assert_equal [lindex $info 0] [info_field rdb_last_load_keys_loaded persistence]
                assert_equal [lindex $info 1] [info_field rdb_last_load_keys_expired persistence]
                assert_equal 0 [info_field loading persistence]
                assert_equal 0 [info_field rdb_changes_since_last_save persistence]
            }
        }
    }
}

with_snapshot [rdb_file mixed] {} {
    test "the log says what a snapshot tells of itself" {
        assert_match "*Loading RDB produced by Valkey version 9.1.2\n*RDB age * seconds\n*RDB memory usage when\
created * Mb\n*Done loading RDB, keys loaded: 18, keys expired: 0, all fields expired hashes: 0.\n*DB loaded from\
disk: * seconds\n*Ready to accept connections*" [srv log]
        assert_no_match "*is base AOF*" [srv log]
    }
}

with_snapshot [rdb_file redis8-own-types] {--rdb-version-check relaxed --hide-user-data-from-log no} {
    test "the log names and counts what is left out of a snapshot of Redis 8" {
        assert_match "*Left out of the RDB file: database 0, key \"vec\", type vectorset\n*Done loading RDB, keys loaded:\
4, keys expired: 0, keys left out: 1, all fields expired hashes: 0.\n*" [srv log]
        assert_equal 1 [info_field rdb_last_load_keys_left_out persistence]
    }

    test "a stream of Redis 8 keeps its groups and what is pending" {
        assert_equal 1 [llength [r XPENDING st grp - + 10]]
        assert_equal {f v} [lindex [r XRANGE st - + COUNT 1] 0 1]
    }
}

test "a snapshot of Redis 8 with a value that has no counterpart is refused, with the name of its key" {
    lassign [refused_start [rdb_file redis8-own-types] {--hide-user-data-from-log no}] code log
    assert_equal 1 $code
    assert_match "*no matching module type 'vectorset'*database 0, key \"vec\", type 7*" $log
    # Type 27 is none that is known, and its layout is not known either.
    lassign [refused_start "REDIS0013\xfe\x00\x1b\x03arr\x01x\xff[string repeat \0 8]" \
        {--hide-user-data-from-log no --rdb-version-check relaxed}] code log
    assert_equal 1 $code
    assert_match "*Can't handle foreign type or opcode 27 in RDB with version 13*key \"arr\", type 27*" $log
}

proc libraries {} {
    return [lsort [lmap library [r FUNCTION LIST] {dict get $library library_name}]]
}

with_snapshot [rdb_file functions-streams] {--aof-use-rdb-preamble no --rdbcompression no} {
    test "function libraries of a snapshot are there, and stay in each that is written" {
        assert_equal {lib1 lib2} [libraries]
        assert_equal OK [r SET more 1]
        assert_equal OK [r DEBUG RELOAD]
        assert_equal OK [r DEBUG RELOAD MERGE]
        assert_equal {lib1 lib2} [libraries]
        assert_equal OK [r SAVE]
        restart_server
        assert_equal 1 [r GET more]
        assert_equal {lib1 lib2} [libraries]
    }

    test "the base of an append-only file that is no snapshot begins with libraries" {
        assert_equal "Background append only file rewriting started" [r BGREWRITEAOF]
        wait_for_condition 20 {[info_field aof_rewrite_in_progress persistence] == 0}
        assert_match "*FUNCTION*LOAD*#!lua name=lib*FUNCTION*LOAD*#!lua name=lib*SELECT*" \
            [read_file [glob [lindex [r CONFIG GET dir] 1]/appendonlydir/*.base.aof]]
    }
}

# ---- Files that are not whole -----------------------------------------------------------------------------------

# Returns a library in the format of a snapshot.
proc library_bytes {text} {
    set length [string length $text]
    return "\xf5[binary format cc [expr {0x40 | $length >> 8}] [expr {$length & 255}]]$text"
}

proc library_of {name function} {
    return [library_bytes "#!lua name=$name\nredis.register_function('$function', function() return 1 end)"]
}

foreach {what bytes text} [list \
    "a library that is no Lua" "VALKEY080[library_bytes "#!lua name=a\nthis is none"]\x00\x01k\x01v\xff\0\0\0\0\0\0\0\0" \
        "Failed creating the functions library: Error compiling function: *the fault is at byte 9*" \
    "a library of another language" "VALKEY080[library_bytes "#!perl name=a\n1"]\xff\0\0\0\0\0\0\0\0" \
        "Failed creating the functions library: Engine 'perl' not found" \
    "a library that fails" "VALKEY080[library_bytes "#!lua name=a\nlocal x = nil + 1"]\xff\0\0\0\0\0\0\0\0" \
        "Failed creating the functions library: Error registering functions: *attempt to perform arithmetic*" \
    "a library that comes twice" "VALKEY080[library_of a f][library_of a g]\xff\0\0\0\0\0\0\0\0" \
        "Failed creating the functions library: Library 'a' already exists" \
    "a function of two libraries" "VALKEY080[library_of a f][library_of b F]\xff\0\0\0\0\0\0\0\0" \
        "Failed creating the functions library: Function F already exists" \
    "a library that is cut" [string range "VALKEY080[library_of a f]" 0 end-3] "Unexpected EOF reading RDB file" \
    "an empty file" "" "Unexpected EOF reading RDB file" \
    "a file that is cut in its last byte" [string range [rdb_file mixed] 0 end-1] "Unexpected EOF reading RDB file" \
    "a file that is cut in a key" [string range [rdb_file mixed] 0 200] "Unexpected EOF reading RDB file" \
    "a file that is none" "HELLO WORLD" "Wrong signature trying to load DB from file: HELLO WOR\n*the fault is at byte 0\n" \
    "a wrong checksum" [string replace [rdb_file mixed] end end x] "Wrong RDB checksum expected:" \
    "a version to come" "VALKEY081\xff\0\0\0\0\0\0\0\0" \
        "Can't handle RDB format version 81\n*the fault is at byte 0\n" \
    "an unknown type" "VALKEY080\xfe\x00\x1e\x01k\x01v\xff\0\0\0\0\0\0\0\0" "Unknown RDB encoding type 30" \
    "a module's value" "VALKEY080\x07\x01k\x81\x00\x00\x00\x00\x00\x00\x00\x00\x00\xff\0\0\0\0\0\0\0\0" \
        "The RDB file contains module data I can't load: no matching module type 'AAAAAAAAA'" \
    "a database that is not there" "VALKEY080\xfe\x10\x00\x01k\x01v\xff\0\0\0\0\0\0\0\0" \
        "Data file was created with a Valkey server configured to handle more than 16 databases. Exiting" \
    "a key that comes twice" "VALKEY080\x00\x01k\x01v\x00\x01k\x01w\xff\0\0\0\0\0\0\0\0" \
        "RDB has duplicated key in DB 0" \
    "a value that is malformed" "VALKEY080\x00\x01g\x01v\x0b\x01k\x03abc\xff\0\0\0\0\0\0\0\0" "*at byte 14*"] {
    test "a start ends when the snapshot is $what" {
        lassign [refused_start $bytes {}] code log
        assert_equal 1 $code
        assert_match "*$text*" $log
        assert_no_match "*Ready to accept connections*" $log
    }
}

test "the place of a fault is in the log, and the name of its key if that may be" {
    set bytes "VALKEY080\xfe\x03\x00\x01g\x01v\x0b\x04\x61\x62\x63\x64\x03abc\xff\0\0\0\0\0\0\0\0"
    assert_match "*given.rdb*at byte 16, database 3, key \"abcd\", type 11*" \
        [lindex [refused_start $bytes {--hide-user-data-from-log no}] 1]
    set log [lindex [refused_start $bytes {}] 1]
    assert_match "*at byte 16*redacted*" $log
    assert_no_match "*abcd*" $log
}

with_snapshot "VALKEY080\x04\x01h\x00\x10\x01p\x07\x07\0\0\0\0\0\xff\x00\x01k\x01v\xff\0\0\0\0\0\0\0\0" {--hide-user-data-from-log no} {
    test "keys with nothing in them are left out, and the log says which" {
        assert_equal k [r KEYS *]
        assert_match "*skipping empty key: h\n*skipping empty key: p\n*" [srv log]
        assert_match "*Done loading RDB, keys loaded: 1, keys expired: 0, empty keys skipped: 2,*" [srv log]
    }
}

with_snapshot "VALKEY080\xfc\x01\0\0\0\0\0\0\0\x00\x01k\x01v\x16\x01h\x01\x01f\x01v\x01\0\0\0\0\0\0\0\x16\x01g\x02\x01f\x01v\x01\0\0\0\0\0\0\0\x01s\x01v\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\0\0\0\0\0\0" {} {
    test "keys and fields whose time is over are left out" {
        assert_equal g [r KEYS *]
        assert_equal {s v} [r HGETALL g]
        assert_match "*keys loaded: 1, keys expired: 1, all fields expired hashes: 1.*" [srv log]
        assert_equal 1 [info_field rdb_last_load_keys_expired persistence]
    }
}

# ---- During loading ---------------------------------------------------------------------------------------------

# Returns a snapshot of COUNT small keys, without a checksum.
proc small_keys {count} {
    set bytes "VALKEY080\xfe\x00"
    for {set i 0} {$i < $count} {incr i} {
        append bytes "\x00\x09" [format "key:%05d" $i] "\x01v"
    }
    return "$bytes\xff\0\0\0\0\0\0\0\0"
}

# Starts a server that takes at least ten seconds to load its snapshot, which may be the base of a log, and runs BODY
# meanwhile; MORE are additional settings.
proc with_slow_load {keys body {appendonly no} {more {}}} {
    set dir [make_server_dir]
    set port [free_port]
    if {$appendonly} {
        file mkdir $dir/appendonlydir
        write_file $dir/appendonlydir/appendonly.aof.manifest "file base.rdb seq 1 type b\n"
        write_file $dir/appendonlydir/base.rdb [small_keys $keys]
    } else {
        write_file $dir/given.rdb [small_keys $keys]
    }
    set pid [launch $dir [list --port $port --save "" --dir $dir --dbfilename given.rdb --key-load-delay 1500 \
        --appendonly $appendonly --loading-process-events-interval-bytes 1024 {*}$more {*}$srv::extra]]
    upvar 1 slow slow
    set slow [dict create dir $dir port $port pid $pid]
    set limit [patience::start [expr {10 * $srv::slow}] $pid]
    while {[catch {set ::loading_client [RespClient new $port]}]} {
        if {[patience::over $limit]} {error "nobody listens:\n[server_log_tail $dir]"}
        after 5
    }
    set code [catch {uplevel 1 $body} message options]
    catch {$::loading_client destroy}
    catch {exec kill -KILL $pid}
    wait_exit $dir 5
    return -options $options $message
}

test "a server that is to follow another is a replica while it loads" {
    with_slow_load 8000 {
        set text [$::loading_client INFO]
        assert_match "*loading:1*" $text
        assert_match "*role:slave*master_link_status:down*" $text
    } no {--replicaof 127.0.0.1 1}
}

test "INFO while a log is loaded has sizes of the log, which are 0 as yet, and how far it is" {
    with_slow_load 8000 {
        set text [$::loading_client INFO persistence]
        set fields [lmap line [split $text \n] {string trimright $line \r}]
        set at [lsearch -exact $fields aof_current_size:0]
        assert_equal "aof_current_size:0 aof_base_size:0 aof_pending_rewrite:0 aof_buffer_length:0\
            aof_pending_bio_fsync:0 aof_delayed_fsync:0" [lrange $fields $at $at+5]
        assert_match loading_start_time:* [lindex $fields $at+6]
    } yes
}

test "clients are told while a snapshot is loaded" {
    with_slow_load 8000 {
        set c $::loading_client
        set error {LOADING Valkey is loading the dataset in memory}
        assert_error $error {$c GET key:00001}
        assert_error $error {$c PING}
        assert_error $error {$c DBSIZE}
        assert_equal OK [$c SELECT 1]
        assert_equal port [lindex [$c CONFIG GET port] 0]
        assert_error $error {$c CONFIG SET appendonly yes}
        assert_error $error {$c CONFIG SET maxmemory 100mb appendonly yes}
        assert_equal OK [$c MULTI]
        assert_error $error {$c GET key:00001}
        assert_error "EXECABORT *" {$c EXEC}
    }
}

test "INFO shows how far the loading is" {
    with_slow_load 8000 {
        set c $::loading_client
        set text [$c INFO persistence]
        assert_equal 1 [field_of $text loading]
        assert_equal 0 [field_of $text async_loading]
        assert_equal 104020 [field_of $text loading_total_bytes]
        assert_between 0 104020 [field_of $text loading_loaded_bytes]
        assert_between 0 100 [field_of $text loading_loaded_perc]
        assert_between 0 100 [field_of $text loading_eta_seconds]
        assert_between [expr {[clock seconds] - 60}] [clock seconds] [field_of $text loading_start_time]
        assert_equal 0 [field_of $text loading_rdb_used_mem]
    }
}

foreach signal {TERM INT} {
    test "SIG$signal ends a server that loads, and its snapshot stays as it is" {
        with_slow_load 8000 {
            set before [read_file [dict get $slow dir]/given.rdb]
            exec kill -$signal [dict get $slow pid]
            assert_equal 0 [wait_exit [dict get $slow dir] 10]
            assert_equal $before [read_file [dict get $slow dir]/given.rdb]
        }
    }
}

test "many clients come and go while a snapshot is loaded" {
    with_slow_load 4000 {
        for {set i 0} {$i < 40} {incr i} {
            set c [RespClient new [dict get $slow port]]
            assert_error "LOADING *" {$c GET key:00001}
            $c destroy
        }
        set limit [patience::start [expr {30 * $srv::slow}] [dict get $slow pid]]
        while {[field_of [$::loading_client INFO persistence] loading]} {
            assert {![patience::over $limit]}
            after 20
        }
        assert_equal v [$::loading_client GET key:00001]
        assert_equal 4000 [$::loading_client DBSIZE]
        assert_equal OK [$::loading_client SET key:00001 w]
    }
}
