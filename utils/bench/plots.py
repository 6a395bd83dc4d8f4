"""plots.py -- make the plots of the report, as PNG files. Needs matplotlib: `run` finds a Python that has it.

    plots.py DIR      reads DIR/results.json, writes DIR/*.png

A plot is left out if its experiment did not run.

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import sys
from pathlib import Path

import matplotlib
matplotlib.use('Agg')
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.ticker import FuncFormatter  # noqa: E402
from PIL import Image  # noqa: E402

from figures import NO_PIPELINE, OURS, SIMPLE, Records, cost_inputs, micro_curve, micro_keys  # noqa: E402
from stats import cost_curve, median, size_text, spread, threads_to_saturate  # noqa: E402

INK, FAINT, GRID = '#1f2933', '#7b8794', '#e4e7eb'
OUR_COLOUR, OUR_LIGHT = '#0f766e', '#5eead4'
PEER_COLOURS = ['#f59e0b', '#e0525c', '#6366f1', '#a16207']
BAR = '#334155'

plt.rcParams.update({
    'figure.dpi': 100, 'font.family': 'DejaVu Sans', 'font.size': 10, 'text.color': INK,
    'axes.edgecolor': GRID, 'axes.labelcolor': FAINT, 'axes.titlesize': 11, 'axes.titleweight': 'bold',
    'axes.titlelocation': 'left', 'axes.spines.top': False, 'axes.spines.right': False, 'axes.spines.left': False,
    'axes.axisbelow': True, 'xtick.color': INK, 'ytick.color': FAINT, 'xtick.major.size': 0, 'ytick.major.size': 0,
    'legend.frameon': False, 'hatch.linewidth': 0.6, 'hatch.color': '#ffffff'})


class Plots:
    def __init__(self, results, folder):
        self.results, self.folder = results, folder
        self.records = Records(results['records'])
        peers = [n for n in self.records.servers() if n != OURS]
        self.colours = {OURS: OUR_COLOUR, **{n: PEER_COLOURS[i % len(PEER_COLOURS)] for i, n in enumerate(peers)}}
        self.versions = {p['name']: p['version'] for p in results.get('products', [])}

    def label(self, name):
        version = self.versions.get(name, '')
        return name if name == OURS or not version else f'{name} {version}'

    def servers(self, experiment):
        return [n for n in self.records.servers() if any(
            r['experiment'] == experiment and r['server'] == n for r in self.results['records'])]

    def save(self, figure, name):
        """Saves a small file: as wide as on the page, with the few colours of a plot."""
        path = self.folder / f'{name}.png'
        figure.savefig(path, bbox_inches='tight', facecolor='white', pad_inches=0.15, dpi=120)
        plt.close(figure)
        with Image.open(path) as picture:
            picture.convert('RGB').quantize(64, dither=Image.Dither.NONE).save(path, optimize=True)

    # ---- Pieces ------------------------------------------------------------------------------------------------------
    def bars(self, axis, groups, series, unit=1.0, digits='{:,.0f}', text_size=8, clip=None):
        """Grouped bars. groups: labels; series: [(label, colour, [values of group], hatched list)].

        A bar above clip is cut off, so that one outlier does not flatten all others; its label has the value."""
        width = 0.6 if len(series) == 1 else min(0.27, 0.82 / len(series))
        tallest = max((median(v) / unit for _, _, cells, _ in series for v in cells if v), default=1)
        for i, (label, colour, cells, limited) in enumerate(series):
            named = False
            for g, values in enumerate(cells):
                if not values:
                    continue
                x, y = g + (i - (len(series) - 1) / 2) * width, median(values) / unit
                low, high = (v / unit for v in spread(values))
                written = digits.format(y)
                if clip and y > clip:
                    y, low, high, written = clip, clip, clip, written + ' ↑'
                elif clip:
                    high = min(high, clip)
                axis.bar(x, y, width * 0.92, color=colour, hatch='////' if limited and limited[g] else None,
                         label=None if named else label, edgecolor='white', linewidth=0)
                axis.plot([x, x], [low, high], color=INK, linewidth=0.9, alpha=0.55)
                axis.text(x, max(y, high) + (min(tallest, clip) if clip else tallest) * 0.015, written, ha='center',
                          va='bottom', fontsize=text_size, color=INK if label == OURS else FAINT, zorder=6,
                          bbox={'facecolor': 'white', 'edgecolor': 'none', 'pad': 0.6, 'alpha': 0.8})
                named = True
        axis.set_xticks(range(len(groups)), groups)
        axis.yaxis.grid(True, color=GRID)
        axis.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f'{v:,.10g}'))
        axis.set_xlim(-0.55, len(groups) - 0.45)
        axis.set_ylim(0, axis.get_ylim()[1] * 1.07)

    def legend(self, figure, axis, **more):
        handles, labels = axis.get_legend_handles_labels()
        figure.legend(handles, labels, loc='lower left', bbox_to_anchor=(0.01, 0.995), ncols=6, columnspacing=1.4,
                      handlelength=1.1, borderaxespad=0, **more)

    def bar_line(self, axis, value, text):
        axis.axhline(value, color=BAR, linewidth=1.1, linestyle=(0, (4, 3)))
        axis.text(axis.get_xlim()[1], value, ' ' + text, color=BAR, fontsize=8, va='center', ha='left')

    def cells(self, field, experiment, loads, server, variant=''):
        return [self.records.values(field, experiment, load, server, variant) for load in loads]

    def limits(self, experiment, loads, server, variant=''):
        return [self.records.limited(experiment, load, server, variant) for load in loads]

    def have(self, experiment, loads, field='cpu_ns', variant=''):
        return [load for load in loads if any(
            self.records.values(field, experiment, load, n, variant) for n in self.records.servers())]

    def by_server(self, field, experiment, loads, variant='', mark=False):
        return [(self.label(n), self.colours[n], self.cells(field, experiment, loads, n, variant),
                 self.limits(experiment, loads, n, variant) if mark else None) for n in self.servers(experiment)]

    # ---- Themes ------------------------------------------------------------------------------------------------------
    def cpu_by_size(self):
        sizes = [(16, 'sizes'), (96, 'sizes'), (512, 'single'), (2048, 'sizes'), (4096, 'sizes'), (16384, 'sizes')]
        picked = {}
        for word in ('GET', 'SET'):
            cells = []
            for size, experiment in sizes:
                load = f'{word} P16' if experiment == 'single' else f'{word} {size_text(size)}'
                if self.have(experiment, [load]):
                    cells.append((size, experiment, load))
            if cells:
                picked[word] = cells
        if not picked:
            return
        figure, axes = plt.subplots(len(picked), 1, figsize=(10.5, 3.3 * len(picked)), squeeze=False)
        for axis, (word, cells) in zip(axes[:, 0], picked.items()):
            series = [(self.label(n), self.colours[n],
                       [self.records.values('cpu_ns', e, load, n) for _, e, load in cells], None)
                      for n in self.records.servers()]
            self.bars(axis, [size_text(s) for s, _, _ in cells], [s for s in series if any(s[2])])
            axis.set_title(f'{word}, pipelines of 16, one thread: nanoseconds of server CPU per request')
        figure.tight_layout()
        self.legend(figure, axes[0, 0])
        self.save(figure, 'cpu_by_size')

    def no_pipeline(self):
        loads = self.have('single', ['GET 50 clients', 'SET 50 clients', 'GET 650 clients', 'SET 650 clients'])
        big = self.have('sizes', ['GET 1 MB', 'SET 1 MB'])
        if not loads:
            return
        figure, axes = plt.subplots(1, 2 if big else 1, figsize=(10.5, 3.4), squeeze=False,
                                    width_ratios=[2.2, 1] if big else None)
        self.bars(axes[0, 0], loads, self.by_server('cpu_ns', 'single', loads))
        axes[0, 0].set_title('No pipeline, 512 B: ns of server CPU per request')
        if big:
            self.bars(axes[0, 1], big, self.by_server('cpu_ns', 'sizes', big), 1000)
            axes[0, 1].set_title('1 MB values: µs per request')
        figure.tight_layout()
        self.legend(figure, axes[0, 0])
        self.save(figure, 'no_pipeline')

    def instructions(self):
        loads = self.have('instructions', ['GET P16', 'SET P16'], 'instructions')
        if not loads:
            return
        figure, axis = plt.subplots(figsize=(8, 3.2))
        self.bars(axis, loads, self.by_server('instructions', 'instructions', loads))
        for x, value in enumerate((1600, 2250)[:len(loads)]):
            axis.plot([x - 0.46, x + 0.46], [value, value], color=BAR, linewidth=1.1, linestyle=(0, (4, 3)))
            axis.text(x + 0.46, value, f' {value:,}', color=BAR, fontsize=8, va='center')
        axis.set_title('User instructions per command, 512 B, one thread')
        figure.tight_layout()
        self.legend(figure, axis)
        self.save(figure, 'instructions')

    def rps_by_threads(self):
        loads = [w for w in ('GET P16', 'SET P16', 'GET 50 clients', 'SET 50 clients')
                 if self.have('threads', [w], 'rps', '2 threads')]
        variants = [v for v in ('1 thread', '2 threads', '9 threads') if loads and
                    self.have('threads', loads, 'rps', v)]
        if len(variants) < 2:
            return
        columns = min(2, len(loads))
        lines = -(-len(loads) // columns)
        figure, axes = plt.subplots(lines, columns, figsize=(10.5, 2.9 * lines), squeeze=False)
        for axis, load in zip(axes.flat, loads):
            series = [(self.label(n), self.colours[n],
                       [self.records.values('rps', 'threads', load, n, v) for v in variants],
                       [self.records.limited('threads', load, n, v) for v in variants])
                      for n in self.servers('threads')]
            self.bars(axis, variants, series, 1000, '{:.0f}', 7)
            axis.set_title(f'{load}: thousand requests/s')
        for axis in axes.flat[len(loads):]:
            axis.axis('off')
        figure.tight_layout()
        self.legend(figure, axes[0, 0])
        self.save(figure, 'rps_by_threads')

    def main_thread(self):
        groups = [('In pipelines of 16', ['GET P16', 'SET P16'], 2400),
                  ('No pipeline', ['GET 50 clients', 'SET 50 clients'], 4000)]
        groups = [(t, self.have('main_thread', ws, 'main_ns', '2 threads'), c) for t, ws, c in groups]
        groups = [g for g in groups if g[1]]
        if not groups:
            return
        figure, axes = plt.subplots(1, len(groups), figsize=(5.3 * len(groups), 3.4), squeeze=False)
        for axis, (title, loads, clip) in zip(axes.flat, groups):
            self.bars(axis, [w.split()[0] for w in loads], self.by_server('main_ns', 'main_thread', loads, '2 threads'),
                      clip=clip)
            axis.set_title(f'{title}: ns on the main thread')
        figure.tight_layout()
        self.legend(figure, axes[0, 0])
        self.save(figure, 'main_thread')

    def role(self):
        """Our server with more threads, divided by itself with one: the cost of threads that cannot help."""
        shown = [(word, self.have('threads', [f'{word} {c}' for c in NO_PIPELINE] + [f'{word} P16'], 'cpu_ns', '2 threads'))
                 for word in ('GET', 'SET')]
        shown = [(word, loads) for word, loads in shown if loads]
        if not shown:
            return
        figure, axes = plt.subplots(len(shown), 1, figsize=(10.5, 2.9 * len(shown)), squeeze=False)
        colours = {'1 thread': '#94a3b8', '2 threads': OUR_COLOUR, '9 threads': '#c2410c'}
        for axis, (word, loads) in zip(axes[:, 0], shown):
            series = [(v, colours[v], [self.records.values('cpu_ns', 'threads', w, OURS, v) for w in loads], None)
                      for v in colours]
            self.bars(axis, [w.removeprefix(word + ' ') for w in loads], series, 1000, '{:.2f}', clip=12)
            axis.set_title(f'{word}: µs of server CPU per request, all threads together')
        figure.tight_layout()
        self.legend(figure, axes[0, 0])
        self.save(figure, 'role')

    def prefetch(self):
        batches = [b for b in ('0', '1', '4', '16', '64')
                   if self.records.values('rps', 'prefetch', 'GET 64 B', OURS, b)]
        if not batches:
            return
        figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.3), width_ratios=[1.6, 0.8, 1])
        keys = max(r['keys'] for r in self.results['records'] if r['experiment'] == 'prefetch')
        for axis, load, shown, title in ((axes[0], 'GET 64 B', batches, f'GET, {keys / 1e6:.3g}M keys, by batch size'),
                                         (axes[1], 'GET hot key', ['0', '16'], 'one hot key')):
            self.bars(axis, shown, [(OURS, OUR_COLOUR if load == 'GET 64 B' else '#94a3b8',
                                     [self.records.values('cpu_ns', 'prefetch', load, OURS, b) for b in shown], None)])
            axis.set_title(title)
            axis.set_xlabel('prefetch-batch-max-size')
        axes[0].set_ylabel('ns of server CPU per request')
        rates = [self.records.values('rps', 'prefetch', 'GET 64 B', OURS, b) for b in batches]
        limited = [self.records.limited('prefetch', 'GET 64 B', OURS, b) for b in batches]
        self.bars(axes[2], batches, [(OURS, OUR_LIGHT, rates, limited)], 1000, '{:.0f}', 7.5)
        axes[2].set_title('thousand requests/s')
        axes[2].set_xlabel('prefetch-batch-max-size')
        figure.tight_layout()
        self.save(figure, 'prefetch')

    def many_keys(self):
        loads = self.have('mget', ['MGET 10', 'MGET 100', 'MSET 10', 'MSET 100'])
        if not loads:
            return
        figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.3))
        for axis, field, title, unit in ((axes[0], 'rps', 'thousand requests/s', 1000),
                                         (axes[1], 'cpu_ns', 'µs of server CPU per request', 1000)):
            off = [self.records.values(field, 'mget', load, OURS, 'no prefetch') for load in loads]
            series = self.by_server(field, 'mget', loads, mark=field == 'rps')
            if any(off):
                series.insert(1, (f'{OURS}, prefetch off', OUR_LIGHT, off, None))
            self.bars(axis, loads, series, unit, '{:.1f}', 7)
            axis.set_title(title)
        figure.tight_layout()
        self.legend(figure, axes[0])
        self.save(figure, 'many_keys')

    def offload(self):
        sizes = [s for s in (512, 4096, 16384, 65536, 1 << 20)
                 if self.records.values('main_ns', 'offload', f'GET {size_text(s)}', OURS, '2 threads')]
        if len(sizes) < 2:
            return
        figure, axis = plt.subplots(figsize=(10.5, 4))
        lines = [(self.label(n), self.colours[n], n, '2 threads', '-') for n in self.servers('offload')]
        lines.insert(1, (f'{OURS}, replies copied', OUR_COLOUR, OURS, '2 threads, copied', (0, (3, 2))))
        for label, colour, name, variant, style in lines:
            points = [(s, self.records.median('main_ns', 'offload', f'GET {size_text(s)}', name, variant))
                      for s in sizes]
            points = [(s, v / 1000) for s, v in points if v]
            if points:
                axis.plot(*zip(*points), marker='o', markersize=4.5, color=colour, linestyle=style, linewidth=2,
                          label=label)
        axis.set_xscale('log', base=2)
        axis.set_yscale('log')
        axis.set_xticks(sizes, [size_text(s) for s in sizes])
        axis.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f'{v:g}'))
        axis.grid(True, color=GRID)
        axis.set_title('GET with io-threads 2: µs of main-thread CPU per command, by value size '
                       '(pipelines of 16; 1 MB without)')
        figure.tight_layout()
        self.legend(figure, axis)
        self.save(figure, 'offload')

    def latency(self):
        variants = [v for v in ('1 thread', '2 threads') if self.have('latency', ['small GET'], 'p999_ms', v)]
        if not variants:
            return
        figure, axes = plt.subplots(1, len(variants), figsize=(5.3 * len(variants), 3.3), squeeze=False, sharey=True)
        for axis, variant in zip(axes.flat, variants):
            series = [(self.label(n), self.colours[n],
                       [self.records.values(f, 'latency', 'small GET', n, variant)
                        for f in ('p50_ms', 'p99_ms', 'p999_ms')], None) for n in self.servers('latency')]
            self.bars(axis, ['median', 'p99', 'p99.9'], series, 1, '{:.2f}')
            axis.set_title(f'Small GETs beside 10 MB readers, {variant}: ms')
        figure.tight_layout()
        self.legend(figure, axes[0, 0])
        self.save(figure, 'latency')

    def memory(self):
        loads = self.have('memory', ['fill 16 B', 'fill 512 B'], 'bytes_per_key')
        if not loads:
            return
        height = 0.55 * len(self.servers('memory')) + 0.9
        figure, axes = plt.subplots(1, len(loads), figsize=(10.5, height), squeeze=False)
        for axis, load in zip(axes.flat, loads):
            payload = 16 + int(load.split()[1])
            names = self.servers('memory')[::-1]
            for y, name in enumerate(names):
                value = self.records.median('bytes_per_key', 'memory', load, name)
                axis.barh(y, payload, 0.6, color=self.colours[name])
                axis.barh(y, max(0, value - payload), 0.6, left=payload, color=self.colours[name], alpha=0.4)
                axis.text(value, y, f'  {value:.0f} B', va='center', fontsize=9)
            axis.set_yticks(range(len(names)), [self.label(n) for n in names], color=INK)
            axis.set_title(f'16 B key + {load.split()[1]} B value (strong: payload)')
            axis.set_xlim(right=axis.get_xlim()[1] * 1.1)
            axis.set_xticks([])
            axis.spines['bottom'].set_visible(False)
        figure.tight_layout()
        self.save(figure, 'memory')

    def cost_model(self):
        inputs = cost_inputs(self.results)
        loads = [w for w in ('GET P16', 'GET 50 clients') if any(i[1] == w for i in inputs)]
        if not loads:
            return
        figure, axes = plt.subplots(1, len(loads), figsize=(5.3 * len(loads), 3.9), squeeze=False)
        for axis, load in zip(axes.flat, loads):
            best = 0
            for name, _, main, io in (i for i in inputs if i[1] == load):
                curve = cost_curve(main, io)
                best = max(best, curve[-1][1] / 1e6)
                for part, style in (('I/O threads', ':'), ('main', '-')):
                    # The dotted part ends at the corner at which the solid one begins.
                    edge = threads_to_saturate(main, io)
                    points = [(n, r / 1e6) for n, r, by in curve if by == part or part == 'I/O threads' and n == edge]
                    if points:
                        axis.plot(*zip(*points), style, color=self.colours[name], linewidth=2.2,
                                  label=self.label(name) if part == 'main' else None)
                n = threads_to_saturate(main, io)
                if n <= 32:
                    axis.plot([n], [curve[n - 1][1] / 1e6], 'o', color=self.colours[name], markersize=6)
                    axis.annotate(f'{n} I/O thread{"s" if n > 1 else ""}: main is full', (n, curve[n - 1][1] / 1e6),
                                  textcoords='offset points', xytext=(8, 6), fontsize=8, color=FAINT)
                else:
                    axis.plot([], [], color=self.colours[name], label=self.label(name))
            axis.set_title(f'{load}: million requests/s')
            axis.set_xlabel('I/O threads, each with a core of its own')
            axis.set_xlim(0, 32.5)
            axis.set_ylim(0, best * 1.18)
            axis.grid(True, color=GRID)
        figure.tight_layout()
        handles = [plt.Line2D([], [], color=self.colours[n], linewidth=2.2, label=self.label(n))
                   for n in self.records.servers() if any(i[0] == n for i in inputs)]
        handles += [plt.Line2D([], [], color=FAINT, linestyle=s, label=f'limited by {t}')
                    for s, t in ((':', 'I/O threads'), ('-', 'main'))]
        figure.legend(handles=handles, loc='lower left', bbox_to_anchor=(0.01, 0.995), ncols=6, columnspacing=1.4,
                      borderaxespad=0)
        self.save(figure, 'cost_model')

    def mixed(self):
        variants = [v for v in ('1 thread', '2 threads') if self.have('mixed', ['mixed'], 'rps', v)]
        if not variants:
            return
        figure, axes = plt.subplots(1, 2, figsize=(10.5, 3.2))
        for axis, field, title, unit in ((axes[0], 'rps', 'thousand commands/s', 1000),
                                         (axes[1], 'cpu_ns', 'ns of server CPU per command', 1)):
            series = [(self.label(n), self.colours[n],
                       [self.records.values(field, 'mixed', 'mixed', n, v) for v in variants],
                       [self.records.limited('mixed', 'mixed', n, v) for v in variants] if field == 'rps' else None)
                      for n in self.servers('mixed')]
            self.bars(axis, variants, series, unit)
            axis.set_title(f'7 GET, 2 SET, 1 MGET: {title}')
        figure.tight_layout()
        self.legend(figure, axes[0])
        self.save(figure, 'mixed')

    def idle(self):
        names = [n for n in self.servers('idle')]
        if not names:
            return
        figure, axis = plt.subplots(figsize=(8, 0.5 * len(names) + 0.8))
        for y, name in enumerate(names[::-1]):
            value = self.records.median('cpu_percent', 'idle', '1000 idle', name, '9 threads')
            axis.barh(y, value, 0.6, color=self.colours[name])
            axis.text(value, y, f'  {value:.2f} %', va='center', fontsize=9)
        axis.axvline(0.3, color=BAR, linewidth=1.1, linestyle=(0, (4, 3)))
        axis.set_yticks(range(len(names)), [self.label(n) for n in names[::-1]], color=INK)
        axis.set_xlim(0, max(0.36, axis.get_xlim()[1] * 1.12))
        axis.set_title('1,000 idle connections, io-threads 9: % of a core (bar: 0.3 %)')
        figure.tight_layout()
        self.save(figure, 'idle')

    def micro(self):
        rows = self.results.get('micro') or []
        pages = [p for p in ('small', 'huge') if micro_keys(rows, p)]
        if not pages:
            return
        figure, axes = plt.subplots(1, len(pages), figsize=(5.3 * len(pages), 3.5), squeeze=False, sharey=True)
        for axis, page in zip(axes.flat, pages):
            sizes = micro_keys(rows, page)
            shades = ['#99d5cf', '#3f9d95', OUR_COLOUR][-len(sizes):]
            for keys, colour in zip(sizes, shades):
                curve = micro_curve(rows, keys, page)
                axis.plot(range(len(curve)), curve.values(), marker='o', markersize=4.5, linewidth=2, color=colour,
                          label=f'{keys // 1_000_000}M keys')
                axis.set_xticks(range(len(curve)), ['find' if b == 1 else b for b in curve])
            axis.set_title(f'dict: ns per key by batch, {page} pages')
            axis.set_xlabel('keys looked up in turns')
            axis.set_ylim(bottom=0)
            axis.grid(True, color=GRID)
            axis.legend(loc='upper right')
        figure.tight_layout()
        self.save(figure, 'micro')

    # ---- Data types --------------------------------------------------------------------------------------------------
    def rows_by_server(self, name, rows):
        """Bars by server: a row of them for each (title, experiment, loads, variant, field, unit, digits) that was
        measured. The part of a load's name after a comma is not shown."""
        rows = [(t, e, self.have(e, loads, field, v), v, field, unit, digits)
                for t, e, loads, v, field, unit, digits in rows]
        rows = [r for r in rows if r[2]]
        if not rows:
            return
        figure, axes = plt.subplots(len(rows), 1, figsize=(10.5, 3.0 * len(rows)), squeeze=False)
        for axis, (title, experiment, loads, variant, field, unit, digits) in zip(axes[:, 0], rows):
            series = [(label, colour, [[v / unit for v in cell] for cell in cells], None)
                      for label, colour, cells, _ in self.by_server(field, experiment, loads, variant)]
            self.bars(axis, [load.split(',')[0] for load in loads], series, digits=digits, text_size=7)
            axis.set_title(title)
        figure.tight_layout()
        self.legend(figure, axes[0, 0])
        self.save(figure, name)

    def types(self):
        small = ('LPUSH', 'RPUSH', 'LPOP', 'RPOP', 'SADD', 'HSET', 'XADD', 'INCR')
        large = ('SPOP', 'ZADD', 'ZPOPMIN', 'MSET', 'LRANGE_100', 'LRANGE_300', 'LRANGE_500', 'LRANGE_600')
        title = 'server CPU per request, one thread, pipelines of 16'
        self.rows_by_server('types', [(f'ns of {title}', 'types', small, '1 thread', 'cpu_ns', 1, '{:,.0f}'),
                                (f'µs of {title}', 'types', large, '1 thread', 'cpu_ns', 1000, '{:,.1f}')])

    def types_main(self):
        self.rows_by_server('types_main', [('ns on the main thread per command, io-threads 2, pipelines of 16', 'types_main',
                                      SIMPLE, '2 threads', 'main_ns', 1, '{:,.0f}')])

    def large_values(self):
        self.rows_by_server('large_values', [
            ('All of 1,000 elements: µs of server CPU', 'whole', ('HGETALL', 'SMEMBERS', 'ZRANGE', 'LRANGE'), '',
             'cpu_ns', 1000, '{:,.0f}'),
            ('A sorted set of 1M members: µs of server CPU', 'zset',
             ('ZADD new', 'ZADD present', 'ZRANK', 'ZRANGEBYSCORE 100'), '', 'cpu_ns', 1000, '{:,.1f}'),
            ('Two of 1M members: ms of server CPU', 'algebra', ('SINTER', 'ZUNIONSTORE'), '', 'cpu_ns', 1e6, '{:,.0f}')])

    def nested(self):
        shapes = [(title, [f'{name} {shape}' for name in ('HGET', 'HSET', 'SISMEMBER', 'ZSCORE')])
                  for shape, title in (('small', '10M small values'), ('table', 'one value of 10M elements'))]
        shapes = [(title, self.have('nested', loads, 'rps', '16')) for title, loads in shapes]
        shapes = [(title, loads) for title, loads in shapes if loads]
        if not shapes:
            return
        figure, axes = plt.subplots(1, len(shapes), figsize=(5.3 * len(shapes), 3.3), squeeze=False, sharey=True)
        for axis, (title, loads) in zip(axes.flat, shapes):
            series = [(label, colour, self.cells('rps', 'nested', loads, OURS, batch), None)
                      for label, colour, batch in (('one after another', '#94a3b8', '0'), ('in turns', OUR_COLOUR, '16'))]
            self.bars(axis, [load.split()[0] for load in loads], series, 1000)
            axis.set_title(f'{title}: thousand requests/s')
        figure.tight_layout()
        self.legend(figure, axes[0, 0])
        self.save(figure, 'nested')

    def type_memory(self):
        names = ('list', 'hash', 'set', 'sorted set', 'stream')
        self.rows_by_server('type_memory', [
            ('1M elements in one key: bytes of resident memory each', 'type_memory',
             [f'{n}, one key' for n in names], '', 'bytes_per_key', 1, '{:,.0f}'),
            ('1M keys of 10 elements: bytes each', 'type_memory', [f'{n}, many keys' for n in names[:4]], '',
             'bytes_per_key', 1, '{:,.0f}')])

    def all(self):
        for draw in (self.cpu_by_size, self.no_pipeline, self.instructions, self.rps_by_threads, self.main_thread,
                     self.role,
                     self.prefetch, self.many_keys, self.offload, self.latency, self.memory, self.cost_model,
                     self.mixed, self.idle, self.micro, self.types, self.types_main, self.large_values, self.nested,
                     self.type_memory):
            try:
                draw()
            except Exception as error:  # a plot that fails must not prevent the report
                print(f'plots: {draw.__name__}: {error!r}', file=sys.stderr)


if __name__ == '__main__':
    directory = Path(sys.argv[1])
    Plots(json.loads((directory / 'results.json').read_text()), directory).all()
