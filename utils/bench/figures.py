"""figures.py -- make the headline table of records: value, goal, reached or not.

A ratio to a peer is computed in each round, and the median of the rounds counts; of several peers the better one counts.
All are pure functions of the records, so that a report can be made again without measuring.

SPDX-License-Identifier: BSD-3-Clause
"""
from math import exp, log

from stats import differences, median, ratios, reached, spread

OURS = 'this server'
SIMPLE = ('LPUSH', 'RPUSH', 'LPOP', 'RPOP', 'SADD', 'HSET', 'SPOP', 'ZADD', 'ZPOPMIN', 'INCR')
DEFAULT_TESTS = SIMPLE[:9] + ('LRANGE_100', 'LRANGE_300', 'LRANGE_500', 'LRANGE_600', 'XADD', 'INCR', 'MSET')
NO_PIPELINE = ('1 client', '10 clients', '50 clients', '650 clients')


def merged(earlier, new):
    """The records of two runs; if both measured the same, those of the new one."""
    def key(r):
        return r['experiment'], r['load'], r['server'], r['variant']
    known = {key(r) for r in new}
    return [r for r in earlier if key(r) not in known] + new


class Records:
    def __init__(self, records):
        self.records = records

    def values(self, field, experiment, load, server=OURS, variant=''):
        """By round, in order."""
        found = [r for r in self.records if r['experiment'] == experiment and r['load'] == load and
                 r['server'] == server and r['variant'] == variant and r.get(field) is not None]
        return [r[field] for r in sorted(found, key=lambda r: r['round'])]

    def median(self, *where):
        return median(self.values(*where))

    def servers(self):
        """Products in the order of their first record, ours first."""
        names = list(dict.fromkeys(r['server'] for r in self.records))
        return sorted(names, key=lambda n: n != OURS)

    def limited(self, experiment, load, server=OURS, variant=''):
        marks = self.values('generator_limited', experiment, load, server, variant)
        return bool(marks) and sum(marks) * 2 >= len(marks)


def figure(row, what, part, bar, direction, unit, values, note=''):
    value = median(values)
    return {'row': row, 'what': what, 'part': part, 'value': value, 'spread': spread(values), 'bar': bar,
            'direction': direction, 'unit': unit, 'reached': reached(value, bar, direction), 'note': note}


def against_peers(records, field, where, low_is_good=True, only=''):
    """(ratios of the rounds to the better peer, figures of all products). `only` is a part of the names of peers."""
    experiment, load, variant = where
    ours = records.values(field, experiment, load, OURS, variant)
    candidates, heard = [], []
    for name in records.servers():
        theirs = records.values(field, experiment, load, name, variant)
        if theirs:
            heard.append(f'{name} {number(median(theirs))}')
        if name != OURS and theirs and ours and only in name.lower():
            candidates.append(ratios(ours, theirs))
    pick = max if low_is_good else min
    best = pick(candidates, key=lambda c: median(c) or 0) if candidates else []
    return best, ', '.join(heard)


def number(value):
    return f'{value:,.0f}' if value >= 100 else f'{value:.3g}'


def limit_note(records, *places):
    if any(records.limited(*p) for p in places):
        return 'the generator was the limit'
    return ''


def join(*notes):
    return '; '.join(n for n in notes if n)


