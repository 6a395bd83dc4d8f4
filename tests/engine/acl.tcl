# acl.tcl -- users: their rules as text, and the commands they may run.
#
# SPDX-License-Identifier: BSD-3-Clause

set sha_p 148de9c5a7a44d19e56cd9ae1a554bf67847afb0c58f6e12fa29ac7ddfca9940

# Returns the entry of ACL LIST for a new user with these rules.
proc rules_of {args} {
    r ACL SETUSER u reset
    r ACL SETUSER u {*}$args
    set line [lindex [r ACL LIST] 1]
    assert_match "user u *" $line
    return [string range $line 7 end]
}

# Runs BODY with a connection of user NAME, whose password is p.
proc as_user {name body} {
    upvar c c
    with_clients c {
        assert_equal OK [$c AUTH $name p]
        uplevel 1 $body
    }
}

# Returns those of WORDS that are in writable memory of the process.
proc memory_with {pid words} {
    set maps [open /proc/$pid/maps]
    set memory [open /proc/$pid/mem rb]
    set found {}
    foreach line [split [read $maps] \n] {
        if {![regexp {^([0-9a-f]+)-([0-9a-f]+) rw} $line -> from to]} continue
        scan "$from $to" "%llx %llx" from to
        # The shadow memory of sanitizers is terabytes of zeros.
        if {$to - $from > 1 << 28} continue
        seek $memory $from
        if {[catch {set bytes [read $memory [expr {$to - $from}]]}]} continue
        foreach word $words {
            if {[string first $word $bytes] >= 0 && $word ni $found} {
                lappend found $word
            }
        }
    }
    close $maps
    close $memory
    return $found
}

