# server.tcl -- starts a real server for a group of tests, and checks it when it stops.
#
# start_server makes a directory under tests/tmp, writes a configuration file, starts the binary, waits for its
# ready line, runs a body of tests, and stops it with SIGTERM. A server that does not exit with 0, or whose log contains
# a crash report or a sanitizer's report, fails the file even if each test has passed.
#
# Not here    the processes of test files (runner.tcl).
# Invariants  1. A server is in the process group of its test file, so ending the group ends it.
#             2. `servers` is a stack: the innermost start_server is its last element, and the one that `r` uses.
#             3. A setting pinned by ./runtest --pin has that value, whatever a test requests.
#
# SPDX-License-Identifier: BSD-3-Clause

namespace eval srv {
    variable binary ""
    variable extra {}
    variable base_port 22000
    variable port_span 100
    variable next_port 0
    variable root ""
    variable count 0
    variable stack {}
    variable slow 1
    variable pinned {}
    variable clients
    array set clients {}
    variable tls_certificates ""
    variable tls_ports
    array set tls_ports {}
}

# Returns an unused port from this file's range.
proc free_port {} {
    for {set i 0} {$i < $srv::port_span} {incr i} {
        set port [expr {$srv::base_port + $srv::next_port}]
        set srv::next_port [expr {($srv::next_port + 1) % $srv::port_span}]
        if {![catch {socket -server none -myaddr 127.0.0.1 $port} probe]} {
            close $probe
            return $port
        }
    }
    error "no free port in $srv::base_port..[expr {$srv::base_port + $srv::port_span - 1}]"
}

proc read_file {path} {
    set file [open $path rb]
    set content [read $file]
    close $file
    return $content
}

proc write_file {path content} {
    set file [open $path wb]
    puts -nonewline $file $content
    close $file
}

# Creates a new empty directory for a server.
proc make_server_dir {} {
    incr srv::count
    set dir [file join $srv::root server-$srv::count]
    file mkdir $dir
    return $dir
}

# Starts the binary with ARGUMENTS in DIR. Its output is written to DIR/stdout and DIR/stderr, its exit code to
# DIR/exit. Returns the process id. The shell's messages about processes that a signal has ended are dropped, as tests
# check the exit code.
proc launch {dir arguments} {
    file delete -force $dir/pid $dir/exit
    set shell [exec sh -c {cd "$0" && { "$@" >>stdout 2>>stderr & echo $! >pid.new; mv pid.new pid; exec 2>/dev/null; \
        wait $!; echo $? >exit; }} \
        $dir $srv::binary {*}$arguments >@stdout 2>@stderr &]
    set limit [patience::start 10 $shell]
    while {![file exists $dir/pid]} {
        if {[patience::over $limit]} {
            error "the server was not started"
        }
        after 2
    }
    return [string trim [read_file $dir/pid]]
}

proc server_log {dir} {
    set text ""
    foreach name {stdout stderr} {
        if {[file exists $dir/$name]} {
            append text [read_file $dir/$name]
        }
    }
    return $text
}

# Waits until the process that launch started in DIR has ended; returns its exit code, or "running".
proc wait_exit {dir seconds} {
    set limit [patience::start [expr {$seconds * $srv::slow}] [string trim [read_file $dir/pid]]]
    while {![file exists $dir/exit] || [string trim [read_file $dir/exit]] eq ""} {
        if {[patience::over $limit]} {
            return running
        }
        after 5
    }
    return [string trim [read_file $dir/exit]]
}

# Runs the server with ARGUMENTS until it exits (as it must refuse or print something). Returns {EXIT-CODE OUTPUT}.
proc run_to_end {arguments {dir ""}} {
    if {$dir eq ""} {
        set dir [make_server_dir]
    }
    set pid [launch $dir $arguments]
    set code [wait_exit $dir 10]
    if {$code eq "running"} {
        exec kill -KILL $pid
        wait_exit $dir 5
    }
    return [list $code [server_log $dir]]
}

# Returns the configuration of a test server: the settings of all, overridden by SETTINGS, a list of names and values.
proc config_text {settings} {
    set lines "# written by tests/support/server.tcl\n"
    foreach {name value} $settings {
        append lines [format "%s %s\n" $name $value]
    }
    return $lines
}