def headline(results):
    """All rows of the table, each of several parts."""
    records = Records(results['records'])
    rows = []

    def peer(row, what, part, bar, field, where, unit_note, low_is_good=True, direction=None, only=''):
        values, heard = against_peers(records, field, where, low_is_good, only)
        note = f'{unit_note}: {heard}' if heard else ''
        if field == 'rps':
            note = join(note, limit_note(records, (where[0], where[1], OURS, where[2])))
        rows.append(figure(row, what, part, bar, direction or ('<=' if low_is_good else '>='), 'x', values, note))

    def own(row, what, part, bar, field, where, unit, unit_note, direction='<='):
        experiment, load, variant = where
        _, heard = against_peers(records, field, where)
        rows.append(figure(row, what, part, bar, direction, unit,
                           records.values(field, experiment, load, OURS, variant),
                           f'{unit_note}: {heard}' if heard else ''))

    def own_ratio(row, what, part, bar, field, above, below, direction='>=', extra=None):
        """above and below are (experiment, load, variant) of our server."""
        a = records.values(field, above[0], above[1], OURS, above[2])
        b = records.values(field, below[0], below[1], OURS, below[2])
        note = f'{number(median(a))} / {number(median(b))}' if a and b else ''
        if field == 'rps':
            note = join(note, limit_note(records, (above[0], above[1], OURS, above[2]),
                                         (below[0], below[1], OURS, below[2])))
        if extra and a and b:
            x, y = (records.median(extra, w[0], w[1], OURS, w[2]) for w in (above, below))
            note = join(note, f'server CPU per request {number(x)} / {number(y)} ns')
        rows.append(figure(row, what, part, bar, direction, 'x', ratios(a, b), note))

    def worst_ratio(row, what, part, bar, field, loads, variant, direction):
        """Our server with I/O threads divided by itself with one thread: the worst of several loads, all in the note."""
        found = []
        for load in loads:
            values = ratios(records.values(field, 'threads', load, OURS, variant),
                            records.values(field, 'threads', load, OURS, '1 thread'))
            if values:
                found.append((median(values), load, values))
        pick = max if direction == '<=' else min
        values = pick(found)[2] if found else []
        rows.append(figure(row, what, part, bar, direction, 'x', values,
                           ', '.join(f'{load} {value:.2f}' for value, load, _ in found)))

    cpu, ns = 'server CPU per request, ours / peer', 'ns'
    for word, bar in (('GET', 0.65), ('SET', 0.50)):
        peer('1', f'One thread, P16, 512 B, 3M keys: {cpu}', word, bar, 'cpu_ns', ('single', f'{word} P16', ''), ns)
    for word, bar in (('GET', 1600), ('SET', 2250)):
        own('2', 'The same in user instructions per command', word, bar, 'instructions',
            ('instructions', f'{word} P16', ''), '', 'instructions')
    for word, bar in (('GET', 0.30), ('SET', 0.33)):
        peer('3', 'io-threads 2, P16, 512 B: CPU of the main thread per command, ours / peer', word, bar, 'main_ns',
             ('main_thread', f'{word} P16', '2 threads'), ns)
    for n in (2, 9):
        variant, beside = f'{n} threads', f'io-threads {n} / one thread'
        loads = [f'{word} {clients}' for word in ('GET', 'SET') for clients in NO_PIPELINE]
        for what, field, bar, direction in (('whole server: CPU per request', 'cpu_ns', 1.05, '<='),
                                            ('requests per second', 'rps', 0.98, '>='),
                                            ('median latency', 'p50_ms', 1.05, '<=')):
            worst_ratio('4', f'Without a pipeline, the worst of GET and SET of 1 to 650 clients: {what}', beside, bar,
                        field, loads, variant, direction)
        worst_ratio('4', 'The worse of GET and SET in pipelines of 16: whole server: CPU per request', beside, 1.05,
                    'cpu_ns', ('GET P16', 'SET P16'), variant, '<=')
    for load in ('GET 50 clients', 'SET 50 clients', 'GET 650 clients', 'SET 650 clients'):
        peer('5', f'No pipeline, one thread: {cpu}', load, 1.0, 'cpu_ns', ('single', load, ''), ns)
    for size, bar in ((512, 594), (16, 65)):
        own('6', 'Memory per key', f'16 B + {size} B', bar, 'bytes_per_key', ('memory', f'fill {size} B', ''), 'B', 'bytes')
    rows += micro_figures(results.get('micro') or [])
    own_ratio('8', 'GET P16, 10M keys of 64 B: requests per second, prefetch 16 / 0', 'random keys', 1.25, 'rps',
              ('prefetch', 'GET 64 B', '16'), ('prefetch', 'GET 64 B', '0'), extra='cpu_ns')
    own_ratio('8', 'GET P16, 10M keys of 64 B: requests per second, prefetch 16 / 0', 'one hot key', 0.99, 'rps',
              ('prefetch', 'GET hot key', '16'), ('prefetch', 'GET hot key', '0'), extra='cpu_ns')
    peer('9', 'MGET of 100 keys from 5M: requests per second', 'ours / peer', 2.0, 'rps', ('mget', 'MGET 100', ''),
         'rps', low_is_good=False)
    own_ratio('9', 'MGET of 100 keys from 5M: requests per second', 'with / without prefetch', 1.3, 'rps',
              ('mget', 'MGET 100', ''), ('mget', 'MGET 100', 'no prefetch'), extra='cpu_ns')
    own_ratio('10', 'GET with io-threads 2: main-thread CPU per command', '64 KB / 512 B', 1.2, 'main_ns',
              ('offload', 'GET 64 KB', '2 threads'), ('offload', 'GET 512 B', '2 threads'), '<=')
    for size, bar in (('4 KB', 0.8), ('16 KB', 0.9), ('1 MB', 1.0)):
        peer('11', f'GET of large values, one thread: {cpu}', size + ('' if size == '1 MB' else ', P16'), bar, 'cpu_ns',
             ('sizes', f'GET {size}', ''), ns)
    for size, bar in (('4 KB', 0.8), ('16 KB', 0.9)):
        where = ('sizes', f'GET {size} no pipeline', '')
        if records.values('cpu_ns', where[0], where[1]):
            peer('11', f'GET of large values, one thread: {cpu}', f'{size}, no pipeline', bar, 'cpu_ns', where, ns)
    peer('12', 'Small GETs beside 10 MB readers: p99.9, ours / peer', 'one thread', 0.8, 'p999_ms',
         ('latency', 'small GET', '1 thread'), 'ms')
    own('13', '1,000 idle connections, io-threads 9: CPU', 'share of a core', 0.3, 'cpu_percent',
        ('idle', '1000 idle', '9 threads'), '%', '% of a core', '<')
    own_ratio('14', 'GET P16, io-threads 9 always active: server CPU per request', 'maxmemory set / not set', 1.03,
              'cpu_ns', ('maxmemory', 'GET P16', 'maxmemory'), ('maxmemory', 'GET P16', 'none'), '<=')
    for load in ('monitor', 'pipeline'):
        own('15', 'A client that does not read: resident memory it costs / its output limit (32 MB)', load, 1.3,
            'rss_by_limit', ('stalled', load, ''), 'x', 'x')
    rows += type_figures(records, peer, own, own_ratio)
    session_figures(peer, own, own_ratio)
    persist_figures(peer, own, own_ratio)
    program_figures(peer, own, own_ratio)
    rows += replication_figures(records, peer)
    rows += thread_figures(records)
    rows.sort(key=lambda r: int(r['row']))
    for r in rows:
        if r['value'] is None and 'peer' in r['part'] + r['what'] and len(records.servers()) == 1:
            r['note'] = 'no peer given'
    return rows


