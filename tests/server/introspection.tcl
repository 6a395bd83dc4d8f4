# introspection.tcl -- information about commands, memory and latency; and DEBUG.
#
# SPDX-License-Identifier: BSD-3-Clause

start_server {each {r FLUSHALL}} {

    # ---- COMMAND ----------------------------------------------------------------------------------------------

    test "COMMAND COUNT is the number of commands COMMAND describes" {
        assert_equal [llength [r COMMAND]] [r COMMAND COUNT]
    }

    test "COMMAND INFO describes a command in ten parts" {
        set info [lindex [r COMMAND INFO get] 0]
        assert_equal 10 [llength $info]
        assert_equal {get 2} [lrange $info 0 1]
        assert_same_set {readonly fast} [lindex $info 2]
        assert_equal {1 1 1} [lrange $info 3 5]
        assert_same_set {@read @string @fast} [lindex $info 6]
    }

    foreach {name arity flags keys} {
        set -3 {write denyoom} {1 1 1}
        mget -2 {readonly fast} {1 -1 1}
        mset -3 {write denyoom} {1 -1 2}
        del -2 {write} {1 -1 1}
        ping -1 {fast} {0 0 0}
        rename 3 {write} {1 2 1}
        incr 2 {write denyoom fast} {1 1 1}
        auth -2 {noscript loading stale fast no_auth allow_busy} {0 0 0}
        flushall -1 {write} {0 0 0}
    } {
        test "COMMAND INFO $name: arity, flags, positions of keys" {
            set info [lindex [r COMMAND INFO $name] 0]
            assert_equal $arity [lindex $info 1]
            assert_same_set $flags [lindex $info 2]
            assert_equal $keys [lrange $info 3 5]
        }
    }

    test "COMMAND INFO of an unknown command is null" {
        assert_equal {(nil)} [r COMMAND INFO nosuch]
    }

    test "COMMAND INFO of a subcommand" {
        assert_equal client|id [lindex [r COMMAND INFO client|id] 0 0]
    }

    test "COMMAND LIST names every command; filters choose" {
        set all [r COMMAND LIST]
        foreach name {get set del client|id config|get} {
            assert {$name in $all}
        }
        assert_equal getset [r COMMAND LIST FILTERBY PATTERN g*set]
        assert {"get" in [r COMMAND LIST FILTERBY ACLCAT string]}
        assert {"ping" ni [r COMMAND LIST FILTERBY ACLCAT string]}
        assert_equal {} [r COMMAND LIST FILTERBY MODULE nosuch]
        assert_equal {} [r COMMAND LIST FILTERBY ACLCAT nosuch]
        assert_error "ERR syntax error" {r COMMAND LIST FILTERBY NOPE x}
        assert_error "ERR syntax error" {r COMMAND LIST FILTERBY PATTERN}
    }

    test "COMMAND DOCS describes commands" {
        set docs [dict get [r COMMAND DOCS ping] ping]
        assert {[dict get $docs summary] ne ""}
        assert_equal 1.0.0 [dict get $docs since]
        assert_equal connection [dict get $docs group]
        assert_equal O(1) [dict get $docs complexity]
        assert_equal message [dict get [lindex [dict get $docs arguments] 0] name]
        assert_equal {} [r COMMAND DOCS nosuch]
        assert {[dict size [r COMMAND DOCS]] >= 50}
    }

    foreach {command keys} {
        {GET a} a   {MGET a b c} {a b c}   {MSET a 1 b 2} {a b}   {RENAME a b} {a b}   {DEL a b} {a b}
        {SET a v EX 10} a   {LCS a b LEN} {a b}   {COPY a b DB 1} {a b}   {OBJECT ENCODING a} a   {MEMORY USAGE a} a
    } {
        test "COMMAND GETKEYS $command" {
            assert_equal $keys [r COMMAND GETKEYS {*}$command]
        }
    }

    test "COMMAND GETKEYSANDFLAGS says what is done with each key" {
        assert_equal {{a {OW update}}} [r COMMAND GETKEYSANDFLAGS SET a b]
        assert_equal {{a {RO access}}} [r COMMAND GETKEYSANDFLAGS GET a]
    }

    test "COMMAND GETKEYS refuses commands without keys, unknown ones and wrong numbers of arguments" {
        assert_error "ERR The command has no key arguments" {r COMMAND GETKEYS PING}
        assert_error "ERR Invalid command specified" {r COMMAND GETKEYS NOSUCH a}
        assert_error "ERR Invalid number of arguments specified for command" {r COMMAND GETKEYS GET}
        assert_error "ERR unknown subcommand 'NOPE'. Try COMMAND HELP." {r COMMAND NOPE}
    }

    # ---- MEMORY -----------------------------------------------------------------------------------------------

    test "MEMORY USAGE grows with the value" {
        r SET small x
        r SET large [string repeat x 10000]
        assert_between 20 200 [r MEMORY USAGE small]
        assert_between 10000 14000 [r MEMORY USAGE large]
        assert_equal (nil) [r MEMORY USAGE nothing]
        assert_between 20 200 [r MEMORY USAGE small SAMPLES 0]
    }

    test "MEMORY USAGE refuses bad options" {
        r SET key x
        assert_error "ERR syntax error" {r MEMORY USAGE key NOPE 1}
        assert_error "ERR syntax error" {r MEMORY USAGE key SAMPLES}
        assert_error "ERR value is not an integer or out of range" {r MEMORY USAGE key SAMPLES x}
        assert_error "ERR syntax error" {r MEMORY USAGE key SAMPLES -1}
    }

    test "MEMORY STATS has its fields" {
        set stats [r MEMORY STATS]
        foreach field {peak.allocated total.allocated startup.allocated replication.backlog clients.slaves
            clients.normal aof.buffer overhead.total keys.count keys.bytes-per-key dataset.bytes dataset.percentage
            peak.percentage allocator.allocated fragmentation} {
            assert {$field in [dict keys $stats]}
        }
        r MSET a 1 b 2
        assert_equal 2 [dict get [r MEMORY STATS] keys.count]
    }

    test "MEMORY DOCTOR tells an empty server from one that holds data" {
        set empty [r MEMORY DOCTOR]
        assert_match "*5 MB*" $empty
        r DEBUG POPULATE 20000 key 500
        assert_not_equal $empty [r MEMORY DOCTOR]
    }

    test "MEMORY MALLOC-STATS is what the allocator says of itself" {
        set text [r MEMORY MALLOC-STATS]
        if {[string match jemalloc* [info_field mem_allocator memory]]} {
            assert_match "___ Begin jemalloc statistics ___\n*Allocated: *--- End jemalloc statistics ---\n" $text
        } else {
            assert {[string length $text] > 0}
        }
        with_clients c {
            $c HELLO 3
            assert_match "=*\r\ntxt:*" [$c raw MEMORY MALLOC-STATS]
        }
    }

    test "MEMORY PURGE works, MEMORY HELP lists" {
        assert_equal OK [r MEMORY PURGE]
        assert_match "MEMORY <subcommand>*DOCTOR*USAGE <key>*" [join [r MEMORY HELP] \n]
        assert_error "ERR unknown subcommand 'NOPE'. Try MEMORY HELP." {r MEMORY NOPE}
    }

    # ---- SLOWLOG and COMMANDLOG -------------------------------------------------------------------------------

    test "SLOWLOG keeps commands that took longer than the threshold" {
        with_config {slowlog-log-slower-than 20000} {
            r SLOWLOG RESET
            r PING
            assert_equal 0 [r SLOWLOG LEN]
            r DEBUG SLEEP 0.03
            assert_equal 1 [r SLOWLOG LEN]
            lassign [lindex [r SLOWLOG GET] 0] id time duration arguments address name
            assert_between [expr {[clock seconds] - 10}] [clock seconds] $time
            assert_between 29000 3000000 $duration
            assert_equal {DEBUG SLEEP 0.03} $arguments
            assert_match 127.0.0.1:* $address
            assert_equal "" $name
        }
    }

    test "SLOWLOG with threshold 0 keeps all, with -1 none" {
        with_config {slowlog-log-slower-than 0} {
            r SLOWLOG RESET
            r PING
            r ECHO x
            assert_equal {{ECHO x} PING} [lrange [lmap entry [r SLOWLOG GET] {lindex $entry 3}] 0 1]
            r CONFIG SET slowlog-log-slower-than -1
            r SLOWLOG RESET
            r PING
            assert_equal 0 [r SLOWLOG LEN]
        }
    }

    test "SLOWLOG GET returns as many as asked for, -1 all" {
        with_config {slowlog-log-slower-than 0} {
            r SLOWLOG RESET
            for {set i 0} {$i < 30} {incr i} {
                r PING
            }
            r CONFIG SET slowlog-log-slower-than -1
            assert_equal 10 [llength [r SLOWLOG GET]]
            assert_equal 3 [llength [r SLOWLOG GET 3]]
            assert_equal 0 [llength [r SLOWLOG GET 0]]
            assert_equal [r SLOWLOG LEN] [llength [r SLOWLOG GET -1]]
            assert_error "ERR count should be greater than or equal to -1" {r SLOWLOG GET -2}
            assert_error "ERR count should be greater than or equal to -1" {r SLOWLOG GET x}
        }
    }

    test "SLOWLOG keeps at most slowlog-max-len entries" {
        with_config {slowlog-log-slower-than 0 slowlog-max-len 5} {
            for {set i 0} {$i < 20} {incr i} {
                r PING
            }
            assert_equal 5 [r SLOWLOG LEN]
        }
    }

    test "SLOWLOG shortens long arguments and many arguments" {
        with_config {slowlog-log-slower-than 0} {
            r SLOWLOG RESET
            r ECHO [string repeat x 200]
            set command EXISTS
            for {set i 0} {$i < 40} {incr i} {
                lappend command k$i
            }
            r {*}$command
            r CONFIG SET slowlog-log-slower-than -1
            set entries [r SLOWLOG GET -1]
            assert_equal [list ECHO "[string repeat x 128]... (72 more bytes)"] [lindex $entries end-1 3]
            set arguments [lindex $entries end-2 3]
            assert_equal 32 [llength $arguments]
            assert_equal "... (10 more arguments)" [lindex $arguments end]
        }
    }

    test "SLOWLOG names the client" {
        with_config {slowlog-log-slower-than 0} {
            with_clients c {
                $c CLIENT SETNAME slow-one
                r SLOWLOG RESET
                $c ECHO x
                r CONFIG SET slowlog-log-slower-than -1
            }
            assert {"slow-one" in [lmap entry [r SLOWLOG GET -1] {lindex $entry 5}]}
        }
    }

    test "COMMANDLOG keeps large requests and large replies" {
        need_command COMMANDLOG
        with_config {commandlog-request-larger-than 5000 commandlog-reply-larger-than 5000} {
            foreach kind {large-request large-reply} {
                r COMMANDLOG RESET $kind
            }
            r SET big [string repeat x 10000]
            r GET big
            assert_equal 1 [r COMMANDLOG LEN large-request]
            assert_equal 1 [r COMMANDLOG LEN large-reply]
            assert_equal SET [lindex [r COMMANDLOG GET 10 large-request] 0 3 0]
            assert_equal {GET big} [lindex [r COMMANDLOG GET 10 large-reply] 0 3]
            assert_between 10000 10100 [lindex [r COMMANDLOG GET 10 large-request] 0 2]
            assert_equal OK [r COMMANDLOG RESET large-request]
            assert_equal 0 [r COMMANDLOG LEN large-request]
            assert_equal 1 [r COMMANDLOG LEN large-reply]
        }
    }

    test "COMMANDLOG refuses other kinds" {
        need_command COMMANDLOG
        assert_error "ERR type should be one of the following: slow, large-request, large-reply" {
            r COMMANDLOG GET 1 nope
        }
        assert_error "ERR count should be greater than or equal to -1" {r COMMANDLOG GET x slow}
    }

    # ---- LATENCY ----------------------------------------------------------------------------------------------

    test "LATENCY LATEST, HISTORY, RESET: what passed the threshold" {
        with_config {latency-monitor-threshold 20} {
            r LATENCY RESET
            assert_equal {} [r LATENCY LATEST]
            r DEBUG SLEEP 0.04
            set event [lindex [r LATENCY LATEST] 0]
            assert_equal command [lindex $event 0]
            assert_between 39 3000 [lindex $event 2]
            assert_between 39 3000 [lindex $event 3]
            assert_equal 1 [llength [r LATENCY HISTORY command]]
            assert_match "*command - high * ms, low * ms*" [r LATENCY GRAPH command]
            assert_match "*1. command x1: *SLOWLOG GET*" [r LATENCY DOCTOR]
            assert_equal 1 [r LATENCY RESET command]
            assert_equal {} [r LATENCY HISTORY command]
        }
    }

    test "LATENCY without a threshold watches nothing" {
        r LATENCY RESET
        assert_match "*CONFIG SET latency-monitor-threshold*" [r LATENCY DOCTOR]
        assert_equal {} [r LATENCY HISTORY nosuch]
        assert_equal 0 [r LATENCY RESET nosuch]
        assert_error "ERR No samples available for event 'nosuch'" {r LATENCY GRAPH nosuch}
    }

    test "LATENCY HISTOGRAM counts calls of a command" {
        r CONFIG RESETSTAT
        for {set i 0} {$i < 5} {incr i} {
            r SET key value
        }
        set histogram [dict get [r LATENCY HISTOGRAM set] set]
        assert_equal 5 [dict get $histogram calls]
        assert_equal 5 [lindex [dict get $histogram histogram_usec] end]
        assert_equal {} [r LATENCY HISTOGRAM nosuch]
    }

    test "LATENCY HELP lists the subcommands" {
        assert_match "LATENCY <subcommand>*DOCTOR*GRAPH <event>*HISTORY <event>*LATEST*RESET*" [join [r LATENCY HELP] \n]
    }

    # ---- DEBUG ------------------------------------------------------------------------------------------------

    test "DEBUG SLEEP holds the server for so long" {
        assert_between 95 60000 [elapsed_ms {assert_equal OK [r DEBUG SLEEP 0.1]}]
    }

    test "DEBUG OBJECT describes a value" {
        r SET key 123
        assert_match "Value at:* refcount:* encoding:int serializedlength:* lru:* lru_seconds_idle:*" [r DEBUG OBJECT key]
        assert_error "ERR no such key" {r DEBUG OBJECT nothing}
    }

    test "DEBUG POPULATE makes keys" {
        r DEBUG POPULATE 10
        assert_equal 10 [r DBSIZE]
        assert_equal value:3 [r GET key:3]
        r FLUSHALL
        r DEBUG POPULATE 5 other 100
        assert_equal 100 [r STRLEN other:4]
        assert_match "value:4*" [r GET other:4]
    }

    test "DEBUG refuses what it does not know" {
        assert_error "ERR unknown subcommand or wrong number of arguments for 'NOPE'. Try DEBUG HELP." {r DEBUG NOPE}
    }

    test "DEBUG LOG writes to the log" {
        r DEBUG LOG "a line for the test"
        assert_match "*DEBUG LOG: a line for the test*" [srv log]
    }

    test "DEBUG ERROR answers the error it is given" {
        assert_error "MYERR some text" {r DEBUG ERROR "MYERR some text"}
    }

    test "LOLWUT names the version" {
        need_command LOLWUT
        assert_match "*Valkey ver. [info_field valkey_version server]*" [r LOLWUT]
    }
}

