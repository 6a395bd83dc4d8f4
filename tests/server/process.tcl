# process.tcl -- the server as a process: start, listening, output, exit.
#
# SPDX-License-Identifier: BSD-3-Clause

# Starts a server with ARGUMENTS in DIR and waits until it is ready; runs BODY with `c` connected to PORT; stops it.
proc with_process {dir port arguments body} {
    set server [dict create dir $dir port $port expect_exit 0 \
        pid [launch $dir [list --port $port --save "" --dir $dir {*}$arguments]]]
    await_ready $server
    upvar 1 pid pid
    set pid [dict get $server pid]
    set code [catch {uplevel 1 $body} message options]
    set complaints [stop_server $server]
    if {$code} {
        return -options $options $message
    }
    assert_equal {} $complaints
}

start_server {} {
    test "The log of a start names version, process, mode and port" {
        set log [srv log]
        assert_match "* Valkey is starting*" $log
        assert_match "*Valkey version=*, bits=64, commit=*, modified=*, pid=[srv pid], just started*" $log
        assert_match "*Configuration loaded*" $log
        assert_match "*Running mode=standalone, port=[srv port].*" $log
        assert_match "*Server initialized*" $log
        assert_match "*Ready to accept connections tcp*" $log
    }

    test "A line of the log has process, role, time and level" {
        assert_regexp {(?n)^\d+:M \d\d [A-Z][a-z][a-z] \d{4} \d\d:\d\d:\d\d\.\d{3} \* Ready to accept connections tcp$} [srv log]
    }

    test "A port that is in use ends a second server" {
        lassign [run_to_end [list --port [srv port] --bind 127.0.0.1 --save ""]] code output
        assert_equal 1 $code
        assert_match "*Could not create server TCP listening socket 127.0.0.1:[srv port]: bind: Address already in use*" $output
        assert_match "*Failed listening on port [srv port] (tcp), aborting.*" $output
        assert_equal PONG [r PING]
    }
}

test "--version and -v print one line and end, whatever follows" {
    foreach arguments {--version -v {--version --port 1}} {
        lassign [run_to_end $arguments] code output
        assert_equal 0 $code
        assert_regexp {^Valkey server v=9\.[0-9.]+ sha=[0-9a-f]+:[01] malloc=\S+ bits=64 build=[0-9a-f]+\n$} $output
    }
}

test "--help and -h print the usage, whatever follows" {
    foreach arguments {--help -h {--help --port 1}} {
        lassign [run_to_end $arguments] code output
        assert_equal 0 $code
        assert_match "Usage: *valkey-server *--version*--help*" $output
        assert_match "*--test-memory*" $output
        assert_match "*--check-system*" $output
    }
}

test "--check-system tells of each thing how it is" {
    lassign [run_to_end --check-system] code output
    set names {}
    set bad 0
    foreach line [split [string trim $output] \n] {
        if {[regexp {^\[([A-Za-z-]+)\]\.\.\.(OK|skipped|WARNING:)$} $line all name state]} {
            lappend names $name
            set bad [expr {$bad || $state eq "WARNING:"}]
        }
    }
    assert_equal {slow-clocksource xen-clocksource overcommit THP} $names
    assert_equal $bad $code
    set overcommit [catch {string trim [read_file /proc/sys/vm/overcommit_memory]} mode]
    if {!$overcommit} {
        assert_equal [expr {$mode eq "0"}] [string match "*\\\[overcommit\\\]...WARNING:\n*" $output]
    }
}

test "--test-memory" {
    lassign [run_to_end {--test-memory 2}] code output
    assert_equal 0 $code
    # No progress without a terminal; the wording is our own.
    assert_equal 1 [llength [split [string trim $output] \n]]
    assert_no_match "*\r*" $output
    foreach arguments {{} 0 abc -5 {1 2}} {
        lassign [run_to_end [list --test-memory {*}$arguments]] code output
        assert_equal "$arguments: 1" "$arguments: $code"
        assert_match "*megabytes*--test-memory*" $output
    }
}

