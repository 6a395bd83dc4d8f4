"""selftest.py -- tests of the code that computes or parses. Run by `utils/bench/run --selftest`.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import importlib.machinery
import importlib.util
import io
import os
import socket
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path

import callgrind
import command_forms
import experiments
import figures
import followers
import forks
import load
import persist_experiments
import pinger
import replication_experiments
import report
import source
import stats
import type_experiments
import writers

REPORT = '''\r get: rps=1.0 (overall: 1.0)\r====== get ======
  3002 requests completed in 1.00 seconds

Latency by percentile distribution:
0.000% <= 0.031 milliseconds (cumulative count 48)
50.000% <= 0.079 milliseconds (cumulative count 1626)
99.219% <= 0.327 milliseconds (cumulative count 2979)
99.902% <= 1.551 milliseconds (cumulative count 3000)
100.000% <= 1.631 milliseconds (cumulative count 3002)

Cumulative distribution of latencies:
80.480% <= 0.103 milliseconds (cumulative count 2416)

Summary:
  throughput summary: 2995.77 requests per second
'''


def record(experiment, name, server, number, variant='', **values):
    return {'experiment': experiment, 'load': name, 'server': server, 'round': number, 'variant': variant, **values}


class Arithmetic(unittest.TestCase):
    def test_median(self):
        self.assertIsNone(stats.median([]))
        self.assertEqual(stats.median([3, 1, 2]), 2)
        self.assertEqual(stats.median([4, 1, 3, 2]), 2.5)
        self.assertEqual(stats.median([None, 5]), 5)

    def test_spread(self):
        self.assertEqual(stats.spread([3, 1, 2]), (1, 3))
        self.assertIsNone(stats.spread([]))

    def test_ratios_go_round_by_round(self):
        self.assertEqual(stats.ratios([1, 4, 9], [2, 2]), [0.5, 2])
        self.assertEqual(stats.ratios([1], [0]), [])

    def test_differences_go_round_by_round(self):
        self.assertEqual(stats.differences([5, None, 9, 4], [3, 1, 10]), [2, -1])

    def test_bars(self):
        self.assertTrue(stats.reached(0.6, 0.6, '<='))
        self.assertFalse(stats.reached(0.3, 0.3, '<'))
        self.assertFalse(stats.reached(1.2, 1.25, '>='))
        self.assertIsNone(stats.reached(None, 1, '<='))
        self.assertIsNone(stats.reached(5, None, '<='))

    def test_cost_model(self):
        # Main executes 4 million per second, an I/O thread serves 1 million: four threads keep main busy.
        self.assertEqual(stats.predicted_rps(250, 1000, 1), 1e6)
        self.assertEqual(stats.predicted_rps(250, 1000, 4), 4e6)
        self.assertEqual(stats.predicted_rps(250, 1000, 32), 4e6)
        self.assertEqual(stats.limited_by(250, 1000, 3), 'I/O threads')
        self.assertEqual(stats.limited_by(250, 1000, 4), 'main')
        self.assertEqual(stats.threads_to_saturate(250, 1000), 4)
        self.assertEqual(stats.threads_to_saturate(250, 1001), 5)
        self.assertEqual(stats.threads_to_saturate(500, 100), 1)
        self.assertEqual(stats.predicted_rps(500, 0, 1), 2e6)
        self.assertEqual(len(stats.cost_curve(250, 1000)), 32)

    def test_csv(self):
        text = stats.to_csv([{'a': 1.23456789, 'b': 'x,y', 'c': None}, {'a': True, 'b': 12345678.9}], ['a', 'b', 'c'])
        self.assertEqual(list(csv.reader(io.StringIO(text))),
                         [['a', 'b', 'c'], ['1.23457', 'x,y', ''], ['yes', '12345679', '']])

    def test_sizes(self):
        self.assertEqual([stats.size_text(s) for s in (16, 1000, 4096, 1 << 20)], ['16 B', '1000 B', '4 KB', '1 MB'])


class Sweep(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        loader = importlib.machinery.SourceFileLoader('command_sweep', str(Path(__file__).parent / 'command_sweep'))
        spec = importlib.util.spec_from_loader(loader.name, loader)
        cls.sweep = importlib.util.module_from_spec(spec)
        loader.exec_module(cls.sweep)

    def test_forms_become_requests(self):
        self.assertEqual(self.sweep.commands_of('SET a {d10} ; DEL a'), [['SET', 'a', '{d10}'], ['DEL', 'a']])
        self.assertEqual(self.sweep.commands_of(('EVAL', 'return 1 ; 2', '0')), [['EVAL', 'return 1 ; 2', '0']])
        self.assertEqual(self.sweep.word('{d10}:{i}', 7), 'abcdefghij:7')
        one = b'*2\r\n$3\r\nGET\r\n$2\r\nk%d\r\n'
        mark = self.sweep.encode(['ECHO', self.sweep.MARK])
        self.assertEqual(self.sweep.batch('GET k{i}', 2, 5), one % 5 + one % 6 + mark)
        self.assertEqual(self.sweep.batch('GET k1', 2), 2 * (one % 1) + mark)

    def test_a_group_has_no_form_twice(self):
        for group in command_forms.GROUPS:
            labels = [form if isinstance(form, str) else ' '.join(form) for form in group.forms]
            self.assertEqual(len(labels), len(set(labels)), [x for x in labels if labels.count(x) > 1])


class Parsing(unittest.TestCase):
    def test_report_of_the_generator(self):
        got = load.parse_report(REPORT)
        self.assertEqual(got, {'rps': 2995.77, 'p50_ms': 0.079, 'p99_ms': 0.327, 'p999_ms': 1.551, 'max_ms': 1.631})
        with self.assertRaises(load.LoadError):
            load.parse_report('Could not connect')

    def test_callgrind_files(self):
        with tempfile.TemporaryDirectory() as folder:
            for number, count in ((1, 100), (2, 30)):
                (Path(folder) / f'out.1-0{number}').write_text(f'thread: {number}\nsummary: 0\ntotals: {count}\n')
            (Path(folder) / 'out.1').write_text('no counts\n')
            self.assertEqual(callgrind.thread_totals(sorted(Path(folder).iterdir())), {1: 100, 2: 30})

    def test_only(self):
        self.assertEqual(set(experiments.chosen([])), set(experiments.ALL))
        self.assertEqual(experiments.chosen(['1', '5', 'idle']), {'single': {'1', '5'}, 'idle': None})
        self.assertEqual(experiments.chosen(['threads', '4']), {'threads': None})
        with self.assertRaises(KeyError):
            experiments.chosen(['99'])


class Figures(unittest.TestCase):
    def results(self, records=(), micro=()):
        return {'records': list(records), 'micro': list(micro), 'notes': [], 'seconds': {}, 'machine': {},
                'products': [], 'kind': 'full'}

    def row(self, results, number, part):
        return next(r for r in figures.headline(results) if r['row'] == number and r['part'] == part)

    def test_the_better_peer_counts(self):
        records = [record('single', 'GET P16', name, i, cpu_ns=value) for name, value in
                   ((figures.OURS, 600), ('slow', 2000), ('fast', 1000)) for i in (1, 2, 3)]
        got = self.row(self.results(records), '1', 'GET')
        self.assertAlmostEqual(got['value'], 0.6)
        self.assertTrue(got['reached'])

    def test_merging_replaces_what_was_measured_again(self):
        old = [record('threads', 'GET P16', 'a', i, rps=1) for i in (1, 2)] + [record('threads', 'SET P16', 'a', 1)]
        new = [record('threads', 'GET P16', 'a', 1, rps=2)]
        self.assertEqual(figures.merged(old, new), [old[2], new[0]])
        self.assertEqual(figures.merged([], new), new)

    def test_without_peers(self):
        got = self.row(self.results([record('single', 'GET P16', figures.OURS, 1, cpu_ns=1)]), '1', 'GET')
        self.assertIsNone(got['value'])
        self.assertIsNone(got['reached'])

    def test_thread_ratio(self):
        records = [record('threads', load, figures.OURS, i, v, rps=rps)
                   for i in (1, 2) for load, v, rps in (
                       ('GET 1 client', '1 thread', 100), ('GET 1 client', '2 threads', 99),
                       ('GET 1 client', '9 threads', 99), ('SET 50 clients', '1 thread', 100),
                       ('SET 50 clients', '2 threads', 97), ('SET 50 clients', '9 threads', 120))]
        rows = figures.headline(self.results(records))
        two, nine = (next(r for r in rows if r['what'].endswith('requests per second') and r['part'] == part)
                     for part in ('io-threads 2 / one thread', 'io-threads 9 / one thread'))
        self.assertAlmostEqual(two['value'], 0.97)
        self.assertFalse(two['reached'])
        self.assertEqual(two['note'], 'GET 1 client 0.99, SET 50 clients 0.97')
        self.assertAlmostEqual(nine['value'], 0.99)
        self.assertTrue(nine['reached'])

    def test_micro(self):
        rows = [{'name': 'dict 50000000 keys small pages', 'parameter': p, 'value': v, 'unit': 'ns/key'}
                for p, v in (('find in order', 400.0), ('batch 1', 410.0), ('batch 16', 50.0))]
        self.assertAlmostEqual(self.row(self.results(micro=rows), '7', '50M keys, small pages')['value'], 8)

    def test_every_row_is_there(self):
        self.assertEqual({r['row'] for r in figures.headline(self.results())},
                         {str(n) for n in range(1, 54)})

    def test_geometric_mean_wants_every_test(self):
        records = [record('types', name, server, 1, '1 thread', cpu_ns=ns) for name in figures.DEFAULT_TESTS
                   for server, ns in ((figures.OURS, 50), ('peer', 100))]
        self.assertAlmostEqual(self.row(self.results(records), '16', 'geometric mean')['value'], 0.5)
        self.assertIsNone(self.row(self.results(records[2:]), '16', 'geometric mean')['value'])
        self.assertEqual(figures.DEFAULT_TESTS, tuple(name for name, _ in type_experiments.DEFAULT_TESTS))

    def test_loading_is_compared_with_the_faster_peer(self):
        records = [record('snapshots', 'load strings', name, n, load_s=s) for n in (1, 2)
                   for name, s in ((figures.OURS, 2 * n), ('slow', 10 * n), ('fast', 5 * n))]
        row = self.row(self.results(records), '33', '5M strings of 512 B')
        self.assertAlmostEqual(row['value'], 0.4)
        self.assertTrue(row['reached'])

    def test_everysec_is_compared_with_itself_and_with_peers(self):
        records = [record('everysec', 'SET P16', name, 1, variant, main_ns=ns) for name, variant, ns in
                   ((figures.OURS, 'off', 400), (figures.OURS, 'everysec', 600), ('peer', 'everysec', 1000))]
        self.assertAlmostEqual(self.row(self.results(records), '35', 'with / without an append-only file')['value'], 1.5)
        self.assertAlmostEqual(self.row(self.results(records), '35', 'ours / peer')['value'], 0.6)

    def test_more_requests_are_better_with_always(self):
        records = [record('always', 'SET 50 clients', name, 1, 'always', rps=rps, generator_limited=False)
                   for name, rps in ((figures.OURS, 300), ('a', 100), ('b', 150))]
        row = self.row(self.results(records), '36', 'ours / peer')
        self.assertAlmostEqual(row['value'], 2)
        self.assertFalse(row['reached'])

    def test_a_figure_without_a_bar(self):
        records = [record('slow_disk', 'SET', name, 1, 'everysec', p999_ms=ms) for name, ms in
                   ((figures.OURS, 1), ('peer', 4))]
        row = self.row(self.results(records), '39', 'ours / peer')
        self.assertEqual((row['value'], row['reached']), (0.25, None))
        self.assertEqual((report.verdict(row), report.bar_text(row)), ('measured', 'none'))
        self.assertEqual(report.verdict(self.row(self.results(), '39', 'ours / peer')), 'not measured')
        with tempfile.TemporaryDirectory() as folder:
            report.write(self.results(records), Path(folder))
            self.assertNotIn('bars reached', (Path(folder) / 'index.html').read_text())

    def test_what_replicas_cost_main_is_a_difference(self):
        records = [record('replicas', 'SET P16', figures.OURS, n, variant, main_ns=ns)
                   for n in (1, 2, 3) for variant, ns in (('none', 100 * n), ('1 replica', 100 * n + 30),
                                                          ('3 replicas', 100 * n + 200))]
        one, three = (self.row(self.results(records), '46', part) for part in ('1 replica', '3 replicas'))
        self.assertEqual((one['value'], one['reached']), (30, True))
        self.assertEqual((three['value'], three['reached']), (200, False))
        self.assertEqual(one['note'], 'ns with / without: this server 230 / 200')

    def test_memory_of_three_replicas_is_compared_with_that_of_one(self):
        records = [record('lagging', 'lagging', figures.OURS, 1, variant, resident_mb=mb, used_mb=mb / 2)
                   for variant, mb in (('1 replica', 100), ('3 replicas', 120))]
        for part in ('resident', 'as the server counts'):
            row = self.row(self.results(records), '47', part)
            self.assertAlmostEqual(row['value'], 1.2)
            self.assertFalse(row['reached'])

    def test_some_bars_are_those_of_one_peer(self):
        records = [record('full_sync', 'full sync', name, 1, sync_s=s)
                   for name, s in ((figures.OURS, 6), ('redis', 5), ('valkey', 10))]
        row = self.row(self.results(records), '48', 'ours to ours / Valkey to Valkey')
        self.assertAlmostEqual(row['value'], 0.6)
        self.assertIn('redis 5', row['note'])

    def test_memory_of_times(self):
        records = [record('type_memory', load, figures.OURS, 1, bytes_per_key=b)
                   for load, b in (('fields', 60), ('fields with times', 72))]
        self.assertEqual(self.row(self.results(records), '23', 'bytes a field')['value'], 12)

    def test_remarks_are_shown_for_missed_bars_only(self):
        records = [record('threads', 'GET 1 client', figures.OURS, 1, v, rps=rps, generator_limited=False)
                   for v, rps in (('1 thread', 100), ('2 threads', 50))]
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / 'remarks.txt').write_text('4 | a <core> too few\n2 | not this\n')
            report.write(self.results(records), Path(folder))
            page = (Path(folder) / 'index.html').read_text()
            self.assertIn('a &lt;core&gt; too few', page)
            self.assertNotIn('not this', page)

    def test_pictures_are_referred_to_and_not_copied(self):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / 'idle.png').write_bytes(b'a picture')
            report.write(self.results(), Path(folder))
            page = (Path(folder) / 'index.html').read_text()
            self.assertIn('src="idle.png"', page)
            self.assertNotIn('base64', page)
            self.assertEqual({p.name for p in Path(folder).iterdir()},
                             {'idle.png', 'index.html', 'figures.csv', 'figures.txt', 'micro.csv'})

    def test_report_of_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            report.write(self.results(), Path(folder))
            self.assertIn('</html>', (Path(folder) / 'index.html').read_text())


class Persistence(unittest.TestCase):
    def test_percentiles(self):
        self.assertIsNone(pinger.percentile([], 99.9))
        hundred = list(range(1, 101))
        self.assertEqual([pinger.percentile(hundred, p) for p in (0, 1, 50, 99, 99.9, 100)], [1, 1, 50, 99, 100, 100])
        self.assertEqual(pinger.percentile(list(range(1, 10001)), 99.9), 9990)

    def test_a_server_that_stands_still_delays_all_that_were_due(self):
        with socket.create_server(('127.0.0.1', 0)) as listener:
            threading.Thread(target=answer_after, args=(listener, 0.3), daemon=True).start()
            told = pinger.summary(pinger.ping(listener.getsockname()[1], 0.2, 100))
        self.assertEqual(told['pings'], 20)
        self.assertGreater(told['max_ms'], 250)
        self.assertGreater(told['p50_ms'], 150)

    def test_memory_of_a_process(self):
        text = '55d0-7ffc ---p 00000000 00:00 0  [rollup]\nRss:  10 kB\nPrivate_Dirty:  4 kB\nPrivate_Dirty:  2 kB\n'
        self.assertEqual(forks.memory_of(text), {'Rss': 10240, 'Private_Dirty': 6144})

    def test_parent_of_a_process_with_any_name(self):
        self.assertEqual(forks.parent_of('12 (a) b (c) S 34 12 12 0'), 34)

    def test_a_child_is_found(self):
        with subprocess.Popen(['sleep', '60']) as child:
            try:
                self.assertEqual(forks.child_of(os.getpid()), child.pid)
            finally:
                child.kill()

    def test_cpu_of_children(self):
        info = {'used_cpu_user_children': '1.500000', 'used_cpu_sys_children': '0.250000'}
        self.assertEqual(forks.child_seconds(info), 1.75)

    def test_a_failed_child_is_no_figure(self):
        server = type('', (), {'name': 'x'})
        forks.must_be_ok(server, {'rdb_last_bgsave_status': 'ok'})
        with self.assertRaises(RuntimeError):
            forks.must_be_ok(server, {'rdb_last_bgsave_status': 'err'})

    def test_the_file_system_of_a_folder(self):
        mounts = ('22 1 254:0 / / rw - ext4 /dev/vda rw\n23 22 0:5 / /dev/shm rw shared:1 - tmpfs tmpfs rw\n'
                  '24 22 0:9 / /mnt/a\\040b rw - xfs /dev/vdb rw\n')
        for path, wanted in (('/tmp', ('ext4', '/dev/vda')), ('/dev/shm/x', ('tmpfs', 'tmpfs')),
                             ('/dev/shmx', ('ext4', '/dev/vda')), ('/mnt/a b/c', ('xfs', '/dev/vdb'))):
            self.assertEqual(persist_experiments.mount_of(path, mounts), wanted)


class Replication(unittest.TestCase):
    def serve(self, work):
        """Starts a server that calls work(socket, file to read) for its first connection; returns its port."""
        listener = socket.create_server(('127.0.0.1', 0))
        self.addCleanup(listener.close)

        def run():
            link, _ = listener.accept()
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with link, link.makefile('rb') as file:
                work(link, file)
        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        self.addCleanup(thread.join, 10)
        return listener.getsockname()[1]

    def ends(self):
        """Two connected sockets. The second is shut down after 20 s in any case, so that no test waits for ever."""
        near, far = socket.socketpair()
        timer = threading.Timer(20, far.shutdown, [socket.SHUT_RDWR])
        timer.daemon = True
        timer.start()
        for cleanup in (near.close, far.close, timer.cancel):
            self.addCleanup(cleanup)
        return near, far

    def test_a_follower_counts_what_comes_behind_the_dataset(self):
        mark = b'0123456789' * 4
        for head, tail in ((b'$EOF:' + mark, mark), (b'$70000', b'')):
            acked, (near, far) = [], self.ends()

            def primary(link, file, head=head, tail=tail, acked=acked, far=far):
                for answer in (b'+PONG', b'+OK', b'+OK', b'+FULLRESYNC ' + b'a' * 40 + b' 500'):
                    words_of(file)
                    link.sendall(answer + b'\r\n')
                for part in (b'\n\n' + head + b'\r\n' + b'x', b'x' * 69_999 + tail[:20], tail[20:]):
                    link.sendall(part)
                    time.sleep(0.02)
                acked.append(words_of(file))
                link.sendall(b's' * 300)
                while acked[-1][2] < b'800':
                    acked.append(words_of(file))
                far.close()
            followers.follow(self.serve(primary), 1, False, lambda: None, near)
            self.assertEqual([acked[0], acked[-1]], [[b'REPLCONF', b'ACK', b'500'], [b'REPLCONF', b'ACK', b'800']])

    def test_a_stalled_follower_reads_nothing_and_stays(self):
        acked, (near, far) = [], self.ends()

        def primary(link, file):
            for answer in (b'+PONG', b'+OK', b'+OK', b'+FULLRESYNC ' + b'a' * 40 + b' 500'):
                words_of(file)
                link.sendall(answer + b'\r\n')
            link.sendall(b'$1\r\nx')
            acked.append(words_of(file))
            link.send(b's' * (4 << 20), socket.MSG_DONTWAIT)
            acked.append(words_of(file))
            far.close()
        followers.follow(self.serve(primary), 1, True, lambda: None, near)
        self.assertEqual([a[2] for a in acked], [b'500', b'500'])

    def test_a_source_waits_for_all_that_it_has_sent(self):
        text = source.sets([7, 8], 3)
        self.assertTrue(text.startswith(b'*3\r\n$3\r\nSET\r\n$16\r\nkey:000000000007\r\n$3\r\nxxx\r\n*3\r\n'))
        got = []

        class Replica:
            """A replica that applies the stream and acknowledges it late."""
            @staticmethod
            def call(_, host, port):
                threading.Thread(target=Replica.follow, args=(host, port), daemon=True).start()

            @staticmethod
            def follow(host, port):
                with socket.create_connection((host, port)) as link, link.makefile('rb') as file:
                    link.sendall(followers.wire('PING') + followers.wire('REPLCONF', 'capa', 'eof'))
                    link.sendall(b'\n' + followers.wire('PSYNC', '?', -1))
                    got.extend(file.readline() for _ in range(4))
                    got.append(file.read(len(source.EMPTY)))
                    offset = 0
                    while words := words_of(file):
                        size = len(followers.wire(*(w.decode() for w in words)))
                        if words[1] == b'GETACK':
                            link.sendall(followers.wire('REPLCONF', 'ACK', offset - 1))
                            got.append(offset)
                            link.sendall(followers.wire('REPLCONF', 'ACK', offset))
                        offset += size
        with source.Source(Replica) as primary:
            self.assertEqual(got[:2], [b'+PONG\r\n', b'+OK\r\n'])
            self.assertEqual(got[4:], [source.EMPTY, len(source.SELECT)])
            primary.send(text, 2)
            primary.flush()
            self.assertEqual(primary.sent, got[-1] + len(source.GETACK))
            self.assertEqual(got[-1], len(source.SELECT) + len(source.GETACK) + 2 * len(text))

    def test_the_longest_time_between_successes(self):
        gaps = writers.Gaps()
        for now in (10, 11, 14, 15):
            gaps.success(now)
        self.assertEqual(gaps.longest, 3)

    def test_writers_follow_to_the_other_server(self):
        told, (near, far) = [], self.ends()

        def first(link, file):
            for _ in range(3):
                words_of(file), words_of(file)
                link.sendall(b'+OK\r\n+OK\r\n')
            words_of(file), words_of(file)
            link.sendall(b'+OK\r\n-READONLY\r\n')
            file.read()

        def second(link, file):
            time.sleep(0.2)
            words_of(file), words_of(file)
            link.sendall(b'+OK\r\n+OK\r\n')
            words_of(file)
            far.sendall(b'\n')
            while not told and near.fileno() >= 0:
                time.sleep(0.01)
            far.close()
            file.read()
        with near.makefile('rb') as ended:
            writers.write(1, 2, 10, [self.serve(first), self.serve(second)], ended, told.append)
        self.assertEqual([(t['written'], t['refused']) for t in told], [(8, 1)])
        self.assertGreaterEqual(told[0]['gap_ms'], 195)
        self.assertEqual(told[0]['gap_ms'], told[0]['client_ms'])

    def test_in_step_is_what_the_primary_had_a_tenth_of_a_second_ago(self):
        step = replication_experiments.InStep()
        self.assertFalse(step.reached(0.00, 100, 100))  # nothing is that old
        self.assertFalse(step.reached(0.05, 200, None))
        self.assertFalse(step.reached(0.12, 300, 99))
        self.assertTrue(step.reached(0.13, 300, 100))
        self.assertFalse(step.reached(0.16, 400, 150))
        self.assertFalse(step.reached(0.20, 400, None))
        self.assertTrue(step.reached(0.21, 500, 200))

    def test_replicas_that_are_online(self):
        info = {'slave0': 'ip=::1,port=1,state=online,offset=1', 'slave1': 'ip=::1,port=1,state=wait_bgsave,offset=0',
                'slave_repl_offset': '5', 'slave2': 'ip=::1,port=1,state=online,offset=1'}
        self.assertEqual(replication_experiments.online(info), 2)


def words_of(file):
    """The words of a request; none at the end of the input. Skips empty lines, which only keep the connection alive."""
    line = file.readline()
    while line == b'\n':
        line = file.readline()
    return [file.read(int(file.readline()[1:]) + 2)[:-2] for _ in range(int(line[1:] or 0))]


def answer_after(listener, pause):
    """A server that does nothing for a while and then replies to every PING."""
    link, _ = listener.accept()
    time.sleep(pause)
    with link:
        while True:
            got = link.recv(1 << 16)
            if not got:
                return
            link.sendall(b'+PONG\r\n' * got.count(b'\n'))


if __name__ == '__main__':
    unittest.main()
