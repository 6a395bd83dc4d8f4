# cli_terminal.tcl -- valkey-cli at a terminal.
#
# SPDX-License-Identifier: BSD-3-Clause

source [file join $support cli.tcl]
source [file join $support terminal.tcl]
set home [file join $srv::root home]
file mkdir $home

# Between two prompts the terminal itself edits lines: control keys must wait for the prompt, text need not.

# Starts valkey-cli at a terminal, with environment variables before it and arguments after it, and waits for its
# prompt.
proc cli_start {{environment ""} {arguments ""} {width 80}} {
    set ::prompt "127.0.0.1:[srv port]> "
    terminal::stop
    terminal::start "env -u NO_COLOR -u LANG -u LC_ALL TERM=xterm HOME=$::home $environment $::cli -p [srv port] $arguments" $width
    terminal::shows "*[string trimright $::prompt]"
}

start_server {each {r FLUSHALL}} {
    if {![file executable $cli] || [auto_execok script] eq ""} {
        test "valkey-cli and script are there" {skip "no $cli, or no script(1)"}
        return
    }

    if {[catch {exec script -qec true /dev/null}]} {
        test "A pseudo-terminal can be had" {skip "none can be opened here (/dev/pts)"}
        return
    }

    # The terminal's modes, which must be the same afterwards.
    terminal::start "sh -c 'stty -a >$home/modes; mv $home/modes $home/before'"
    wait_for_condition 10 {[file exists $::home/before]}

    # ---- The line ---------------------------------------------------------------------------------------------

    test "Characters beyond ASCII arrive, whatever the locale" {
        cli_start
        terminal::type "set \u043a\u043b\u044e\u0447 \"\u00e9\u65e5\"<enter>"
        terminal::shows "*OK*"
        assert_equal [encoding convertto utf-8 "\u00e9\u65e5"] [r GET [encoding convertto utf-8 "\u043a\u043b\u044e\u0447"]]
    }

    test "A line is edited with arrows and control keys" {
        cli_start
        terminal::type "set k \u65e5x<left><left>\u00e9<right><right>y<ctrl-a>"
        terminal::type "<delete>S<ctrl-e>z<back><enter>"
        terminal::shows "*Set k \u00e9\u65e5xy*OK\n[string trimright $::prompt]"
        assert_equal [encoding convertto utf-8 "\u00e9\u65e5xy"] [r GET k]
        terminal::type "one two<ctrl-w><ctrl-u>echo <ctrl-y><ctrl-k><enter>"
        terminal::shows "*echo one*\"one\"*"
    }

    test "A line longer than the row goes on in the next" {
        cli_start "" "" 40
        terminal::type "echo [string repeat 0123456789 6]"
        terminal::shows "*> echo 0123*\n*\n89"
        terminal::type "<home><delete><delete><delete><delete>ECHO<enter>"
        terminal::shows "*ECHO 01*\"[string range [string repeat 0123456789 6] 0 38]\n[string range [string repeat 0123456789 6] 39 end]\"*"
    }

    test "A paste waits for Enter, and its lines are commands" {
        cli_start
        terminal::type "<paste>set a 1\r\nset\tb 2\r\n</paste>"
        terminal::shows "*> set a 1\nset b 2"
        assert_equal 0 [r EXISTS a b]
        terminal::type "<enter>"
        terminal::shows "*OK*OK*"
        assert_equal {1 2} [r MGET a b]
    }

    test "Ctrl-C drops a line, and leaves from an empty one" {
        cli_start
        terminal::type "set a 1<ctrl-c>"
        terminal::shows "*> set a 1^C\n*>"
        terminal::type "<ctrl-c>"
        wait_for_condition 10 {[catch {terminal::draw}] || [eof $terminal::channel]}
        assert_equal 0 [r EXISTS a]
    }

    test "Ctrl-D leaves with a newline, the terminal as it was" {
        terminal::stop
        file delete $home/after
        terminal::start "sh -c 'env TERM=xterm HOME=$home $cli -p [srv port]; echo left; stty -a >$::home/after'"
        terminal::shows "*>"
        terminal::type "<ctrl-d>"
        terminal::shows "*>\nleft"
        wait_for_condition 10 {[file exists $::home/after] && [file size $::home/after] > 0}
        assert_equal [read_file $home/before] [read_file $home/after]
    }

    test "A signal leaves the terminal as it was" {
        terminal::stop
        file delete $home/after
        set pid_file [file join $home pid]
        terminal::start "sh -c 'sh -c \"echo \\\$\\\$ >$pid_file; exec env TERM=xterm HOME=$home $cli -p [srv port]\"; stty -a >$home/after'"
        terminal::shows "*>"
        exec kill -TERM [string trim [read_file $pid_file]]
        wait_for_condition 10 {[file exists $::home/after] && [file size $::home/after] > 0}
        assert_equal [read_file $home/before] [read_file $home/after]
    }

    test "A password is seen as asterisks, and Ctrl-C at its prompt leaves the terminal as it was" {
        r CONFIG SET requirepass [encoding convertto utf-8 "sec\u00e9t"]
        terminal::stop
        file delete $home/after
        terminal::start "sh -c 'env TERM=xterm HOME=$home $cli -p [srv port] --askpass; stty -a >$home/after'"
        terminal::shows "Password:"
        terminal::type "wrong<ctrl-u>sec\u00e9\u65e5<back>t"
        terminal::shows "Password: \\*\\*\\*\\*\\*"
        terminal::type "<enter>"
        terminal::shows "Password: \\*\\*\\*\\*\\*\n127.0.0.1:*>"
        terminal::type "dbsize<enter>"
        terminal::shows "*(integer) 0*"
        r CONFIG SET requirepass ""
        terminal::stop
        terminal::start "sh -c 'trap : INT; env TERM=xterm $cli -p [srv port] --askpass; stty -a >$home/after'"
        terminal::shows "Password:"
        terminal::type "<ctrl-c>"
        wait_for_condition 10 {[file exists $::home/after] && [file size $::home/after] > 0}
        assert_equal [read_file $home/before] [read_file $home/after]
    }

    # ---- Hints ------------------------------------------------------------------------------------------------

    test "Arguments are shown in grey, and fewer as they are typed" {
        cli_start "" "" 120
        terminal::type "set"
        terminal::shows "* key value ?NX|XX*" grey
        terminal::type " k"
        terminal::shows "* value ?NX|XX*" grey
        terminal::type " v "
        terminal::shows "?NX|XX*" grey
        terminal::type "ex "
        terminal::shows "seconds ?NX|XX*" grey
        terminal::type "10 nx get"
        terminal::shows "" grey
        terminal::type "<ctrl-u>client kill"
        terminal::shows " ip:port|*" grey
        terminal::type "<ctrl-u>client "
        terminal::shows "*|getname|*" grey
    }

    test "A hint is gone when the line is entered" {
        cli_start
        terminal::type "get k"
        terminal::type " <back><back>"
        terminal::shows "key" grey
        terminal::type "k<enter>"
        terminal::shows "*> get k\n(nil)\n*"
        terminal::shows "" grey
    }

    test "Hints are turned off and on, by hand and by the file" {
        cli_start
        terminal::type ":set nohints<enter>get "
        terminal::shows "*> get"
        terminal::shows "" grey
        terminal::type "<ctrl-u>:set hints<enter>get "
        terminal::shows "key" grey
        write_file $home/.valkeyclirc ":set nohints\n"
        cli_start
        terminal::type "get <ctrl-a>"
        terminal::shows "*> get"
        terminal::shows "" grey
        file delete $home/.valkeyclirc
    }

    # ---- Completion and history -------------------------------------------------------------------------------

    test "TAB completes commands, subcommands, options and groups" {
        cli_start
        terminal::type "flusha<tab>"
        terminal::shows "*> flushall"
        terminal::type "<ctrl-u>CLIENT KI<tab>"
        terminal::shows "*> CLIENT KILL"
        terminal::type "<ctrl-u>help @conn<tab>"
        terminal::shows "*> help @connection"
        assert_no_match "*@@*" [terminal::screen]
        terminal::type "<ctrl-u>set k v kee<tab>"
        terminal::shows "*> set k v keepttl"
        terminal::type "<ctrl-u>client set<tab><tab>"
        terminal::shows "*setinfo*setname*> client set*"
    }

    test "Lines come back, those with passwords do not" {
        file delete $home/.valkeycli_history
        cli_start
        terminal::type "echo first<enter>auth secret<enter>"
        terminal::shows "*first*auth secret*ERR*>"
        foreach secret {"acl  setuser joe >pw" "2 AUTH pw" "config set nosuch 0 requirepass pw" "auth \"pw"
            "sentinel set main auth-pass pw" "SENTINEL CONFIG SET sentinel-pass pw"
            "hello 3 auth joe pw" "  migrate h 1 k 0 1 auth2 joe pw"} {
            terminal::type "$secret<enter>"
        }
        terminal::type "echo second<enter>"
        terminal::shows "*\"second\"*>"
        assert_equal "echo first\necho second\n" [read_file $home/.valkeycli_history]
        cli_start
        terminal::type "<up><up>"
        terminal::shows "*> echo first"
        terminal::type "<down><down>draft<up><down>"
        terminal::shows "*> draft"
        terminal::type "<ctrl-u><ctrl-r>fir"
        terminal::shows "*search \"fir\": echo first"
        terminal::type "<enter>"
        terminal::shows "*\"first\"*"
    }

    # ---- The connection ---------------------------------------------------------------------------------------

    test "A lost connection is made anew" {
        cli_start
        terminal::type "client id<enter>"
        terminal::shows "*(integer)*>"
        r CLIENT KILL TYPE NORMAL SKIPME YES
        terminal::type "echo again<enter>"
        terminal::shows "*\"again\"\n[string trimright $::prompt]"
    }

    test "A server that is not there is told, and tried again for each command" {
        terminal::stop
        terminal::start "env TERM=xterm HOME=$home $cli -p 1"
        terminal::shows "*127.0.0.1:1: Connection refused*not connected>"
        terminal::type "ping<enter>"
        terminal::shows "*ping*Connection refused*not connected>"
        terminal::type "connect 127.0.0.1 [srv port]<enter>ping<enter>"
        terminal::shows "*PONG*127.0.0.1:[srv port]>*"
    }

    test "A wrong password is told, and the prompt comes" {
        terminal::stop
        terminal::start "env TERM=xterm HOME=$home $cli -p [srv port] --no-auth-warning -a wrong"
        terminal::shows "*AUTH failed: *>"
    }

    test "Hints come once the user has logged in" {
        r CONFIG SET requirepass secret
        cli_start
        terminal::type "get key<enter>auth secret<enter>get "
        terminal::shows "key" grey
        r CONFIG SET requirepass ""
    }

    test "A redirection that leads nowhere leaves the server that is there" {
        lassign [fake_server "get gone" "-MOVED 866 127.0.0.1:1"] port pid
        terminal::stop
        terminal::start "env TERM=xterm HOME=$home $cli -p $port -c"
        terminal::shows "*>"
        terminal::type "get gone<enter>ping<enter>"
        terminal::shows "*Redirected*127.0.0.1:1: Connection refused*> ping\nOK\n127.0.0.1:$port>"
        assert_equal 1 [regexp -all {Connection refused} [terminal::screen]]
        exec kill $pid
    }

    test "A server that speaks something else is told" {
        lassign [fake_server "command docs" "HTTP/1.1 400 Bad Request"] port pid
        terminal::stop
        terminal::start "env TERM=xterm HOME=$home $cli -p $port"
        terminal::shows "127.0.0.1:$port does not respond like a Valkey server: Protocol error*not connected>"
        exec kill $pid
    }

    test "Any key leaves a subscription's messages, and starts the next line" {
        lassign [fake_server \
            "subscribe news" "*3\r\n\$9\r\nsubscribe\r\n\$4\r\nnews\r\n:1\r\n*3\r\n+message\r\n+news\r\n+hello" \
            "unsubscribe" "*3\r\n\$11\r\nunsubscribe\r\n\$4\r\nnews\r\n:0"] port pid
        terminal::stop
        terminal::start "env TERM=xterm HOME=$home $cli -p $port"
        terminal::shows "*>"
        terminal::type "subscribe news<enter>"
        terminal::shows "*any key*hello"
        terminal::type "u"
        terminal::shows "*(subscribed mode)> u"
        terminal::type "nsubscribe<enter>"
        terminal::shows "*\"unsubscribe\"*127.0.0.1:$port>"
        exec kill $pid
    }

    test "A slip in a command's name is pointed out" {
        cli_start
        terminal::type "gte key<enter>"
        terminal::shows "Did you mean GET?" grey
        terminal::type "nonsense<enter>"
        terminal::shows "*unknown command 'nonsense'*\n[string trimright $::prompt]"
        assert_equal 1 [regexp -all {Did you mean} [terminal::screen grey]]
    }

    # ---- The rest ---------------------------------------------------------------------------------------------

    test "help shows what the server says" {
        cli_start
        terminal::type "help get<enter>"
        terminal::shows "*GET*summary:*since: 1.0.0*group: string*>"
        terminal::type "help gte<enter>"
        terminal::shows "*Unknown command 'gte'. Did you mean GET?*>"
        terminal::type "help @nonsense<enter>"
        terminal::shows "*@bitmap*@string*>"
    }

    test "NO_COLOR is respected" {
        terminal::stop
        terminal::start "sh -c 'env TERM=xterm NO_COLOR=1 HOME=$home $cli -p [srv port] help get | cat -v; \
            env TERM=xterm NO_COLOR=1 $cli -p [srv port] help get >/dev/tty; \
            env -u NO_COLOR TERM=xterm $cli -p [srv port] help get | od -c | grep -c 033; echo end'"
        terminal::shows "*GET*GET*0\nend"
        assert_no_match "*\\^*" [terminal::screen]
        assert_equal "" [terminal::screen grey]
    }

    test "A dumb terminal gets plain lines" {
        terminal::stop
        terminal::start "env TERM=dumb HOME=$home $cli -p [srv port]"
        terminal::shows "*>"
        terminal::type "echo plain\n"
        terminal::shows "*\"plain\"*>"
    }
}
terminal::stop
