# packing.tcl -- the libraries bit, struct and cmsgpack: bit operations, and values to bytes and back.
#
# SPDX-License-Identifier: BSD-3-Clause

# SCRIPT must return this value.
proc gives {script value} {
    uplevel 1 [list test $script "assert_equal [list $value] \[r EVAL [list $script] 0\]"]
}

# SCRIPT must fail with this error, at its first line.
proc fails {script error} {
    set error "ERR user_script:1: $error script: on @user_script:1."
    uplevel 1 [list test "Wrong: $script" "assert_error [list [string map {* \\* ? \\? [ \\[ ] \\]} $error]] {r EVAL [list $script] 0}"]
}

start_server {} {
    # ---- bit --------------------------------------------------------------------------------------------------------

    gives {return {bit.tobit(2^31),bit.tobit(-1),bit.tobit(1.5),bit.tobit(2^40+5),bit.tobit(0/0),bit.tobit(1e300)}} \
        {-2147483648 -1 2 5 0 -2013235812}
    fails {return bit.band()} \
        {bad argument #1 to 'band' (number expected, got no value)}
    fails {return bit.band('x')} \
        {bad argument #1 to 'band' (number expected, got string)}
    fails {return bit.bnot({})} \
        {bad argument #1 to 'bnot' (number expected, got table)}
    fails {return bit.lshift(1)} \
        {bad argument #2 to 'lshift' (number expected, got no value)}
    fails {return bit.tohex(1,'x')} \
        {bad argument #2 to 'tohex' (number expected, got string)}
    gives {return bit.lshift(1,-1)} -2147483648
    gives {return {bit.band(1.5,3),bit.tobit(0.5),bit.tobit(1.5),bit.tobit(2.5),bit.tobit(-0.5)}} \
        {2 0 2 2 0}
    gives {return bit.foo} (nil)

    # ---- struct -----------------------------------------------------------------------------------------------------

    gives "return \{struct.unpack('b','\\1')\}" \
        {1 2}
    gives "return \{struct.unpack('>I2','\\1\\2',1)\}" \
        {258 3}
    fails "return \{struct.unpack('>I2','\\1\\2',2)\}" \
        {bad argument #2 to 'unpack' (data string too short)}
    fails "return \{struct.unpack('>I2','\\1\\2',0)\}" \
        {bad argument #3 to 'unpack' (offset must be 1 or greater)}
    fails "return \{struct.unpack('>I2','\\1\\2',-5)\}" \
        {bad argument #2 to 'unpack' (data string too short)}
    fails "return \{struct.unpack('b','\\1\\2',3)\}" \
        {bad argument #2 to 'unpack' (data string too short)}
    fails "return \{struct.unpack('b','\\1\\2',2147483647)\}" \
        {bad argument #2 to 'unpack' (data string too short)}
    gives "return \{struct.unpack('s','abc\\0def')\}" \
        {abc 5}
    fails {return {struct.unpack('s','abc')}} \
        {unfinished string in data}
    gives "return \{struct.unpack('bc0','\\3abcd')\}" \
        {abc 5}
    fails {return {struct.unpack('c0','abcd')}} \
        {format 'c0' needs a previous size}
    gives {return {struct.unpack('c3','abcd')}} \
        {abc 4}
    fails {return {struct.unpack('c10','abcd')}} \
        {bad argument #2 to 'unpack' (data string too short)}
    fails "return \{struct.unpack('bc0','\\9abcd')\}" \
        {bad argument #2 to 'unpack' (data string too short)}
    gives "return \{struct.unpack('fc0','\\0\\0\\0\\0abcd')\}" \
        {{} 5}
    fails "return \{struct.unpack('bsc0','\\1abc\\0d')\}" \
        {format 'c0' needs a previous size}
    gives {return {struct.size('b'),struct.size('!bi4'),struct.size('bhilfd'),struct.size('c5x'),struct.size('T')}} \
        {1 8 27 6 8}
    gives {return {struct.size('q'),struct.size('bqj!8d'),struct.size('b7')}} {0 16 1}
    fails {return struct.size('=d')} \
        {bad argument #1 to 'size' (invalid format option '=')}
    fails {return struct.pack('bq', 1)} \
        {bad argument #1 to 'pack' (invalid format option 'q')}
    gives {return {struct.unpack('', 'a', 9), struct.unpack('', 'a', -1), struct.unpack('b', 'a', 1)}} {9 -1 97 2}
    fails {return struct.unpack('i33', 'a', 9)} \
        {integral size 33 is larger than limit of 32}
    fails {return struct.unpack('!', 'a', 9)} \
        {bad argument #2 to 'unpack' (data string too short)}
    fails {return struct.unpack('q', 'a')} \
        {bad argument #1 to 'unpack' (invalid format option 'q')}
    fails {return struct.size('s')} \
        {bad argument #1 to 'size' (option 's' has no fixed size)}
    fails {return struct.size('c0')} \
        {bad argument #1 to 'size' (option 'c0' has no fixed size)}
    fails {return struct.size('i2147483647')} \
        {integral size 2147483647 is larger than limit of 32}
    gives {return struct.size('c2147483647c2147483647')} 4294967294
    fails {return struct.size('c99999999999')} \
        {integral size overflow}
    fails {return {struct.unpack('i33','a')}} \
        {integral size 33 is larger than limit of 32}
    gives "return \{struct.unpack('i16',string.rep('\\1',16))\}" \
        {72340172838076672 17}
    gives "return \{struct.unpack('xb','\\1\\2')\}" \
        {2 3}
    fails {return struct.unpack('b')} \
        {bad argument #2 to 'unpack' (string expected, got no value)}
    fails {return struct.unpack('b',{})} \
        {bad argument #2 to 'unpack' (string expected, got table)}

    # ---- cmsgpack ---------------------------------------------------------------------------------------------------

    fails {return cmsgpack.pack()} \
        {bad argument #0 to 'pack' (MessagePack pack needs input.)}
    gives "return \{cmsgpack.unpack('\\1\\2\\3')\}" \
        {1 2 3}
    gives {return {cmsgpack.unpack('')}} \
        {}
    fails "return \{cmsgpack.unpack('\\193')\}" \
        {Bad data format in input.}
    fails "return \{cmsgpack.unpack('\\204')\}" \
        {Missing bytes in input.}
    fails "return \{cmsgpack.unpack('\\165abc')\}" \
        {Missing bytes in input.}
    fails "return \{cmsgpack.unpack('\\196\\3abc')\}" \
        {Bad data format in input.}
    fails "return \{cmsgpack.unpack('\\212\\1\\1')\}" \
        {Bad data format in input.}
    fails "return \{cmsgpack.unpack('\\221\\255\\255\\255\\255')\}" \
        {Missing bytes in input.}
    fails "return \{cmsgpack.unpack('\\223\\255\\255\\255\\255')\}" \
        {Missing bytes in input.}
    fails "return \{cmsgpack.unpack('\\219\\255\\255\\255\\255a')\}" \
        {Missing bytes in input.}
    gives "return \{cmsgpack.unpack_one('\\1\\2\\3')\}" \
        {1 1}
    gives "return \{cmsgpack.unpack_one('\\1\\2\\3',1)\}" \
        {2 2}
    gives "return \{cmsgpack.unpack_one('\\1\\2\\3',2)\}" \
        {-1 3}
    gives "return \{cmsgpack.unpack_one('\\1\\2\\3',3)\}" \
        {-1}
    fails "return \{cmsgpack.unpack_one('\\1\\2\\3',4)\}" \
        {Start offset 4 greater than input length 3.}
    fails "return \{cmsgpack.unpack_one('\\1\\2\\3',-1)\}" \
        {Invalid request to unpack with offset of -1 and limit of 3.}
    gives "return \{cmsgpack.unpack_limit('\\1\\2\\3',2)\}" \
        {2 1 2}
    gives "return \{cmsgpack.unpack_limit('\\1\\2\\3',2,1)\}" \
        {-1 2 3}
    gives "return \{cmsgpack.unpack_limit('\\1\\2\\3',0)\}" \
        {1 2 3}
    fails "return \{cmsgpack.unpack_limit('\\1\\2\\3',-1)\}" \
        {Invalid request to unpack with offset of 0 and limit of 3.}
    gives "return \{cmsgpack.unpack_limit('\\1\\2\\3',5)\}" \
        {-1 1 2 3}
    fails "return \{cmsgpack.unpack_limit('\\1\\2\\3')\}" \
        {bad argument #2 to 'unpack_limit' (number expected, got no value)}
    fails {return {cmsgpack.unpack()}} \
        {bad argument #1 to 'unpack' (string expected, got no value)}
    fails {return {cmsgpack.unpack({})}} \
        {bad argument #1 to 'unpack' (string expected, got table)}
    gives {return {cmsgpack.unpack(5)}} \
        {53}
    fails {return {cmsgpack.unpack_one()}} \
        {bad argument #1 to 'unpack_one' (string expected, got no value)}
    gives "return #\{cmsgpack.unpack(string.rep('\\1',7000))\}" 7000
    fails "return #\{cmsgpack.unpack(string.rep('\\1',9000))\}" \
        {stack overflow (too many return values at once; use unpack_one or unpack_limit instead.)}
    gives "return \{pcall(cmsgpack.unpack,string.rep('\\145',100000))\}" \
        {(nil) {stack overflow (in function mp_decode_to_lua_array)}}
    gives "return \{cmsgpack.unpack('\\194\\195\\192\\1')\}" \
        {(nil) 1}
    gives "return tostring(cmsgpack.unpack('\\207\\255\\255\\255\\255\\255\\255\\255\\255'))" -1
    gives "local t=cmsgpack.unpack('\\146\\1\\192') return \{#t,tostring(t\[1\]),tostring(t\[2\])\}" \
        {1 1 nil}
    gives {local t={1,2} t[3]=t return #cmsgpack.pack(t)} 49
    gives {return cjson.encode(cmsgpack.unpack(cmsgpack.pack({a={1,2,{b='c'}},n=1.5})))} {{"a":[1,2,{"b":"c"}],"n":1.5}}
}