proc start_server {options body} {
    array set given {overrides {} tags {} each {} args {}}
    array set given $options
    set dir [make_server_dir]
    set port [free_port]
    set settings [list bind 127.0.0.1 port $port dir $dir save {""} enable-debug-command yes \
        {*}[persist_mode::settings $given(tags)]]
    if {[over_tls] && ![dict exists $given(overrides) tls-port]} {
        lappend settings {*}[tls_settings $port]
    }
    foreach {name value} $given(overrides) {
        lappend settings $name $value
    }
    write_file $dir/valkey.conf [config_text $settings]
    set pid [launch $dir [list $dir/valkey.conf {*}$srv::extra {*}$given(args)]]
    set server [dict create dir $dir port $port pid $pid conf $dir/valkey.conf expect_exit 0 \
        tags $given(tags)]
    await_ready $server
    lappend srv::stack $server
    pin_settings
    set outer_each $testing::before_each
    set testing::before_each $given(each)
    set code [catch {uplevel 1 $body} message options]
    set testing::before_each $outer_each
    forget_default_client
    set complaints {}
    if {[catch {persist_mode::before_stop} wanted]} {
        lappend complaints $wanted
        set wanted {}
    }
    set server [lindex $srv::stack end]
    set srv::stack [lrange $srv::stack 0 end-1]
    lappend complaints {*}[stop_server $server] {*}[persist_mode::after_stop $server $wanted]
    foreach complaint $complaints {
        incr testing::failed
        puts "\[fail\] server in $dir: $complaint"
        puts [server_log_tail $dir]
    }
    if {$code == 1} {
        return -options $options $message
    }
}

proc await_ready {server} {
    set dir [dict get $server dir]
    set limit [patience::start [expr {10 * $srv::slow}] [dict get $server pid]]
    while {![string match "*Ready to accept connections*" [server_log $dir]]} {
        if {[file exists $dir/exit] || [patience::over $limit]} {
            catch {exec kill -KILL [dict get $server pid]}
            error "the server did not become ready:\n[server_log_tail $dir]"
        }
        after 10
    }
}

proc server_log_tail {dir} {
    set lines [split [string trim [server_log $dir]] \n]
    return "       | [join [lrange $lines end-40 end] "\n       | "]"
}

# Stops SERVER and returns a list of complaints about its end.
proc stop_server {server} {
    set dir [dict get $server dir]
    set pid [dict get $server pid]
    set complaints {}
    if {![file exists $dir/exit]} {
        catch {exec kill -CONT $pid}
        catch {exec kill -TERM $pid}
    }
    set code [wait_exit $dir 20]
    if {$code eq "running"} {
        lappend complaints "still running 20 seconds after SIGTERM"
        catch {exec kill -ABRT $pid}
        if {[wait_exit $dir 5] eq "running"} {
            catch {exec kill -KILL $pid}
        }
    } elseif {$code ne [dict get $server expect_exit]} {
        lappend complaints "exit code $code, expected [dict get $server expect_exit]"
    }
    return [concat $complaints [log_complaints [server_log $dir]]]
}

proc log_complaints {text} {
    set complaints {}
    foreach {pattern complaint} {
        {REDIS BUG REPORT START|VALKEY BUG REPORT START|=== ASSERTION FAILED} "crash report in the log"
        {ERROR: AddressSanitizer|ERROR: LeakSanitizer} "AddressSanitizer report"
        {WARNING: ThreadSanitizer} "ThreadSanitizer report"
        {runtime error: } "UndefinedBehaviorSanitizer report"
    } {
        if {[regexp -- $pattern $text]} {
            lappend complaints $complaint
        }
    }
    return $complaints
}

# Returns a property of the innermost server: dir, port, pid, conf, log.
proc srv {field} {
    set server [lindex $srv::stack end]
    if {$field eq "log"} {
        return [server_log [dict get $server dir]]
    }
    return [dict get $server $field]
}

# Returns the processes of the running servers, for a limit that includes them.
proc server_pids {} {
    return [lmap server $srv::stack {dict get $server pid}]
}

# Expects the innermost server to exit with CODE instead of 0.
proc expect_exit {code} {
    lset srv::stack end [dict replace [lindex $srv::stack end] expect_exit $code]
}

# Stops the innermost server and starts it again with the same file, as an administrator would.
proc restart_server {} {
    forget_default_client
    set server [lindex $srv::stack end]
    set complaints [stop_server $server]
    if {[llength $complaints]} {
        error "the server did not stop well: [join $complaints {; }]"
    }
    set dir [dict get $server dir]
    file rename -force $dir/stdout $dir/stdout.[clock microseconds]
    dict set server pid [launch $dir [list $dir/valkey.conf {*}$srv::extra]]
    await_ready $server
    lset srv::stack end $server
    pin_settings
}

# The settings of ./runtest --pin, and dict-resizing, which is not a setting but a subcommand of DEBUG.
proc pin_settings {} {
    dict for {name value} $srv::pinned {
        if {$name eq "dict-resizing"} {
            [default_client] DEBUG DICT-RESIZING $value
        } else {
            [default_client] CONFIG SET $name $value
        }
    }
    if {[dict size $srv::pinned]} {
        forget_default_client
    }
}

# Returns the words of a CONFIG SET without pinned settings.
proc without_pinned {words} {
    set left {}
    foreach {name value} $words {
        if {![dict exists $srv::pinned $name]} {
            lappend left $name $value
        }
    }
    return $left
}

