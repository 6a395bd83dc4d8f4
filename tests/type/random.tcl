# random.tcl -- random elements are uniformly distributed: their frequencies are within a chi-square bound.
#
# A fair server exceeds the bound once in 10^9 tests. The names of elements, and so their slots in a table, depend on a
# seed, which a failed test prints.
#
# SPDX-License-Identifier: BSD-3-Clause

set seed [expr {[clock microseconds] % 1000000000}]
expr {srand($seed)}

# Returns the value that chi-square with DF degrees of freedom exceeds with a probability of 1e-9: its cube root is
# nearly normally distributed; six standard deviations (Wilson and Hilferty 1931).
proc chi_square_bound {df} {
    set v [expr {2.0 / (9 * $df)}]
    return [expr {$df * (1 - $v + 6.0 * sqrt($v)) ** 3}]
}

# DRAWN is the result of ROUNDS draws of COUNT different ELEMENTS each.
proc assert_fair {elements drawn rounds count} {
    set n [llength $elements]
    foreach element $elements {
        set times($element) 0
    }
    foreach element $drawn {
        incr times($element)
    }
    assert_equal $n [array size times]
    assert_equal [expr {$rounds * $count}] [llength $drawn]
    set p [expr {double($count) / $n}]
    set sum 0.0
    foreach element $elements {
        set sum [expr {$sum + ($times($element) - $rounds * $p) ** 2}]
    }
    set chi_square [expr {$sum * ($n - 1) / ($n * $rounds * $p * (1 - $p))}]
    if {$chi_square > [chi_square_bound [expr {$n - 1}]]} {
        fail "$count of $n, $rounds times: chi-square is $chi_square, seed $::seed: [array get times]"
    }
}

# Returns all results of ROUNDS of COMMANDS (each a list of words; the reply of the last one counts).
proc drawn_by {rounds args} {
    set all {}
    [default_client] pipeline [lrepeat $rounds {*}$args]
    for {set i 0} {$i < $rounds} {incr i} {
        foreach reply [[default_client] replies [llength $args]] {}
        lappend all {*}$reply
    }
    return $all
}

proc names {count} {
    set names {}
    for {set i 0} {$i < $count} {incr i} {
        lappend names m$i:[expr {int(rand() * 1000000)}]
    }
    return $names
}

proc integers {count} {
    set integers {}
    for {set i 0} {$i < $count} {incr i} {
        lappend integers [expr {$i * 1000 + int(rand() * 1000)}]
    }
    return $integers
}

proc limits {entries} {
    foreach name {set-max-intset-entries set-max-listpack-entries hash-max-listpack-entries zset-max-listpack-entries} {
        r CONFIG SET $name $entries
    }
}

# Makes a key of TYPE with these ELEMENTS, after adding and removing others.
proc make {type encoding elements others} {
    r DEL key
    limits [expr {$encoding in {hashtable skiplist} ? 0 : 100000}]
    foreach element [concat $elements $others] {
        switch $type {
            set {r SADD key $element}
            hash {r HSET key $element value}
            zset {r ZADD key [expr {int(rand() * 10)}] $element}
        }
    }
    foreach element $others {
        r [dict get {set SREM hash HDEL zset ZREM} $type] key $element
    }
    assert_equal $encoding [r OBJECT ENCODING key]
}

start_server {} {
    # Type and encoding, number of elements, number of removed ones. Debug builds check the whole of a small value
    # before and after each read command: so they use fewer draws.
    set keys {
        set intset 24 0 set listpack 24 0 set hashtable 24 0 set hashtable 24 120 set hashtable 1000 0
        hash listpack 24 0 hash hashtable 24 0 hash hashtable 24 120 hash hashtable 1000 0
        zset listpack 24 0 zset skiplist 24 0 zset skiplist 24 120 zset skiplist 1000 0
    }
    foreach {type encoding count others} $keys {
        set what "$count elements of a $encoding[expr {$others ? { that were more} : {}}]"
        set command [dict get {set SRANDMEMBER hash HRANDFIELD zset ZRANDMEMBER} $type]
        set times [expr {$count > 100 ? 3000 : 800}]
        set few [expr {$count / 12}]
        set most [expr {$count * 2 / 3}]

        test "$command draws each as often: $what" {
            set elements [[expr {$encoding eq "intset" ? "integers" : "names"}] $count]
            make $type $encoding $elements [names $others]
            foreach {rounds size} [list $times {} [expr {$times / 2}] 1 [expr {$times / 6}] $few 50 $most] {
                assert_fair $elements [drawn_by $rounds [list $command key {*}$size]] $rounds \
                    [expr {$size eq "" ? 1 : $size}]
            }
            assert_fair $elements [drawn_by 1 [list $command key -10000]] 10000 1
        }

        if {$type ne "set"} continue
        test "SPOP takes each as often: $what" {
            set elements [[expr {$encoding eq "intset" ? "integers" : "names"}] $count]
            make $type $encoding $elements [names $others]
            set again {COPY key copy REPLACE}
            foreach {rounds size} [list 1000 {} 1000 1 200 $few 50 $most] {
                assert_fair $elements [drawn_by $rounds $again [list SPOP copy {*}$size]] $rounds \
                    [expr {$size eq "" ? 1 : $size}]
            }
        }
    }

    test "HRANDFIELD and ZRANDMEMBER draw pairs as often" {
        set elements [names 24]
        make hash hashtable $elements {}
        set drawn {}
        foreach {field value} [drawn_by 200 {HRANDFIELD key 5 WITHVALUES}] {
            lappend drawn $field
        }
        assert_fair $elements $drawn 200 5
        make zset skiplist $elements {}
        set drawn {}
        foreach {member score} [drawn_by 1 {ZRANDMEMBER key -5000 WITHSCORES}] {
            lappend drawn $member
        }
        assert_fair $elements $drawn 5000 1
    }

    test "Fields whose time is over are not drawn, the others as often" {
        set elements [names 24]
        set over [names 16]
        make hash hashtable [concat $elements $over] {}
        r DEBUG SET-ACTIVE-EXPIRE 0
        r HPEXPIRE key 1 FIELDS 16 {*}$over
        after 10
        assert_fair $elements [drawn_by 800 {HRANDFIELD key}] 800 1
        assert_fair $elements [drawn_by 200 {HRANDFIELD key 5}] 200 5
        assert_fair $elements [drawn_by 1 {HRANDFIELD key -5000}] 5000 1
        r DEBUG SET-ACTIVE-EXPIRE 1
    }
}
