# cli.tcl -- runs valkey-cli with arguments and input, and returns its output and exit code.
#
# The program in the folder of the server binary is tested, so that a reference installation can be tested as well.
#
# SPDX-License-Identifier: BSD-3-Clause

set cli [file join [file dirname $srv::binary] valkey-cli]
set cli_seconds 20 ;# limit of a run

# Runs valkey-cli against PORT with the file IN on stdin. Returns {EXIT-CODE STDOUT STDERR}.
proc cli_run {port in args} {
    set err [file join $srv::root cli-stderr]
    set code 0
    if {[catch {exec -keepnewline timeout $::cli_seconds $::cli -p $port {*}$args <$in 2>$err} out options]} {
        set code [lindex [dict get $options -errorcode] 2]
        regsub {(\n)?child process exited abnormally$} $out {\1} out
    }
    return [list $code $out [read_file $err]]
}

# Like cli_run, with empty stdin.
proc cli_at {port args} {
    return [cli_run $port /dev/null {*}$args]
}
