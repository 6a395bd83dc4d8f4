# waiting.tcl -- clients that wait for a key, as tests see them.
#
# SPDX-License-Identifier: BSD-3-Clause

proc blocked_count {} {
    return [info_field blocked_clients clients]
}

# Send a command that is to wait, and see that it does.
proc waits {c args} {
    set before [blocked_count]
    $c send {*}$args
    wait_for_condition 10 {[blocked_count] == $before + 1}
}

# Nobody does, and nothing is left of those who did.
proc nobody_waits {} {
    wait_for_condition 10 {[blocked_count] == 0}
    foreach field {total_blocking_keys total_blocking_keys_on_nokey clients_in_timeout_table} {
        assert_equal "$field 0" "$field [info_field $field clients]"
    }
}
