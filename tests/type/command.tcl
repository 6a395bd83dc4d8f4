# command.tcl -- COMMAND: the server's information about its commands.
#
# SPDX-License-Identifier: BSD-3-Clause

proc raw {args} {
    return [[default_client] raw {*}$args]
}

# Returns the text as RESP: one line of TEXT per line.
proc wire {text} {
    return [string map {\n \r\n} [string trim $text]]\r\n
}

set facts [file join [file dirname [info script]] command_table.txt]

# Returns a part of a key spec: its type, then its values.
proc spec_part {part} {
    return [join [concat [dict get $part type] [dict values [dict get $part spec]]] :]
}

proc sorted {words} {
    return [expr {[llength $words] ? [join [lsort $words] ,] : "-"}]
}

# Returns COMMAND INFO as a line of command_table.txt.
proc facts_of {info} {
    lassign $info name arity flags first last step categories tips specs
    set specs [lmap spec $specs {
        join [list [spec_part [dict get $spec begin_search]] [spec_part [dict get $spec find_keys]] \
            [join [lsort [dict get $spec flags]] +]] /
    }]
    set categories [lmap word $categories {string trimleft $word @}]
    return "$name $arity [sorted $flags] [sorted $categories] $first:$last:$step\
        [expr {[llength $specs] ? [join $specs {;}] : "-"}] [sorted $tips]"
}

