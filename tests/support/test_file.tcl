# test_file.tcl -- runs one test file in its own process; started by runner.tcl.
#
# tclsh test_file.tcl FILE BINARY ROOT BASE-PORT PORT-SPAN ONLY SLOW EXTRA-ARGUMENTS...
#
# Prints a line per test and "[sum] PASSED FAILED SKIPPED" as the last one; a file that ends before it counts as failed.
#
# SPDX-License-Identifier: BSD-3-Clause

set support [file dirname [file normalize [info script]]]
foreach part {patience resp_client assert server persist_mode waiting replicas cluster} {
    source [file join $support $part.tcl]
}

set srv::extra [lassign $argv test_file srv::binary srv::root srv::base_port srv::port_span testing::only srv::slow]
set srv::pinned [split [expr {[info exists env(RUNTEST_PIN)] ? $env(RUNTEST_PIN) : ""}]]
set srv::tls_certificates [expr {[info exists env(RUNTEST_TLS)] ? $env(RUNTEST_TLS) : ""}]
if {$srv::tls_certificates ne ""} {
    package require tls
}
set persist_mode::mode [expr {[info exists env(RUNTEST_PERSIST)] ? $env(RUNTEST_PERSIST) : ""}]
set testing::any_encoding [expr {[dict size [dict remove $srv::pinned dict-resizing]] > 0}]
set resp::patience [expr {15 * $srv::slow}]
set argv {}
fconfigure stdout -buffering line
file mkdir $srv::root
if {[catch {source $test_file} message options]} {
    incr testing::failed
    puts "\[fail\] [file tail $test_file] ended early"
    puts "       [string map {\n "\n       "} [dict get $options -errorinfo]]"
}
if {$testing::failed == 0} {
    catch {file delete -force $srv::root}
}
puts "\[sum\] $testing::passed $testing::failed $testing::skipped"
exit 0
