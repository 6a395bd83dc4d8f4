# protocol.tcl -- bytes on the wire: all forms of requests, replies in both protocols, and errors.
#
# The tests use raw sockets or compare raw replies; the effects of commands are tested elsewhere.
#
# SPDX-License-Identifier: BSD-3-Clause

# Sends BYTES over a new connection and returns all output until the server closes it.
proc ask_until_closed {bytes} {
    with_clients c {
        $c write $bytes
        return [$c raw_until_eof]
    }
}

# Sends BYTES over a new connection and returns COUNT raw replies.
proc ask {bytes {count 1}} {
    with_clients c {
        $c write $bytes
        set all ""
        for {set i 0} {$i < $count} {incr i} {
            append all [$c raw_reply]
        }
        return $all
    }
}

# Raw bytes on the socket, and half-closed connections, are not possible with a Tcl channel over TLS.
set srv::tls_certificates ""

start_server {each {r FLUSHALL}} {

    # ---- Requests ---------------------------------------------------------------------------------------------

    test "A request is an array of bulk strings" {
        assert_equal "+PONG\r\n" [ask "*1\r\n\$4\r\nPING\r\n"]
    }

    test "An inline request is a line of words" {
        assert_equal "+PONG\r\n" [ask "PING\r\n"]
        assert_equal "+OK\r\n\$5\r\nvalue\r\n" [ask "SET key value\r\nGET key\r\n" 2]
    }

    test "An inline request may end in a bare line feed" {
        assert_equal "+PONG\r\n+PONG\r\n" [ask "PING\nPING\n" 2]
    }

    test "Inline words may be quoted" {
        assert_equal "\$11\r\nhello world\r\n" [ask "ECHO \"hello world\"\r\n"]
        assert_equal "\$11\r\nhello world\r\n" [ask "ECHO 'hello world'\r\n"]
        assert_equal "\$4\r\na\n\x01b\r\n" [ask "ECHO \"a\\n\\x01b\"\r\n"]
        assert_equal "\$3\r\na'b\r\n" [ask "ECHO 'a\\'b'\r\n"]
        assert_equal "\$0\r\n\r\n" [ask "ECHO \"\"\r\n"]
    }

    test "Inline quotes may stand beside other text of the same word" {
        assert_equal "\$2\r\nab\r\n" [ask "ECHO 'a'b\r\n"]
        assert_equal "\$2\r\nab\r\n" [ask "ECHO \"a\"b\r\n"]
    }

    test "Inline spaces and tabs between words do not count" {
        assert_equal "\$1\r\na\r\n" [ask "   ECHO \t  a   \r\n"]
    }

    test "Empty lines and empty arrays are no requests" {
        assert_equal "+PONG\r\n" [ask "\r\n\r\n\n*0\r\n*-1\r\n  \r\nPING\r\n"]
    }

    test "Inline and array requests mix in one pipeline" {
        assert_equal "+PONG\r\n+PONG\r\n\$1\r\nx\r\n" [ask "PING\r\n*1\r\n\$4\r\nPING\r\necho x\r\n" 3]
    }

    test "An array request may have an empty argument" {
        assert_equal "\$0\r\n\r\n" [ask "*2\r\n\$4\r\nECHO\r\n\$0\r\n\r\n"]
    }

    test "A large inline request" {
        set word [string repeat x 60000]
        assert_equal "\$60000\r\n$word\r\n" [ask "ECHO $word\r\n"]
    }

    foreach {bytes error} {
        "*3\r\n\$3\r\nSET\r\n\$1\r\nx\r\nfooz\r\n"    "expected '\$', got 'f'"
        "*1\r\nPING\r\n"                              "expected '\$', got 'P'"
        "*1\r\n\r\n"                                  "expected '\$', got '\r'"
        "*a\r\n"                                      "invalid multibulk length"
        "*\r\n"                                       "invalid multibulk length"
        "*1x\r\n"                                     "invalid multibulk length"
        "* 1\r\n"                                     "invalid multibulk length"
        "*2147483648\r\n"                             "invalid multibulk length"
        "*99999999999999999999\r\n"                   "invalid multibulk length"
        "*1\r\n\$\r\n"                                "invalid bulk length"
        "*1\r\n\$-1\r\n"                              "invalid bulk length"
        "*1\r\n\$-10\r\n"                             "invalid bulk length"
        "*1\r\n\$x\r\n"                               "invalid bulk length"
        "*1\r\n\$536870913\r\n"                       "invalid bulk length"
        "*1\r\n\$9223372036854775807\r\n"             "invalid bulk length"
        "*1\r\n\$99999999999999999999\r\n"            "invalid bulk length"
        "*2\r\n\$4\r\nPING\r\n\$1 \r\n"               "invalid bulk length"
        "ECHO \"unbalanced\r\n"                       "unbalanced quotes in request"
        "ECHO 'unbalanced\r\n"                        "unbalanced quotes in request"
        "ECHO a\"b\r\n"                              "unbalanced quotes in request"
    } {
        set bytes [subst -nocommands -novariables $bytes]
        set error [subst -nocommands -novariables $error]
        test "Refused, and the connection closed: [string map {\r \\r \n \\n} $bytes]" {
            assert_equal "-ERR Protocol error: [string map {\r { }} $error]\r\n" [ask_until_closed $bytes]
        }
    }

    test "A request may have more than a million arguments" {
        r SET k 1
        assert_equal ":1048576\r\n" [ask "*1048577\r\n\$6\r\nEXISTS\r\n[string repeat "\$1\r\nk\r\n" 1048576]"]
    }

    test "Refused, and the connection closed: a line that never ends" {
        assert_equal "-ERR Protocol error: too big inline request\r\n" [ask_until_closed [string repeat x 70000]]
        assert_equal "-ERR Protocol error: too big mbulk count string\r\n" \
            [ask_until_closed "*[string repeat 1 70000]"]
        assert_equal "-ERR Protocol error: too big bulk count string\r\n" \
            [ask_until_closed "*1\r\n\$[string repeat 1 70000]"]
    }

    test "What came before a protocol error is answered" {
        assert_equal "+PONG\r\n+OK\r\n-ERR Protocol error: invalid bulk length\r\n" \
            [ask_until_closed "PING\r\nSET key value\r\n*1\r\n\$x\r\nPING\r\n"]
        assert_equal value [r GET key]
    }

    test "A protocol error is no end for other connections" {
        ask_until_closed "*1\r\n\$-5\r\n"
        assert_equal PONG [r PING]
    }

    test "An HTTP request that comes to the port is cut off without an answer" {
        foreach line {"POST / HTTP/1.1\r\nHost: localhost\r\n\r\n" "Host: localhost\r\n"} {
            assert_equal "" [ask_until_closed [subst $line]]
        }
        assert_match "*Possible SECURITY ATTACK detected. *POST or Host: *127.0.0.1:*" [srv log]
    }

    test "proto-max-bulk-len bounds an argument" {
        with_config {proto-max-bulk-len 1048576} {
            assert_equal "-ERR Protocol error: invalid bulk length\r\n" [ask_until_closed "*1\r\n\$1048577\r\n"]
            r SET key [string repeat x 1048576]
            assert_equal 1048576 [r STRLEN key]
        }
    }

    # ---- Splits, pipelines, sizes -----------------------------------------------------------------------------

    test "A request may be split at each byte" {
        set request "*3\r\n\$3\r\nSET\r\n\$3\r\nkey\r\n\$12\r\nhello\r\nworld\r\n*2\r\n\$3\r\nGET\r\n\$3\r\nkey\r\n"
        set reply "+OK\r\n\$12\r\nhello\r\nworld\r\n"
        with_clients c {
            for {set i 1} {$i < [string length $request]} {incr i} {
                $c write [string range $request 0 $i-1]
                after 2
                $c write [string range $request $i end]
                assert_equal $reply [$c raw_reply][$c raw_reply]
            }
        }
    }

    test "A request may come byte by byte" {
        set request "PING\r\n*2\r\n\$4\r\nECHO\r\n\$3\r\na\r\n\r\n"
        with_clients c {
            foreach byte [split $request ""] {
                $c write $byte
                after 1
            }
            assert_equal "+PONG\r\n" [$c raw_reply]
            assert_equal "\$3\r\na\r\n\r\n" [$c raw_reply]
        }
    }

    test "A pipeline of 10000 commands is answered in order" {
        set commands {}
        set expected {}
        for {set i 0} {$i < 5000} {incr i} {
            lappend commands [list SET key:$i value:$i] [list GET key:$i]
            lappend expected OK value:$i
        }
        with_clients c {
            $c pipeline $commands
            assert_equal $expected [$c replies 10000]
        }
    }

    test "Errors within a pipeline are answered in their place" {
        with_clients c {
            $c pipeline {{SET key abc} {INCR key} {NOSUCH} {GET} {GET key}}
            assert_equal [list OK {(error) ERR value is not an integer or out of range} \
                {(error) ERR unknown command 'NOSUCH', with args beginning with: } \
                {(error) ERR wrong number of arguments for 'get' command} abc] [$c replies 5]
        }
    }

    test "A command sees what the command before it in the pipeline did" {
        with_clients c {
            set commands {}
            for {set i 1} {$i <= 1000} {incr i} {
                lappend commands {INCR counter}
            }
            $c pipeline $commands
            set i 0
            foreach reply [$c replies 1000] {
                assert_equal [incr i] $reply
            }
        }
    }

    foreach size {16383 16384 16385 32767 32768 32769 65535 65536 65537 1048576 20000000} {
        test "An argument of $size bytes, followed by more requests" {
            with_clients c {
                set value [string repeat z $size]
                $c write "[resp::encode [list SET key $value]][resp::encode {STRLEN key}]PING\r\n"
                assert_equal [list OK $size PONG] [$c replies 3]
                assert_equal $value [$c GET key]
            }
        }
    }

    test "Large arguments in a pipeline, out of step with every buffer" {
        with_clients c {
            set commands {}
            set expected {}
            for {set i 1} {$i <= 60} {incr i} {
                set value [string repeat [format %c [expr {97 + $i % 26}]] [expr {$i * 3331}]]
                lappend commands [list SET k$i $value] [list GET k$i]
                lappend expected OK $value
            }
            $c pipeline $commands
            assert {$expected eq [$c replies 120]}
        }
    }

    test "A command of 100000 arguments" {
        set command MSET
        for {set i 0} {$i < 50000} {incr i} {
            lappend command k$i v$i
        }
        assert_equal OK [r {*}$command]
        assert_equal 50000 [r DBSIZE]
    }

    test "A reply of many megabytes to a client that reads late" {
        r SET key [string repeat x 8000000]
        with_clients c {
            for {set i 0} {$i < 5} {incr i} {
                $c send GET key
            }
            after 100
            assert_equal PONG [r PING]
            for {set i 0} {$i < 5} {incr i} {
                assert_equal 8000000 [string length [$c reply]]
            }
        }
    }

    # ---- Replies in both protocols ----------------------------------------------------------------------------

    test "A connection starts in RESP2" {
        with_clients c {
            assert_equal 2 [client_field [$c CLIENT INFO] resp]
            assert_equal "\$-1\r\n" [$c raw GET nothing]
        }
    }

    test "RESP3 has one null" {
        with_clients c {
            $c HELLO 3
            assert_equal "_\r\n" [$c raw GET nothing]
            assert_equal "*2\r\n_\r\n_\r\n" [$c raw MGET a b]
        }
    }

    test "RESP3 has maps where RESP2 has flat arrays" {
        with_clients c {
            assert_equal "*2\r\n\$10\r\nmaxclients\r\n\$5\r\n10000\r\n" [$c raw CONFIG GET maxclients]
            $c HELLO 3
            assert_equal "%1\r\n\$10\r\nmaxclients\r\n\$5\r\n10000\r\n" [$c raw CONFIG GET maxclients]
        }
    }

    test "INFO and CLIENT LIST are verbatim strings in RESP3" {
        with_clients c {
            $c HELLO 3
            assert_match "=*\r\ntxt:# Server*" [$c raw INFO server]
            assert_match "=*\r\ntxt:id=*" [$c raw CLIENT LIST]
        }
    }

    foreach {type two three} {
        string   "\$11\r\nHello World\r\n"                          "\$11\r\nHello World\r\n"
        integer  ":12345\r\n"                                       ":12345\r\n"
        double   "\$5\r\n3.141\r\n"                                 ",3.141\r\n"
        null     "\$-1\r\n"                                         "_\r\n"
        bignum   "\$37\r\n1234567999999999999999999999999999999\r\n" "(1234567999999999999999999999999999999\r\n"
        array    "*3\r\n:0\r\n:1\r\n:2\r\n"                         "*3\r\n:0\r\n:1\r\n:2\r\n"
        set      "*3\r\n:0\r\n:1\r\n:2\r\n"                         "~3\r\n:0\r\n:1\r\n:2\r\n"
        map      "*6\r\n:0\r\n:0\r\n:1\r\n:1\r\n:2\r\n:0\r\n"       "%3\r\n:0\r\n#f\r\n:1\r\n#t\r\n:2\r\n#f\r\n"
        verbatim "\$25\r\nThis is a verbatim\nstring\r\n"           "=29\r\ntxt:This is a verbatim\nstring\r\n"
        true     ":1\r\n"                                           "#t\r\n"
        false    ":0\r\n"                                           "#f\r\n"
    } {
        test "The type $type on the wire" {
            with_clients c {
                assert_equal [subst -nocommands -novariables $two] [$c raw DEBUG PROTOCOL $type]
                $c HELLO 3
                assert_equal [subst -nocommands -novariables $three] [$c raw DEBUG PROTOCOL $type]
            }
        }
    }

    test "A push message stands apart from replies" {
        with_clients c {
            $c HELLO 3
            assert_equal "Some real reply following the push reply" [$c DEBUG PROTOCOL push]
            assert_equal {server-cpu-usage 42} [$c next_push]
        }
    }

    test "HELLO without arguments describes the server and keeps the protocol" {
        with_clients c {
            array set hello [$c HELLO]
            assert_equal 2 $hello(proto)
            assert_equal standalone $hello(mode)
            assert_equal master $hello(role)
            assert_equal [$c CLIENT ID] $hello(id)
            assert_equal {id mode modules proto role server version} [lsort [array names hello]]
        }
    }

    test "HELLO switches to RESP3 and back" {
        with_clients c {
            assert_match "%7\r\n*" [$c raw HELLO 3]
            assert_match "*14\r\n*" [$c raw HELLO 2]
            assert_equal "\$-1\r\n" [$c raw GET nothing]
        }
    }

    test "HELLO refuses other protocols" {
        with_clients c {
            assert_error "NOPROTO unsupported protocol version" {$c HELLO 1}
            assert_error "NOPROTO unsupported protocol version" {$c HELLO 4}
            assert_error "ERR Protocol version is not an integer or out of range" {$c HELLO three}
            assert_equal 2 [client_field [$c CLIENT INFO] resp]
        }
    }

    test "HELLO with SETNAME names the connection" {
        with_clients c {
            $c HELLO 3 SETNAME some-name
            assert_equal some-name [$c CLIENT GETNAME]
        }
    }

    test "HELLO refuses bad names and options, and changes nothing" {
        with_clients c {
            assert_error "ERR Client names cannot contain spaces, newlines or special characters." {
                $c HELLO 3 SETNAME "two words"
            }
            assert_error "ERR Syntax error in HELLO option 'NOPE'" {$c HELLO 3 NOPE}
            assert_error "ERR Syntax error in HELLO option 'SETNAME'" {$c HELLO 3 SETNAME}
            assert_error "ERR Syntax error in HELLO option 'AUTH'" {$c HELLO 3 AUTH user}
            assert_equal 2 [client_field [$c CLIENT INFO] resp]
        }
    }

    test "HELLO with AUTH authenticates" {
        with_clients c {
            assert_match "%7*" [$c raw HELLO 3 AUTH default anything]
            assert_error "WRONGPASS invalid username-password pair or user is disabled." {
                $c HELLO 3 AUTH nobody anything
            }
        }
    }

    test "PING answers PONG or its argument" {
        assert_equal "+PONG\r\n" [ask "PING\r\n"]
        assert_equal "\$5\r\nhello\r\n" [ask "PING hello\r\n"]
        assert_error "ERR wrong number of arguments for 'ping' command" {r PING a b}
    }

    test "ECHO answers its argument" {
        assert_equal "a\0b" [r ECHO "a\0b"]
        assert_error "ERR wrong number of arguments for 'echo' command" {r ECHO}
    }

    test "TIME answers seconds and microseconds" {
        lassign [r TIME] seconds microseconds
        assert_between [expr {[clock seconds] - 2}] [expr {[clock seconds] + 2}] $seconds
        assert_between 0 999999 $microseconds
    }

    test "QUIT answers OK and closes; what follows it is not executed" {
        assert_equal "+OK\r\n" [ask_until_closed "QUIT\r\nSET key value\r\n"]
        assert_equal 0 [r EXISTS key]
        assert_equal "+PONG\r\n+OK\r\n" [ask_until_closed "PING\r\nQUIT now\r\n"]
    }

    test "RESET brings a connection back to its beginning" {
        with_clients c {
            $c HELLO 3
            $c SELECT 5
            $c CLIENT SETNAME someone
            assert_equal RESET [$c RESET]
            set info [$c CLIENT INFO]
            assert_equal 2 [client_field $info resp]
            assert_equal 0 [client_field $info db]
            assert_equal "" [client_field $info name]
        }
    }

    test "RESET brings replies back" {
        with_clients c {
            $c send CLIENT REPLY OFF
            $c send PING
            $c send RESET
            assert_equal RESET [$c reply]
            assert_equal PONG [$c PING]
        }
    }

    test "An unknown command is named with the beginning of its arguments" {
        assert_error "ERR unknown command 'FOO', with args beginning with: " {r FOO}
        assert_error "ERR unknown command 'foo', with args beginning with: 'bar' 'baz' " {r foo bar baz}
        assert_equal "-ERR unknown command 'a  b', with args beginning with: 'c  d' \r\n" \
            [[default_client] raw "a\r\nb" "c\r\nd"]
    }

    test "An unknown command with much text is cut short" {
        set reply [[default_client] raw [string repeat x 1000] [string repeat y 1000]]
        assert_match "-ERR unknown command 'xxx*" $reply
        assert_between 100 400 [string length $reply]
    }

    test "An unknown subcommand is named" {
        assert_error "ERR unknown subcommand 'NOPE'. Try CLIENT HELP." {r CLIENT NOPE}
        assert_error "ERR unknown subcommand 'NOPE'. Try CONFIG HELP." {r CONFIG NOPE a}
        assert_error "ERR wrong number of arguments for 'client|id' command" {r CLIENT ID 1}
        assert_error "ERR wrong number of arguments for 'client' command" {r CLIENT}
    }

    # ---- Ends of connections ----------------------------------------------------------------------------------

    test "A client that half-closes still gets what it asked for" {
        need_config main-role ;# other servers drop replies at the end of input
        r SET key value
        # The connection ends when the request has been executed, or before if the server is busy.
        foreach busy {0 0.1} {
            with_clients c {
                [default_client] send DEBUG SLEEP $busy
                $c write "PING\r\nGET key\r\n"
                $c half_close
                assert_equal "+PONG\r\n\$5\r\nvalue\r\n" [$c raw_until_eof]
                assert_equal OK [[default_client] reply]
            }
        }
    }

    test "A client that goes in the middle of a request leaves nothing behind" {
        set before [info_field connected_clients]
        foreach part {"*" "*3\r\n" "*3\r\n\$3\r\nSET\r\n\$1" "*3\r\n\$3\r\nSET\r\n\$3\r\nkey\r\n\$100\r\nabc" "SET key val"} {
            with_clients c {
                $c write [subst -nocommands -novariables $part]
                after 5
            }
        }
        wait_for_condition 5 {[info_field connected_clients] <= $before}
        assert_equal 0 [r EXISTS key]
    }

    test "Clients that go without reading their replies leave nothing behind" {
        r SET key [string repeat x 1000000]
        set before [info_field connected_clients]
        for {set i 0} {$i < 10} {incr i} {
            with_clients c {
                for {set j 0} {$j < 10} {incr j} {
                    $c send GET key
                }
            }
        }
        wait_for_condition 10 {[info_field connected_clients] <= $before}
        assert_equal PONG [r PING]
    }

    test "Random bytes never bring the server down" {
        expr {srand(3)}
        for {set round 0} {$round < 200} {incr round} {
            set bytes ""
            for {set i [expr {int(rand() * 200)}]} {$i >= 0} {incr i -1} {
                set alphabet "*\$\$123\r\n\r\n-:+\"' GETSPING\0"
                if {rand() < 0.1} {
                    append bytes [format %c [expr {int(rand() * 256)}]]
                } else {
                    append bytes [string index $alphabet [expr {int(rand() * [string length $alphabet])}]]
                }
            }
            with_clients c {
                $c write $bytes
                catch {$c half_close}
                $c raw_until_eof
            }
        }
        assert_equal PONG [r PING]
    }
}

