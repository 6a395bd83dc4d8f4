"""lua_programs.py -- random Lua scripts for tests/differential/lua, made from areas.

Excluded: random numbers, time, the order of pairs(); NUL in errors and statuses (the reference server cuts them there),
tables as err (its pcall() returns an additional value for these), NaN as an integer (undefined in C); damage near '[['
(an error shows it with equals signs); scripts that are known to crash a server.

SPDX-License-Identifier: BSD-3-Clause
"""

import hashlib
import random

AREAS = ["calls", "errors", "values", "tables", "strings", "numbers", "bits", "json", "packed"]

# show() returns a value as text, with sorted members of tables; note() records the results or the error of a function.
PRELUDE = r"""
local out = {}
local function show(v, depth)
    if type(v) == 'number' then
        if v ~= v then return 'nan' end
        return string.format('%.17g', v)
    end
    if type(v) == 'string' then return '"' .. v .. '"' end
    if type(v) ~= 'table' then return v == nil and 'nil' or type(v) == 'boolean' and tostring(v) or type(v) end
    if depth > 12 then return '...' end
    local all = {}
    for name, member in pairs(v) do all[#all + 1] = show(name, depth + 1) .. '=' .. show(member, depth + 1) end
    table.sort(all)
    return '{' .. table.concat(all, ', ') .. '}'
end
local function note(f)
    local got = {pcall(f)}
    local last = 0
    for i in pairs(got) do if i > last then last = i end end
    local all = {}
    for i = 1, last do all[i] = show(got[i], 0) end
    out[#out + 1] = table.concat(all, ' ')
end
local function keep(f, other)
    local good, value = pcall(f)
    if good and value ~= nil then return value end
    return other
end
local a, b, c = 1, 'text', {1, 2, 3}
"""

KEYS = ["s1", "s2", "l1", "l2", "h1", "t1", "t2", "z1", "z2", "none"]
WORDS = [
    "a", "b", "f", "x", "1", "10", "-5", "3.5", "", "hello", "a b", "\\0\\255", "\\r\\n", "1e3", " 7", "0x10", "nan",
    "inf"
]
NUMBERS = [
    "0", "1", "2", "3", "-1", "7", "10", "100", "1.5", "-2.25", "0.1", "1e15", "1e17", "2^31", "-2^31", "2^53",
    "2^53 + 1", "2^63", "-2^63", "1e100", "1e-7", "1/0", "-1/0", "1/3", "255", "65536", "4294967295", "4294967296"
]
SMALL = ["0", "1", "2", "3", "5", "-1", "-2", "10"]