# With ./runtest --tls a server has a second port, which clients of its first port use.
proc tls_settings {port} {
    set srv::tls_ports($port) [free_port]
    set certs $srv::tls_certificates
    return [list tls-port $srv::tls_ports($port) tls-cert-file $certs/server.crt tls-key-file $certs/server.key \
        tls-ca-cert-file $certs/ca.crt tls-auth-clients no]
}

# Callback of the package tls for a channel: accepts the verdict of a check, and drops messages.
proc tls_told {what channel args} {
    return [expr {$what eq "verify" ? [lindex $args 2] : 1}]
}

# Returns whether clients connect over TLS (./runtest --tls).
proc over_tls {} {
    return [expr {$srv::tls_certificates ne ""}]
}

# Returns the port of the innermost server that clients use.
proc client_port {} {
    set port [srv port]
    return [expr {[info exists srv::tls_ports($port)] ? $srv::tls_ports($port) : $port}]
}

# Returns a connected channel to PORT on this machine, over TLS if that is tested.
proc client_socket {port} {
    if {![info exists srv::tls_ports($port)]} {
        return [socket 127.0.0.1 $port]
    }
    set channel [tls::socket -command tls_told -cafile $srv::tls_certificates/ca.crt 127.0.0.1 $srv::tls_ports($port)]
    if {[catch {tls::handshake $channel} message]} {
        close $channel
        error $message
    }
    return $channel
}

# Returns a new connection to the innermost server.
proc connect {} {
    return [RespClient new [srv port]]
}

# Runs BODY with NAMES as new connections, which are closed afterwards in any case. The server has accepted them when
# BODY begins: the kernel completes a connection before the server accepts it, and with I/O threads another client's
# command may be executed first.
proc with_clients {names body} {
    foreach name $names {
        set client [connect]
        uplevel 1 [list set $name $client]
        catch {$client PING}
    }
    set code [catch {uplevel 1 $body} message options]
    foreach name $names {
        catch {[uplevel 1 [list set $name]] destroy}
    }
    return -options $options $message
}

# Sends a command over the innermost server's default connection and returns the reply.
proc r {args} {
    if {[dict size $srv::pinned] && [string equal -nocase [lrange $args 0 1] "CONFIG SET"]} {
        set args [list CONFIG SET {*}[without_pinned [lrange $args 2 end]]]
        if {[llength $args] == 2} {
            return OK
        }
    }
    set reply [[default_client] {*}$args]
    if {[string equal -nocase [lrange $args 0 1] "DEBUG POPULATE"]} {
        persist_mode::populated
    }
    return $reply
}

proc default_client {} {
    set key [llength $srv::stack]
    if {![info exists srv::clients($key)]} {
        set srv::clients($key) [connect]
    }
    return $srv::clients($key)
}

proc forget_default_client {} {
    set key [llength $srv::stack]
    if {[info exists srv::clients($key)]} {
        catch {$srv::clients($key) destroy}
        unset srv::clients($key)
    }
}

# Returns the value of an INFO field, or "" if the server does not have it.
proc info_field {name {section everything}} {
    return [field_of [r INFO $section] $name]
}

proc field_of {text name} {
    foreach line [split $text \n] {
        if {[string match "$name:*" $line]} {
            return [string trim [string range $line [string length $name]+1 end]]
        }
    }
    return ""
}

# Returns a property from a line of CLIENT LIST or CLIENT INFO.
proc client_field {line name} {
    foreach word [split [string trim $line] " "] {
        if {[string match "$name=*" $word]} {
            return [string range $word [string length $name]+1 end]
        }
    }
    return ""
}

proc config_value {name} {
    return [lindex [r CONFIG GET $name] 1]
}

# Changes settings while BODY runs and restores the old values.
proc with_config {settings body} {
    set old {}
    foreach {name value} $settings {
        lappend old $name [config_value $name]
    }
    r CONFIG SET {*}$settings
    set code [catch {uplevel 1 $body} message options]
    if {$code == 1} {
        forget_default_client
    }
    r CONFIG SET {*}$old
    return -options $options $message
}

proc need_config {name} {
    if {[llength [r CONFIG GET $name]] == 0} {
        skip "this server has no setting $name"
    }
}

proc need_command {name} {
    if {[lindex [r COMMAND INFO $name] 0] eq "(nil)" || [lindex [r COMMAND INFO $name] 0] eq ""} {
        skip "this server has no command $name"
    }
}

# Starts a server with fixed replies (fake_server.tcl) and returns {PORT PID LOG}. It ends with this process at the
# latest.
proc fake_server {args} {
    return [fake_server_at [free_port] {*}$args]
}

proc fake_server_at {port args} {
    set log [file join $srv::root fake-$port]
    # It ends when its stdin is closed; nothing is written there.
    set channel [open [list |[info nameofexecutable] [file join $::support fake_server.tcl] $port $log {*}$args] w]
    set pid [pid $channel]
    wait_for_condition 10 {![catch {close [socket 127.0.0.1 $port]}]}
    return [list $port $pid $log]
}