start_server {each {r HELLO 2}} {

    # ---- COMMAND COUNT LIST -----------------------------------------------------------------------------------

    test "COMMAND, INFO, DOCS and COUNT agree on the number of commands" {
        set count [r COMMAND COUNT]
        assert_equal $count [llength [r COMMAND]]
        assert_equal $count [llength [r COMMAND INFO]]
        assert_equal [expr {$count * 2}] [llength [r COMMAND DOCS]]
    }

    test "COMMAND LIST gives full names, subcommands too" {
        set names [r COMMAND LIST]
        foreach name {get set config config|get object|freq command|getkeysandflags} {
            assert {$name in $names}
        }
        assert_equal [llength $names] [llength [lsort -unique $names]]
    }

    test "COMMAND LIST FILTERBY PATTERN matches full names in any case" {
        assert_equal getrange [r COMMAND LIST FILTERBY PATTERN getr*]
        assert_equal config|get [r command list filterby pattern CONFIG|G*]
        assert_equal {} [r COMMAND LIST FILTERBY PATTERN nothing*]
    }

    test "COMMAND LIST FILTERBY ACLCAT" {
        set names [r COMMAND LIST FILTERBY ACLCAT STRING]
        assert {"get" in $names && "set" in $names && "del" ni $names}
        assert {"config|get" in [r COMMAND LIST FILTERBY ACLCAT dangerous]}
        assert_equal {} [r COMMAND LIST FILTERBY ACLCAT nothing]
        assert_equal {} [r COMMAND LIST FILTERBY ACLCAT @string]
    }

    test "COMMAND LIST FILTERBY MODULE of an unknown module is empty" {
        assert_equal {} [r COMMAND LIST FILTERBY MODULE nothing]
    }

    test "COMMAND LIST refuses other words" {
        foreach words {{nothing} {FILTERBY} {FILTERBY PATTERN} {FILTERBY nothing x} {FILTERBY PATTERN a b}} {
            assert_error {ERR syntax error} {r COMMAND LIST {*}$words}
        }
    }

    # ---- COMMAND INFO -----------------------------------------------------------------------------------------

    test "COMMAND INFO of GET, to the byte" {
        set spec {
$5
flags
*2
+RO
+access
$12
begin_search
*4
$4
type
$5
index
$4
spec
*2
$5
index
:1
$9
find_keys
*4
$4
type
$5
range
$4
spec
*6
$7
lastkey
:0
$7
keystep
:1
$5
limit
:0
}
        set head "*1\n*10\n\$3\nget\n:2\n*2\n+readonly\n+fast\n:1\n:1\n:1\n*3\n+@read\n+@string\n+@fast\n*0\n*1\n*6"
        assert_equal [wire "$head\n[string trim $spec]\n*0"] [raw COMMAND INFO GeT]
    }

    test "COMMAND says of each command what COMMAND INFO says of it, in both protocols and to scripts" {
        foreach resp {3 2 3} {
            r HELLO $resp
            set all [r COMMAND]
            set names [lmap info $all {lindex $info 0}]
            assert_equal $all [r COMMAND INFO {*}$names]
            assert_equal [llength $all] [r EVAL {return #redis.call('COMMAND')} 0]
        }
        r HELLO 2
    }

    test "COMMAND INFO has sets and maps in RESP3" {
        r HELLO 3
        assert_match "*1\r\n*10\r\n\$4\r\nmget\r\n:-2\r\n~2\r\n+readonly\r\n+fast\r\n:1\r\n:-1\r\n:1\r\n~3\r\n*" \
            [raw COMMAND INFO mget]
        assert_match "*~1\r\n%3\r\n\$5\r\nflags\r\n~2\r\n+RO\r\n+access\r\n*spec\r\n%1\r\n*" [raw COMMAND INFO mget]
    }

    test "COMMAND INFO of names it does not know" {
        assert_equal [wire "*3\n\$-1\n\$-1\n\$-1"] [raw COMMAND INFO nothing config|nothing get|x]
        r HELLO 3
        assert_equal [wire "*1\n_"] [raw COMMAND INFO nothing]
    }

    test "COMMAND INFO of a container holds its subcommands" {
        set info [lindex [r COMMAND INFO config] 0]
        assert_same_set {config|get config|help config|resetstat config|rewrite config|set} \
            [lmap sub [lindex $info 9] {lindex $sub 0}]
        assert_equal {config|get -3 {admin noscript loading stale} 0 0 0 {@admin @slow @dangerous} {} {} {}} \
            [lindex [r COMMAND INFO CONFIG|GET] 0]
    }

    test "First key, last key and step join key specs that follow each other" {
        foreach {name range} {
            get {1 1 1} mget {1 -1 1} mset {1 -1 2} rename {1 2 1} copy {1 2 1} lcs {1 2 1} msetex {0 0 0}
            object|freq {2 2 1} ping {0 0 0}
        } {
            assert_equal $range [lrange [lindex [r COMMAND INFO $name] 0] 3 5]
        }
    }

    test "COMMAND INFO says of each command what the field says" {
        set expected {}
        foreach line [split [string trim [read_file $facts]] \n] {
            if {[string index $line 0] ni {"#" ""}} {
                lappend expected $line
            }
        }
        assert {[llength $expected] > 350}
        assert_equal [lmap line $expected {lindex $line 0}] [lsort [r COMMAND LIST]]
        set wrong {}
        foreach line $expected {
            set shown [facts_of [lindex [r COMMAND INFO [lindex $line 0]] 0]]
            if {$shown ne $line} {
                lappend wrong "$shown, not $line"
            }
        }
        assert_equal {} $wrong
    }

    # ---- COMMAND DOCS -----------------------------------------------------------------------------------------

    test "COMMAND DOCS leaves out what a command has not" {
        assert_equal {summary since group complexity} [dict keys [dict get [r COMMAND DOCS dbsize] dbsize]]
        assert_equal {summary since group complexity doc_flags} [dict keys [dict get [r COMMAND DOCS debug] debug]]
    }

    test "COMMAND DOCS of a subcommand goes by its full name" {
        set docs [r COMMAND DOCS Config|GET]
        assert_equal config|get [dict keys $docs]
        set docs [dict get $docs config|get]
        assert_equal {summary since group complexity history arguments} [dict keys $docs]
        assert_equal 7.0.0 [lmap entry [dict get $docs history] {lindex $entry 0}]
        assert_equal {{name parameter type string display_text parameter flags multiple}} [dict get $docs arguments]
    }

    test "COMMAND DOCS of a container holds its subcommands" {
        set docs [dict get [r COMMAND DOCS object] object]
        assert_same_set {object|encoding object|freq object|help object|idletime object|refcount} \
            [dict keys [dict get $docs subcommands]]
    }

    test "COMMAND DOCS: every summary is a sentence, every since and history has a version" {
        set wrong {}
        foreach {name docs} [r COMMAND DOCS] {
            set all [list $name $docs]
            if {[dict exists $docs subcommands]} {
                lappend all {*}[dict get $docs subcommands]
            }
            foreach {full docs} $all {
                if {![string match {[A-Z]*.} [dict get $docs summary]]} {
                    lappend wrong "$full: [dict get $docs summary]"
                }
                set history [expr {[dict exists $docs history] ? [dict get $docs history] : {}}]
                foreach entry [concat [list [list [dict get $docs since] text]] $history] {
                    if {[llength $entry] != 2 || ![regexp {^[0-9]+\.[0-9]+\.[0-9]+$} [lindex $entry 0]]} {
                        lappend wrong "$full: $entry"
                    }
                }
            }
        }
        assert_equal {} $wrong
    }

    test "COMMAND DOCS leaves out names it does not know" {
        assert_equal "*0\r\n" [raw COMMAND DOCS nothing set|x]
        assert_equal {get set} [dict keys [r COMMAND DOCS get nothing set]]
        r HELLO 3
        assert_equal "%0\r\n" [raw COMMAND DOCS nothing]
    }

    # ---- COMMAND GETKEYS --------------------------------------------------------------------------------------

    test "COMMAND GETKEYS" {
        foreach {request keys} {
            {get a} a
            {mget a b c} {a b c}
            {mset a 1 b 2} {a b}
            {mset a 1 b} {a b}
            {rename a b} {a b}
            {object freq a} a
            {memory usage a samples 5} a
            {msetex 2 a 1 b 2 ex 5} {a b}
        } {
            assert_equal $keys [r COMMAND GETKEYS {*}$request]
        }
    }

    test "COMMAND GETKEYSANDFLAGS" {
        foreach {request keys} {
            {get a} {{a {RO access}}}
            {copy a b} {{a {RO access}} {b {OW update}}}
            {set a b} {{a {OW update}}}
            {set a b nx ex 10} {{a {OW update}}}
            {set a b ex 10 GET} {{a {RW access update}}}
            {set get get} {{get {OW update}}}
            {delifeq a b} {{a {RM delete}}}
        } {
            assert_equal $keys [r COMMAND GETKEYSANDFLAGS {*}$request]
        }
    }

    test "COMMAND GETKEYS of what has no keys" {
        foreach {request error} {
            {nothing a} {Invalid command specified}
            {object nothing a} {Invalid command specified}
            {object|freq a} {Invalid command specified}
            {ping} {The command has no key arguments}
            {object} {The command has no key arguments}
            {config get a} {The command has no key arguments}
            {get} {Invalid number of arguments specified for command}
            {get a b} {Invalid number of arguments specified for command}
            {msetex 3 a 1 b 2} {Invalid arguments specified for command}
            {msetex 0 a 1} {Invalid arguments specified for command}
            {msetex x a 1} {Invalid arguments specified for command}
            {msetex 9223372036854775807 a 1} {Invalid arguments specified for command}
        } {
            foreach command {GETKEYS GETKEYSANDFLAGS} {
                assert_error "ERR $error" {r COMMAND $command {*}$request}
            }
        }
    }

    test "COMMAND GETKEYS of a request with many keys" {
        set keys [lmap i [lrepeat 5000 x] {incr n}]
        assert_equal $keys [r COMMAND GETKEYS MGET {*}$keys]
    }

    # ---- The rest ---------------------------------------------------------------------------------------------

    test "COMMAND refuses other subcommands and numbers of arguments" {
        assert_error {ERR unknown subcommand 'nothing'. Try COMMAND HELP.} {r COMMAND nothing}
        foreach {words name} {{COUNT x} count {GETKEYS} getkeys {GETKEYSANDFLAGS} getkeysandflags {HELP x} help} {
            assert_error "ERR wrong number of arguments for 'command|$name' command" {r COMMAND {*}$words}
        }
    }

    test "COMMAND HELP" {
        set help [r COMMAND HELP]
        assert_equal {COMMAND <subcommand> [<arg> [value] [opt] ...]. Subcommands are:} [lindex $help 0]
        assert_equal [list "(no subcommand)" COUNT LIST "INFO \[<command-name> ...\]" "DOCS \[<command-name> ...\]" \
            "GETKEYS <full-command>" "GETKEYSANDFLAGS <full-command>" HELP] \
            [lsearch -all -inline -not [lrange $help 1 end] { *}]
        # Each name is followed by its description.
        for {set i 1} {$i < [llength $help]} {incr i} {
            if {![string match { *} [lindex $help $i]]} {
                assert_match "    \[A-Z\]*" [lindex $help $i+1]
            }
        }
    }
}

start_server {overrides {rename-command {GET fetch}}} {
    test "A renamed command is found by its new name and shown by its own" {
        assert_equal "*1\r\n\$-1\r\n" [raw COMMAND INFO get]
        assert_equal get [lindex [r COMMAND INFO FETCH] 0 0]
        assert_equal get [r COMMAND LIST FILTERBY PATTERN get]
        assert_equal get [dict keys [r COMMAND DOCS fetch]]
        assert_equal a [r COMMAND GETKEYS fetch a]
        assert_error {ERR wrong number of arguments for 'get' command} {r FETCH}
    }
}

start_server {overrides {rename-command {MULTI begin} rename-command {EXEC commit} rename-command {PING ""}}} {
    test "Renamed MULTI and EXEC are a transaction" {
        assert_equal OK [r BEGIN]
        assert_equal QUEUED [r SET a 1]
        assert_equal QUEUED [r INCR a]
        assert_equal {OK 2} [r COMMIT]
        assert_error {ERR unknown command 'PING'*} {r PING}
    }
}
