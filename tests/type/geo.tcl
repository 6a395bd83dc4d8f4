# geo.tcl -- positions in sorted sets: adding, reading, searching.
#
# SPDX-License-Identifier: BSD-3-Clause

set syntax {ERR syntax error}
set not_float {ERR value is not a valid float}
set bad_unit {ERR unsupported unit provided. please use M, KM, FT, MI}
set wrong_type {WRONGTYPE Operation against a key holding the wrong kind of value}
set no_from {ERR exactly one of FROMMEMBER or FROMLONLAT can be specified for geosearch}
set no_by {ERR exactly one of BYRADIUS, BYBOX and BYPOLYGON can be specified for geosearch}

proc changes {script} {
    set before [info_field rdb_changes_since_last_save]
    uplevel 1 $script
    return [expr {[info_field rdb_changes_since_last_save] - $before}]
}

proc info_field {name} {
    regexp "$name:(\[^\r\]*)" [r INFO] all value
    return $value
}

proc sicily {} {
    r GEOADD Sicily 13.361389 38.115556 Palermo 15.087269 37.502669 Catania
}

proc radians {degrees} {
    return [expr {$degrees * acos(-1) / 180}]
}

proc distance {lon1 lat1 lon2 lat2} {
    set u [expr {sin(([radians $lat2] - [radians $lat1]) / 2)}]
    set v [expr {sin(([radians $lon2] - [radians $lon1]) / 2)}]
    set square [expr {$u * $u + cos([radians $lat1]) * cos([radians $lat2]) * $v * $v}]
    return [expr {2 * 6372797.560856 * asin(min(1, sqrt($square)))}]
}

