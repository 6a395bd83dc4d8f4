# client.tcl -- the CLIENT command: connected, killed, paused and silent clients.
#
# SPDX-License-Identifier: BSD-3-Clause

set syntax {ERR syntax error}
set not_integer {ERR value is not an integer or out of range}

# Waits until the server has noticed that connections of the previous test are closed.
proc wait_until_alone {} {
    wait_for_condition 10 {[info_field connected_clients clients] == 1}
}

# Returns the lines of a CLIENT LIST with ARGUMENTS.
proc list_clients {args} {
    return [lmap line [split [r CLIENT LIST {*}$args] \n] {
        if {[string trim $line] eq ""} continue
        set line
    }]
}

# Returns the sorted ids of a CLIENT LIST with ARGUMENTS.
proc listed_ids {args} {
    return [lsort -integer [lmap line [list_clients {*}$args] {client_field $line id}]]
}

start_server {each {r FLUSHALL}} {

    # ---- ID INFO LIST -----------------------------------------------------------------------------------------

    test "CLIENT ID is a number of its own for each connection, and grows" {
        with_clients {a b} {
            assert {[$a CLIENT ID] < [$b CLIENT ID]}
            assert_equal [$a CLIENT ID] [$a CLIENT ID]
        }
    }

    test "CLIENT INFO describes its own connection" {
        with_clients c {
            $c SELECT 3
            $c CLIENT SETNAME me
            set info [$c CLIENT INFO]
            assert_equal [$c CLIENT ID] [client_field $info id]
            assert_equal 127.0.0.1:[$c local_port] [client_field $info addr]
            assert_equal 127.0.0.1:[client_port] [client_field $info laddr]
            foreach {field value} {name me db 3 sub 0 psub 0 ssub 0 multi -1 watch 0 flags N cmd client|info user default
                redir -1 resp 2 lib-name {} lib-ver {}} {
                assert_equal $value [client_field $info $field]
            }
        }
    }

    test "CLIENT LIST shows NULL for a command that there is not" {
        with_clients c {
            set id [$c CLIENT ID]
            foreach {command shown} {PING ping NOSUCH NULL GET get {CLIENT NOSUCH} NULL {CLIENT GETNAME} client|getname} {
                catch {$c {*}$command}
                assert_equal $shown [client_field [r CLIENT LIST ID $id] cmd]
            }
        }
    }

    test "CLIENT LIST shows these fields in this order" {
        set line [lindex [list_clients] 0]
        set fields [lmap word [split $line " "] {lindex [split $word =] 0}]
        assert_equal {id addr laddr fd name age idle flags capa db sub psub ssub multi watch qbuf qbuf-free argv-mem multi-mem rbs rbp obl oll omem tot-mem events cmd user redir resp lib-name lib-ver tot-net-in tot-net-out tot-cmds} $fields
    }

    test "CLIENT LIST has a line for each connection" {
        with_clients {a b c} {
            set ids [lsort -integer [list [$a CLIENT ID] [$b CLIENT ID] [$c CLIENT ID] [r CLIENT ID]]]
            assert_equal $ids [listed_ids]
        }
    }

    test "CLIENT LIST ID shows the connections asked for" {
        with_clients {a b} {
            set ids [list [$a CLIENT ID] [$b CLIENT ID]]
            assert_equal $ids [listed_ids ID {*}$ids]
            assert_equal [lindex $ids 1] [listed_ids ID [lindex $ids 1] 999999]
            assert_error $syntax {r CLIENT LIST ID x}
            assert_error $syntax {r CLIENT LIST ID}
        }
    }

    test "CLIENT LIST TYPE shows connections of a kind" {
        wait_until_alone
        assert_equal 1 [llength [list_clients TYPE normal]]
        assert_equal 0 [llength [list_clients TYPE pubsub]]
        assert_equal 0 [llength [list_clients TYPE replica]]
        assert_equal 0 [llength [list_clients TYPE slave]]
        assert_error "ERR Unknown client type 'nope'" {r CLIENT LIST TYPE nope}
    }

    test "CLIENT LIST filters by name, database, address, user, idle time and age" {
        wait_until_alone
        with_clients {a b} {
            $a CLIENT SETNAME first
            $b SELECT 7
            set id_a [$a CLIENT ID]
            set id_b [$b CLIENT ID]
            assert_equal $id_a [listed_ids NAME first]
            assert_equal $id_b [listed_ids DB 7]
            assert_equal $id_b [listed_ids ADDR 127.0.0.1:[$b local_port]]
            assert_equal 3 [llength [listed_ids LADDR 127.0.0.1:[client_port]]]
            assert_equal 3 [llength [listed_ids USER default]]
            assert_equal 3 [llength [listed_ids IP 127.0.0.1]]
            assert_equal {} [listed_ids IP 10.0.0.1]
            assert_equal {} [listed_ids IDLE 1000]
            assert_equal {} [listed_ids MAXAGE 1000]
            assert_equal [list $id_a $id_b] [listed_ids SKIPME yes]
            assert_equal $id_a [listed_ids SKIPME yes DB 0 IP 127.0.0.1]
        }
    }

    test "CLIENT LIST filters by library" {
        with_clients a {
            $a CLIENT SETINFO LIB-NAME mylib
            $a CLIENT SETINFO LIB-VER 1.2.3
            assert_equal [$a CLIENT ID] [listed_ids LIB-NAME mylib]
            assert_equal [$a CLIENT ID] [listed_ids LIB-VER 1.2.3]
            assert_equal {} [listed_ids LIB-NAME other]
        }
    }

    test "CLIENT LIST refuses unknown filters" {
        assert_error $syntax {r CLIENT LIST NOPE}
        assert_error $syntax {r CLIENT LIST NOPE x}
        assert_error "ERR No such user 'nobody'" {r CLIENT LIST USER nobody}
    }

    test "CLIENT LIST shows the last command and counts commands" {
        with_clients a {
            $a SET key value
            $a GET key
            set line [lindex [list_clients ID [$a CLIENT ID]] 0]
            assert_equal client|id [client_field $line cmd]
            assert_equal 4 [client_field $line tot-cmds]
            assert_between 50 200 [client_field $line tot-net-in]
        }
    }

    test "tot-cmds counts commands that have run, neither the running one nor those that were refused" {
        with_clients c {
            set before [client_field [$c CLIENT INFO] tot-cmds]
            assert_equal [expr {$before + 1}] [client_field [$c CLIENT INFO] tot-cmds]
            catch {$c NOPE}
            catch {$c GET}
            assert_equal [expr {$before + 2}] [client_field [$c CLIENT INFO] tot-cmds]
            $c SET key word
            catch {$c INCR key}
            assert_equal [expr {$before + 5}] [client_field [$c CLIENT INFO] tot-cmds]
        }
    }

    # ---- SETNAME GETNAME SETINFO ------------------------------------------------------------------------------

    test "CLIENT SETNAME and GETNAME" {
        with_clients c {
            assert_equal (nil) [$c CLIENT GETNAME]
            assert_equal OK [$c CLIENT SETNAME someone]
            assert_equal someone [$c CLIENT GETNAME]
            $c CLIENT SETNAME ""
            assert_equal (nil) [$c CLIENT GETNAME]
        }
    }

    test "CLIENT SETNAME refuses spaces and control characters" {
        foreach name {"a b" "a\nb" " a" "a\x01" "\xff"} {
            assert_error "ERR Client names cannot contain spaces, newlines or special characters." {
                r CLIENT SETNAME $name
            }
        }
        assert_equal (nil) [r CLIENT GETNAME]
    }

    test "CLIENT SETINFO stores the library's name and version" {
        with_clients c {
            assert_equal OK [$c CLIENT SETINFO lib-name "mylib(v1)"]
            assert_equal OK [$c CLIENT SETINFO LIB-VER 9.9]
            assert_equal mylib(v1) [client_field [$c CLIENT INFO] lib-name]
            assert_equal 9.9 [client_field [$c CLIENT INFO] lib-ver]
            $c CLIENT SETINFO LIB-VER ""
            assert_equal "" [client_field [$c CLIENT INFO] lib-ver]
        }
    }

    test "CLIENT SETINFO refuses other attributes and bad values" {
        assert_error "ERR Unrecognized option 'NOPE'" {r CLIENT SETINFO NOPE x}
        assert_error "ERR LIB-NAME cannot contain spaces, newlines or special characters." {
            r CLIENT SETINFO LIB-NAME "a b"
        }
        assert_error "ERR lib-ver cannot contain spaces, newlines or special characters." {
            r CLIENT SETINFO lib-ver "a\nb"
        }
        assert_error "ERR wrong number of arguments for 'client|setinfo' command" {r CLIENT SETINFO LIB-NAME}
    }

    # ---- KILL -------------------------------------------------------------------------------------------------

    test "CLIENT KILL with an address closes that connection" {
        with_clients {a b} {
            assert_equal OK [r CLIENT KILL 127.0.0.1:[$a local_port]]
            assert [$a closed_within 2000]
            assert_equal PONG [$b PING]
        }
    }

    test "CLIENT KILL with an address nobody has is an error" {
        assert_error "ERR No such client" {r CLIENT KILL 127.0.0.1:1}
    }

    test "CLIENT KILL ID closes that connection and counts" {
        with_clients {a b} {
            assert_equal 1 [r CLIENT KILL ID [$a CLIENT ID]]
            assert [$a closed_within 2000]
            assert_equal 0 [r CLIENT KILL ID 999999]
            assert_equal PONG [$b PING]
        }
    }

    test "CLIENT KILL ID takes several" {
        with_clients {a b c} {
            assert_equal 2 [r CLIENT KILL ID [$a CLIENT ID] [$b CLIENT ID]]
            assert [$a closed_within 2000]
            assert [$b closed_within 2000]
            assert_equal PONG [$c PING]
        }
    }

    foreach {filter value} {
        ADDR {127.0.0.1:[$a local_port]}
        NAME victim
        DB 11
        LIB-NAME victim-lib
        LIB-VER 6.6.6
    } {
        test "CLIENT KILL $filter closes who matches" {
            with_clients {a b} {
                $a CLIENT SETNAME victim
                $a CLIENT SETINFO LIB-NAME victim-lib
                $a CLIENT SETINFO LIB-VER 6.6.6
                $a SELECT 11
                assert_equal 1 [r CLIENT KILL $filter [subst $value]]
                assert [$a closed_within 2000]
                assert_equal PONG [$b PING]
            }
        }
    }

    foreach filter {"TYPE normal" "USER default" "IP 127.0.0.1" "MAXAGE 1" "IDLE 1" {LADDR 127.0.0.1:[client_port]}} {
        test "CLIENT KILL [lindex $filter 0] spares its own connection" {
            wait_until_alone
            with_clients {a b} {
                if {[lindex $filter 0] in {MAXAGE IDLE}} {
                    after 2100
                }
                assert_equal 2 [r CLIENT KILL {*}[subst $filter]]
                assert [$a closed_within 2000]
                assert [$b closed_within 2000]
                assert_equal PONG [r PING]
            }
        }
    }

    test "CLIENT KILL SKIPME no closes its own connection after the reply" {
        with_clients a {
            assert_equal 1 [$a CLIENT KILL ID [$a CLIENT ID] SKIPME no]
            assert [$a closed_within 2000]
        }
    }

    test "CLIENT KILL spares its own connection where nothing else is said" {
        with_clients a {
            assert_equal 0 [$a CLIENT KILL ID [$a CLIENT ID]]
            assert_equal PONG [$a PING]
        }
    }

    test "CLIENT KILL wants all filters to match" {
        with_clients {a b} {
            $a SELECT 4
            $b SELECT 4
            $b CLIENT SETNAME second
            assert_equal 1 [r CLIENT KILL DB 4 NAME second]
            assert [$b closed_within 2000]
            assert_equal PONG [$a PING]
        }
    }

    test "CLIENT KILL refuses bad filters" {
        assert_error "ERR Unknown client type 'nope'" {r CLIENT KILL TYPE nope}
        assert_error "ERR No such user 'nobody'" {r CLIENT KILL USER nobody}
        assert_error $syntax {r CLIENT KILL NOPE x}
        assert_error "ERR No such client" {r CLIENT KILL ID}
        assert_error "ERR maxage should be greater than 0" {r CLIENT KILL MAXAGE 0}
        assert_error "ERR idle should be greater than 0" {r CLIENT KILL IDLE 0}
        assert_error $syntax {r CLIENT KILL ID 1 SKIPME maybe}
        assert_error $syntax {r CLIENT KILL ID x}
    }

    test "A client that is killed while its pipeline runs gets no wrong replies" {
        with_clients {a b} {
            set id [$a CLIENT ID]
            set commands {}
            for {set i 0} {$i < 5000} {incr i} {
                lappend commands [list ECHO $i]
            }
            $a pipeline $commands
            $b CLIENT KILL ID $id
            set expected [join [lmap command $commands {string cat "\$" [string length [lindex $command 1]] "\r\n" \
                [lindex $command 1] "\r\n"}] ""]
            set told [$a raw_until_eof]
            assert {$told eq [string range $expected 0 [string length $told]-1]}
        }
    }

    test "Of a client that is killed nothing runs behind KILL, also where its commands stand in the same batch" {
        r SET n 0
        with_clients {killer victim} {
            set ids [list [$killer CLIENT ID] [set id [$victim CLIENT ID]]]
            r CLIENT PAUSE 100000 WRITE
            $killer pipeline [list {MULTI} {SET killed yes} [list CLIENT KILL ID $id] {EXEC} {GET n}]
            wait_for_condition 5 {[client_field [r CLIENT LIST ID [lindex $ids 0]] flags] eq "xb"}
            $victim pipeline [lrepeat 40 {INCR n}]
            wait_for_condition 5 {[client_field [r CLIENT LIST ID $id] flags] eq "b"}
            r CLIENT UNPAUSE
            assert_equal {OK QUEUED QUEUED {OK 1} 0} [$killer replies 5]
            assert_equal "" [$victim raw_until_eof]
            assert_equal {0 yes} [list [r GET n] [r GETDEL killed]]
        }
    }

    test "A client that is killed in the middle of its pipeline is told what ran, and nothing else runs" {
        r DEL list n
        with_clients a {
            set id [$a CLIENT ID]
            $a pipeline {{INCR n} {ECHO one} {BLPOP list 0} {INCR n} {ECHO two}}
            assert_equal {1 one} [$a replies 2]
            wait_for_condition 5 {[client_field [r CLIENT LIST ID $id] flags] eq "b"}
            assert_equal 1 [r CLIENT KILL ID $id]
            r RPUSH list x
            assert_equal "" [$a raw_until_eof]
            assert_equal {1 x} [list [r GET n] [r LPOP list]]
        }
    }

    # ---- PAUSE UNPAUSE ----------------------------------------------------------------------------------------

    test "CLIENT PAUSE ALL holds every command until its time is up" {
        with_clients a {
            assert_between 200 60000 [elapsed_ms {
                r CLIENT PAUSE 200 ALL
                assert_equal PONG [$a PING]
            }]
        }
    }

    test "CLIENT PAUSE WRITE holds writes and lets reads pass" {
        with_clients {a b} {
            r SET key value
            r CLIENT PAUSE 100000 WRITE
            assert_equal value [$a GET key]
            $b send SET key other
            assert [$b silent_for 100]
            assert_equal value [$a GET key]
            assert_equal OK [r CLIENT UNPAUSE]
            assert_equal OK [$b reply]
            assert_equal other [$a GET key]
        }
    }

    test "A script that says that it does not write is a read in CLIENT PAUSE WRITE, also within EXEC" {
        set script "#!lua flags=no-writes\nreturn redis.call('get', 'key')"
        set sha [r SCRIPT LOAD $script]
        r FUNCTION LOAD "#!lua name=lib
            redis.register_function{function_name='f', flags={'no-writes'},
                callback=function(keys) return redis.call('get', keys\[1\]) end}"
        with_clients {a b} {
            r SET key value
            r CLIENT PAUSE 100000 WRITE
            foreach call [list [list EVAL $script 0] [list EVALSHA $sha 0] [list EVAL_RO $script 0] {FCALL f 1 key}] {
                assert_equal value [$a {*}$call]
                $a MULTI
                $a {*}$call
                assert_equal value [$a EXEC]
            }
            $b send EVAL "return 1" 0
            assert [$b silent_for 100]
            r CLIENT UNPAUSE
            assert_equal 1 [$b reply]
        }
    }

    test "CLIENT UNPAUSE lets all go on, in each client's order" {
        with_clients {a b} {
            r CLIENT PAUSE 100000 WRITE
            $a pipeline {{SET k 1} {GET k} {SET k 2} {GET k}}
            $b pipeline {{GET none} {SET x y}}
            assert_equal (nil) [$b reply]
            assert [$a silent_for 50]
            r CLIENT UNPAUSE
            assert_equal {OK 1 OK 2} [$a replies 4]
            assert_equal OK [$b reply]
        }
    }

    test "A paused client that goes away is gone" {
        with_clients b {
            r CLIENT PAUSE 100000 WRITE
            with_clients a {
                $a send SET key from-a
                after 30
            }
            after 50
            r CLIENT UNPAUSE
            assert_equal PONG [$b PING]
            wait_for_condition 5 {[llength [list_clients]] == 2}
        }
    }

    test "CLIENT PAUSE shows in INFO" {
        r CLIENT PAUSE 100000 WRITE
        assert_equal write [info_field paused_actions clients]
        assert_equal client_pause [info_field paused_reason clients]
        assert_between 1 100000 [info_field paused_timeout_milliseconds clients]
        r CLIENT UNPAUSE
        assert_equal none [info_field paused_actions clients]
        assert_equal none [info_field paused_reason clients]
    }

    test "Who waits for the end of a pause is shown as blocked" {
        with_clients {a b} {
            set id [$a CLIENT ID]
            r CLIENT PAUSE 100000 WRITE
            $a send SET key value
            wait_for_condition 5 {[client_field [r CLIENT LIST ID $id] flags] eq "b"}
            assert_equal 1 [info_field blocked_clients clients]
            assert_equal set [client_field [r CLIENT LIST ID $id] cmd]
            assert_equal 0 [r CLIENT UNBLOCK $id]
            # Until it is resumed.
            r pipeline [list {CLIENT UNPAUSE} [list CLIENT LIST ID $id] {INFO clients}]
            lassign [r replies 3] ok line info
            assert_equal {u 0} [list [client_field $line flags] [field_of $info blocked_clients]]
            assert_equal OK [$a reply]
            assert_equal N [client_field [r CLIENT LIST ID $id] flags]
        }
    }

    test "Who has waited goes on in the order of arrival, monitors do not wait" {
        with_clients {monitor a b} {
            set id_a [$a CLIENT ID]
            set id_b [$b CLIENT ID]
            $monitor MONITOR
            r CLIENT PAUSE 100000 ALL
            $a send CLIENT LIST ID $id_a $id_b
            wait_for_condition 5 {[string match "* flags=b *" [$monitor CLIENT LIST ID $id_a]]}
            $b send GET key
            wait_for_condition 5 {[string match "* flags=b *" [$monitor CLIENT LIST ID $id_b]]}
            assert_equal OK [$monitor CLIENT UNPAUSE]
            assert_equal {N u} [lmap line [lsort [split [string trim [$a reply]] \n]] {client_field $line flags}]
            assert_equal (nil) [$b reply]
        }
    }

    test "CLIENT PAUSE refuses bad times and modes" {
        assert_error "ERR timeout is not an integer or out of range" {r CLIENT PAUSE x}
        assert_error "ERR timeout is negative" {r CLIENT PAUSE -1}
        assert_error "ERR CLIENT PAUSE mode must be WRITE or ALL" {r CLIENT PAUSE 10 NOPE}
        assert_equal PONG [r PING]
    }

    test "Keys do not expire while writes are paused" {
        with_clients c {
            $c pipeline {{SET key value PX 50} {CLIENT PAUSE 100000 WRITE}}
            assert_equal {OK OK} [$c replies 2]
        }
        after 120
        assert_equal 1 [r DBSIZE]
        assert_equal (nil) [r GET key]
        r CLIENT UNPAUSE
        assert_equal (nil) [r GET key]
        wait_for_condition 5 {[r DBSIZE] == 0}
    }

    test "A time in the past deletes also in a transaction that has begun a pause" {
        r SET key value
        r HSET hash f 1
        r pipeline {MULTI {CLIENT PAUSE 100000 WRITE} {PEXPIREAT key 1} {HPEXPIREAT hash 1 FIELDS 1 f} DBSIZE EXEC}
        assert_equal {OK 1 2 0} [lindex [r replies 6] end]
        r CLIENT UNPAUSE
    }

    test "What a transaction that has begun a pause writes to a key whose time is over is there, once" {
        foreach {command type} {
            {HSETNX key f 1} hash
            {RPUSH key x} list
            {SADD key x} set
            {ZADD key 1 x} zset
            {XADD key 1-1 f v} stream
            {INCR key} string
            {APPEND key x} string
            {SET key x KEEPTTL} string
            {RENAME other key} string
            {COPY other key} string
            {SORT nothing STORE key} none
        } {
            r FLUSHALL
            r SET other value
            r RPUSH key old
            r PEXPIRE key 1
            after 5
            r pipeline [list MULTI {CLIENT PAUSE 100000 WRITE} $command {TTL key} {TYPE key} {KEYS key} EXEC]
            set keys [expr {$type eq "none" ? {} : "key"}]
            set then [lrange [lindex [r replies 7] end] 3 end]
            r CLIENT UNPAUSE
            assert_equal [list $command $type $keys] [list $command {*}$then]
            assert_equal [list $command $type $keys] [list $command [r TYPE key] [r KEYS key]]
            assert_equal [list $command [expr {($type ne "none") + [r EXISTS other]}]] [list $command [r DBSIZE]]
        }
    }

    # ---- REPLY NO-EVICT NO-TOUCH ------------------------------------------------------------------------------

    test "CLIENT REPLY OFF silences until ON" {
        with_clients c {
            $c send CLIENT REPLY OFF
            $c send SET key value
            $c send NOSUCH
            $c send CLIENT REPLY ON
            assert_equal OK [$c reply]
            assert_equal value [$c GET key]
        }
    }

    test "CLIENT REPLY SKIP silences the next command" {
        with_clients c {
            $c pipeline {{CLIENT REPLY SKIP} {ECHO unheard} {ECHO heard}}
            assert_equal heard [$c reply]
        }
    }

    test "CLIENT REPLY SKIP silences RESET as well, which ends OFF and speaks" {
        with_clients c {
            $c pipeline {{CLIENT REPLY SKIP} RESET {ECHO behind}}
            assert_equal behind [$c reply]
            $c pipeline {{CLIENT REPLY OFF} {ECHO silent} RESET {ECHO behind}}
            assert_equal {RESET behind} [$c replies 2]
        }
    }

    test "CLIENT REPLY refuses other modes" {
        assert_error $syntax {r CLIENT REPLY MAYBE}
    }

    test "CLIENT NO-EVICT and NO-TOUCH take ON and OFF" {
        with_clients c {
            assert_equal OK [$c CLIENT NO-EVICT on]
            assert_match "*e*" [client_field [$c CLIENT INFO] flags]
            assert_equal OK [$c CLIENT NO-EVICT OFF]
            assert_equal N [client_field [$c CLIENT INFO] flags]
            assert_equal OK [$c CLIENT NO-TOUCH on]
            assert_match "*T*" [client_field [$c CLIENT INFO] flags]
            assert_equal OK [$c CLIENT NO-TOUCH OFF]
            assert_error $syntax {$c CLIENT NO-EVICT maybe}
            assert_error $syntax {$c CLIENT NO-TOUCH maybe}
        }
    }

    test "With NO-TOUCH a read leaves the idle time, TOUCH does not" {
        r SET key value
        after 2100
        with_clients c {
            $c CLIENT NO-TOUCH on
            $c GET key
            assert_between 1 1000 [$c OBJECT IDLETIME key]
            unhurried 900 {
                $c TOUCH key
                assert_between 0 1 [$c OBJECT IDLETIME key]
            }
        }
    }

    test "CLIENT CAPA redirect shows in the list" {
        with_clients c {
            assert_equal OK [$c CLIENT CAPA redirect]
            assert_equal r [client_field [$c CLIENT INFO] capa]
        }
    }

    test "QUIT: who does not close its own end is gone soon, too" {
        with_clients c {
            set id [$c CLIENT ID]
            for {set i 0} {$i < 20} {incr i} {$c PING}
            unhurried 1500 {
                assert_between 0 1500 [elapsed_ms {
                    catch {$c QUIT}
                    wait_for_condition 10 {[r CLIENT LIST ID $id] eq ""}
                }]
            }
        }
    }

    test "Whom CLIENT KILL has ended is gone for the next command, from CLIENT LIST too" {
        with_clients {a b} {
            set id [$a CLIENT ID]
            set address [client_field [$a CLIENT INFO] addr]
            $a send BLPOP none 0
            wait_for_condition 5 {[string match "* flags=b *" [r CLIENT LIST ID $id]]}
            $b pipeline [list MULTI [list CLIENT KILL ID $id] [list CLIENT KILL ID $id] [list CLIENT KILL $address] \
                [list CLIENT UNBLOCK $id] [list CLIENT LIST ID $id] EXEC]
            assert_equal {1 0 {(error) ERR No such client} 0 {}} [string map {\n {}} [lindex [$b replies 7] end]]
        }
    }

    test "CLIENT HELP lists the subcommands" {
        assert_match "CLIENT <subcommand>*KILL <ip:port>*UNPAUSE*" [join [r CLIENT HELP] \n]
    }
}