test "SIGTERM ends the server in order" {
    start_server {} {
        r SET key value
        exec kill -TERM [srv pid]
        assert_equal 0 [wait_exit [srv dir] 10]
        assert_match "*Received SIGTERM scheduling shutdown...*User requested shutdown...*Valkey is now ready to exit, bye bye...*" [srv log]
    }
}

test "SIGINT ends the server in order" {
    start_server {} {
        # The shell that waits for the server ignores no signal, but starts it in the background, where SIGINT is
        # ignored until the server sets a handler.
        exec kill -INT [srv pid]
        assert_equal 0 [wait_exit [srv dir] 10]
        assert_match "*Received SIGINT scheduling shutdown...*" [srv log]
    }
}

test "SHUTDOWN NOSAVE ends the server, closes the connection without a reply, and the log says who asked" {
    foreach {hidden name user} {yes *redacted* *redacted* no somebody default} {
        start_server [list overrides [list hide-user-data-from-log $hidden]] {
            with_clients c {
                $c CLIENT SETNAME somebody
                set line [$c CLIENT INFO]
                $c send SHUTDOWN NOSAVE
                assert_equal "" [$c raw_until_eof]
            }
            assert_equal 0 [wait_exit [srv dir] 10]
            set who [join [lmap field {id addr laddr fd} {string cat $field=[client_field $line $field]}]]
            append who " name=$name user=$user lib-name= lib-ver="
            assert {[string first "User requested shutdown... (SHUTDOWN was sent by client $who)" [srv log]] > 0}
        }
    }
}

test "SHUTDOWN refuses options that contradict each other" {
    start_server {} {
        assert_error "ERR syntax error" {r SHUTDOWN SAVE NOSAVE}
        assert_error "ERR syntax error" {r SHUTDOWN NOPE}
        assert_error "ERR No shutdown in progress." {r SHUTDOWN ABORT}
        assert_equal PONG [r PING]
    }
}

test "The server ends in order while many clients are connected and asking" {
    start_server {} {
        r SET big [string repeat x 300000]
        set clients {}
        for {set i 0} {$i < 20} {incr i} {
            lappend clients [connect]
            [lindex $clients end] pipeline [lrepeat 50 {GET big}]
        }
        exec kill -TERM [srv pid]
        assert_equal 0 [wait_exit [srv dir] 15]
        foreach c $clients {
            $c destroy
        }
    }
}

# Starts a server in DIR that becomes a daemon; runs BODY with `c` connected to it and `pid` its process; ends it.
proc with_daemon {dir body} {
    set port [free_port]
    lassign [run_to_end [list --port $port --bind 127.0.0.1 --save "" --dir $dir --daemonize yes --pidfile $dir/server.pid \
        --logfile $dir/server.log] $dir] code output
    assert_equal 0 $code
    wait_for_condition 10 {[file exists $dir/server.log] && [string match "*Ready to accept*" [read_file $dir/server.log]]}
    upvar 1 c c pid pid
    set c [RespClient new $port]
    set pid [field_of [$c INFO server] process_id]
    set code [catch {uplevel 1 $body} message options]
    catch {$c SHUTDOWN NOSAVE}
    $c destroy
    wait_for_condition 10 {[catch {exec kill -0 $pid}]}
    return -options $options $message
}

test "daemonize: the server goes to the background and writes its pid file" {
    set dir [make_server_dir]
    with_daemon $dir {
        assert_equal $pid [string trim [read_file $dir/server.pid]]
    }
    assert {![file exists $dir/server.pid]}
    assert_match "*Removing the pid file.*" [read_file $dir/server.log]
}

