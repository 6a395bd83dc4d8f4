# shutdown.tcl -- a primary that shuts down waits for replicas that lag.
#
# SPDX-License-Identifier: BSD-3-Clause

# Stops a process, and returns when it has stopped: a moment earlier it could still acknowledge a write.
proc freeze {pid} {
    exec kill -STOP $pid
    wait_for_condition 10 {[regexp {\) [Tt] } [read_file /proc/$pid/stat]]}
}

own_files

# Runs BODY with a primary that has a replica; ends with the primary's process.
proc with_replica {settings body} {
    uplevel 1 [list start_server {} "
        set replica_dir \[srv dir\]
        set replica_pid \[srv pid\]
        set replica \[default_client\]
        start_server {overrides {repl-diskless-sync-delay 0 $settings}} {
            set primary \[default_client\]
            follow \$replica \[srv port\]
            $body
        }
    "]
}

with_replica "" {
    test "SHUTDOWN with replicas that have all ends at once" {
        $primary SET a 1
        assert_equal 1 [$primary WAIT 1 5000]
        wait_for_condition 10 {[repl_field $replica slave_repl_offset] eq [repl_field $primary master_repl_offset]}
        $primary send SHUTDOWN
        assert_equal 0 [wait_exit [srv dir] 10]
        assert_equal 1 [$replica GET a]
    }
}

with_replica "shutdown-timeout 60" {
    test "SHUTDOWN waits for a replica that lags, and writes wait" {
        freeze $replica_pid
        $primary SET a 1
        with_clients {asker writer} {
            $asker send SHUTDOWN
            wait_for_condition 10 {[field_of [$primary INFO clients] paused_reason] eq "shutdown_in_progress"}
            $writer send SET a 2
            assert [$asker silent_for 200]
            assert_equal 1 [$primary GET a]
            set left [field_of [$primary INFO server] shutdown_in_milliseconds]
            assert {$left > 0 && $left <= 60000}
            assert_equal OK [$primary SHUTDOWN ABORT]
            assert_error "ERR Errors trying to SHUTDOWN. Check logs." {$asker reply}
            assert_equal OK [$writer reply]
            assert_error "ERR No shutdown in progress." {$primary SHUTDOWN ABORT}
            assert_equal "" [field_of [$primary INFO server] shutdown_in_milliseconds]
        }
    }

    test "... and ends when it has all" {
        with_clients {asker} {
            $asker send SHUTDOWN
            wait_for_condition 10 {[field_of [$primary INFO clients] paused_reason] eq "shutdown_in_progress"}
            exec kill -CONT $replica_pid
            assert_equal 0 [wait_exit [srv dir] 20]
            assert_equal 2 [$replica GET a]
            assert_match "*1 of 1 replicas are in sync when shutting down.*" [srv log]
        }
    }
}

with_replica "shutdown-timeout 1" {
    test "... or its time is over" {
        freeze $replica_pid
        $primary SET a 1
        $primary send SHUTDOWN
        assert_equal 0 [wait_exit [srv dir] 20]
        exec kill -CONT $replica_pid
        assert_match "*Lagging replica 127.0.0.1:* reported offset * behind master, lag=*, state=online.*" [srv log]
        assert_match "*0 of 1 replicas are in sync when shutting down.*" [srv log]
    }
}

with_replica "shutdown-timeout 60" {
    test "SHUTDOWN NOW waits for nobody" {
        freeze $replica_pid
        $primary SET a 1
        $primary send SHUTDOWN NOW
        assert_equal 0 [wait_exit [srv dir] 20]
        exec kill -CONT $replica_pid
        assert_match "*Lagging replica 127.0.0.1:*0 of 1 replicas are in sync when shutting down.*" [srv log]
    }
}

with_replica "shutdown-timeout 60" {
    test "SIGTERM is like SHUTDOWN" {
        freeze $replica_pid
        $primary SET a 1
        exec kill -TERM [srv pid]
        wait_for_condition 10 {[field_of [$primary INFO clients] paused_reason] eq "shutdown_in_progress"}
        exec kill -CONT $replica_pid
        assert_equal 0 [wait_exit [srv dir] 20]
        assert_equal 1 [$replica GET a]
    }
}