def type_figures(records, peer, own, own_ratio):
    """Rows 16 to 24, of data types; peer, own and own_ratio each add a row to the result of headline()."""
    cpu, ns = 'server CPU per request, ours / peer', 'ns'
    default = f'The default tests of valkey-benchmark, one thread, P16: {cpu}'
    logarithms = []
    for name in DEFAULT_TESTS:
        where = ('types', name, '1 thread')
        value = median(against_peers(records, 'cpu_ns', where)[0])
        logarithms += [log(value)] if value else []
        peer('16', default, name, 0.85 if name.startswith('LRANGE') else 0.75, 'cpu_ns', where, ns)
    mean = [exp(sum(logarithms) / len(logarithms))] if len(logarithms) == len(DEFAULT_TESTS) else []
    for name in SIMPLE:
        own('17', 'The simple ones with io-threads 2: CPU of the main thread per command', name, 400, 'main_ns',
            ('types_main', name, '2 threads'), 'ns', 'ns')
    for shape, title in (('small', '10M small values'), ('table', 'one table of 10M')):
        for name in ('HGET', 'HSET', 'SISMEMBER', 'ZSCORE'):
            load = f'{name} {shape}'
            own_ratio('18', f'{title}, P16: requests per second, prefetch 16 / 0', name, 1.3, 'rps',
                      ('nested', load, '16'), ('nested', load, '0'), extra='cpu_ns')
    for name in ('HGETALL', 'SMEMBERS', 'ZRANGE', 'LRANGE'):
        peer('19', f'All of 1,000 elements: {cpu}', name, 0.8, 'cpu_ns', ('whole', name, ''), ns)
    for name in ('ZADD new', 'ZADD present', 'ZRANK', 'ZRANGEBYSCORE 100'):
        peer('20', f'A sorted set of 1M members: {cpu}', name, 0.7, 'cpu_ns', ('zset', name, ''), ns)
    for name in ('SINTER', 'ZUNIONSTORE'):
        peer('21', 'Two of 1M members: server CPU of one command, ours / peer', name, 0.5, 'cpu_ns', ('algebra', name, ''),
             ns)
    for shape, title in (('one key', '1M members in one key'), ('many keys', '1M keys of 10 members')):
        for name in ('list', 'hash', 'set', 'sorted set', 'stream'):
            peer('22', f'Memory of {title}, ours / peer', name, 0.75 if name == 'sorted set' else 0.9, 'bytes_per_key',
                 ('type_memory', f'{name}, {shape}', ''), 'bytes')
    for name in ('list', 'hash', 'set', 'sorted set', 'stream'):
        for what in ('grows', 'DEL', 'memory comes back'):
            own('24', 'A value of 10M elements: the longest command meanwhile', f'{name}: {what}', 1, 'longest_ms',
                ('stalls', f'{name} {what}', ''), 'ms', 'ms')
    values = [a - b for a, b in zip(records.values('bytes_per_key', 'type_memory', 'fields with times', OURS, ''),
                                    records.values('bytes_per_key', 'type_memory', 'fields', OURS, ''))]
    return [figure('16', default, 'geometric mean', 0.65, '<=', 'x', mean),
            figure('23', 'A hash of 1M fields: memory of a field\'s time', 'bytes a field', 16, '<=', 'B', values)]