start_server {overrides {enable-debug-command no}} {
    test "DEBUG is refused where it is not enabled" {
        assert_error "ERR DEBUG command not allowed. If the enable-debug-command option is set to \"local\", you can run it from a local connection, otherwise you need to set this option in the configuration file, and then restart the server." {
            r DEBUG SLEEP 0
        }
    }
}

# ---- MEMORY STATS about databases: a server of their own, since a database stays in use ------------------------

proc databases_shown {} {
    set shown {}
    foreach field [dict keys [r MEMORY STATS]] {
        if {[string match db.\[0-9\]* $field]} { lappend shown [string range $field 3 end] }
    }
    return $shown
}

start_server {} {

    test "MEMORY STATS of an empty server shows database 0, without tables" {
        set stats [r MEMORY STATS]
        assert_equal 0 [databases_shown]
        assert_equal {overhead.hashtable.main overhead.hashtable.expires} [dict keys [dict get $stats db.0]]
        assert_equal 0 [dict get $stats overhead.db.hashtable.lut]
        assert_equal 0 [dict get $stats overhead.db.hashtable.rehashing]
        assert_equal 0 [dict get $stats db.dict.rehashing.count]
        assert_equal 0 [dict get $stats keys.count]
        assert_equal 0 [dict get $stats keys.bytes-per-key]
        assert {[dict get $stats startup.allocated] <= [dict get $stats overhead.total]}
    }

    test "MEMORY STATS counts what scripts, functions and the buffer of the append-only file keep" {
        set before [r MEMORY STATS]
        r SCRIPT LOAD "return '[string repeat x 10000]'"
        r FUNCTION LOAD "#!lua name=kept\n-- [string repeat x 10000]\nserver.register_function('f', function() end)"
        set after [r MEMORY STATS]
        foreach {field info} {lua.caches used_memory_scripts_eval functions.caches used_memory_functions} {
            assert {[dict get $after $field] - [dict get $before $field] > 10000}
            assert_equal [info_field $info memory] [dict get $after $field]
        }
        assert_equal [info_field mem_aof_buffer memory] [dict get $after aof.buffer]
        assert {[dict get $after overhead.total] - [dict get $before overhead.total] > 20000}
        r SCRIPT FLUSH
        r FUNCTION FLUSH
    }

    test "MEMORY STATS has all its fields, in their order" {
        assert_equal [list {*}{peak.allocated total.allocated startup.allocated replication.backlog replicas.repl.buffer
            clients.slaves clients.normal cluster.links cluster.slot_import cluster.slot_export aof.buffer lua.caches
            functions.caches db.0 overhead.db.hashtable.lut overhead.db.hashtable.rehashing overhead.total
            db.dict.rehashing.count keys.count keys.bytes-per-key dataset.bytes dataset.percentage peak.percentage
            allocator.allocated allocator.active allocator.resident allocator.muzzy allocator-fragmentation.ratio
            allocator-fragmentation.bytes allocator-rss.ratio allocator-rss.bytes rss-overhead.ratio rss-overhead.bytes
            fragmentation fragmentation.bytes}] [dict keys [r MEMORY STATS]]
    }

    test "MEMORY STATS shows a database from the moment a client names it" {
        r SELECT 3
        assert_equal {0 3} [databases_shown]
        r SELECT 0
        assert_equal 0 [r MOVE nothing 5]
        r SET a 1
        r COPY a b DB 4
        assert_equal {0 3 4 5} [databases_shown]
        assert_error "ERR DB index is out of range" {r SELECT 99}
        r SWAPDB 0 7
        assert_equal {0 3 4 5 7} [databases_shown]
    }

    test "MEMORY STATS counts the tables of each database" {
        r FLUSHALL SYNC
        r SELECT 7
        for {set i 0} {$i < 2000} {incr i} { r SET key:$i $i }
        for {set i 0} {$i < 500} {incr i} { r EXPIRE key:$i 1000 }
        set stats [r MEMORY STATS]
        set main [dict get $stats db.7 overhead.hashtable.main]
        set expires [dict get $stats db.7 overhead.hashtable.expires]
        assert_between [expr {2000 * 8}] [expr {2000 * 60}] $main
        assert_between [expr {500 * 8}] $main $expires
        assert {[dict get $stats db.3 overhead.hashtable.main] <= 1000}
        set lut [dict get $stats overhead.db.hashtable.lut]
        assert_between [expr {($main + $expires) / 2}] [expr {$main + $expires + 5 * 2 * 300}] $lut
        assert {[dict get $stats startup.allocated] + $lut <= [dict get $stats overhead.total]}
        assert_equal 2000 [dict get $stats keys.count]
        assert_equal [dict get $stats dataset.bytes] \
            [expr {[dict get $stats total.allocated] - [dict get $stats overhead.total]}]
        assert_equal [dict get $stats keys.bytes-per-key] [expr {[dict get $stats dataset.bytes] / 2000}]
        r FLUSHALL SYNC
        assert_equal 0 [dict get [r MEMORY STATS] keys.count]
        assert_equal {0 3 4 5 7} [databases_shown]
        r SELECT 0
    }
}