# ---- Passwords --------------------------------------------------------------------------------------------------

start_server {overrides {requirepass secret}} {

    test "Without the password nothing but AUTH, HELLO, QUIT and RESET works" {
        with_clients c {
            foreach command {{PING} {GET key} {SET key value} {INFO} {CONFIG GET *} {CLIENT ID} {COMMAND COUNT}} {
                assert_error "NOAUTH Authentication required." {$c {*}$command}
            }
            assert_equal RESET [$c RESET]
            assert_equal OK [$c QUIT]
        }
    }

    test "Without the password whatever is asked gets the same answer, right or wrong, there or not" {
        with_clients {c friend} {
            $friend AUTH secret
            set lines {{nosuch} {nosuch a b} {client|id} {client nosuch} {""}}
            foreach name [$friend COMMAND LIST] {
                set flags [lindex [$friend COMMAND INFO $name] 0 2]
                if {"no_auth" in $flags || $name in {hello auth quit reset}} {
                    continue
                }
                foreach arguments {{} {a} {1 a} {a b c d e f}} {
                    lappend lines [concat [split $name |] $arguments]
                }
            }
            assert {[llength $lines] > 1000}
            foreach line $lines {
                # EXEC repeats the error of a command that was refused before it.
                set told [expr {[lindex $line 0] eq "exec" ? "EXECABORT Transaction discarded because of: " : ""}]
                assert_equal "$line: -${told}NOAUTH Authentication required.\r\n" "$line: [$c raw {*}$line]"
            }
        }
    }

    test "HELLO without the password is refused with a hint" {
        with_clients c {
            assert_error "NOAUTH HELLO must be called with the client already authenticated, otherwise the HELLO <proto> AUTH <user> <pass> option can be used to authenticate the client and select the RESP protocol version at the same time" {$c HELLO 3}
        }
    }

    test "HELLO asks for AUTH of who came while there was a password, also when there is none any more" {
        with_clients {c other} {
            assert_error "NOAUTH Authentication required." {$c GET k}
            $other AUTH secret
            $other CONFIG SET requirepass ""
            set answers [list [$c GET k] [catch {$c HELLO 3} error] $error [catch {$c HELLO 2 AUTH default any}]]
            $other CONFIG SET requirepass secret
            assert_match "(nil) 1 {NOAUTH HELLO must be called with *} 0" $answers
        }
    }

    test "HELLO with AUTH and SETNAME does all at once" {
        with_clients c {
            assert_match "*proto 3*" [$c HELLO 3 AUTH default secret SETNAME me]
            assert_equal me [$c CLIENT GETNAME]
        }
    }

    test "AUTH takes the password, with or without the user" {
        with_clients {a b} {
            assert_equal OK [$a AUTH secret]
            assert_equal OK [$b AUTH default secret]
            assert_equal PONG [$a PING]
            assert_equal PONG [$b PING]
        }
    }

    test "AUTH refuses a wrong password, and one that is right stays right" {
        with_clients c {
            assert_error "WRONGPASS invalid username-password pair or user is disabled." {$c AUTH wrong}
            assert_error "WRONGPASS invalid username-password pair or user is disabled." {$c AUTH nobody secret}
            assert_error "WRONGPASS invalid username-password pair or user is disabled." {$c AUTH secretx}
            assert_error "NOAUTH Authentication required." {$c PING}
            $c AUTH secret
            assert_error "WRONGPASS*" {$c AUTH wrong}
            assert_equal PONG [$c PING]
        }
    }

    test "AUTH refuses more than a user and a password" {
        with_clients c {
            assert_error "ERR syntax error" {$c AUTH a b c}
            assert_error "ERR wrong number of arguments for 'auth' command" {$c AUTH}
        }
    }

    test "RESET takes the authentication away" {
        with_clients c {
            $c AUTH secret
            $c RESET
            assert_error "NOAUTH Authentication required." {$c PING}
        }
    }

    # Opens a connection that sends LINES of PING repeatedly and reads nothing. Returns its channel when output waits
    # for it, or it was closed.
    proc ask_without_reading {lines} {
        r CONFIG RESETSTAT
        set channel [socket 127.0.0.1 [srv port]]
        fconfigure $channel -translation binary -blocking 0 -buffersize 1000000
        puts -nonewline $channel $lines
        for {set i 0} {$i < 1000} {incr i} {
            catch {
                puts -nonewline $channel [string repeat "PING\r\n" 10000]
                flush $channel
            }
            if {[info_field client_output_buffer_limit_disconnections stats] > 0} {
                break
            }
            if {[regexp {\n[^\n]*fd=[^\n]* omem=[1-9]\d{5}} \n[r CLIENT LIST]]} {
                break
            }
        }
        return $channel
    }

    # Closes a channel whose peer may never read the rest of the output.
    proc hang_up {channel} {
        r CLIENT KILL TYPE normal SKIPME yes
        catch {close $channel}
        wait_for_condition 10 {[info_field connected_clients clients] == 1}
    }

    test "Who has told no password and does not read is let go" {
        r AUTH secret
        set channel [ask_without_reading ""]
        assert_equal 1 [info_field client_output_buffer_limit_disconnections stats]
        hang_up $channel
    }

    test "Who has told it once, or tells it now, may leave much unread" {
        r AUTH secret
        foreach lines {"AUTH secret\r\n" "AUTH secret\r\nRESET\r\n"} {
            set channel [ask_without_reading $lines]
            assert_equal 0 [info_field client_output_buffer_limit_disconnections stats]
            hang_up $channel
        }
    }

    test "Before the password requests are kept small" {
        assert_equal "-ERR Protocol error: unauthenticated multibulk length\r\n" [ask_until_closed "*11\r\n"]
        assert_equal "-ERR Protocol error: unauthenticated bulk length\r\n" [ask_until_closed "*1\r\n\$16385\r\n"]
        with_clients c {
            $c AUTH secret
            assert_equal OK [$c SET key [string repeat x 20000]]
            assert_equal OK [$c MSET a 1 b 2 c 3 d 4 e 5 f 6]
        }
    }

    test "The password can be changed while clients are connected" {
        with_clients {a b} {
            $a AUTH secret
            assert_equal OK [$a CONFIG SET requirepass other]
            assert_equal PONG [$a PING]
            assert_error "WRONGPASS*" {$b AUTH secret}
            assert_equal OK [$b AUTH other]
            $b CONFIG SET requirepass ""
            with_clients c {
                assert_equal PONG [$c PING]
                assert_error "ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?" {$c AUTH anything}
            }
        }
    }
}