start_server {} {

    # ---- Rules as text ------------------------------------------------------------------------------------------

    test "The default user may do everything, without a password" {
        assert_equal {{user default on nopass ~* &* +@all}} [r ACL LIST]
        assert_equal default [r ACL USERS]
        assert_equal default [r ACL WHOAMI]
        assert_equal {flags {on nopass} passwords {} commands +@all keys ~* channels &* databases alldbs selectors {}} \
            [r ACL GETUSER default]
        assert_equal (nil) [r ACL GETUSER nobody]
    }

    foreach {words text} [list \
        {} "off resetchannels -@all" \
        {on nopass} "on nopass resetchannels -@all" \
        {on nopass >p} "on #$sha_p resetchannels -@all" \
        {>p >p >q <p} "off #8e35c2cd3bf6641bdb0e2050b76932cbb2e6034a0ddacc1d9bea82a6ba57f7cf resetchannels -@all" \
        [list #$sha_p >q !$sha_p resetpass] "off resetchannels -@all" \
        {~a ~a %R~a %R~b %W~c %RW~d %W~b} "off ~a ~b %W~c ~d resetchannels -@all" \
        {~a allkeys} "off ~* resetchannels -@all" \
        {~a resetkeys %R~*} "off %R~* resetchannels -@all" \
        {%RW~* ~b} "off %RW~* ~b resetchannels -@all" \
        {~b %R~* %W~*} "off ~b %RW~* resetchannels -@all" \
        {("~a" '+get')} "off resetchannels -@all (~a resetchannels -@all +get)" \
        {&a &a &b} "off resetchannels &a &b -@all" \
        {&a allchannels} "off &* -@all" \
        {db=3,1,1,2 db=2,0,2} "off resetchannels db=0,2 -@all" \
        {db=1 alldbs} "off resetchannels -@all" \
        {resetdbs} "off resetchannels resetdbs -@all" \
        {+get +GET|x +get|y +get|x} "off resetchannels -@all +get +get|y +get|x" \
        {+get|x +get} "off resetchannels -@all +get" \
        {+get|x -get} "off resetchannels -@all -get" \
        {+config|get +config -config|get} "off resetchannels -@all +config -config|get" \
        {-config|get -config} "off resetchannels -@all -config" \
        {+@read -@READ +@read +get} "off resetchannels -@all +@read +get" \
        {+get -@string allcommands -set +set} "off resetchannels +@all +set" \
        {+@all nocommands +get} "off resetchannels -@all +get" \
        {(~a (+get) clearselectors (~a} "" \
        {(~a +get) (%R~b db=1) ()} \
            "off resetchannels -@all (~a resetchannels -@all +get) (%R~b resetchannels db=1 -@all) (resetchannels -@all)" \
        {(~a) clearselectors} "off resetchannels -@all" \
        {on ~a &a +@all db=1 (~b) reset} "off resetchannels -@all" \
        {sanitize-payload skip-sanitize-payload} "off resetchannels -@all"] {
        if {$text eq ""} continue
        test "ACL SETUSER u $words" {
            assert_equal $text [rules_of {*}$words]
        }
    }

    test "A selector may be spread over several words" {
        assert_equal "off resetchannels -@all (~a resetchannels -@all +get)" [rules_of "(~a" "+get" ")"]
        assert_equal "off resetchannels -@all (~a resetchannels -@all)" [rules_of "( ~a )"]
    }

    test "An empty rule says nothing" {
        assert_equal "off resetchannels -@all +get" [rules_of {} +get {}]
    }

    test "acl-pubsub-default says what a new user may hear" {
        with_config {acl-pubsub-default allchannels} {
            assert_equal "off &* -@all" [rules_of]
        }
    }

    foreach {word why} {
        foo {Syntax error}
        %X~a {Syntax error}
        %~a {Syntax error}
        {~a b} {Syntax error}
        {&a b} {Syntax error}
        db= {Syntax error}
        db=1, {Syntax error}
        db=x {Syntax error}
        db=-1 {The provided database ID is out of range}
        (on) {Syntax error}
        "(~a) ~b)" {Syntax error}
        (~a)) {Syntax error}
        {("~'a" +get)} {Syntax error}
        {('~"a' +get)} {Syntax error}
        +nosuch {Unknown command or category name in ACL}
        +config|nosuch {Unknown command or category name in ACL}
        +@nosuch {Unknown command or category name in ACL}
        "+get|a b" {Syntax error}
        -get|x {Unknown command or category name in ACL}
        +select|0|1 {Unknown command or category name in ACL}
        + {Unknown command or category name in ACL}
        +config|get|x {Allowing first-arg of a subcommand is not supported}
        <zzz {The password you are trying to remove from the user does not exist}
        #zz {The password hash must be exactly 64 characters and contain only lowercase hexadecimal characters}
    } {
        test "What is wrong with $word, and nothing has changed" {
            r ACL SETUSER u reset on ~x
            assert_error "ERR Error in ACL SETUSER modifier '$word': $why" {r ACL SETUSER u >p +get $word}
            assert_equal "user u on ~x resetchannels -@all" [lindex [r ACL LIST] 1]
        }
    }

    test "Patterns behind one that fits all, open parentheses, names" {
        assert_error "*modifier '~b': Adding a pattern after the \\* pattern*resetkeys*" {r ACL SETUSER u ~* ~b}
        assert_error "*modifier '&b': Adding a pattern after the \\* pattern*resetchannels*" {r ACL SETUSER u &* &b}
        assert_error "ERR Unmatched parenthesis in acl selector starting at '(+get'." {r ACL SETUSER u (+get ~a}
        assert_error "ERR Usernames can't contain spaces or null characters" {r ACL SETUSER "a b" on}
    }

    # ---- Permissions --------------------------------------------------------------------------------------------

    test "ACL DRYRUN: commands, subcommands, first arguments" {
        r ACL SETUSER u reset ~* &* +@read -get +config|get +select|1
        foreach {command verdict} {
            {strlen x} OK
            {get x} {User u has no permissions to run the 'get' command}
            {set x 1} {User u has no permissions to run the 'set' command}
            {config get x} OK
            {config set x 1} {User u has no permissions to run the 'config|set' command}
            {select 1} OK
            {select 2} {User u has no permissions to run the 'select' command}
            {auth x} OK
            {hello 3} OK
        } {
            assert_equal $verdict [r ACL DRYRUN u {*}$command]
        }
        assert_error "ERR Command 'nosuch' not found" {r ACL DRYRUN u nosuch}
        assert_error "ERR User 'nobody' not found" {r ACL DRYRUN nobody get x}
        assert_error "ERR wrong number of arguments for 'get' command" {r ACL DRYRUN u get}
        assert_error "ERR wrong number of arguments for 'client' command" {r ACL DRYRUN u client}
        assert_error "ERR Command 'client' not found" {r ACL DRYRUN u client nosuch}
    }

    test "What was said of a first argument is over when its category is taken away" {
        r ACL SETUSER u reset +select|1 -@connection
        assert_equal {User u has no permissions to run the 'select' command} [r ACL DRYRUN u select 1]
        assert_equal "user u off resetchannels -@all +select|1 -@connection" [lindex [r ACL LIST] 1]
    }

    test "ACL DRYRUN: keys, and what is done to them" {
        r ACL SETUSER u reset +@all ~app:* %R~in:?* %W~out:* ~one (%R~sel +get)
        foreach {command refused} {
            {get app:1} "" {set app:1 x} "" {get one} "" {get one2} one2 {get app} app
            {get in:1} "" {get in:} in: {set in:1 x} in:1 {set in:1 x get} in:1
            {set out:1 x} "" {get out:1} out:1 {set out:1 x get} out:1 {append out:1 x} ""
            {get sel} "" {set sel 1} sel {strlen sel} sel
            {copy in:1 out:1} "" {copy out:1 in:1} out:1 {copy in:1 in:2} in:2
            {mget app:1 in:1 no app:2} no
            {zunionstore out:1 2 in:1 app:1} "" {zunionstore out:1 2 in:1 out:2} out:2
            {bitfield in:1 get u8 0} "" {bitfield in:1 set u8 0 1} in:1
            {lmpop 2 app:1 no left} no {ping} ""
        } {
            set verdict [expr {$refused eq "" ? "OK" : "User u has no permissions to access the '$refused' key"}]
            assert_equal $verdict [r ACL DRYRUN u {*}$command]
        }
    }

    test "ACL DRYRUN: channels" {
        r ACL SETUSER u reset +@all &news.* &one
        foreach {command refused} {
            {publish news.1 x} "" {publish one x} "" {publish two x} two {spublish two x} two
            {subscribe one news.2 two} two {ssubscribe two} two {unsubscribe two} ""
            {psubscribe news.*} "" {psubscribe news.1*} news.1* {psubscribe one} ""
        } {
            set verdict [expr {$refused eq "" ? "OK" : "User u has no permissions to access the '$refused' channel"}]
            assert_equal $verdict [r ACL DRYRUN u {*}$command]
        }
    }

    test "ACL DRYRUN: databases" {
        r ACL SETUSER u reset +@all ~* &* db=1,2
        foreach {command refused} {
            {get x} get {ping} "" {multi} "" {dbsize} dbsize {keys *} keys {flushall} flushall {watch x} watch
            {select 0} 0 {select 1} "" {swapdb 1 2} "" {swapdb 1 3} 3 {move x 3} 3 {move x 2} move
            {copy a b db 3} 3 {copy a b db 2} copy {publish c x} "" {info} ""
        } {
            set verdict [expr {$refused eq "" ? "OK" : "User u has no permissions to access database $refused"}]
            assert_equal $verdict [r ACL DRYRUN u {*}$command]
        }
    }

    test "A user is refused, told why, and it is counted" {
        r CONFIG RESETSTAT
        r ACL SETUSER u reset on >p ~a* &c +@all -config db=0
        as_user u {
            assert_equal u [$c ACL WHOAMI]
            assert_equal OK [$c SET a1 1]
            assert_error "NOPERM No permissions to access a key" {$c SET b 1}
            assert_error "NOPERM User u has no permissions to run the 'config|get' command" {$c CONFIG GET port}
            assert_error "NOPERM No permissions to access a channel" {$c PUBLISH d x}
            assert_error "NOPERM No permissions to access database" {$c SELECT 1}
            assert_error "WRONGPASS*" {$c AUTH u q}
            assert_equal u [$c ACL WHOAMI]
        }
        foreach what {auth cmd key channel db} {
            assert_equal 1 [info_field acl_access_denied_$what]
        }
    }

    test "What a command does to a key that it only sometimes reads depends on its options" {
        r ACL SETUSER u reset on >p %W~w %R~r +@all
        r SET r 1
        as_user u {
            assert_equal OK [$c SET w 1]
            assert_error "NOPERM No permissions to access a key" {$c SET w 1 GET}
            assert_equal 0 [$c BITFIELD r GET u1 0]
            assert_error "NOPERM No permissions to access a key" {$c BITFIELD r SET u1 0 1}
        }
    }

    test "A queued command that is refused ends the transaction, and EXEC may be refused itself" {
        r ACL SETUSER u reset on >p ~a* +@all
        as_user u {
            $c MULTI
            assert_equal QUEUED [$c SET a 1]
            assert_error "NOPERM No permissions to access a key" {$c SET b 1}
            assert_error "EXECABORT Transaction discarded because of previous errors." {$c EXEC}
            r ACL SETUSER u -exec
            $c MULTI
            assert_error "EXECABORT Transaction discarded because of: NOPERM User u has no permissions to run the 'exec' command" \
                {$c EXEC}
        }
    }

    test "EXEC asks again: rules may have changed since a command was queued" {
        set why "NOPERM ACLs rules changed between the moment the transaction was accumulated and the EXEC call. This\
            command is no longer allowed for the following reason:"
        foreach {command rules reason} {
            {GET x} -get "no permission to execute the command or subcommand"
            {GET x} {resetkeys ~ok} "no permission to touch the specified keys"
            {PUBLISH c x} {resetchannels} "no permission to access one of the channels used as arguments"
        } {
            r ACL SETUSER u reset on >p ~* &* +@all
            r ACL LOG RESET
            as_user u {
                $c MULTI
                $c {*}$command
                $c SET ok 1
                r ACL SETUSER u {*}$rules
                assert_equal [list "(error) $why $reason" OK] [$c EXEC]
            }
            assert_equal multi [dict get [lindex [r ACL LOG] 0] context]
        }
    }

    test "Who waits for a key that it may not have any more gets an error, and the element stays" {
        foreach {rules error} {
            -blpop "NOPERM User u has no permissions to run the 'blpop' command"
            {resetkeys ~other} "NOPERM No permissions to access a key"
        } {
            r ACL SETUSER u reset on >p ~* +@all
            as_user u {
                $c send BLPOP waited 0
                wait_for_condition 10 {[info_field blocked_clients clients] == 1}
                r ACL SETUSER u {*}$rules
                r RPUSH waited x
                assert_error $error {$c reply}
            }
            assert_equal x [r LPOP waited]
        }
    }

    test "SORT reads by patterns only for who may read every key" {
        r RPUSH l 1
        foreach {rules ok} {~l 0 {~l ~w_*} 0 {~l %R~*} 1 ~* 1 {~l (%R~* +get)} 0 {~l (%R~* +sort)} 1} {
            r ACL SETUSER u reset on >p +@all {*}$rules
            as_user u {
                assert_equal 1 [$c SORT l BY nosort]
                if {$ok} {
                    assert_equal 1 [$c SORT l BY w_*]
                    assert_equal 1 [$c SORT l GET #]
                } else {
                    assert_error "ERR BY option of SORT denied due to insufficient ACL permissions." {$c SORT l BY w_*}
                    assert_error "ERR GET option of SORT denied due to insufficient ACL permissions." {$c SORT l GET #}
                }
            }
        }
    }

    test "Rules that change are in force at once, in both directions" {
        r ACL SETUSER u reset on >p ~* &* +@all
        as_user u {
            assert_equal OK [$c SET b 1]
            r ACL SETUSER u -set
            assert_error "NOPERM User u has no permissions to run the 'set' command" {$c SET b 1}
            r ACL SETUSER u +set
            assert_equal OK [$c SET b 1]
        }
    }

    test "A subscriber that may not hear it any more is let go" {
        r ACL SETUSER u reset on >p &* +@all
        with_clients {c d} {
            $c AUTH u p
            $d AUTH u p
            $c SUBSCRIBE x
            $d PSUBSCRIBE y*
            r ACL SETUSER u resetchannels &y*
            assert_error "*closed*" {$c PING}
            $d PING
        }
    }

    test "ACL DELUSER lets its clients go, the one that asks behind the reply" {
        r ACL SETUSER u reset on >p +@all
        r ACL SETUSER v reset on >p +@all
        with_clients {c d} {
            $c AUTH u p
            $d AUTH v p
            assert_equal 2 [$c ACL DELUSER u v nobody]
            assert_error "*closed*" {$c PING}
            assert_error "*closed*" {$d PING}
        }
        assert_equal default [r ACL USERS]
        assert_error "ERR The 'default' user cannot be removed" {r ACL DELUSER x default}
    }

    test "ACL DELUSER of oneself in a transaction: the rest runs unheard, as the default user, and then it is let go" {
        foreach {default_rules done} {+set OK -set (nil)} {
            r ACL SETUSER u reset on >p ~* +@all
            r ACL SETUSER default {*}$default_rules
            r DEL k
            r ACL LOG RESET
            with_clients c {
                $c AUTH u p
                foreach command {MULTI {SET first 1} {ACL DELUSER u} {SET k OK} {ACL WHOAMI}} {
                    $c {*}$command
                }
                $c write "EXEC\r\n"
                assert_equal "*4\r\n+OK\r\n:1\r\n" [$c raw_until_eof]
            }
            assert_equal $done [r GET k]
            assert_equal [expr {$done eq "OK" ? {} : "default set"}] [join [lmap entry [r ACL LOG] {
                concat [dict get $entry username] [dict get $entry object]
            }]]
            r ACL SETUSER default +@all
        }
    }

    test "Whose user is deleted while it waits is let go, and the element stays" {
        r ACL SETUSER u reset on >p ~* +@all
        r DEL waited
        as_user u {
            $c send BLPOP waited 0
            wait_for_condition 10 {[info_field blocked_clients clients] == 1}
            r MULTI
            r ACL DELUSER u
            r RPUSH waited x
            assert_equal {1 1} [r EXEC]
            assert_error "*closed*" {$c reply}
        }
        assert_equal x [r LPOP waited]
    }

    test "Who is switched off does not come in; who is in stays" {
        r ACL SETUSER u reset on nopass +@all
        with_clients {c d} {
            assert_equal OK [$c AUTH u anything]
            r ACL SETUSER u off
            assert_equal PONG [$c PING]
            assert_error "WRONGPASS*" {$d AUTH u anything}
            assert_error "WRONGPASS*" {$d HELLO 2 AUTH nobody p}
            assert_error "*called without any password configured for the default user*" {$d AUTH p}
            assert_equal OK [$d AUTH default whatever]
        }
    }

    test "RESET makes a client the default user again" {
        r ACL SETUSER u reset on >p +@all
        as_user u {
            $c RESET
            assert_equal default [$c ACL WHOAMI]
        }
    }

    test "requirepass is the default user's password" {
        with_config {requirepass p} {
            with_clients c {
                assert_error "NOAUTH*" {$c PING}
                assert_equal OK [$c AUTH p]
                assert_equal "user default on #$sha_p ~* &* +@all" [lindex [$c ACL LIST] 0]
                assert_equal OK [$c AUTH default p]
            }
        }
        assert_match "user default on nopass *" [lindex [r ACL LIST] 0]
    }

    test "CLIENT LIST shows the user, CLIENT LIST and KILL find it" {
        r ACL SETUSER u reset on >p +@all
        r ACL SETUSER v reset
        as_user u {
            assert_equal u [client_field [$c CLIENT INFO] user]
            assert_equal [$c CLIENT ID] [client_field [r CLIENT LIST USER u] id]
            assert_equal "" [r CLIENT LIST USER v]
            assert_equal 0 [r CLIENT KILL USER v]
            assert_equal 1 [r CLIENT KILL USER u]
            assert_error "*closed*" {$c PING}
        }
    }

    # ---- ACL LOG ------------------------------------------------------------------------------------------------

    test "ACL LOG: newest first, the same within a minute counted" {
        r ACL LOG RESET
        assert_equal {} [r ACL LOG]
        r ACL SETUSER u reset on >p ~a +@all -config
        as_user u {
            catch {$c GET b}
            catch {$c GET c}
            catch {$c GET b}
            $c MULTI
            catch {$c CONFIG GET x}
        }
        with_clients c {
            catch {$c AUTH u wrong}
        }
        set seen [lmap entry [r ACL LOG] {
            list [dict get $entry count] [dict get $entry reason] [dict get $entry context] [dict get $entry object] \
                [dict get $entry username]
        }]
        assert_equal {{1 auth toplevel AUTH u} {1 command multi config|get u} {2 key toplevel b u} {1 key toplevel c u}} \
            $seen
        set entry [lindex [r ACL LOG 1] 0]
        assert_equal [list count reason context object username age-seconds client-info entry-id timestamp-created \
            timestamp-last-updated] [dict keys $entry]
        assert_match "*cmd=auth user=default*" [dict get $entry client-info]
        assert_equal 2 [llength [r ACL LOG 2]]
        assert_equal {} [r ACL LOG 0]
    }

    test "ACL LOG: a database is named as the command does, or else the command is" {
        r ACL LOG RESET
        r ACL SETUSER u reset on >p ~* +@all db=1
        as_user u {
            foreach words {{GET a} {Xinfo Stream a} FLUSHALL {SELECT 2} {COPY a b DB 3}} {
                assert_error "NOPERM No permissions to access database" {$c {*}$words}
            }
        }
        assert_equal {3 2 flushall xinfo|stream get} [lmap entry [r ACL LOG] {dict get $entry object}]
    }

    test "acllog-max-len bounds it, and RESET empties it" {
        r ACL SETUSER u reset on >p +@all
        with_config {acllog-max-len 3} {
            as_user u {
                for {set i 0} {$i < 10} {incr i} {catch {$c GET $i}}
            }
            assert_equal {9 8 7} [lmap entry [r ACL LOG] {dict get $entry object}]
        }
        assert_equal OK [r ACL LOG RESET]
        assert_equal {} [r ACL LOG]
        assert_error "ERR value is not an integer or out of range" {r ACL LOG x}
    }

    test "Passwords are in no log" {
        with_config {slowlog-log-slower-than 0} {
            r ACL SETUSER secretive on >secret-1 ~*
            r ACL GETUSER secretive
            assert_no_match "*secret*" [r SLOWLOG GET]
        }
        r ACL DELUSER secretive
    }

    test "Passwords that were sent are in no memory of the server" {
        set pid [info_field process_id server]
        if {![file readable /proc/$pid/mem]} {
            skip "this system does not let one process read another's memory"
        }
        if {[over_tls]} {
            skip "OpenSSL keeps what it has decrypted until the next record comes"
        }
        set marks [lmap n {1 2 3 4} {string cat "plain-word-$n-" [pid]}]
        lassign $marks set auth wrong hello
        r ACL SETUSER careful on >$set >$auth >$hello ~* +@all
        with_clients c {
            assert_equal OK [$c AUTH careful $auth]
            assert_error "WRONGPASS*" {$c AUTH careful $wrong}
            $c HELLO 2 AUTH careful $hello
            $c MULTI
            $c AUTH careful $auth
            $c ACL SETUSER careful >$set
            assert_equal {OK OK} [$c EXEC]
            assert_equal PONG [$c PING]
            assert_equal {} [memory_with $pid $marks]
            $c PING "seen-[lindex $marks 0]"
            r SET kept "seen-[lindex $marks 1]"
            assert_equal [list [lindex $marks 1]] [memory_with $pid [list [lindex $marks 1]]]
        }
        r DEL kept
        r ACL DELUSER careful
    }

    # ---- Categories and passwords -------------------------------------------------------------------------------

    test "ACL CAT and ACL GENPASS" {
        assert {"scripting" in [r ACL CAT]}
        assert {"get" in [r ACL CAT read]}
        assert_error "ERR Unknown category 'foo'" {r ACL CAT foo}
        assert_equal 64 [string length [r ACL GENPASS]]
        assert_equal 2 [string length [r ACL GENPASS 5]]
        assert_error "ERR ACL GENPASS argument must be the number of bits*up to 4096" {r ACL GENPASS 0}
    }

    test "ACL LOAD and SAVE need a file" {
        assert_error "ERR This instance is not configured to use an ACL file.*" {r ACL LOAD}
        assert_error "ERR This instance is not configured to use an ACL file.*" {r ACL SAVE}
    }
}

# ---- Files ----------------------------------------------------------------------------------------------------------

proc users_file {} {
    return [file join [srv dir] users.acl]
}

set dir [make_server_dir]
write_file [file join $dir users.acl] "user a on nopass ~* +@all\n\n   user default on nopass ~* &* +@all  \n"
start_server [list tags own-files overrides [list aclfile [file join $dir users.acl]]] {
    set file [lindex [r CONFIG GET aclfile] 1]

    test "A start reads the file" {
        assert_equal {{user a on nopass ~* resetchannels +@all} {user default on nopass ~* &* +@all}} [r ACL LIST]
    }

    test "ACL SAVE writes it, ACL LOAD reads it" {
        r ACL SETUSER b on >p (~x +get)
        assert_equal OK [r ACL SAVE]
        assert_equal "user a on nopass ~* resetchannels +@all
user b on #$sha_p resetchannels -@all (~x resetchannels -@all +get)
user default on nopass ~* &* +@all
" [read_file $file]
        set list [r ACL LIST]
        r ACL DELUSER b
        assert_equal OK [r ACL LOAD]
        assert_equal $list [r ACL LIST]
    }

    test "Users of any name that ACL SETUSER takes come through ACL SAVE and ACL LOAD" {
        set names [list "" {"q"} 'q' {a"b} \xff\xfe on +@all (x) #c \\ user [string repeat x 3000]]
        foreach name $names {
            r ACL SETUSER $name on >p ~k +get
        }
        set list [r ACL LIST]
        assert_equal OK [r ACL SAVE]
        assert_equal OK [r ACL LOAD]
        set after [r ACL LIST]
        r ACL DELUSER {*}$names
        assert_equal $list $after
        r ACL SAVE
    }

    foreach {text why} {
        "foo a on\n" "%:1 should start with user keyword followed by the username. "
        "user\n" "%:1 should start with user keyword followed by the username. "
        "# comment\n" "%:1 should start with user keyword followed by the username. "
        "user a on\nuser a off\n" "WARNING: Duplicate user 'a' found on line 2. "
        "user a on +nosuch\nuser b xx\n"
            "%:1: Error in applying operation '+nosuch': Unknown command or category name in ACL. %:2: Syntax error. "
    } {
        test "ACL LOAD of [string map {\n ;} $text] changes nothing" {
            set before [r ACL LIST]
            write_file $file $text
            assert_error "ERR [string map [list % $file] $why]WARNING: ACL errors detected, no change to the previously active ACL rules was performed" \
                {r ACL LOAD}
            assert_equal $before [r ACL LIST]
        }
    }

    test "ACL LOAD lets clients of users that are gone go, and keeps the others under their new rules" {
        write_file $file "user a on nopass ~* +@all\nuser b on nopass ~* +@all\n"
        assert_equal OK [r ACL LOAD]
        with_clients {c d} {
            $c AUTH a x
            $d AUTH b x
            write_file $file "user a on nopass ~* +@all -set\n"
            assert_equal OK [r ACL LOAD]
            assert_error "NOPERM*" {$c SET x 1}
            assert_error "*closed*" {$d PING}
        }
        assert_equal {a default} [r ACL USERS]
    }

    test "ACL LOAD that takes users away from who loads, waits, listens and has a transaction open" {
        write_file $file "user a on nopass ~* &* +@all\n"
        assert_equal OK [r ACL LOAD]
        with_clients {loads waits listens queues stays} {
            foreach c [list $loads $waits $listens $queues] {
                $c AUTH a x
            }
            $waits send BLPOP list 0
            $listens SUBSCRIBE news
            $queues MULTI
            $queues SET k v
            wait_for_condition 10 {[info_field blocked_clients clients] == 1}
            write_file $file "user b on nopass ~* +@all\n"
            assert_equal OK [$loads ACL LOAD]
            foreach c [list $loads $listens $queues] {
                assert_error "*closed*" {$c PING}
            }
            assert_error "*closed*" {$waits reply}
            assert_equal PONG [$stays PING]
        }
        assert_equal {0 0} [list [r EXISTS k] [info_field blocked_clients clients]]
        assert_equal {b default} [r ACL USERS]
    }
}

test "A start with a file that is wrong, or that is not there, is refused" {
    set dir [make_server_dir]
    set file [file join $dir users.acl]
    lassign [run_to_end [list --port 0 --dir $dir --aclfile $file]] code output
    assert_equal 1 $code
    assert_match "*Failed to load the users*$file*" $output
    write_file $file "user a xx\n"
    lassign [run_to_end [list --port 0 --dir $dir --aclfile $file]] code output
    assert_equal 1 $code
    assert_match "*$file:1: Syntax error.*" $output
}

start_server {tags own-files overrides {user {a on nopass ~x +get} requirepass p USER {b off}}} {
    set written {}

    test "Users stand in the configuration, and CONFIG REWRITE writes them" {
        with_clients c {
            assert_equal OK [$c AUTH a anything]
            assert_error "NOPERM*" {$c ACL LIST}
            assert_equal OK [$c AUTH p]
            assert_equal {a b default} [$c ACL USERS]
            assert_equal 1 [$c ACL DELUSER b]
            $c ACL SETUSER c on >p {~q"'x} (~y +get)
            assert_equal OK [$c CONFIG REWRITE]
            set written [lsearch -all -inline [split [read_file [srv conf]] \n] "user *"]
            assert_equal [list "user a on nopass ~x resetchannels -@all +get" \
                "user c on #$sha_p \"~q\\\"'x\" resetchannels -@all (~y resetchannels -@all +get)" \
                "user default on #$sha_p ~* &* +@all"] $written
            assert_no_match "*USER*" [read_file [srv conf]]
        }
    }

    test "What was written is what the server starts with" {
        restart_server
        with_clients c {
            $c AUTH p
            assert_equal [string map {"\"~q\\\"'x\"" "~q\"'x"} $written] [$c ACL LIST]
            $c CONFIG REWRITE
            assert_equal $written [lsearch -all -inline [split [read_file [srv conf]] \n] "user *"]
        }
    }
}

start_server {tags own-files overrides {appendonly yes user {admin on nopass ~* &* +@all} USER {default off}}} {
    test "The append-only file is read whatever the default user may not do" {
        with_clients c {
            assert_equal OK [$c AUTH admin x]
            $c SET k 1
            $c MULTI
            $c RPUSH l 1
            $c INCR k
            assert_equal {1 2} [$c EXEC]
        }
        restart_server
        with_clients c {
            assert_error "NOAUTH*" {$c GET k}
            assert_equal OK [$c AUTH admin x]
            assert_equal {2 1} [list [$c GET k] [$c LLEN l]]
        }
    }
}

test "A configuration with users and an aclfile, or the same user twice, is refused" {
    lassign [run_to_end {--port 0 --aclfile users.acl --user a on}] code output
    assert_equal 1 $code
    assert_match "*Users are defined in the configuration file, and aclfile is set*" $output
    lassign [run_to_end {--port 0 --user a on --user a off}] code output
    assert_equal 1 $code
    assert_match "*Duplicate user*" $output
    lassign [run_to_end {--port 0 --user a +nosuch}] code output
    assert_equal 1 $code
    assert_match "*rules of user 'a': *'+nosuch'*" $output
}

test "A configuration that is refused shows no password" {
    foreach {line shown} {
        {user default on >secret foo} {user declaration 'default': Syntax error}
        {user a on <secret} {user declaration 'a': The password you are}
        {user a on #secret} {user declaration 'a': The password hash}
        {user a on secret} {user declaration 'a': Syntax error}
        {user a on (~x >secret)} {user declaration 'a': Syntax error}
        {user a on (secret} {user declaration 'a': Wrong format}
        {user a on (~x} {user declaration 'a': Wrong format}
        {user a on ">secret} {'user (redacted)'}
        {requirepass secret foo} {'requirepass (redacted)'}
        {"requirepass" secret foo} {'"requirepass" (redacted)'}
        {masterauth secret foo} {'masterauth (redacted)'}
        {port secretly} {'port secretly'}
    } {
        set dir [make_server_dir]
        write_file [file join $dir server.conf] "port 0\n$line\n"
        lassign [run_to_end [list [file join $dir server.conf]]] code output
        assert_equal 1 $code
        assert {[string first $shown $output] >= 0}
        assert {$line eq "port secretly" || [string first secret $output] < 0}
    }
    set dir [make_server_dir]
    set file [file join $dir users.acl]
    write_file $file "user a <secret\nuser b #secret\nuser c secret\nuser d (~x <secret)\nuser e (~x secret\n"
    lassign [run_to_end [list --port 0 --dir $dir --aclfile $file]] code output
    assert_equal 1 $code
    assert_match "*:1: Error in applying operation '<(redacted)': The password you*:2: *'#(redacted)': The password hash*:5: *" \
        $output
    assert {[string first secret $output] < 0}
}

start_server {tags own-files} {
    test "CONFIG REWRITE writes no user where there is the default user alone" {
        r CONFIG REWRITE
        assert_no_match "*\nuser *" [read_file [srv conf]]
        r ACL SETUSER default -debug
        r CONFIG REWRITE
        assert_match "*\nuser default on nopass ~\\* &\\* +@all -debug\n*" [read_file [srv conf]]
        r ACL SETUSER default +@all
    }
}