# ---- MODULE ----

start_server {} {
    test "MODULE LIST and HELLO show what runs scripts; modules are not loaded" {
        assert_equal {{name lua ver 1 path lua args {}}} [r MODULE LIST]
        assert_equal {{name lua ver 1 path lua args {}}} [dict get [r HELLO] modules]
        assert_match "*UNLOAD name*" [r MODULE HELP]
        assert_error "ERR wrong number of arguments for 'module' command" {r MODULE}
        assert_error "ERR wrong number of arguments for 'module|load' command" {r MODULE LOAD}
        assert_error "ERR unknown subcommand 'foo'. Try MODULE HELP." {r MODULE foo}
        foreach words {{LOAD /x.so} {LOADEX /x.so CONFIG a b} {UNLOAD lua}} {
            assert_error "ERR MODULE command not allowed. If the enable-module-command option is set to \"local\", you can\
                run it from a local connection, otherwise you need to set this option in the configuration file, and then\
                restart the server." {r MODULE {*}$words}
        }
        r MULTI
        assert_error "ERR MODULE command not allowed.*" {r MODULE LOAD /x.so}
        assert_error "EXECABORT*" {r EXEC}
    }
}

start_server {overrides {enable-module-command local}} {
    test "MODULE LOAD and UNLOAD, where they are allowed" {
        foreach words {{LOAD /x.so} {LOADEX /x.so ARGS a}} {
            assert_error "ERR Error loading the extension. Please check the server logs." {r MODULE {*}$words}
        }
        assert_match "*Module /x.so failed to load: this server does not support loadable modules*" [srv log]
        assert_error "ERR Error unloading module: no such module with that name" {r MODULE UNLOAD foo}
        assert_error "ERR Error unloading module: lua is built into this server" {r MODULE UNLOAD LUA}
    }
}
