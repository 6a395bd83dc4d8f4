"""type_experiments.py -- experiments about lists, hashes, sets, sorted sets and streams. In the form of experiments.py,
which has a table of them.

SPDX-License-Identifier: BSD-3-Clause
"""
import time

from load import Load
from server import Fleet

MILLION = 1_000_000


def words_load(name, words, **more):
    """A load whose command has placeholders of the generator: __rand_int__, __data__."""
    return Load(name, words.split(), what={'command': words.split()[0].upper()}, **more)


# The default tests of valkey-benchmark and their commands, with 3 bytes of data. A few need the keys of another.
DEFAULT_TESTS = [
    ('LPUSH', 'lpush mylist __data__'), ('RPUSH', 'rpush mylist __data__'), ('LPOP', 'lpop mylist'),
    ('RPOP', 'rpop mylist'), ('SADD', 'sadd myset element:__rand_int__'),
    ('HSET', 'hset myhash element:__rand_int__ __data__'), ('SPOP', 'spop myset'),
    ('ZADD', 'zadd myzset __rand_2nd__ element:__rand_1st__'), ('ZPOPMIN', 'zpopmin myzset'),
    ('LRANGE_100', 'lrange mylist 0 99'), ('LRANGE_300', 'lrange mylist 0 299'),
    ('LRANGE_500', 'lrange mylist 0 499'), ('LRANGE_600', 'lrange mylist 0 599'),
    ('XADD', 'xadd mystream * myfield __data__'), ('INCR', 'incr counter:__rand_int__'),
    ('MSET', 'mset ' + 'key:__rand_int__ __data__ ' * 10),
]