def session_figures(peer, own, own_ratio):
    """Rows 25 to 32 and 40, of channels, transactions, blocked clients, client-side caching and users."""
    cpu, ns = 'server CPU, ours / peer', 'ns'
    for name in ('P16', 'one by one'):
        peer('25', f'PUBLISH of 100 B to 1,000 subscribers, a delivered message: {cpu}', name, 0.7, 'cpu_ns',
             ('publish', f'PUBLISH {name}', '1 thread'), ns)
        own('26', 'The same with io-threads 2: CPU of the main thread', name, 100, 'main_ns',
            ('publish_main', f'PUBLISH {name}', '2 threads'), 'ns', 'ns')
    own('27', 'A subscriber that does not read, limit 32 MB: resident memory until it is cut', 'MB', 40, 'grown_mb',
        ('deaf_subscriber', 'deaf subscriber', ''), 'MB', 'MB')
    for name in ('SET', 'GET'):
        peer('28', f'MULTI, ten commands, EXEC in one write, 50 clients: {cpu}', f'10 x {name}', 0.65, 'cpu_ns',
             ('transactions', f'10 x {name}', ''), 'ns a command')
    peer('29', f'LPUSH of 50 clients, BLPOP of 50 others, an element: {cpu}', 'ours / peer', 0.75, 'cpu_ns',
         ('hand_over', 'LPUSH and BLPOP', ''), ns)
    own_ratio('30', 'GET beside 100,000 clients: server CPU, all waiting / all idle', 'each for its own key', 1.02, 'cpu_ns',
              ('waiting', 'GET', 'waiting'), ('waiting', 'GET', 'idle'), '<=')
    own_ratio('31', 'GET P16 of 1M keys, io-threads 2: CPU of the main thread', 'tracking / none', 1.15, 'main_ns',
              ('tracking', 'GET', 'on'), ('tracking', 'GET', 'off'), '<=')
    own('32', 'Memory of a tracked key, 1M keys of one client', 'bytes a key', 40, 'bytes_per_key',
        ('tracking', 'tracked key', '2 threads'), 'B', 'bytes')
    own_ratio('40', 'GET P16 of 1M keys, io-threads 2: CPU of the main thread',
              'a user with 10 key patterns and 20 command rules / the default user', 1.10, 'main_ns',
              ('users', 'GET', 'app'), ('users', 'GET', 'default'), '<=')