# Returns the id of the thread NAME of process PID, or "". Threads set their own names, so there may be none for a
# moment.
proc thread_id {pid name} {
    if {$name eq "main"} {
        return $pid
    }
    foreach thread [glob -nocomplain -directory /proc/$pid/task *] {
        if {![catch {read_file $thread/comm} found] && [string trim $found] eq $name} {
            return [file tail $thread]
        }
    }
    return ""
}

# Returns the resident kilobytes of the process. Not from INFO, as a command would let the allocator return memory.
proc resident_kb {pid} {
    regexp {VmRSS:\s+(\d+) kB} [read_file /proc/$pid/status] -> kb
    return $kb
}

test "daemonize: an idle server gives freed memory back" {
    with_daemon [make_server_dir] {
        if {![string match jemalloc* [field_of [$c INFO memory] mem_allocator]]} {
            skip "built without jemalloc"
        }
        wait_for_condition 10 {[thread_id $pid jemalloc_bg_thd] ne ""}
        for {set i 0} {$i < 5000} {incr i} {
            $c SET key:$i [string repeat x 10000]
        }
        set full [resident_kb $pid]
        $c FLUSHALL ASYNC
        wait_for_condition 60 {[resident_kb $pid] < $full / 2}
        $c CONFIG SET jemalloc-bg-thread no
        wait_for_condition 10 {[thread_id $pid jemalloc_bg_thd] eq ""}
    }
}

test "A start warns of no option without effect" {
    foreach arguments {
        {--save ""} {} {--save 3600 1} {--save 60 1 --appendonly yes} {--save "" --replicaof 192.0.2.1 6379}
        {--save "" --cluster-enabled yes --cluster-slot-stats-enabled yes} {--save "" --tls-cluster yes}
    } {
        set dir [make_server_dir]
        set pid [launch $dir [list --port [free_port] --bind 127.0.0.1 --dir $dir {*}$arguments]]
        await_ready [dict create dir $dir pid $pid]
        set seen [expr {![catch {wait_for_condition 10 {[string match "*Ready to accept connections tcp\n*" [server_log $dir]]}}]}]
        exec kill -TERM $pid
        assert_equal 0 [wait_exit $dir 10]
        assert $seen
        assert_no_match "*without effect*" [server_log $dir]
    }
}

# Sends SIGNAL to one thread, as a fault of that thread would.
proc signal_thread {pid thread signal} {
    exec python3 -c {
import ctypes, sys
sys.exit(ctypes.CDLL(None).tgkill(*map(int, sys.argv[1:])))
} $pid $thread $signal
}

test "A fault on any thread under load ends the server with one whole report that names the thread" {
    set benchmark [file join [file dirname $srv::binary] valkey-benchmark]
    foreach {name signal role} {
        io_thd_1 11 move  io_thd_2 7 auto  bio_lazy_free 8 move  bio_aof 4 auto  main 11 auto  main 6 move
    } {
        set dir [make_server_dir]
        set port [free_port]
        set pid [launch $dir [list --port $port --bind 127.0.0.1 --save "" --io-threads 3 --main-role $role --dir $dir \
            --io-threads-always-active yes]]
        set load {}
        try {
            await_ready [dict create dir $dir pid $pid]
            wait_for_condition 10 {[thread_id $pid $name] ne ""}
            foreach depth {1 16} {
                lappend load [exec $benchmark -p $port -t set,get -n 100000000 -c 20 -P $depth -q >& /dev/null &]
            }
            after 200
            signal_thread $pid [thread_id $pid $name] $signal
            set code [wait_exit $dir 20]
        } finally {
            foreach process [list $pid {*}$load] {
                catch {exec kill -KILL $process}
            }
        }
        assert_equal [expr {128 + $signal}] $code
        set log [server_log $dir]
        assert_match "*crashed by signal: $signal, si_code: *" $log
        assert_match "*# In thread: $name (id *------ STACK TRACE ------*------ OTHER THREADS ------*------ INFO OUTPUT\
            ------*------ CLIENT LIST OUTPUT ------*------ CURRENT CLIENT INFO ------*BUG REPORT END*" $log
        assert_equal 1 [regexp -all {BUG REPORT START} $log]
        assert_no_match "*crashed itself*" $log
        assert_no_match "*ThreadSanitizer*" $log
    }
}

