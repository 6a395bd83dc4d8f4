"""program_experiments.py -- experiments about scripts and functions. In the form of experiments.py, which has a
table of them.

Only some servers count the commands of a script as processed commands, so a run has a fixed number of calls.

SPDX-License-Identifier: BSD-3-Clause
"""
import hashlib

from load import Load

KEYS = 100_000
GET = "return redis.call('get', KEYS[1])"
# The commands of a rate limiter or a queue, many times.
HUNDRED = '''local key, sum = KEYS[1], 0
for i = 1, 50 do
    redis.call('hincrby', key, 'count', 1)
    sum = sum + redis.call('hget', key, 'count')
end
return sum'''
LIBRARY = f'''#!lua name=bench
redis.register_function('hundred', function(KEYS)
{HUNDRED}
end)'''


def evalsha(name, text, prefix, **more):
    sha = hashlib.sha1(text.encode()).hexdigest()
    return Load(name, ['evalsha', sha, '1', f'{prefix}:__rand_int__'], size=64, keys=KEYS, **more)


def scripts(ctx):
    """A script of one GET with pipelines of 16; one of a hundred commands, and a function of the same."""
    calls = 100_000 if ctx.quick else 600_000
    with ctx.fleet() as fleet:
        ctx.fill(fleet, KEYS, 64)
        for s in fleet.servers:
            fleet.turn(s)
            s.call('SCRIPT', 'LOAD', GET)
            s.call('SCRIPT', 'LOAD', HUNDRED)
            s.call('FUNCTION', 'LOAD', 'REPLACE', LIBRARY)
        todo = [(calls, evalsha('EVALSHA of a GET, P16', GET, 'key', pipeline=16)),
                (calls // 20, evalsha('EVALSHA of 100 commands', HUNDRED, 'hash')),
                (calls // 20, Load('FCALL of 100 commands', ['fcall', 'hundred', '1', 'hash:__rand_int__'], size=64,
                                   keys=KEYS))]
        for number in range(1, ctx.rounds + 1):
            for times, load in todo:
                line = []
                for s in fleet.servers:
                    fleet.turn(s)
                    cpu = s.cpu()[0]
                    report = ctx.generator.run(s.port, load, requests=times)
                    used = (s.cpu()[0] - cpu) / times
                    ctx.record(s, load.name, number, cpu_ns=used, clients=load.clients, pipeline=load.pipeline, **report)
                    line.append(f'{s.name} {used:,.0f} ns')
                ctx.say(f'    {number}  {load.name}: ' + ' | '.join(line))


# name: (function, figures that need it)
ALL = {
    'scripts': (scripts, ('41', '42')),
}