def persist_figures(peer, own, own_ratio):
    """Rows 33 to 39, of snapshots, the append-only file and forks."""
    for name, title in (('strings', '5M strings of 512 B'), ('collections', '200K hashes, sets and sorted sets of 50')):
        peer('33', 'A snapshot in the page cache, two cores: time to load, ours / peer', title, 0.5, 'load_s',
             ('snapshots', f'load {name}', ''), 's')
        peer('34', 'BGSAVE of the same: CPU of the child, ours / peer', title, 0.75, 'child_s',
             ('snapshots', f'save {name}', ''), 's')
    main = 'SET P16, 512 B, appendfsync everysec: CPU of the main thread per command'
    own_ratio('35', main, 'with / without an append-only file', 1.25, 'main_ns', ('everysec', 'SET P16', 'everysec'),
              ('everysec', 'SET P16', 'off'), '<=')
    peer('35', main, 'ours / peer', 0.5, 'main_ns', ('everysec', 'SET P16', 'everysec'), 'ns')
    peer('36', 'SET of 50 clients, no pipeline, appendfsync always: requests per second', 'ours / peer', 2.5, 'rps',
         ('always', 'SET 50 clients', 'always'), 'rps', low_is_good=False)
    for name in ('BGREWRITEAOF', 'BGSAVE'):
        peer('37', 'A pinging client beside 50 % writes while a child saves: p99.9, ours / peer', name, 0.7, 'p999_ms',
             ('pings', name, 'everysec'), 'ms')
    own('38', 'BGSAVE while GETs go on: memory that is copied', 'share of the dataset', 3, 'copied_percent',
        ('shared_pages', 'GET P16', ''), '%', '%')
    peer('39', 'SET at 10,000 a second, everysec, a sync takes 200 ms: p99.9', 'ours / peer', None, 'p999_ms',
         ('slow_disk', 'SET', 'everysec'), 'ms')


def program_figures(peer, own, own_ratio):
    """Rows 41 to 45, of scripts, functions and TLS."""
    cpu, ns = 'server CPU, ours / peer', 'ns'
    peer('41', f'EVALSHA of a script of one GET, P16: {cpu}', 'ours / peer', 0.65, 'cpu_ns',
         ('scripts', 'EVALSHA of a GET, P16', ''), ns)
    for name in ('EVALSHA', 'FCALL'):
        peer('42', f'A script of 100 commands, 50 clients: {cpu}', name, 0.75, 'cpu_ns',
             ('scripts', f'{name} of 100 commands', ''), ns)
    for name in ('GET of 512 B', 'GET P16 of 512 B', 'GET of 16 KB', 'GET P16 of 16 KB'):
        peer('43', f'GET over TLS, 50 clients: {cpu}', name, 0.8, 'cpu_ns', ('tls', name, ''), ns)
    own('44', 'GET P16 of 512 B over TLS, io-threads 2: CPU of the main thread', 'ns', 400, 'main_ns',
        ('tls_main', 'GET P16 of 512 B', '2 threads'), 'ns', 'ns')
    own_ratio('45', '50 plain clients, io-threads 2, 20,000 GETs a second: p99',
              'beside 500 new TLS connections a second / without', 1.3, 'p99_ms', ('handshakes', 'GET', 'handshakes'),
              ('handshakes', 'GET', 'alone'), '<=')


def replication_figures(records, peer):
    """Rows 46 to 50, of replication."""
    def both(experiment, load, field, variants, combine):
        """(combine() of the two variants of a round for our server, figures of all products)."""
        found, heard = [], []
        for name in records.servers():
            pair = [records.values(field, experiment, load, name, v) for v in variants]
            values = combine(*pair)
            if values:
                heard.append(f'{name} {number(median(pair[0]))} / {number(median(pair[1]))}')
            if name == OURS:
                found = values
        return found, ', '.join(heard)

    rows = []
    for variant, bar in (('1 replica', 80), ('3 replicas', 120)):
        values, heard = both('replicas', 'SET P16', 'main_ns', (variant, 'none'), differences)
        rows.append(figure('46', 'SET P16 of 512 B, io-threads 2: CPU of the main thread per command, beside none',
                           variant, bar, '<=', 'ns', values, heard and f'ns with / without: {heard}'))
    for part, field in (('resident', 'resident_mb'), ('as the server counts', 'used_mb')):
        values, heard = both('lagging', 'lagging', field, ('3 replicas', '1 replica'), ratios)
        rows.append(figure('47', 'Replicas that are 100 MB behind: memory of three / of one', part, 1.1, '<=', 'x',
                           values, heard and f'MB: {heard}'))
    peer('48', '2 GB of strings to an empty replica, diskless, under 50,000 writes a second: time until it is in step',
         'ours to ours / Valkey to Valkey', 0.7, 'sync_s', ('full_sync', 'full sync', ''), 's', only='valkey')
    what = 'A replica gets SETs of 512 B as fast as it takes them'
    for variant, bar in (('1 thread', 1.5), ('2 threads', None)):
        peer('49', f'{what}: commands a second, ours / peer', variant, bar, 'rps', ('applied', 'SET', variant), 'rps',
             low_is_good=False)
        peer('49', f'{what}: CPU per command, ours / peer', variant, None, 'cpu_ns', ('applied', 'SET', variant), 'ns')
    peer('50', 'FAILOVER while 16 clients write and follow: the longest time without a successful write',
         'ours / Valkey', 1.0, 'gap_ms', ('failover', 'FAILOVER', ''), 'ms', only='valkey')
    return rows