test "use-exit-on-panic ends a panic with the exit code 1; debug-context is in the report" {
    set dir [make_server_dir]
    set port [free_port]
    set pid [launch $dir [list --port $port --bind 127.0.0.1 --save "" --dir $dir --enable-debug-command yes]]
    await_ready [dict create dir $dir pid $pid]
    set c [RespClient new $port]
    assert_equal OK [$c CONFIG SET use-exit-on-panic yes debug-context "round 7 of the storm"]
    assert_error "connection closed by the server" {$c DEBUG PANIC}
    $c destroy
    assert_equal 1 [wait_exit $dir 20]
    assert_match "*------ INFO OUTPUT ------\ndebug-context: round 7 of the storm\n# Server*BUG REPORT END*" [server_log $dir]
}

test "logfile: the log goes to the file, which may be moved away" {
    set dir [make_server_dir]
    set port [free_port]
    set pid [launch $dir [list --port $port --bind 127.0.0.1 --save "" --dir $dir --logfile $dir/server.log]]
    wait_for_condition 10 {[file exists $dir/server.log] && [string match "*Ready to accept*" [read_file $dir/server.log]]}
    assert_no_match "*Ready to accept*" [server_log $dir]
    file rename $dir/server.log $dir/old.log
    exec kill -TERM $pid
    assert_equal 0 [wait_exit $dir 10]
    assert_match "*bye bye*" [read_file $dir/server.log]
}

test "A log file that cannot be opened ends the server" {
    lassign [run_to_end {--logfile /nonexistent/server.log --port 0}] code output
    assert_equal 1 $code
    assert_match "*Can't open the log file: No such file or directory*" $output
}

test "A directory that is not there ends the server" {
    lassign [run_to_end {--dir /nonexistent --port 0}] code output
    assert_equal 1 $code
    assert_match "*FATAL CONFIG FILE ERROR*>>> 'dir \"/nonexistent\"'\nNo such file or directory\n*" $output
}

test "A unix socket is made with its permissions, serves, and goes with the server" {
    set dir [make_server_dir]
    set port [free_port]
    with_process $dir $port [list --bind 127.0.0.1 --unixsocket $dir/s --unixsocketperm 750] {
        assert_match *750 [file attributes $dir/s -permissions]
        assert_equal socket [file type $dir/s]
        set reply [exec python3 -c {
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(b"PING\r\nCLIENT INFO\r\n")
print(s.makefile("rb").readline())
} $dir/s]
        assert_match "*+PONG*" $reply
        assert_match "*Ready to accept connections unix*" [server_log $dir]
    }
    assert {![file exists $dir/s]}
}

test "Several addresses are listened on" {
    set dir [make_server_dir]
    set port [free_port]
    with_process $dir $port {--bind 127.0.0.1 127.0.0.2} {
        foreach address {127.0.0.1 127.0.0.2} {
            set c [RespClient new $address $port]
            assert_equal PONG [$c PING]
            $c destroy
        }
    }
}

test "An address that is not there is left out where it begins with a minus" {
    set dir [make_server_dir]
    set port [free_port]
    with_process $dir $port {--bind 127.0.0.1 -192.0.2.55} {
        set c [RespClient new $port]
        assert_equal PONG [$c PING]
        $c destroy
    }
}

test "An address that is not there ends the server" {
    lassign [run_to_end [list --bind 192.0.2.55 --port [free_port]]] code output
    assert_equal 1 $code
    assert_match "*Could not create server TCP listening socket 192.0.2.55:*: bind: Cannot assign requested address*" $output
}