start_server {each {r FLUSHALL}} {

    # ---- GEOADD -----------------------------------------------------------------------------------------------

    test "GEOADD makes a sorted set whose scores are places" {
        assert_equal 2 [sicily]
        assert_equal zset [r TYPE Sicily]
        assert_equal {3479099956230698 3479447370796909} [list [r ZSCORE Sicily Palermo] [r ZSCORE Sicily Catania]]
    }

    test "GEOADD counts what is new, with CH what has changed as well" {
        sicily
        assert_equal 1 [changes {assert_equal 0 [r GEOADD Sicily 13.4 38.2 Palermo]}]
        assert_equal 0 [changes {assert_equal 0 [r GEOADD Sicily 13.4 38.2 Palermo]}]
        assert_equal 2 [changes {assert_equal 2 [r GEOADD Sicily CH 13.5 38.2 Palermo 1 2 new]}]
    }

    test "GEOADD with NX adds, with XX changes" {
        sicily
        set was [r ZSCORE Sicily Palermo]
        assert_equal 1 [r GEOADD Sicily NX 1 2 Palermo 3 4 new]
        assert_equal $was [r ZSCORE Sicily Palermo]
        assert_equal 1 [r GEOADD Sicily xx ch 1 2 Palermo 3 4 other]
        assert_equal (nil) [r ZSCORE Sicily other]
        assert_equal 0 [r GEOADD nothing XX 1 2 a]
        assert_equal 0 [r EXISTS nothing]
    }

    test "GEOADD takes all of the map and nothing beyond" {
        assert_equal 4 [r GEOADD key 180 85.05112878 a -180 -85.05112878 b 180 -85.05112878 c 0 0 d]
        foreach {lon lat} {180.1 0 -180.1 0 0 85.0511288 0 -86 inf 0} {
            assert_error "ERR invalid longitude,latitude pair [format %f,%f $lon $lat]" {r GEOADD key 1 1 e $lon $lat f}
        }
        assert_error $not_float {r GEOADD key a 1 e}
        assert_error $not_float {r GEOADD key 1 nan e}
        assert_equal 4 [r ZCARD key]
    }

    test "GEOADD refuses what are not triples" {
        foreach words {{1 2 a 3} {NX 1 2} {NX XX 1 2 a} {INCR 1 2 a} {GT 1 2 a}} {
            assert_error $syntax {r GEOADD key {*}$words}
        }
        assert_error "ERR wrong number of arguments for 'geoadd' command" {r GEOADD key NX CH}
        assert_equal 0 [r EXISTS key]
    }

    # ---- GEOPOS, GEODIST, GEOHASH -----------------------------------------------------------------------------

    test "GEOPOS shows places, null where there is none" {
        sicily
        assert_equal {{13.36138933897018433 38.11555639549629859} (nil) {15.08726745843887329 37.50266842333162032}} \
            [r GEOPOS Sicily Palermo Rome Catania]
        assert_equal {(nil) (nil)} [r GEOPOS nothing a b]
        assert_equal {} [r GEOPOS Sicily]
        assert_equal "*1\r\n*-1\r\n" [[default_client] raw GEOPOS nothing a]
    }

    test "GEOPOS has doubles in RESP3" {
        sicily
        r HELLO 3
        assert_equal "*2\r\n*2\r\n,13.36138933897018433\r\n,38.11555639549629859\r\n_\r\n" \
            [[default_client] raw GEOPOS Sicily Palermo Rome]
        assert_equal "\$11\r\n166274.1516\r\n" [[default_client] raw GEODIST Sicily Palermo Catania]
        r HELLO 2
    }

    test "GEODIST rounds ten thousand times the distance" {
        r GEOADD rounding -63.0799755 -69.0203051 a 50.9483305 -31.2511930 b
        assert_equal 7665079.5726 [r GEODIST rounding a b] ;# the distance itself is nearer to ...5725
    }

    test "GEODIST knows four units" {
        sicily
        assert_equal 166274.1516 [r GEODIST Sicily Palermo Catania]
        foreach {unit want} {m 166274.1516 KM 166.2742 ft 545518.8700 Mi 103.3182} {
            assert_equal $want [r GEODIST Sicily Palermo Catania $unit]
        }
        assert_equal 0.0000 [r GEODIST Sicily Palermo Palermo]
        assert_equal (nil) [r GEODIST Sicily Palermo Rome]
        assert_equal (nil) [r GEODIST nothing a b]
        assert_error $bad_unit {r GEODIST nothing a b yd}
        assert_error $syntax {r GEODIST Sicily Palermo Catania m km}
    }

    test "GEOHASH shows places as others write them" {
        sicily
        assert_equal {sqc8b49rny0 (nil) sqdtr74hyu0} [r GEOHASH Sicily Palermo Rome Catania]
        assert_equal (nil) [r GEOHASH nothing a]
        assert_equal {} [r GEOHASH Sicily]
    }

    test "Scores that are no places have some place" {
        r ZADD key -1 a 1.5 b inf c -inf d 1e300 e 9007199254740992 f
        assert_equal 6 [llength [r GEOPOS key a b c d e f]]
        assert_equal {bp05b5048p0 00bh0hbj210 00bh0hbj200} [r GEOHASH key a b c]
        assert_equal f [lindex [r GEOSEARCH key FROMMEMBER f BYRADIUS 1 m] 0]
        r GEORADIUSBYMEMBER key d 100000 km
    }

    # ---- Searching --------------------------------------------------------------------------------------------

    test "GEOSEARCH within a circle, from a place or a member" {
        sicily
        assert_equal {Catania Palermo} [r GEOSEARCH Sicily FROMLONLAT 15 37 BYRADIUS 200 km ASC]
        assert_equal {Palermo Catania} [r GEOSEARCH Sicily FROMLONLAT 15 37 BYRADIUS 200 km DESC]
        assert_equal Catania [r GEOSEARCH Sicily FROMLONLAT 15 37 BYRADIUS 100 km]
        assert_equal Palermo [r GEOSEARCH Sicily BYRADIUS 0 m FROMMEMBER Palermo]
        assert_equal {} [r GEOSEARCH nothing FROMMEMBER a BYRADIUS 1 m]
    }

    test "GEOSEARCH within a box" {
        sicily
        assert_equal {Catania Palermo} [r GEOSEARCH Sicily FROMLONLAT 15 37 BYBOX 400 400 km ASC]
        assert_equal Catania [r GEOSEARCH Sicily FROMLONLAT 15 37 BYBOX 200 400 km ASC]
        assert_equal Catania [r GEOSEARCH Sicily FROMLONLAT 15 37 BYBOX 400 200 km ASC]
    }

    test "GEOSEARCH within a polygon, distances from its middle" {
        sicily
        assert_equal {{Catania 271790.7291} {Palermo 369997.5654}} \
            [lmap hit [r GEOSEARCH Sicily BYPOLYGON 3 10 30 20 30 15 45 ASC WITHDIST] {set hit}]
        assert_equal {} [r GEOSEARCH Sicily BYPOLYGON 4 0 0 1 0 1 1 0 1]
        # Its center is north of the valid range.
        assert_equal {Palermo Catania} [r GEOSEARCH Sicily BYPOLYGON 3 6 85 72 -85 -144 85 ASC]
        assert_equal {} [r GEOSEARCH Sicily BYPOLYGON 3 26 85 72 -85 174 85]
    }

    test "GEOSEARCH says more about what it finds" {
        sicily
        assert_equal {{Catania 56.4413 3479447370796909 {15.08726745843887329 37.50266842333162032}}} \
            [r GEOSEARCH Sicily FROMLONLAT 15 37 BYRADIUS 100 km WITHCOORD WITHHASH WITHDIST]
        assert_equal {{Catania 3479447370796909}} [r GEOSEARCH Sicily FROMLONLAT 15 37 BYRADIUS 100 km WITHHASH]
        r HELLO 3
        assert_equal "*1\r\n*3\r\n\$7\r\nCatania\r\n\$7\r\n56.4413\r\n*2\r\n,15.08726745843887329\r\n,37.50266842333162032\r\n" \
            [[default_client] raw GEOSEARCH Sicily FROMLONLAT 15 37 BYRADIUS 100 km WITHCOORD WITHDIST]
        r HELLO 2
    }

    test "COUNT takes the nearest, with ANY whatever comes first" {
        for {set i 0} {$i < 50} {incr i} {
            r GEOADD key [expr {$i * 0.01}] 0 $i
        }
        assert_equal {0 1 2} [r GEOSEARCH key FROMLONLAT 0 0 BYRADIUS 100 km COUNT 3]
        assert_equal {49 48 47} [r GEOSEARCH key FROMLONLAT 0 0 BYRADIUS 100 km COUNT 3 DESC]
        assert_equal 3 [llength [r GEOSEARCH key FROMLONLAT 0 0 BYRADIUS 100 km COUNT 3 ANY]]
        # The first cell is not the nearest: results are not sorted unless requested.
        r GEOADD mixed 0.3 0 far 0.31 0 farther 0.1 0 near 0.2 0 middle
        assert_equal {near middle} [r GEOSEARCH mixed FROMLONLAT 0.305 0 BYRADIUS 100 km COUNT 2 ANY]
        assert_equal {middle near} [r GEOSEARCH mixed FROMLONLAT 0.305 0 BYRADIUS 100 km COUNT 2 ANY ASC]
        assert_equal 50 [llength [r GEOSEARCH key FROMLONLAT 0 0 BYRADIUS 100 km COUNT 9223372036854775807]]
    }

    test "COUNT takes the first of all, whatever it is, and of equally far ones those that are met first" {
        for {set i 0} {$i < 300} {incr i} {
            r GEOADD key [expr {int(rand() * 20) * 0.01}] [expr {int(rand() * 5) * 0.01}] $i
        }
        foreach order {ASC DESC} {
            set all [r GEOSEARCH key FROMLONLAT 0.1 0.02 BYRADIUS 100 km $order]
            assert_equal 300 [llength $all]
            foreach count {1 2 3 7 64 299 300 301} {
                assert_equal [lrange $all 0 $count-1] \
                    [r GEOSEARCH key FROMLONLAT 0.1 0.02 BYRADIUS 100 km COUNT $count $order]
            }
        }
    }

    test "Places of the same distance stand as they were found, either way" {
        r GEOADD key 1 1 c 1 1 a 1 1 b 1.1 1 d
        assert_equal {a b c d} [r GEOSEARCH key FROMLONLAT 1 1 BYRADIUS 100 km ASC]
        assert_equal {d a b c} [r GEOSEARCH key FROMLONLAT 1 1 BYRADIUS 100 km DESC]
    }

    foreach limit {0 1000} {
        test "Searches agree with asking every place (zset-max-listpack-entries $limit)" {
            r CONFIG SET zset-max-listpack-entries $limit
            for {set round 0} {$round < 25} {incr round} {
                r DEL key
                set spread [expr {10 ** (rand() * 4 - 3)}]
                set lon0 [expr {$round % 5 ? rand() * 300 - 150 : 179.99}]
                set lat0 [expr {rand() * 140 - 70}]
                set places {}
                for {set i 0} {$i < 60} {incr i} {
                    set lon [expr {$lon0 + (rand() - 0.5) * $spread}]
                    set lat [expr {$lat0 + (rand() - 0.5) * $spread}]
                    lappend places [expr {$lon > 180 ? $lon - 360 : $lon}] $lat $i
                }
                r GEOADD key {*}$places
                set radius [expr {$spread * 111000 * rand() * 0.7}]
                set near {}
                set sure {}
                foreach place [r GEOPOS key {*}[lmap {lon lat name} $places {set name}]] {lon lat name} $places {
                    set distance [distance $lon0 $lat0 {*}$place]
                    if {$distance < $radius - 0.001} {lappend sure $name}
                    if {$distance < $radius + 0.001} {lappend near $name}
                }
                set found [r GEOSEARCH key FROMLONLAT $lon0 $lat0 BYRADIUS $radius m]
                foreach name $sure {assert {$name in $found}}
                foreach name $found {assert {$name in $near}}
                assert_equal $found [r GEORADIUS_RO key $lon0 $lat0 $radius m]
            }
            r CONFIG SET zset-max-listpack-entries 128
        }
    }

    test "GEORADIUS and GEORADIUSBYMEMBER, and those that only read" {
        sicily
        foreach command {GEORADIUS GEORADIUS_RO} {
            assert_equal {{Palermo 190.4424} {Catania 56.4413}} [r $command Sicily 15 37 200 km WITHDIST]
            assert_equal {} [r $command nothing 15 37 200 km]
        }
        foreach command {GEORADIUSBYMEMBER GEORADIUSBYMEMBER_RO} {
            assert_equal {{Palermo 0.0000} {Catania 166.2742}} [r $command Sicily Palermo 200 km WITHDIST ASC]
            assert_equal {} [r $command nothing Palermo 200 km]
            assert_error "ERR member Rome does not exist" {r $command Sicily Rome 200 km}
        }
        assert_error $syntax {r GEORADIUS_RO Sicily 15 37 200 km STORE to}
        assert_error $syntax {r GEORADIUSBYMEMBER_RO Sicily Palermo 200 km STOREDIST to}
    }

    # ---- Storing ----------------------------------------------------------------------------------------------

    test "GEOSEARCHSTORE stores places, with STOREDIST distances" {
        sicily
        assert_equal 2 [changes {assert_equal 2 [r GEOSEARCHSTORE to Sicily FROMLONLAT 15 37 BYRADIUS 200 km]}]
        assert_equal [r ZRANGE Sicily 0 -1 WITHSCORES] [r ZRANGE to 0 -1 WITHSCORES]
        assert_equal 2 [r GEOSEARCHSTORE to Sicily FROMLONLAT 15 37 BYRADIUS 200 km STOREDIST]
        assert_equal {Catania 56.4412578701582 Palermo 190.44242984775784} [r ZRANGE to 0 -1 WITHSCORES]
        assert_equal 1 [r GEOSEARCHSTORE Sicily Sicily FROMLONLAT 15 37 BYRADIUS 200 km COUNT 1]
        assert_equal Catania [r ZRANGE Sicily 0 -1]
    }

    test "GEOSEARCHSTORE of a polygon: distances from its center, to the last digit" {
        sicily
        assert_equal 2 [r GEOSEARCHSTORE to Sicily BYPOLYGON 5 12 36 17 35.5 17.1 40 12 39.7 11.5 38 STOREDIST]
        assert_equal {Palermo 5.627834179241586e+4 Catania 1.1038319099317437e+5} [r ZRANGE to 0 -1 WITHSCORES]
    }

    test "GEORADIUS stores by the last of its destinations" {
        sicily
        r SET to text EX 100
        assert_equal 2 [r GEORADIUS Sicily 15 37 200 km STORE other STOREDIST to]
        assert_equal 0 [r EXISTS other]
        assert_equal {Catania Palermo} [r ZRANGE to 0 -1]
        assert_equal -1 [r TTL to]
        assert_equal 2 [r GEORADIUSBYMEMBER Sicily Palermo 200 km STOREDIST other STORE to]
        assert_equal [r ZRANGE Sicily 0 -1 WITHSCORES] [r ZRANGE to 0 -1 WITHSCORES]
    }

    test "Storing nothing deletes the destination" {
        sicily
        foreach words {
            {GEOSEARCHSTORE to Sicily FROMLONLAT 0 0 BYRADIUS 1 m} {GEORADIUS Sicily 0 0 1 m STORE to}
            {GEOSEARCHSTORE to nothing FROMMEMBER a BYRADIUS 1 m} {GEORADIUSBYMEMBER nothing a 1 m STOREDIST to}
        } {
            r SET to text
            assert_equal 1 [changes {assert_equal 0 [r {*}$words]}]
            assert_equal 0 [r EXISTS to]
            assert_equal 0 [changes {r {*}$words}]
        }
    }

    test "The keys are those that will be touched" {
        foreach {keys words} {
            {{k {RO access}} {b {OW update}}} {GEORADIUS k 1 2 3 m STORE a STOREDIST b}
            {{k {RO access}} {a {OW update}}} {GEORADIUSBYMEMBER k store 1 m STORE a}
            {{k {RO access}}} {GEORADIUSBYMEMBER k store 1 m}
            {{k {RO access}}} {GEORADIUS k 1 2 3 m STORE}
            {{a {OW update}} {k {RO access}}} {GEOSEARCHSTORE a k FROMMEMBER m BYRADIUS 1 m}
        } {
            assert_equal $keys [r COMMAND GETKEYSANDFLAGS {*}$words]
        }
    }

    # ---- Errors -----------------------------------------------------------------------------------------------

    test "What of the arguments is wrong" {
        sicily
        foreach {error words} [list \
            {ERR need numeric radius} {FROMLONLAT 1 2 BYRADIUS x m} \
            {ERR radius cannot be negative} {FROMLONLAT 1 2 BYRADIUS -1 yd} \
            $bad_unit {FROMLONLAT 1 2 BYRADIUS 1 yd} \
            {ERR need numeric width} {FROMLONLAT 1 2 BYBOX x y m} \
            {ERR need numeric height} {FROMLONLAT 1 2 BYBOX -1 y m} \
            {ERR height or width cannot be negative} {FROMLONLAT 1 2 BYBOX 1 -1 yd} \
            $bad_unit {FROMLONLAT 1 2 BYBOX 1 1 yd} \
            $not_float {FROMLONLAT x 2 BYRADIUS 1 m} \
            {ERR invalid longitude,latitude pair 1.000000,99.000000} {FROMLONLAT 1 99 BYRADIUS 1 m} \
            {ERR member Rome does not exist} {FROMMEMBER Rome BYRADIUS 1 m} \
            {ERR invalid number of vertices} {BYPOLYGON x 1 2 3 4 5 6} \
            {ERR GEOSEARCH BYPOLYGON must have at least 3 vertices} {BYPOLYGON 2 1 2 3 4 5 6} \
            {ERR GEOSEARCH BYPOLYGON must have at least 3 vertices} {BYPOLYGON 4 1 2 3 4 5 6 7} \
            {ERR GEOSEARCH BYPOLYGON must have at least 3 vertices} {BYPOLYGON -1 1 2 3 4 5 6 7} \
            $syntax {BYPOLYGON 3 1 2 3 4 5 6 7} \
            $syntax {FROMMEMBER Palermo BYPOLYGON 3 1 2 3 4 5 6} \
            $syntax {BYPOLYGON 3 1 2 3 4 5 6 FROMMEMBER Palermo} \
            $syntax {FROMMEMBER Palermo FROMLONLAT 1 2 BYRADIUS 1 m} \
            $syntax {FROMMEMBER Palermo BYRADIUS 1 m BYBOX 1 1 m} \
            $syntax {FROMMEMBER Palermo BYRADIUS 1 m STORE to} \
            $syntax {FROMMEMBER Palermo BYRADIUS 1 m COUNT} \
            {ERR COUNT must be > 0} {FROMMEMBER Palermo BYRADIUS 1 m COUNT 0} \
            {ERR value is not an integer or out of range} {FROMMEMBER Palermo BYRADIUS 1 m COUNT x} \
            {ERR the ANY argument requires COUNT argument} {FROMMEMBER Palermo BYRADIUS 1 m ANY} \
            $no_from {BYRADIUS 1 m ASC ANY} $no_by {FROMMEMBER Palermo ASC COUNT 1 ANY}] {
            assert_error $error {r GEOSEARCH Sicily {*}$words}
        }
        foreach option {WITHDIST WITHHASH WITHCOORD} {
            assert_error "ERR GEOSEARCHSTORE is not compatible with WITHDIST, WITHHASH and WITHCOORD options" \
                {r GEOSEARCHSTORE to Sicily FROMMEMBER Palermo BYRADIUS 1 m $option}
            assert_error "ERR STORE option in GEORADIUS is not compatible with WITHDIST, WITHHASH and WITHCOORD options" \
                {r GEORADIUS Sicily 1 2 3 m $option STORE to}
        }
        assert_error "[string map {geosearch geosearchstore} $no_from]" {r GEOSEARCHSTORE to Sicily BYRADIUS 1 m ASC ANY}
    }

    test "Keys of another type are refused" {
        r SET text a
        foreach words {
            {GEOADD text 1 2 a} {GEOPOS text a} {GEODIST text a b} {GEOHASH text a} {GEORADIUS text x y z yd}
            {GEORADIUSBYMEMBER text a 1 m} {GEOSEARCH text FROMMEMBER a BYRADIUS 1 yd}
            {GEOSEARCHSTORE to text FROMMEMBER a BYRADIUS 1 m}
        } {
            assert_error $wrong_type {r {*}$words}
        }
        assert_error "ERR invalid longitude*" {r GEOADD text 1 200 a}
        assert_error $bad_unit {r GEODIST text a b yd}
    }
}