class Draw:

    def __init__(self, seed, areas):
        self.r = random.Random(seed)
        self.areas = [getattr(self, name) for name in areas]

    def one(self, *choices):
        return self.r.choice(choices)

    def chance(self, part):
        return self.r.random() < part

    def some(self, draw, low, high):
        return [draw() for _ in range(self.r.randint(low, high))]

    # ---- Values ----

    def word(self):
        return self.r.choice(WORDS)

    def text(self):
        if self.chance(0.1):
            return "string.rep('%s', %d)" % (self.one("x", "ab", "a,"), self.r.choice([0, 1, 5, 40, 300]))
        if self.chance(0.05):
            return "[[%s[[%s]]" % (self.one("a", "]", "]=", "]=]", "\n"), self.one("", "b", "]=", "--"))
        return "'%s'" % self.word()

    def line_text(self):
        return self.text().replace("\\0", "\\1")

    def number(self):
        return self.r.choice(NUMBERS) if self.chance(0.7) else str(self.r.randint(-70000, 70000))

    def variable(self):
        return self.one("a", "b", "c")

    def value(self, depth=0):
        """Returns a value. No table has more than one named member, as their order is random."""
        kind = self.r.random()
        if kind < 0.25:
            return self.text()
        if kind < 0.5:
            return self.number()
        if kind < 0.6:
            return self.one("true", "false", "nil")
        if kind < 0.7:
            return self.variable()
        if depth > 3 or kind < 0.73:
            return self.one("{}", "cjson.null", "''", "function() end")
        if kind < 0.85:
            return "{%s}" % ", ".join(self.some(lambda: self.value(depth + 1), 0, 4))
        if kind < 0.92:
            return "{%s = %s}" % (
                self.one("x", "['a b']", "[1]", "[2]", "[5]", "[0]", "[1.5]"), self.value(depth + 1))
        return self.reply_table(depth)

    def reply_table(self, depth):
        return self.one(
            lambda: "{ok = %s}" % self.line_text(), lambda: "{err = %s}" % self.line_text(),
            lambda: "{err = 'MY ' .. %s}" % self.line_text(),
            lambda: "{err = %s}" % self.number(), lambda: "{double = %s}" % self.number(),
            lambda: "{map = {[%s] = %s}}" % (self.one("'k'", "1", "1.5", "true"), self.value(depth + 1)),
            lambda: "{set = {[%s] = true}}" % self.one("'k'", "1", "false"), lambda: "{big_number = %s}" % self.line_text(),
            lambda: "{verbatim_string = {string = %s, format = %s}}" %
            (self.text(), self.one("'txt'", "'mkd'", "'x'", "5")), lambda: "redis.status_reply(%s)" % self.line_text(),
            lambda: "redis.error_reply(%s)" % self.line_text())()

    # ---- Areas: each gives an expression ----

    def command(self):
        k, w, n, s = lambda: self.r.choice(KEYS), self.word, self.number, lambda: self.r.choice(SMALL)
        words = self.one(
            lambda: ["set", k(), w()], lambda: ["get", k()], lambda: ["incr", k()],
            lambda: ["incrby", k(), s()], lambda: ["append", k(), w()], lambda: ["strlen", k()],
            lambda: ["getrange", k(), s(), s()], lambda: ["setnx", k(), w()],
            lambda: ["set", k(), w(), self.one("nx", "xx", "get", "zz")],
            lambda: ["mget", k(), k(), k()], lambda: ["incrbyfloat", k(), "1.5"], lambda: ["del", k(), k()],
            lambda: ["exists", k(), k()], lambda: ["type", k()], lambda: ["rpush", k()] + self.some(w, 1, 3),
            lambda: ["lpush", k(), w()], lambda: ["lrange", k(), s(), s()], lambda: ["lpop", k()],
            lambda: ["rpop", k(), s()], lambda: ["llen", k()], lambda: ["lindex", k(), s()],
            lambda: ["linsert", k(), "before", w(), w()], lambda: ["lrem", k(), s(), w()],
            lambda: ["blpop", k(), k(), "0"], lambda: ["lmove", k(), k(), "left", "right"],
            lambda: ["lpos", k(), w()], lambda: ["hset", "h1", w(), w()], lambda: ["hget", k(), w()],
            lambda: ["hgetall", k()], lambda: ["hdel", k(), w()],
            lambda: ["hincrby", k(), "f", s()], lambda: ["hmget", k(), w(), w()], lambda: ["hlen", k()],
            lambda: ["hexists", k(), w()], lambda: ["sadd", k()] + self.some(w, 1, 3),
            lambda: ["srem", k(), w()], lambda: ["sismember", k(), w()],
            lambda: ["smismember", k(), w(), w()], lambda: ["scard", k()],
            lambda: ["zadd", k(), s(), w()], lambda: ["zadd", k(), "incr", s(), w()],
            lambda: ["zscore", k(), w()], lambda: ["zrange", k(), s(), s(), "withscores"],
            lambda: ["zrank", k(), w(), "withscore"], lambda: ["zcard", k()], lambda: ["zpopmin", k()],
            lambda: ["bzpopmin", k(), "0"], lambda: ["zincrby", k(), s(), w()],
            lambda: ["zmscore", k(), w(), w()], lambda: ["rename", k(), k()], lambda: ["copy", k(), k()],
            lambda: ["persist", k()], lambda: ["ttl", k()],
            lambda: ["expire", k(), self.one("100000", "-1", "x")], lambda: ["ping"], lambda: ["echo", w()],
            lambda: ["dbsize"], lambda: ["select", self.one("0", "1", "2", "99", "x")],
            lambda: ["setbit", k(), "7", "1"],
            lambda: ["bitcount", k()], lambda: ["publish", "c", w()], lambda: ["sort", k(), "alpha"],
            lambda: ["pfadd", k(), w()], lambda: ["xadd", k(), "%d-1" % self.r.randrange(1, 50), "f",
            w()], lambda: ["xlen", k()], lambda: ["xrange", k(), "-", "+"], lambda: ["nosuch"], lambda: ["get"],
            lambda: ["config", "get", "port"], lambda: ["client", "id"], lambda: ["config", "zz"], lambda: ["multi"],
            lambda: ["eval", "return 1", "0"], lambda: ["wait", "0", "0"], lambda: ["getdel", k()])()
        return words

    def calls(self):
        words = ["'%s'" % word for word in self.command()]
        if self.chance(0.15):
            words.append(self.one(self.value, self.number, self.text)())
        if self.chance(0.05):
            words.pop(self.r.randrange(len(words)))
        if self.chance(0.1) and len(words) > 1:
            words[self.r.randrange(1, len(words))] = self.one(self.number, self.value)()
        return "redis.%s(%s)" % (self.one("call", "call", "pcall"), ", ".join(words))

    def errors(self):
        inner = self.one(self.calls, self.numbers, lambda: self.value(2))()
        return self.one(
            lambda: "error(%s)" % self.value(2), lambda: "error(%s, %s)" % (self.text(), self.one("0", "1", "2")),
            lambda: "assert(%s, %s)" % (inner, self.text()), lambda: "pcall(function() return %s end)" % inner,
            lambda: "pcall(error, %s)" % self.value(2),
            lambda: "select(2, pcall(function() error(%s) end))" % self.value(2),
            lambda: "xpcall(function() return %s end, function(e) return {type(e), e} end)" % inner,
            lambda: "coroutine.wrap(function() return %s end)()" % inner, lambda: "%s.field" % self.variable(),
            lambda: "%s()" % self.variable(), lambda: "undefined_name", lambda: "#%s" % self.variable(),
            lambda: "redis.error_reply(%s)" % self.one(self.line_text, self.number)(),
            lambda: "redis.status_reply(%s)" % self.one(self.line_text, self.number)(),
            lambda: "redis.sha1hex(%s)" % self.text(),
            lambda: "redis.setresp(%s)" % self.one("2", "3", "4", "'3'", "nil"),
            lambda: "redis.acl_check_cmd(%s)" % ", ".join("'%s'" % w
            for w in self.command()), lambda: "redis.log(%s, 'x')" % self.one("0", "-1", "9", "'x'"),
            lambda: "redis.set_repl(%s)" % self.one("3", "4", "-1"), lambda: "loadstring(%s)()" % self.one(
            "'return 1'", "'return +'", "'x = 1'", "'error(5)'", "'return nosuch'"))()

    def values(self):
        return self.value()

    def tables(self):
        t = self.one(
            "{3, 1, 2}", "{'b', 'a', 'c'}", "{1, 'x', 2}", "{}", "{1, nil, 3}", "{unpack(c)}", "{{}, 1}", "{5, 4, 3, 2, 1}")
        return self.one(
            lambda: "table.concat(%s, %s)" % (t, self.text()), lambda: "table.concat(%s, ',', %s, %s)" %
            (t, self.one(*SMALL), self.one("1", "2", "3")),
            lambda: "(function() local t = %s table.sort(t) return t end)()" % t,
            lambda: "(function() local t = %s table.sort(t, function(x, y) return x > y end) return t end)()" % t,
            lambda: "(function() local t = %s table.insert(t, %s) return t end)()" % (t, self.value(2)),
            lambda: "(function() local t = %s table.insert(t, %s, %s) return t end)()" %
            (t, self.one("1", "2", "4", "'x'"), self.value(2)),
            lambda: "(function() local t = %s return {table.remove(t%s), t} end)()" %
            (t, self.one("", ", 1", ", 2", ", 9")), lambda: "{unpack(%s, %s, %s)}" %
            (t, self.one("1", "0", "-1"), self.one("2", "3", "9")), lambda: "select(%s, %s, %s)" %
            (self.one("1", "2", "-1", "'#'", "0", "9"), self.value(2), self.value(2)),
            lambda: "next(%s)" % self.one("{}", "{5}", "{x = 1}", "5"), lambda: "table.maxn(%s)" % t,
            lambda: "table.getn(%s)" % t, lambda: "#%s" % t, lambda: "rawget(%s, %s)" % (t, self.value(3)),
            lambda: "rawequal(%s, %s)" % (self.value(3), self.value(3)), lambda: "type(%s)" % self.value(2),
            lambda: "(%s)[%s]" % (t, self.number()),
            lambda: "setmetatable({}, {__index = function(t, k) return k end})[%s]" % self.value(3))()

    def strings(self):
        t, s = self.one(self.text, self.text, self.number, self.variable)(), lambda: self.r.choice(SMALL)
        pattern = "'%s'" % "".join(
            self.some(
            lambda: self.one(
            "a", "%d", "%a", ".", "[a-c]", "[^x]", "%s", "x", "l", "*", "+", "-", "?", "(", ")", "()", "%1", "^", "$",
            "%b()", "%f[%w]", "[", "%", "%%", "%w"), 1, 5))
        return self.one(
            lambda: "string.sub(%s, %s, %s)" % (t, s(), s()), lambda: "string.rep(%s, %s)" % (t, s()),
            lambda: "string.upper(%s)" % t, lambda: "string.reverse(%s)" % t, lambda: "string.len(%s)" % t,
            lambda: "string.byte(%s, %s, %s)" % (t, s(), s()), lambda: "string.char(%s)" % ", ".join(
            self.some(lambda: self.one("65", "0", "255", "256", "-1", "'66'", "1.5"), 0, 4)),
            lambda: "string.find(%s, %s)" % (t, pattern), lambda: "string.find(%s, %s, %s, true)" % (t, pattern, s()),
            lambda: "string.match(%s, %s)" % (t, pattern), lambda: "string.gsub(%s, %s, %s)" % (
            t, pattern,
            self.one(
            "'<%0>'", "'%1'", "''", "'%9'", "{a = 'A'}", "function(x) return x .. x end", "function() return false end",
            "function() return {} end", "5")), lambda:
            "(function() local t = {} for x in string.gmatch(%s, %s) do t[#t + 1] = x if #t > 20 then break end end "
            "return t end)()" % (t, pattern), lambda: "string.format('%s', %s)" % (
            "%" + self.one("", "5", "-8", "05", ".3", "+", " ", "#", "10.4", "-5.1", "100", ".100") + self.one(
            "d", "i", "u", "c", "x", "X", "o", "e", "E", "f", "g", "G", "q", "s", "y", "%"),
            self.one(self.number, self.text, lambda: str(self.r.randint(-500, 500)))()), lambda: "%s .. %s" %
            (t, self.value(3)), lambda: "%s %s %s" % (t, self.one("<", "<=", "==", "~="), self.text()),
            lambda: "tonumber(%s%s)" % (t, self.one("", ", 16", ", 2", ", 36", ", 10", ", 1", ", 37")),
            lambda: "tostring(%s)" % self.one(t, "nil", "true"))()

    def numbers(self):
        x, y = self.one(self.number, self.number, self.text)(), self.number()
        return self.one(
            lambda: "%s %s %s" % (x, self.one("+", "-", "*", "/", "%", "^", "<", "<=", "=="), "(%s)" % y),
            lambda: "math.%s(%s)" % (self.one("floor", "ceil", "abs", "sqrt", "modf", "frexp"), x),
            lambda: "math.%s(%s, %s)" % (self.one("max", "min", "fmod", "pow"), x, y), lambda: "-(%s)" % x,
            lambda: "math.ldexp(%s, %s)" % (x, self.one(*SMALL)), lambda: "tostring(%s)" % x, lambda: "{%s, (%s) * 2}" %
            (x, y))()

    def bits(self):
        return "bit.%s(%s)" % self.one(
            lambda: (self.one("tobit", "bnot", "bswap"), self.one(self.number, self.text)()), lambda:
            (self.one("band", "bor", "bxor"), ", ".join(self.some(self.number, 0, 4))), lambda: (
            self.one("lshift", "rshift", "arshift", "rol", "ror"), "%s, %s" %
            (self.number(), self.one("0", "1", "31", "32", "33", "-1", "63"))), lambda: (
            "tohex", self.number() + self.one("", ", 4", ", -4", ", 0", ", 8", ", -8", ", 100", ", 2^31", ", -2^31")))()

    def json(self):
        document = self.one(
            "[]", "{}", "[1,2,3]", '{"a":1}', '[1,[2,[3,{"x":null}]]]', '"\\\\u00e9\\\\n"', "[1.5e3,-0,1e400]", "null",
            "true", "[true,false,null]", "[1,]", "[", "{", '{"a"}', '{"a":}', "nul", '"abc', "[1 2]", "", " [ 1 , 2 ] ",
            "[1]x", "0x10", "01", "[-]", "NaN", "[Infinity]", '"\\\\ud83d\\\\ude00"', '"\\\\ud83d"', '"\\\\x"',
            "[" * 50 + "]" * 50, "[" * 1001 + "]" * 1001, '"\\1"', '{"1":{"2":[]}}', "'x'")
        quoted = "'%s'" % document.replace("'", "\\'")
        return self.one(
            lambda: "cjson.encode(%s)" % self.value(1), lambda: "cjson.encode(%s)" % self.value(1),
            lambda: "cjson.decode(%s)" % quoted, lambda: "cjson.encode(cjson.decode(%s))" % quoted,
            lambda: "cjson.decode(cjson.encode(%s))" % self.value(1), lambda: "cjson.%s()" % self.one(
            "encode", "decode", "encode_max_depth", "encode_number_precision", "encode_sparse_array"),
            lambda: "cjson.decode(%s)" % self.value(2))()

    def packed(self):
        letters = lambda: "".join(
            self.some(
            lambda: self.one(
            "b", "B", "h", "H", "i", "I", "l", "L", "s", "c4", "c0", "d", "f", "x", "<", ">", "=", "!", "i3", "i8",
            "!4", " ", "i33", "q", "c"), 1, 5))
        shape = letters()
        arguments = "".join(", " + self.one(self.number, self.text)().replace("nan", "n") for _ in range(self.r.randint(0, 5)))
        raw = "'%s'" % "".join("\\%d" % self.r.randrange(256) for _ in range(self.r.randrange(12)))
        return self.one(
            lambda: "struct.pack('%s'%s)" % (shape, arguments), lambda: "struct.unpack('%s', %s)" % (shape, raw),
            lambda: "struct.unpack('%s', %s, %s)" % (shape, raw, self.one("1", "2", "9", "0", "-1")),
            lambda: "struct.size('%s')" % shape,
            lambda: "cmsgpack.pack(%s)" % ", ".join(self.some(lambda: self.value(1), 0, 3)),
            lambda: "cmsgpack.unpack(%s)" % raw, lambda: "cmsgpack.unpack(cmsgpack.pack(%s))" % self.value(1),
            lambda: "cmsgpack.unpack_one(cmsgpack.pack(%s, %s), %s)" %
            (self.value(2), self.value(2), self.one("0", "1", "5", "-1")),
            lambda: "cmsgpack.unpack_limit(cmsgpack.pack(%s, %s), %s)" %
            (self.value(2), self.value(2), self.one("1", "2", "0", "-1")))()

    # ---- Lines and scripts ----

    def expression(self):
        return self.r.choice(self.areas)()

    def line(self):
        kind = self.r.random()
        if kind < 0.7:
            return "note(function() return %s end)" % self.expression()
        if kind < 0.85:
            return "%s = keep(function() return %s end, %s)" % (
                self.variable(), self.expression(), self.one("1", "'x'", "{}"))
        if kind < 0.92:
            return "for i = 1, %d do note(function() return %s end) end" % (self.r.randint(0, 3), self.expression())
        return "if keep(function() return %s end, false) then note(function() return %s end) end" % (
            self.expression(), self.expression())

    def script(self):
        first = ""
        if self.chance(0.08):
            first = "#!lua" + self.one(
                "", " flags=no-writes", " flags=allow-oom", " flags=x", " x", " flags=no-writes,allow-stale") + "\n"
        lines = self.some(self.line, 1, 6)
        if self.chance(0.05):
            lines.insert(0, "redis.setresp(3)")
        if self.chance(0.5):
            last = "return out"
        elif self.chance(0.85):
            last = "return %s" % self.expression()
        else:
            last = "error(%s)" % self.value(2)
        if any("setresp" in line for line in lines):
            # Maps with several members may occur, whose order is random: they are only noted, sorted.
            lines = [line for line in lines if not line.startswith(("a =", "b =", "c ="))]
            last = "return out"
        how = self.one("EVAL", "EVAL", "EVAL", "EVAL_RO", "EVALSHA", "MULTI")
        damage = (self.r.random(),
            self.one("", "(", "'", "=", "~", "x", "]", "\\\\", "\n")) if self.chance(0.06) else None
        return Script(first, lines, last, how, damage)


class Script:
    """A script. Shrinking keeps FIRST and LAST, and may leave out LINES."""

    def __init__(self, first, lines, last, how, damage):
        self.first, self.lines, self.last, self.how, self.damage = first, lines, last, how, damage

    def source(self):
        body = "\n".join(self.lines + [self.last])
        if self.damage and "[[" not in body:
            at = int(self.damage[0] * len(body))
            body = body[:at] + self.damage[1] + body[at + 1:]
        return (self.first + PRELUDE + body).encode("latin1")

    def without(self, lines):
        return Script(self.first, lines, self.last, self.how, self.damage)

    def commands(self):
        source = self.source()
        if self.how == "EVALSHA":
            return [[b"SCRIPT", b"LOAD", source], [b"EVALSHA", hashlib.sha1(source).hexdigest().encode(), b"0"]]
        if self.how == "MULTI":
            return [[b"MULTI"], [b"EVAL", source, b"1", b"key", b"arg"], [b"EXEC"]]
        return [[self.how.encode(), source, b"1", b"key", b"arg"]]