def thread_figures(records):
    """Rows 51 to 53, of threads under loads that they cannot speed up, and of the memory that they leave."""
    rows = []
    for company in ('subscribers', 'a replica', 'TLS', 'everysec'):
        for variant in ('2 threads', '9 threads'):
            found = []
            for load in (f'{word} {clients} clients, {company}' for word in ('GET', 'SET') for clients in (50, 650)):
                values = ratios(records.values('rps', 'beside', load, OURS, variant),
                                records.values('rps', 'beside', load, OURS, '1 thread'))
                if values:
                    found.append((median(values), load.split(',')[0], values))
            rows.append(figure('51', 'No pipeline, the worst of GET and SET of 50 and 650 clients: requests per second, '
                               f'io-threads {variant[0]} / one thread', f'with {company}', 0.98, '>=', 'x',
                               min(found)[2] if found else [], ', '.join(f'{load} {value:.2f}' for value, load, _ in found)))
    for word, bar in (('GET', 500), ('SET', 600)):
        rows.append(figure('52', 'No pipeline, 50 clients, io-threads 2: CPU of the main thread per command', word, bar, '<=',
                           'ns', records.values('main_ns', 'threads', f'{word} 50 clients', OURS, '2 threads')))
    for size, bar in ((512, 1.15), (4096, 1.15)):
        rows.append(figure('53', 'Loaded by eight threads, overwritten by one: growth of resident / of used memory', f'{size} B',
                           bar, '<=', 'x', records.values('rss_by_used', 'overwritten', f'overwritten {size} B', OURS,
                                                          '9 threads')))
    return rows


def micro_figures(rows):
    """Row 7, for small and for huge pages; the row of a quick run says that it has fewer keys."""
    found = []
    for pages in ('small', 'huge'):
        sizes = micro_keys(rows, pages)
        if not sizes:
            continue
        curve = micro_curve(rows, sizes[-1], pages)
        one, sixteen = curve.get(1), curve.get(16)
        found.append(figure('7', 'dict micro-benchmark: interleaved batch of 16 / one at a time, time per key',
                            f'{sizes[-1] // 1_000_000}M keys, {pages} pages', 6, '>=', 'x',
                            [one / sixteen] if one and sixteen else [],
                            f'ns per key: {one:.0f} / {sixteen:.0f}' if one and sixteen else ''))
    return found or [figure('7', 'dict micro-benchmark: interleaved batch of 16 / one at a time, time per key',
                            '50M keys', 6, '>=', 'x', [])]


def micro_keys(rows, pages):
    """The numbers of keys of the dict micro-benchmark, ascending."""
    names = [r['name'].split() for r in rows]
    return sorted({int(n[1]) for n in names if n[0] == 'dict' and n[3] == pages})


def micro_curve(rows, keys, pages):
    """{batch: ns per key}; batch 1 is the plain find, one key after another."""
    curve = {}
    for r in rows:
        if r['name'] == f'dict {keys} keys {pages} pages' and r['unit'] == 'ns/key':
            if r['parameter'] == 'find in order':
                curve[1] = r['value']
            elif r['parameter'].startswith('batch ') and r['parameter'] != 'batch 1':
                curve[int(r['parameter'].split()[1])] = r['value']
    return dict(sorted(curve.items()))


def cost_inputs(results):
    """Measured main and I/O cost per command with io-threads 2: [(server, load, main_ns, io_ns)].

    A run in which the I/O threads took no part is left out."""
    records = Records(results['records'])
    found = []
    for load in ('GET P16', 'SET P16', 'GET 50 clients', 'SET 50 clients'):
        for name in records.servers():
            main = records.median('main_ns', 'main_thread', load, name, '2 threads')
            io = records.median('io_ns', 'main_thread', load, name, '2 threads')
            if main and io and io > 0.1 * main:
                found.append((name, load, main, io))
    return found
