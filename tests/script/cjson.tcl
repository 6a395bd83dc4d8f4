# cjson.tcl -- the library cjson: values to JSON and back, errors, its settings.
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
    # ---- cjson ------------------------------------------------------------------------------------------------------

    fails {return cjson.encode(1/0)} \
        {Cannot serialise number: must not be NaN or Inf}
    fails {return cjson.encode(0/0)} \
        {Cannot serialise number: must not be NaN or Inf}
    fails {return cjson.encode({[11]=1})} \
        {Cannot serialise table: excessively sparse array}
    fails {return cjson.encode({[20]=1,[1]=1})} \
        {Cannot serialise table: excessively sparse array}
    fails {return cjson.encode({[true]=1})} \
        {Cannot serialise boolean: table key must be a number or string}
    fails {return cjson.encode({a=function() end})} \
        {Cannot serialise function: type not supported}
    fails {return cjson.encode(function() end)} \
        {Cannot serialise function: type not supported}
    gives {return cjson.encode(nil)} null
    gives {return cjson.encode(cjson.null)} null
    gives {return cjson.encode(true)} true
    fails {return cjson.encode()} \
        {bad argument #1 to 'encode' (expected 1 argument)}
    fails {return cjson.encode(1,2)} \
        {bad argument #1 to 'encode' (expected 1 argument)}
    fails {local t={} t[1]=t return cjson.encode(t)} \
        {Cannot serialise, excessive nesting (1001)}
    gives {return cjson.encode({[1]=1,a=2})} {{"1":1,"a":2}}
    gives {return {cjson.decode('[1,2.5,-3,1e3,true,false,null,"x"]')}} \
        {{1 2 -3 1000 1 (nil) (nil) x}}
    gives {return tostring(cjson.decode('null'))} {userdata: (nil)}
    gives {return tostring(cjson.null)} {userdata: (nil)}
    gives {return type(cjson.decode('null'))} userdata
    fails {return cjson.decode('')} \
        {Expected value but found T_END at character 1}
    fails {return cjson.decode(' ')} \
        {Expected value but found T_END at character 2}
    fails {return cjson.decode('x')} \
        {Expected value but found invalid token at character 1}
    fails {return cjson.decode('[')} \
        {Expected value but found T_END at character 2}
    fails {return cjson.decode('[1')} \
        {Expected comma or array end but found T_END at character 3}
    fails {return cjson.decode('[1,')} \
        {Expected value but found T_END at character 4}
    fails {return cjson.decode('[1,]')} \
        {Expected value but found T_ARR_END at character 4}
    fails {return cjson.decode('[1 2]')} \
        {Expected comma or array end but found T_NUMBER at character 4}
    fails "return cjson.decode('\{')" \
        {Expected object key string but found T_END at character 2}
    fails "return cjson.decode('\{\"a\"')" \
        {Expected colon but found T_END at character 5}
    fails "return cjson.decode('\{\"a\":')" \
        {Expected value but found T_END at character 6}
    fails "return cjson.decode('\{\"a\":1')" \
        {Expected comma or object end but found T_END at character 7}
    fails "return cjson.decode('\{\"a\":1,')" \
        {Expected object key string but found T_END at character 8}
    fails {return cjson.decode('{"a":1,}')} \
        {Expected object key string but found T_OBJ_END at character 8}
    fails {return cjson.decode('{a:1}')} \
        {Expected object key string but found invalid token at character 2}
    fails {return cjson.decode('{1:1}')} \
        {Expected object key string but found T_NUMBER at character 2}
    fails {return cjson.decode('1 2')} \
        {Expected the end but found T_NUMBER at character 3}
    fails {return cjson.decode('"abc')} \
        {Expected value but found unexpected end of string at character 5}
    fails "return cjson.decode('\"a\\\\x\"')" \
        {Expected value but found invalid escape code at character 3}
    fails "return cjson.decode('\"a\\\\u12\"')" \
        {Expected value but found invalid unicode escape code at character 3}
    fails "return cjson.decode('\"a\\\\ud83d\"')" \
        {Expected value but found invalid unicode escape code at character 3}
    fails "return cjson.decode('\"\\\\ude00\"')" \
        {Expected value but found invalid unicode escape code at character 2}
    fails "return cjson.decode('\"\\\\ud83dx\"')" \
        {Expected value but found invalid unicode escape code at character 2}
    fails "return cjson.decode('\"\\\\ud83d\\\\u0041\"')" \
        {Expected value but found invalid unicode escape code at character 2}
    gives "return cjson.decode('\"a\\nb\"')" "a\x0ab"
    fails "return cjson.decode('\"a\\0b\"')" \
        {Expected value but found unexpected end of string at character 3}
    gives "return #cjson.decode('\"a\\\\u0000b\"')" 3
    fails {return cjson.decode('tru')} \
        {Expected value but found invalid token at character 1}
    fails {return cjson.decode('truex')} \
        {Expected the end but found invalid token at character 5}
    fails {return cjson.decode('nul')} \
        {Expected value but found invalid token at character 1}
    gives {return {tostring(cjson.decode('01')),tostring(cjson.decode('1.')),tostring(cjson.decode('1e5'))}} \
        {1 1 100000}
    fails {return cjson.decode('-')} \
        {Expected value but found invalid number at character 1}
    fails {return cjson.decode('.5')} \
        {Expected value but found invalid token at character 1}
    gives {return cjson.decode('+1')} 1
    fails {return cjson.decode('1.5.5')} \
        {Expected the end but found invalid token at character 4}
    fails "return cjson.decode('\[1\}')" \
        {Expected comma or array end but found T_OBJ_END at character 3}
    fails {return cjson.decode(']')} \
        {Expected value but found T_ARR_END at character 1}
    fails {return cjson.decode(',')} \
        {Expected value but found T_COMMA at character 1}
    fails {return cjson.decode(':')} \
        {Expected value but found T_COLON at character 1}
    fails {return cjson.decode(string.rep('[',1001))} \
        {Found too many nested data structures (1001) at character 1001}
    fails {return cjson.decode()} \
        {bad argument #1 to 'decode' (expected 1 argument)}
    fails {return cjson.decode('1','2')} \
        {bad argument #1 to 'decode' (expected 1 argument)}
    fails {return cjson.decode({})} \
        {bad argument #1 to 'decode' (string expected, got table)}
    gives {return cjson.decode(5)} 5
    fails "return cjson.decode('\\0\{')" \
        {JSON parser does not support UTF-16 or UTF-32}
    fails "return cjson.decode('\{\\0')" \
        {JSON parser does not support UTF-16 or UTF-32}
    fails "return cjson.decode('\\239\\187\\1911')" \
        {Expected value but found invalid token at character 1}
    gives {return {cjson.encode_max_depth()}} \
        {1000}
    gives {return {cjson.decode_max_depth()}} \
        {1000}
    gives {return {cjson.encode_number_precision()}} \
        {14}
    gives {return {tostring(cjson.encode_keep_buffer())}} \
        {true}
    gives {return {tostring(cjson.encode_invalid_numbers())}} \
        {false}
    gives {return {tostring(cjson.decode_invalid_numbers())}} \
        {true}
    gives {local a,b,c=cjson.encode_sparse_array() return {tostring(a),b,c}} \
        {false 2 10}
    fails {return cjson.encode_max_depth(0)} \
        {bad argument #1 to 'encode_max_depth' (expected integer between 1 and 2147483647)}
    fails {return cjson.encode_max_depth('x')} \
        {bad argument #1 to 'encode_max_depth' (number expected, got string)}
    fails {return cjson.encode_max_depth(5,6)} \
        {bad argument #2 to 'encode_max_depth' (found too many arguments)}
    fails {return cjson.encode_number_precision(15)} \
        {bad argument #1 to 'encode_number_precision' (expected integer between 1 and 14)}
    fails {return cjson.encode_number_precision(17)} \
        {bad argument #1 to 'encode_number_precision' (expected integer between 1 and 14)}
    gives {return cjson.encode(0.1)} 0.1
    gives {return cjson.encode_number_precision(3)} 3
    gives {return cjson.encode(1/3)} 0.333
    gives {return cjson.encode_number_precision(14)} 14
    gives {return tostring(cjson.encode_invalid_numbers('null'))} null
    gives {return {cjson.encode(1/0),cjson.encode(0/0)}} \
        {null null}
    gives {return tostring(cjson.encode_invalid_numbers(true))} true
    gives {return {cjson.encode(1/0),cjson.encode(-1/0),cjson.encode(0/0)}} \
        {inf -inf nan}
    gives {return tostring(cjson.encode_invalid_numbers('on'))} true
    gives {return tostring(cjson.encode_invalid_numbers(false))} false
    fails {return cjson.encode_invalid_numbers('x')} \
        {bad argument #1 to 'encode_invalid_numbers' (invalid option 'x')}
    gives {return tostring(cjson.encode_keep_buffer(false))} false
    gives {return tostring(cjson.encode_keep_buffer('on'))} true
    gives {return tostring(cjson.decode_invalid_numbers(false))} false
    fails {return cjson.decode('nan')} \
        {Expected value but found invalid token at character 1}
    fails {return cjson.decode('0x10')} \
        {Expected value but found invalid number at character 1}
    gives {return tostring(cjson.decode_invalid_numbers(true))} true
    gives {local a,b,c=cjson.encode_sparse_array(true,1,2) return {tostring(a),b,c}} \
        {true 1 2}
    gives {return cjson.encode({[10]=1})} {{"10":1}}
    gives {local a,b,c=cjson.encode_sparse_array(false,2,10) return {tostring(a),b,c}} \
        {false 2 10}
    fails {return cjson.encode_sparse_array(1,-1)} \
        {bad argument #1 to 'encode_sparse_array' (invalid option '1')}
    fails {return cjson.encode_sparse_array('x')} \
        {bad argument #1 to 'encode_sparse_array' (invalid option 'x')}
    fails {return cjson.encode_sparse_array(false,2,10,4)} \
        {bad argument #4 to 'encode_sparse_array' (found too many arguments)}
    gives {return cjson.encode_max_depth(2)} 2
    fails {return cjson.encode({{{1}}})} \
        {Cannot serialise, excessive nesting (3)}
    gives {return cjson.encode({{1}})} {[[1]]}
    gives {return cjson.encode_max_depth(1000)} 1000
    gives {return cjson.decode_max_depth(2)} 2
    fails {return cjson.decode('[[[1]]]')} \
        {Found too many nested data structures (3) at character 3}
    gives {return #cjson.decode('[[1]]')} 1
    gives {return cjson.decode_max_depth(1000)} 1000
    gives {local c=cjson.new() c.encode_number_precision(3) return {c.encode(1/3),cjson.encode(1/3)}} \
        {0.333 0.33333333333333}
    gives {local c=cjson.new() c.x=1 return c.x} 1
    gives {return {cjson._NAME,cjson._VERSION}} \
        {cjson 2.1.0}
    gives {return cjson.encode({a={},b={{}}})} {{"a":{},"b":[{}]}}
    gives {return cjson.encode({[1]='a',[2]='b',['3']='c'})} {{"1":"a","2":"b","3":"c"}}
    gives "return cjson.encode(\{\['a'\]='\\226\\130\\172'\})" "\{\"a\":\"\xe2\x82\xac\"\}"
}