test "An address that cannot be had at run time is refused, and the old one goes on" {
    set taken [socket -server none -myaddr 127.0.0.1 0]
    set port [lindex [fconfigure $taken -sockname] 2]
    start_server {} {
        assert_error "ERR CONFIG SET failed (possibly related to argument 'port') - Unable to listen on this port. Check server logs." {
            r CONFIG SET port $port
        }
        assert_error "ERR CONFIG SET failed (possibly related to argument 'bind') - Failed to bind to specified addresses." {
            r CONFIG SET bind 192.0.2.55
        }
        set log [srv log]
        assert_match "*listening socket 127.0.0.1:$port: bind: Address already in use*" $log
        assert_no_match "*aborting*" $log
        with_clients c {
            assert_equal PONG [$c PING]
        }
    }
    close $taken
}

test "A unix socket that cannot be made ends the server" {
    lassign [run_to_end [list --port 0 --unixsocket /nonexistent/s]] code output
    assert_equal 1 $code
    assert_match "*# Failed opening Unix socket: bind: No such file or directory\n*" $output
}

test "A pid file that cannot be written is a warning" {
    set dir [make_server_dir]
    set port [free_port]
    with_process $dir $port {--bind 127.0.0.1 --pidfile /nonexistent/server.pid} {
        assert_match "*# The pid file /nonexistent/server.pid cannot be written: No such file or directory.*" [server_log $dir]
    }
    assert_no_match "*Removing the pid file*" [server_log $dir]
}

# Runs BODY with the server under `ulimit -n LIMIT`. Skipped if the process may raise its limits.
proc with_descriptors {limit body} {
    set dir [make_server_dir]
    write_file $dir/server "#!/bin/sh\nulimit -n $limit && exec $srv::binary \"\$@\"\n"
    file attributes $dir/server -permissions 0755
    if {![catch {exec sh -c "ulimit -n $limit && ulimit -n [expr {$limit + 1}] 2>&1"}]} {
        skip "this process may raise its limit of descriptors"
    }
    set binary $srv::binary
    set srv::binary $dir/server
    set code [catch {uplevel 1 $body} message options]
    set srv::binary $binary
    return -options $options $message
}

test "A low limit of descriptors leaves fewer clients: 32 are kept" {
    foreach {limit clients} {33 1 300 268 1024 992} {
        with_descriptors $limit {
            start_server {} {
                assert_equal $clients [config_value maxclients]
                assert_error "ERR CONFIG SET failed (possibly related to argument 'maxclients') - The operating system is not able to handle the specified number of clients, try with $clients" {
                    r CONFIG SET maxclients [expr {$clients + 1}]
                }
                assert_equal $clients [config_value maxclients]
                assert_equal OK [r CONFIG SET maxclients $clients]
            }
        }
    }
    with_descriptors 32 {
        lassign [run_to_end {--port 0}] code output
        assert_equal 1 $code
        assert_match "*ulimit -n*" $output
    }
}

