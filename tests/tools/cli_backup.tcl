# cli_backup.tcl -- valkey-cli --backup: copies a live append-only folder, and checks the copy.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files
source [file join $support cli.tcl]

proc bulk {text} {
    return "\$[string length $text]\r\n$text"
}

# Returns the reply of SEAL for a folder with one file: a map as RESP2 has it.
proc listing {folder name size {text "file f seq 1 type b\n"}} {
    return "*14\r\n[join [list [bulk id] :7 [bulk state] [bulk sealed] [bulk folder] [bulk $folder] [bulk manifest] \
        [bulk m] [bulk manifest-text] [bulk $text] [bulk files] "*1\r\n*2\r\n[bulk $name]\r\n:$size" \
        [bulk bytes] :$size] "\r\n"]"
}

# Runs --backup against a server that replies SEALED to SEAL and ENDED to END. Returns {EXIT-CODE STDOUT STDERR}.
proc backup_of {sealed ended dir} {
    lassign [fake_server "backup start*" "*2\r\n[bulk id]\r\n:7" "backup seal*" $sealed "backup end*" $ended \
        "backup status" "*2\r\n[bulk state]\r\n[bulk sealed]"] port pid log
    try {
        set result [cli_at $port --backup $dir]
        set ::asked [split [string trimright [read_file $log]] \n]
    } finally {
        exec kill $pid
    }
    return $result
}

start_server {overrides {appendonly yes}} {
    test "--backup makes a copy from which a server starts" {
        r SELECT 2
        r SET a 1
        r SELECT 0
        r RPUSH list {*}[lrepeat 1000 [string repeat x 1000]]
        set dir [file join [make_server_dir] copy]
        lassign [cli_at [srv port] --backup $dir] code out err
        assert_equal {0 {}} [list $code $out]
        assert_match "Saved 2 files, * bytes, in '$dir/appendonlydir', and checked them. To use it: *--dir '$dir'\n" $err
        assert_equal none [dict get [r BACKUP STATUS] state]
        assert_equal 1 [info_field aof_backups]
        r SET a 2
        r FLUSHALL
        start_server [list overrides {appendonly yes aof-load-truncated no} args [list --dir $dir]] {
            assert_equal 1000 [r LLEN list]
            r SELECT 2
            assert_equal 1 [r GET a]
        }
    }

    test "--backup into an existing folder, but not over an earlier copy" {
        set dir [make_server_dir]
        assert_equal 0 [lindex [cli_at [srv port] --backup $dir] 0]
        set before [lsort [glob $dir/appendonlydir/*]]
        lassign [cli_at [srv port] --backup $dir] code out err
        assert_equal [list 1 "" "Cannot create the folder '$dir/appendonlydir': File exists\n"] [list $code $out $err]
        assert_equal $before [lsort [glob $dir/appendonlydir/*]]
        assert_equal none [dict get [r BACKUP STATUS] state]
        lassign [cli_at [srv port] --backup /proc/nothing/here] code out err
        assert_equal {1 {Cannot create the folder '/proc/nothing/here': No such file or directory}} \
            [list $code [string trim $err]]
        assert_equal none [dict get [r BACKUP STATUS] state]
    }

    test "--backup while a backup is under way" {
        r BACKUP START
        set dir [file join [make_server_dir] copy]
        assert_match {1 {} {BACKUP START failed: ERR A backup is under way.*}} [cli_at [srv port] --backup $dir]
        assert_equal 0 [file exists $dir]
        assert_equal OK [r BACKUP END]
    }
}

start_server {overrides {appendonly no}} {
    test "--backup without an append-only file" {
        set dir [file join [make_server_dir] copy]
        assert_match {1 {} {BACKUP START failed: ERR BACKUP is about the append-only file, which is off.*}} \
            [cli_at [srv port] --backup $dir]
    }
}

test "--backup of a server on another machine, or without the right to read its folder" {
    set here [make_server_dir]
    set dir [file join $here copy]
    lassign [backup_of [listing $here/nothing f 3] +OK $dir] code out err
    assert_equal 1 $code
    assert_match "Cannot read '$here/nothing/m', where the server has its append-only file: No such file*--rdb FILE*" $err
    assert_equal "backup end 7" [lindex $::asked end]
    file mkdir $here/folder
    write_file $here/folder/f abc
    write_file $here/folder/m "file g seq 1 type b\n"
    lassign [backup_of [listing $here/folder f 3] +OK $dir] code out err
    assert_match "1 '$here/folder/m' belongs to another server.*" "$code $err"
    assert_equal "backup end 7" [lindex $::asked end]
    assert_equal 0 [file exists $dir]
}

test "--backup removes what it copied if anything fails" {
    set here [make_server_dir]
    set dir [file join $here copy]
    file mkdir $here/folder
    write_file $here/folder/f abc
    write_file $here/folder/m "file other seq 2 type i\nfile f seq 1 type b\n"
    lassign [backup_of [listing $here/folder f 4] +OK $dir] code out err
    assert_equal [list 1 "Cannot read '$here/folder/f': No data available\n"] [list $code $err]
    assert_equal 0 [file exists $dir]
    lassign [backup_of [listing $here/folder f 3] "-ERR given up" $dir] code out err
    assert_equal [list 1 "BACKUP END failed: ERR given up\n"] [list $code $err]
    assert_equal 0 [file exists $dir]
    # A copy that the check refuses is kept for a look.
    lassign [backup_of [listing $here/folder f 3] +OK $dir] code out err
    assert_equal 1 $code
    assert_match "*The copy in '$dir/folder' is not valid.\n" $err
}

test "--backup trusts no name that leads elsewhere" {
    set here [make_server_dir]
    set dir [file join $here copy]
    file mkdir $here/folder
    write_file $here/folder/m "file f seq 1 type b\n"
    write_file $here/f abc
    foreach sealed [list [listing $here/folder ../f 3] [listing $here/folder .. 3] [listing $here/folder "" 3] \
                        [listing $here/folder f -1] [listing $here/.. f 3] [listing folder f 3] +OK] {
        lassign [backup_of $sealed +OK $dir] code out err
        assert_equal [list 1 "The reply of BACKUP SEAL has an unknown form.\n"] [list $code $err]
        assert_equal "backup end 7" [lindex $::asked end]
        assert_equal 0 [file exists $dir]
    }
}

test "--backup of a server without BACKUP" {
    lassign [fake_server backup* "-ERR unknown command 'BACKUP', with args beginning with: 'START' "] port pid log
    try {
        lassign [cli_at $port --backup /nowhere] code out err
        assert_equal 1 $code
        assert_match "BACKUP START failed: ERR unknown command*Use --rdb FILE.\n" $err
    } finally {
        exec kill $pid
    }
}
