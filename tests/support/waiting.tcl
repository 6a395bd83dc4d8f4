# waiting.tcl -- blocked clients for tests.
#
# SPDX-License-Identifier: BSD-3-Clause

proc blocked_count {} {
    return [info_field blocked_clients clients]
}

# Sends a blocking command and checks that the client is blocked.
proc waits {c args} {
    set before [blocked_count]
    $c send {*}$args
    wait_for_condition 10 {[blocked_count] == $before + 1}
}

# Checks that no client is blocked, and no state of earlier ones is left.
proc nobody_waits {} {
    wait_for_condition 10 {[blocked_count] == 0}
    foreach field {total_blocking_keys total_blocking_keys_on_nokey clients_in_timeout_table} {
        assert_equal "$field 0" "$field [info_field $field clients]"
    }
}
