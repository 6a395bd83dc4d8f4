# texts.tcl -- man pages and completions have exactly the existing options.
#
# The programs' --help and the running server's settings are the reference. Pages are read as sources, so scdoc is not
# needed; completions are built, and those of bash called as the shell does. Checks the promises of packaging/README.md.
#
# SPDX-License-Identifier: BSD-3-Clause

set top [file normalize [file join [file dirname [info script]] .. ..]]
set man $top/packaging/man
set programs {valkey-server valkey-cli valkey-benchmark valkey-check-rdb valkey-check-aof}
set completions [file join $srv::root completions]

proc program_path {name} {
    return [file join [file dirname $srv::binary] $name]
}

# Returns options at the start of the lines of --help: "  -v, --version   ...".
proc help_options {name} {
    set options {}
    foreach line [split [exec [program_path $name] --help] \n] {
        if {![regexp {^  (-{1,2}[A-Za-z0-9].*)$} $line all text]} continue
        # Words up to two blanks, after which the description follows; some lines have another option and its value.
        foreach part [split [regsub {  .*$} $text ""] ,] {
            set word [lindex [split [string trim $part] " |"] 0]
            if {[regexp {^-} $word] && $word ne "--OPTION"} {lappend options $word}
        }
    }
    return [lsort -unique $options]
}

# Returns bold words with a dash at the start of a line, and after a comma there.
proc page_options {name} {
    set options {}
    foreach line [split [read_file $::man/$name.1.scd] \n] {
        if {![regexp {^\*-[^*]} $line]} continue
        foreach {all option} [regexp -all -inline {(?:^|, )\*(--?[A-Za-z0-9][^*]*)\*} $line] {
            lappend options [string map {\\ ""} $option]
        }
    }
    return [lsort -unique $options]
}

# Returns the elements of only one list, and which one.
proc differences {wanted got} {
    set out {}
    foreach name $wanted {if {$name ni $got} {lappend out "missing $name"}}
    foreach name $got {if {$name ni $wanted} {lappend out "too much $name"}}
    return $out
}

foreach program $programs {
    if {![file executable [program_path $program]]} {
        test "$program is there" {skip "no [program_path $program]"}
        return
    }
    test "The page of $program has the options of --help" {
        set options [help_options $program]
        assert {[llength $options] >= 4}
        assert_equal {} [differences $options [page_options $program]]
    }
}

# ---- valkey.conf(5) -----------------------------------------------------------------------------------------------

# Returns the names of settings in the page's chapters about them.
proc page_settings {} {
    set page [exec $::top/packaging/texts page $::man/valkey.conf.5.scd]
    regexp {\n# SETTINGS\n(.*)\n# USERS\n} $page all chapter
    set names {}
    foreach {all name} [regexp -all -inline -line {^\*([a-z][^*]*)\*} $chapter] {
        lappend names [string map {\\ ""} $name]
    }
    return [lsort -unique $names]
}

# Returns {older name} of the table in the page.
proc older_names {} {
    set page [exec $::top/packaging/texts page $::man/valkey.conf.5.scd]
    set names {}
    foreach {all older name} [regexp -all -inline -line {^\|  (\S+)\n:  (\S+)$} $page] {
        lappend names [string map {\\ ""} $older] [string map {\\ ""} $name]
    }
    return $names
}

# Returns a different value, if one can be derived.
proc another {value} {
    if {$value in {yes no}} {return [expr {$value eq "yes" ? "no" : "yes"}]}
    return [expr {[string is integer -strict $value] ? $value + 1 : "x"}]
}

start_server {} {
    test "valkey.conf(5) has every setting of the server, and no other" {
        set named [concat [page_settings] [dict keys [older_names]]]
        set settings [dict keys [r CONFIG GET *]]
        assert {[llength $settings] > 200}
        foreach name $settings {if {$name ni $named} {fail "it lacks $name"}}
        foreach name $named {
            # Some lines of the file are no settings, and CONFIG GET shows some settings only by name.
            if {$name ni {include rename-command} && [r CONFIG GET $name] eq ""} {fail "there is no setting $name"}
        }
    }

    test "An older name in valkey.conf(5) is the setting that it says" {
        set changed 0
        foreach {older name} [older_names] {
            set before [lindex [r CONFIG GET $name] 1]
            assert_equal $before [lindex [r CONFIG GET $older] 1]
            if {[catch {r CONFIG SET $older [another $before]} why]} {
                assert_match "*immutable*" $why
                continue
            }
            assert_equal [another $before] [lindex [r CONFIG GET $name] 1]
            r CONFIG SET $name $before
            incr changed
        }
        assert {$changed > 15}
    }
}

# ---- Completions --------------------------------------------------------------------------------------------------

exec $top/packaging/texts completions $completions

# Returns the completions of bash for these words, the last of which is being typed.
proc offered {program args} {
    set script {
        source "$1"; shift
        compopt() { :; }
        COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
        "_${1//-/_}"
        printf '%s\n' "${COMPREPLY[@]}"
    }
    return [split [string trim [exec bash -c $script - $::completions/bash/$program $program {*}$args]] \n]
}

# Returns the options in a file for zsh or fish.
proc named_in {shell program} {
    set found {}
    if {$shell eq "zsh"} {
        set text [read_file $::completions/zsh/_$program]
        foreach {all option} [regexp -all -inline -line {^ +'(-[^\[]+)\[} $text] {lappend found $option}
    } else {
        set text [read_file $::completions/fish/$program.fish]
        foreach {all kind name} [regexp -all -inline -line {^complete .*?-(l|s) (\S+) .* -d } $text] {
            lappend found [expr {$kind eq "l" ? "--$name" : "-$name"}]
        }
    }
    return [lsort -unique $found]
}

foreach program $programs {
    test "bash, zsh and fish complete the options of $program" {
        set options [help_options $program]
        if {$program eq "valkey-server"} {
            foreach name [page_settings] {lappend options --$name}
            set options [lsort -unique $options]
        }
        assert_equal {} [differences $options [lsort -unique [offered $program -]]]
        assert_equal {} [differences $options [named_in zsh $program]]
        assert_equal {} [differences $options [named_in fish $program]]
    }
}

test "bash completes values of options" {
    assert_equal {yes no} [offered valkey-cli --show-pushes ""]
    assert_equal {json} [offered valkey-check-rdb dump.rdb --format j]
    assert_equal {set,sadd set,set set,spop} [lsort [offered valkey-benchmark -t set,s]]
    assert_equal {yes no} [offered valkey-server --appendonly ""]
    assert_equal [list $top/valkey.conf] [offered valkey-server $top/valkey.c]
    assert_equal [list $top/packaging/texts] [offered valkey-cli --rdb $top/packaging/tex]
    assert_equal {} [offered valkey-cli -a ""]
}

test "bash completes commands and their parts, in the case that was begun" {
    assert_equal {getdel} [offered valkey-cli -p 7000 getd]
    assert_equal {GETDEL} [offered valkey-cli -x GETD]
    assert_equal {setinfo setname} [offered valkey-cli client set]
    assert_equal {SETINFO SETNAME} [offered valkey-cli CLIENT SET]
    assert_equal {} [offered valkey-cli get key ""]
    assert_equal {} [offered valkey-cli get -]
}

test "The standard tests of valkey-benchmark are those that its completion offers" {
    set help [exec [program_path valkey-benchmark] --help]
    assert {[regexp {only these standard tests, separated by commas: (.*?)\n  -d } $help all names]}
    assert_equal [lsort [regexp -all -inline {\w+} $names]] [lsort [offered valkey-benchmark -t ""]]
}
