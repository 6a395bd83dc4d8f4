# memory_limits.tcl -- scripts without enough memory: an error or the end of their connection, never of the server, and
# memory is freed.
#
# SPDX-License-Identifier: BSD-3-Clause

# Without memory OpenSSL rightly ends the connection, but these cases need the replies to their commands.
set srv::tls_certificates ""

own_files ;# a reload needs more memory than they have

set mb [expr {1024 * 1024}]

# Limits the server to so many more bytes.
proc limit_server {more} {
    if {![file exists /proc/self/status] || $srv::slow > 1 || [auto_execok prlimit] eq ""} {
        skip "needs Linux, prlimit, and a build without a sanitizer"
    }
    if {![regexp {VmSize:\s+(\d+) kB} [read_file /proc/[srv pid]/status] -> kilobytes]} {
        fail "no VmSize of the server"
    }
    exec prlimit --pid [srv pid] --as=[expr {$kilobytes * 1024 + $more}]:
}

foreach {name script} {
    "tables" {local t = {} while true do t[#t + 1] = {} end}
    "texts" {local s = string.rep('x', 1000) while true do s = s .. s end}
    "keys of a table" {local t = {} for i = 1, 1e9 do t[i .. 'key'] = i end}
    "coroutines" {local t = {} while true do t[#t + 1] = coroutine.create(function() end) end}
    "JSON" {local s = string.rep('"', 1000000) while true do s = cjson.encode(s) end}
    "MessagePack" {local t, s = {}, string.rep('x', 1000000) for i = 1, 1000 do t[i] = s end return cmsgpack.pack(t)}
    "an error that is a table" {local t = {} pcall(function() while true do t[#t + 1] = {} end end) error({err = 'ERR full'})}
} {
    start_server {} {
        test "A script that has no memory for its $name" {
            r SET k v
            limit_server [expr {200 * $mb}]
            with_clients c {
                assert_error "*" {$c EVAL $script 0}
            }
            assert_equal v [r GET k]
            assert_equal 1000000 [r EVAL {return #string.rep('x', 1000000)} 0]
            # Lua halves its string table once per cycle.
            assert_between 0 [expr {50 * $mb}] [info_field used_memory_vm_eval]
        }
    }
}

start_server {} {
    test "A reply of a script that has no memory: its connection is closed" {
        r SET k v
        limit_server [expr {200 * $mb}]
        foreach script {
            {local t = {} t[1] = t t[2] = t t[3] = t return t}
            {local t = {} t.map = {a = t, b = t, c = t} return t}
            {local t, s = {}, string.rep('x', 1000000) for i = 1, 1000 do t[i] = s end return t}
        } {
            with_clients c {
                $c send EVAL $script 0
                assert [$c closed_within 60000]
            }
            assert_equal v [r GET k]
        }
    }
}

start_server {} {
    test "A reply as deep as can be, and no memory: the connection ends, the server goes on" {
        r EVAL {local t = {} for i = 1, 200000 do t[i] = {} end t = nil collectgarbage() return 1} 0
        limit_server 0
        with_clients c {
            $c send EVAL {local t = {} for i = 1, 7000 do t = {t} end return t} 0
            $c send QUIT
            $c raw_until_eof
        }
        assert_equal PONG [r PING]
    }
}

# A one-line reply made from a text of the script: it is sent, or the connection ends.
foreach script {
    {return {ok = string.rep('x', 20000000)}}
    {return {err = string.rep('x', 20000000)}}
    {return {big_number = string.rep('1', 20000000)}}
    {error({err = string.rep('x', 20000000)})}
} {
    start_server {} {
        test "A line of 20 MB that there is little memory for: $script" {
            for {set room 80} {$room <= 160} {incr room 20} {
                limit_server [expr {$room * $mb}]
                with_clients c {
                    $c send EVAL $script 0
                    $c send QUIT
                    $c raw_until_eof
                }
                assert_equal PONG [r PING]
            }
        }
    }
}

start_server {} {
    test "A first line that is too long is refused" {
        set line "#![string repeat x 70000]"
        assert_error "ERR Invalid script shebang" {r EVAL "$line\nreturn 1" 0}
        assert_error "ERR Invalid library metadata" {r FUNCTION LOAD "$line\nreturn 1"}
    }
}