def default_tests_of(ctx, fleet, n):
    """The default tests of valkey-benchmark in their order, pipelines of 16."""
    for number in range(1, ctx.rounds + 1):
        for s in fleet.servers:
            fleet.turn(s).call('FLUSHALL', 'SYNC')
        for name, words in DEFAULT_TESTS:
            line = []
            for s in fleet.servers:
                fleet.turn(s)
                load = words_load(name, words, size=3, pipeline=16, keys=n)
                if name == 'LRANGE_100':  # the pops have emptied the list
                    ctx.generator.run(s.port, words_load('fill', 'lpush mylist __data__', size=3, pipeline=64),
                                      requests=1000)
                got = ctx.measure(s, load, number, requests=n // 10 if name.startswith('LRANGE') else n)
                line.append(f'{s.name} {got["cpu_ns"]:.0f} ns ({got["main_ns"]:.0f} on main)')
            ctx.say(f'    {number}/{ctx.rounds}  {name}: ' + ' | '.join(line))


def default_tests(ctx):
    """The default tests of valkey-benchmark, pipelines of 16, one thread."""
    with ctx.fleet({'1 thread': []}) as fleet:
        default_tests_of(ctx, fleet, 100_000 if ctx.quick else MILLION)


def default_tests_on_main(ctx):
    """The same with io-threads 2: what the main thread pays for a command, where it executes."""
    with ctx.two_threads() as fleet:
        default_tests_of(ctx, fleet, 100_000 if ctx.quick else MILLION)


def nested_prefetch(ctx):
    """HGET, SISMEMBER, ZSCORE and HSET of 10M small values, and of one table of 10M, with prefetching and without."""
    n = ctx.keys(10 * MILLION, MILLION, 200, 1)
    shapes = [
        ('HGET', 'small', 'hset k:__rand_int__ f v', 'hget k:__rand_int__ f'),
        ('HSET', 'small', 'hset k:__rand_int__ f v', 'hset k:__rand_int__ f w'),
        ('SISMEMBER', 'small', 'sadd k:__rand_int__ m', 'sismember k:__rand_int__ m'),
        ('ZSCORE', 'small', 'zadd k:__rand_int__ 1 m', 'zscore k:__rand_int__ m'),
        ('HGET', 'table', 'hset k f:__rand_int__ v', 'hget k f:__rand_int__'),
        ('HSET', 'table', 'hset k f:__rand_int__ v', 'hset k f:__rand_int__ w'),
        ('SISMEMBER', 'table', 'sadd k m:__rand_int__', 'sismember k m:__rand_int__'),
        ('ZSCORE', 'table', 'zadd k 1 m:__rand_int__', 'zscore k m:__rand_int__'),
    ]
    filled = None
    with ctx.fleet(only_ours=True) as fleet:
        server = fleet.servers[0]
        for name, shape, fill, words in shapes:
            if fill != filled:
                ctx.say(f'    filling: {n:,} times {fill}')
                server.call('FLUSHALL', 'SYNC')
                ctx.generator.fill_with(server.port, n, fill)
                filled = fill
            load = words_load(f'{name} {shape}', words, pipeline=16, keys=n)
            for number in range(1, ctx.rounds + 1):
                line = []
                for batch in (0, 16):
                    server.config('prefetch-batch-max-size', batch)
                    got = ctx.measure(server, load, number, variant=str(batch))
                    line.append(f'{batch}: {got["rps"] / 1000:.0f}k {got["cpu_ns"]:.0f} ns')
                ctx.say(f'    {number}  {load.name} by batch: ' + ' | '.join(line))


def whole_values(ctx):
    """All of a value of 1,000 elements: HGETALL, SMEMBERS, ZRANGE 0 -1 WITHSCORES, LRANGE."""
    fills = ['hset h f:__rand_int__ v:__rand_int__', 'sadd s m:__rand_int__', 'zadd z __rand_2nd__ m:__rand_1st__',
             'rpush l e:__rand_int__']
    with ctx.fleet() as fleet:
        for s in fleet.servers:
            fleet.turn(s)
            for words in fills:
                ctx.generator.fill_with(s.port, 1000, words)
        todo = [words_load(words.split()[0].upper(), words, pipeline=4) for words in
                ('hgetall h', 'smembers s', 'zrange z 0 -1 withscores', 'lrange l 0 -1')]
        ctx.rounds_of(fleet, todo)


def large_sorted_set(ctx):
    """A sorted set of 1M members: ZADD of new, of present, ZRANK, ZRANGEBYSCORE of 100."""
    n = 100_000 if ctx.quick else MILLION
    steps = [('ZADD present', 'zadd z __rand_2nd__ m:__rand_1st__'), ('ZRANK', 'zrank z m:__rand_int__'),
             ('ZRANGEBYSCORE 100', 'zrangebyscore z __rand_int__ +inf limit 0 100'),
             ('ZADD new', 'zadd z __rand_2nd__ n:__rand_1st__')]
    with ctx.fleet() as fleet:
        for number in range(1, ctx.rounds + 1):
            for s in fleet.servers:
                fleet.turn(s).call('FLUSHALL', 'SYNC')
                ctx.generator.fill_with(s.port, n, 'zadd z __rand_2nd__ m:__rand_1st__')
            for name, words in steps:
                line = []
                for s in fleet.servers:
                    fleet.turn(s)
                    got = ctx.measure(s, words_load(name, words, pipeline=16, keys=n), number, requests=n // 2)
                    line.append(f'{s.name} {got["cpu_ns"]:.0f} ns')
                ctx.say(f'    {number}  {name}: ' + ' | '.join(line))


def set_algebra(ctx):
    """SINTER of two tables of 1M, ZUNIONSTORE of two of 1M: server CPU of one."""
    n = 50_000 if ctx.quick else MILLION
    with ctx.fleet() as fleet:
        for s in fleet.servers:
            fleet.turn(s)
            for words in ('sadd a m:__rand_int__', 'zadd x __rand_2nd__ m:__rand_1st__'):
                ctx.generator.fill_with(s.port, n, words)
            # Every second member of the other is in the first as well.
            for first in range(0, n, 500):
                members = [f'm:{i:012d}' for i in range(first * 2, first * 2 + 1000, 2)]
                s.call('SADD', 'b', *members)
                s.call('ZADD', 'y', *[word for m in members for word in ('1', m)])
        for number in range(1, ctx.rounds + 1):
            for name, words in (('SINTER', ('SINTER', 'a', 'b')), ('ZUNIONSTORE', ('ZUNIONSTORE', 'sum', '2', 'x', 'y'))):
                line = []
                for s in fleet.servers:
                    fleet.turn(s)
                    before = s.cpu()[0]
                    s.call(*words)
                    used = s.cpu()[0] - before
                    ctx.record(s, name, number, cpu_ns=used, keys=n)
                    line.append(f'{s.name} {used / 1e6:.1f} ms')
                ctx.say(f'    {number}  {name}: ' + ' | '.join(line))


TEN = ' '.join(f'element:{i}' for i in range(10))
MEMORY_SHAPES = [
    ('list', 'rpush k element:__rand_int__', f'rpush k:__rand_int__ {TEN}'),
    ('hash', 'hset k field:__rand_1st__ value:__rand_1st__',
     'hset k:__rand_int__ ' + ' '.join(f'field:{i} value:{i}' for i in range(10))),
    ('set', 'sadd k element:__rand_int__', f'sadd k:__rand_int__ {TEN}'),
    ('sorted set', 'zadd k __rand_2nd__ element:__rand_1st__',
     'zadd k:__rand_int__ ' + ' '.join(f'{i} element:{i}' for i in range(10))),
    ('stream', 'xadd k * field value:__rand_int__', 'xadd k:__rand_int__ * field value'),
]


def grown(ctx, server, fills, n):
    """Resident memory that the fills take, by n."""
    server.info()
    time.sleep(0.2)
    before = server.rss()
    for words in fills:
        ctx.generator.fill_with(server.port, n, words)
    time.sleep(0.3)
    return (server.rss() - before) / n


def type_memory(ctx):
    """Memory of 1M members in one key, and of 1M keys of 10 members, by type; of 1M fields with times and without."""
    n = ctx.keys(MILLION, 100_000, 5000, 1)  # small streams take the most memory
    times = ['hset k field:__rand_1st__ value:__rand_1st__', 'hpexpire k 100000000 fields 1 field:__rand_int__']
    for number in range(1, (1 if ctx.quick else 3) + 1):
        for product in ctx.products:
            # Each entry of a stream needs a command: ten rounds over all keys.
            todo = [(f'{name}, {shape}', [words] * (10 if (name, shape) == ('stream', 'many keys') else 1))
                    for name, one, many in MEMORY_SHAPES for shape, words in (('one key', one), ('many keys', many))]
            todo += [('fields', times[:1]), ('fields with times', times)]
            for name, fills in todo:
                with Fleet([ctx.server(product)]) as fleet:
                    used = grown(ctx, fleet.servers[0], fills, n)
                    ctx.record(fleet.servers[0], name, number, bytes_per_key=used, keys=n)
                    ctx.say(f'    {product[0]}  {name}: {used:.0f} B')


# The command of each type that adds one element.
GROWING = [('list', 'rpush k e:__rand_int__'), ('hash', 'hset k f:__rand_1st__ v:__rand_1st__'),
           ('set', 'sadd k m:__rand_int__'), ('sorted set', 'zadd k __rand_2nd__ m:__rand_1st__'),
           ('stream', 'xadd k * f v:__rand_int__')]


def longest(server):
    """The time in ms of the slowest command in the server's log, which is then reset."""
    durations = [entry[2] for entry in server.call('SLOWLOG', 'GET', '-1')]
    server.call('SLOWLOG', 'RESET')
    return max(durations, default=0) / 1000


def stalls(ctx):
    """A value of 10M elements grows, goes by DEL, and its memory comes back: the longest command meanwhile, by the
    server's own log."""
    n = ctx.keys(10 * MILLION, MILLION, 150, 1)
    after = words_load('SET', 'set key:__rand_int__ __data__', size=64, pipeline=16, keys=100_000)
    for number in range(1, (1 if ctx.quick else 3) + 1):
        for name, words in GROWING:
            with ctx.fleet(only_ours=True) as fleet:
                server = fleet.servers[0]
                server.config('slowlog-log-slower-than', 100)
                ctx.generator.fill_with(server.port, n, words)
                grow = longest(server)
                server.call('DEL', 'k')
                gone = longest(server)
                ctx.generator.run(server.port, after, 2)
                back = longest(server)
                for what, value in (('grows', grow), ('DEL', gone), ('memory comes back', back)):
                    ctx.record(server, f'{name} {what}', number, longest_ms=value, keys=n)
                ctx.say(f'    {number}  {name}: grows {grow} ms, DEL {gone} ms, after it {back} ms')


# name: (function, figures that need it)
ALL = {
    'types': (default_tests, ('16',)),
    'types_main': (default_tests_on_main, ('17',)),
    'nested': (nested_prefetch, ('18',)),
    'whole': (whole_values, ('19',)),
    'zset': (large_sorted_set, ('20',)),
    'algebra': (set_algebra, ('21',)),
    'type_memory': (type_memory, ('22', '23')),
    'stalls': (stalls, ('24',)),
}