test "More than nine threads ask for descriptors of their own" {
    with_descriptors 300 {
        start_server {args {--io-threads 20}} {
            assert_equal [expr {300 - 32 - 2 * 11}] [config_value maxclients]
            assert_error "ERR CONFIG SET failed (possibly related to argument 'io-threads') - Not enough file descriptors*" {
                r CONFIG SET io-threads 21
            }
            r CONFIG SET maxclients 10
            assert_equal OK [r CONFIG SET io-threads 120]
            wait_for_condition 10 {[llength [glob /proc/[srv pid]/task/*]] >= 120}
            assert_equal PONG [r PING]
        }
    }
}

test "A server that is asked to listen nowhere ends" {
    lassign [run_to_end {--port 0}] code output
    assert_equal 1 $code
    assert_match "*Configured to not listen anywhere, exiting.*" $output
}

test "Protected mode turns strangers away, in words" {
    set addresses [lsearch -all -inline -not [split [string trim [exec hostname -I]] " "] *:*]
    if {[llength $addresses] == 0} {
        skip "this machine has no address but loopback"
    }
    set dir [make_server_dir]
    set port [free_port]
    with_process $dir $port {--bind *} {
        set c [RespClient new [lindex $addresses 0] $port]
        assert_match "-DENIED Running in protected mode because protected mode is enabled and no password is set for the default user.*" [$c raw_until_eof]
        $c destroy
    }
}

# Listens at the Unix socket NAME of the abstract namespace, and writes each message to FILE, a line each, until one is
# LAST.
proc listen_as_supervisor {name file last} {
    exec python3 -c {
import socket, sys
name, path, last = sys.argv[1:]
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("\0" + name)
s.settimeout(60)
with open(path, "w", buffering=1) as f:
    line = ""
    while line != last + "\n":
        line = s.recv(4096).decode()
        f.write(line)
} $name $file $last 2>@stderr &
    wait_for_condition 10 {[file exists $file]}
}

proc told {file message} {
    expr {$message in [split [read_file $file] \n]}
}

start_server {overrides {repl-diskless-sync-delay 0}} {
    test "systemd is told of loading, synchronizations, the last snapshot and the end" {
        set dir [make_server_dir]
        set told $dir/told
        set name "supervisor-[pid]-[free_port]"
        set port [free_port]
        set synced "STATUS=PRIMARY <-> REPLICA sync: Finished with success. Ready to accept connections in read-write mode."
        set resynced "STATUS=PRIMARY <-> REPLICA sync: Partial Resynchronization accepted. Ready to accept connections in read-write mode."
        listen_as_supervisor $name $told STOPPING=1
        set ::env(NOTIFY_SOCKET) "@$name"
        set code [catch {
            with_process $dir $port [list --supervised systemd --replicaof "127.0.0.1 [srv port]"] {
                if {[string match "*built without libsystemd*" [server_log $dir]]} {
                    skip "built without libsystemd"
                }
                wait_for_condition 10 {[told $told $synced]}
                r CLIENT KILL TYPE replica
                wait_for_condition 10 {[told $told $resynced]}
                set c [RespClient new 127.0.0.1 $port]
                file delete $dir/dump.rdb
                file mkdir $dir/dump.rdb/no-file
                assert_error "ERR Errors trying to SHUTDOWN. Check logs." {$c SHUTDOWN SAVE}
                file delete -force $dir/dump.rdb
                $c CONFIG SET save "3600 1"
                $c REPLICAOF NO ONE
                $c SET k v
                $c destroy
            }
        } message options]
        unset ::env(NOTIFY_SOCKET)
        if {$code} {
            return -options $options $message
        }
        wait_for_condition 10 {[told $told STOPPING=1]}
        assert_equal [list \
            "STATUS=Valkey is loading..." \
            "STATUS=Ready to accept connections in read-only mode. Waiting for MASTER <-> REPLICA sync" \
            READY=1 \
            $synced \
            $resynced \
            "STATUS=Saving the final RDB snapshot" \
            "STATUS=Error trying to save the DB, can't exit." \
            "STATUS=Saving the final RDB snapshot" \
            STOPPING=1] [split [string trim [read_file $told]] \n]
    }
}

test "systemd is told that a primary loads and is ready" {
    set dir [make_server_dir]
    set told $dir/told
    set name "supervisor-[pid]-[free_port]"
    listen_as_supervisor $name $told STOPPING=1
    set ::env(NOTIFY_SOCKET) "@$name"
    set code [catch {
        with_process $dir [free_port] {--supervised systemd} {
            if {[string match "*built without libsystemd*" [server_log $dir]]} {
                skip "built without libsystemd"
            }
        }
    } message options]
    unset ::env(NOTIFY_SOCKET)
    if {$code} {
        return -options $options $message
    }
    wait_for_condition 10 {[told $told STOPPING=1]}
    assert_equal [list "STATUS=Valkey is loading..." "STATUS=Ready to accept connections" READY=1 STOPPING=1] \
        [split [string trim [read_file $told]] \n]
}
