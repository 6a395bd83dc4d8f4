"""report.py -- write an HTML page, the headline table as text and CSV, and the micro-benchmarks as CSV.

The page shows the plots in its folder; a missing plot is left out. All of it is made of results.json, the only file with
the measurements of each run.

SPDX-License-Identifier: BSD-3-Clause
"""
import html
from itertools import groupby

import figures
from stats import figure_text, limited_by, median, predicted_rps, text_table, threads_to_saturate, to_csv

FIGURE_COLUMNS = ['row', 'what', 'part', 'value', 'low', 'high', 'direction', 'bar', 'unit', 'reached', 'note']

# Plot, title, text.
THEMES = [
    ('cpu_by_size', 'What a request costs, by value size',
     'CPU time of the whole server per request, one thread, pipelines of 16. Lower is better; the thin line is the '
     'range of the rounds.'),
    ('no_pipeline', 'Without a pipeline', 'Here the kernel does most of the work: one read and one write per request.'),
    ('instructions', 'Instructions', 'User-space instructions per command, counted by callgrind for the measured part '
     'only. The dashed line is the bar.'),
    ('main_thread', 'The main thread', 'With I/O threads, main is what cannot be multiplied: its CPU per command '
     'decides what a large machine can reach.'),
    ('role', 'What threads cost where they cannot help', 'Two processors that the clients share. A thread that has '
     'commands executes them itself while nobody else does, so nine threads cost what one does.'),
    ('cost_model', 'Cost model', 'Predicted from the measured cost of main and of the I/O threads per command, were '
     'each thread to have a core of its own and the network no limit: the smaller of 1 / main and n / I/O. Dotted '
     'where the I/O threads limit, solid where main does.'),
    ('rps_by_threads', 'More threads than cores', 'Requests per second on this machine, generator included. Threads '
     'that spin take the cores from those that work. Hatched: the generator was the limit.'),
    ('prefetch', 'Prefetching', 'Keys of a batch are looked up in turns, so that their cache misses overlap. A hot key '
     'has no misses; there, prefetching must cost nothing.'),
    ('many_keys', 'Commands of many keys', 'MGET and MSET prefetch within one command.'),
    ('offload', 'Large strings', 'A reply refers to its value; whoever writes to the socket sends it from where it '
     'lies. So main pays the same for every size.'),
    ('latency', 'Small requests beside large ones', 'GETs of 512 B, 4,000 a second, while four clients read a 10 MB '
     'value 50 times a second.'),
    ('memory', 'Memory', 'Growth of resident memory over a fill, divided by the keys.'),
    ('types', 'What commands on values cost', 'The default tests of valkey-benchmark: they find a million elements '
     'in one value, or make them.'),
    ('types_main', 'Values and the main thread', 'The same commands, where only one thread may execute.'),
    ('large_values', 'Large values', 'All of a value in one reply, a sorted set of a million, and two large values in one '
     'command.'),
    ('nested', 'Looking ahead into values', 'A batch goes on from its keys into the tables of fields and members that '
     'are behind them. Without it each command waits for its own cache misses.'),
    ('type_memory', 'Memory of values', 'Growth of resident memory over a fill, divided by elements or keys. Streams '
     'of ten entries a key (a tenth of the peers\' memory) are in the table only.'),
    ('mixed', 'A mixed load', 'Reads, writes and multi-key reads in one pipeline.'),
    ('idle', 'Doing nothing', 'What 1,000 open connections cost a server with nine threads.'),
    ('micro', 'The dict by itself', 'Time per lookup, one key after another and in interleaved batches.'),
]

STYLE = '''
:root { --ink: #1f2933; --soft: #52606d; --faint: #7b8794; --line: #e4e7eb; --page: #f7f8fa; --card: #fff;
        --good: #0f766e; --good-bg: #ccfbf1; --bad: #b42318; --bad-bg: #fee4e2; --none-bg: #eef0f3; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
       font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; }
main { max-width: 1080px; margin: 0 auto; padding: 48px 24px 80px; }
h1 { font-size: 34px; line-height: 1.15; margin: 0 0 8px; letter-spacing: -0.02em; }
h2 { font-size: 21px; margin: 0 0 4px; letter-spacing: -0.01em; }
p { margin: 0 0 12px; color: var(--soft); max-width: 75ch; }
.lead { font-size: 18px; }
.tiles { display: flex; flex-wrap: wrap; gap: 14px; margin: 26px 0 34px; }
.tile { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 16px 20px;
        flex: 1 1 180px; }
.tile b { display: block; font-size: 28px; line-height: 1.2; letter-spacing: -0.02em; color: var(--good); }
.tile span { color: var(--faint); font-size: 14px; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 14px; padding: 24px 26px;
          margin: 0 0 22px; }
section img { width: 100%; max-width: 1010px; height: auto; display: block; margin: 8px auto 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 14.5px; }
th { text-align: left; color: var(--faint); font-weight: 600; font-size: 12.5px; padding: 8px 10px;
     border-bottom: 2px solid var(--line); white-space: nowrap; }
td { padding: 6px 10px; border-bottom: 1px solid var(--line); vertical-align: top; }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.value { font-weight: 650; }
td.row { font-weight: 700; color: var(--faint); }
td.what { max-width: 300px; }
td.note { color: var(--faint); font-size: 13px; }
tr.first td { border-top: 1px solid #cbd2d9; }
.mark { display: inline-block; border-radius: 999px; padding: 1px 10px; font-size: 12.5px; font-weight: 650;
        white-space: nowrap; }
.yes { background: var(--good-bg); color: var(--good); }
.no { background: var(--bad-bg); color: var(--bad); }
.none { background: var(--none-bg); color: var(--faint); }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 4px 22px; margin: 10px 0 0; font-size: 14.5px; }
dt { color: var(--faint); } dd { margin: 0; }
code { font-size: 0.92em; background: var(--none-bg); border-radius: 5px; padding: 1px 5px; }
ul { margin: 6px 0 0; padding-left: 20px; color: var(--soft); }
nav { display: flex; flex-wrap: wrap; gap: 6px 16px; margin: 0 0 22px; font-size: 14px; }
a { color: var(--good); text-decoration: none; } a:hover { text-decoration: underline; }
@media print { body { background: #fff; } section, .tile { break-inside: avoid; } }
'''

METHOD = '''All servers are filled before a measurement and then visited in turns, round after round, while the others
are stopped by a signal; figures are medians of the rounds, ratios are taken within a round, and the range over the
rounds is shown. Every server is driven by the same generator, this project's <code>valkey-benchmark</code>, over
loopback on the same machine. Server CPU is what the scheduler itself accounts to the threads of the process
(<code>/proc/PID/task/*/schedstat</code>), divided by the commands that the server counted; the main thread's is that of
its first thread. A run in which the generator used 95 % or more of a core is marked: its requests per second are the
generator's limit, while CPU per request stays valid. User instructions are counted by callgrind, switched on for the
load only. Memory per key is the growth of resident memory over a fill.'''


def esc(value):
    return html.escape(str(value))


def verdict(row):
    if row['reached'] is None:
        return 'not measured' if row['value'] is None else 'measured'
    return 'reached' if row['reached'] else 'not reached'


def mark(row):
    kind = {True: 'yes', False: 'no', None: 'none'}[row['reached']]
    return f'<span class="mark {kind}">{verdict(row)}</span>'


def bar_text(row):
    if row['bar'] is None:
        return 'none'
    sign = {'<=': '≤', '>=': '≥', '<': '<'}[row['direction']]
    bar = f'{row["bar"]:,.2f}' if row['unit'] == 'x' else f'{row["bar"]:,} {row["unit"]}'
    return f'{sign} {bar}'.rstrip()


def range_text(row):
    if not row['spread'] or row['spread'][0] == row['spread'][1]:
        return ''
    low, high = (figure_text(v, '' if row['unit'] != 'x' and row['unit'] != '%' else 'x') for v in row['spread'])
    return f'{low} … {high}'


def headline_html(rows):
    out = ['<div class="scroll"><table><tr><th>#</th><th>what</th><th></th><th class="n">value</th>'
           '<th class="n">range</th><th class="n">bar</th><th></th><th>measured</th></tr>']
    for (row, what), parts in groupby(rows, key=lambda r: (r['row'], r['what'])):
        parts = list(parts)
        for i, p in enumerate(parts):
            head = f'<td class="row" rowspan="{len(parts)}">{row}</td>' \
                   f'<td class="what" rowspan="{len(parts)}">{esc(what)}</td>' if i == 0 else ''
            out.append(f'<tr{" class=first" if i == 0 else ""}>{head}<td>{esc(p["part"])}</td>'
                       f'<td class="n value">{esc(figure_text(p["value"], p["unit"]))}</td>'
                       f'<td class="n">{esc(range_text(p))}</td><td class="n">{esc(bar_text(p))}</td>'
                       f'<td>{mark(p)}</td><td class="note">{esc(p["note"])}</td></tr>')
    return '\n'.join(out + ['</table></div>'])


def tiles(results, rows):
    """The few most important figures."""
    found = []
    measured = [r for r in rows if r['value'] is not None]
    judged = [r['reached'] for r in rows if r['reached'] is not None]
    if judged:
        found.append((f'{sum(judged)} of {len(judged)}', 'bars reached'))

    def add(row, part, text, words):
        figure = next((r for r in measured if r['row'] == row and r['part'] == part), None)
        if figure:
            found.append((text(figure['value']), words))
    add('1', 'GET', lambda v: f'{1 / v:.1f} ×', 'GETs per second of CPU, against the better peer')
    add('3', 'GET', lambda v: f'{v:.0f} ns', 'of main thread per GET, with an I/O thread')
    add('9', 'ours / peer', lambda v: f'{v:.1f} ×', 'MGETs of 100 keys per second')
    add('12', 'one thread', lambda v: f'{1 / v:.1f} ×', 'lower p99.9 beside 10 MB readers')
    add('6', '16 B + 512 B', lambda v: f'{v:.0f} B', 'per key of 16 B with a value of 512 B')
    return ''.join(f'<div class="tile"><b>{esc(v)}</b><span>{esc(w)}</span></div>' for v, w in found[:6])


def model_html(results):
    inputs = figures.cost_inputs(results)
    if not inputs:
        return ''
    out = ['<div class="scroll"><table><tr><th>load</th><th>server</th><th class="n">main, ns</th>'
           '<th class="n">I/O threads, ns</th><th class="n">threads that fill main</th>'
           + ''.join(f'<th class="n">{n} I/O</th>' for n in (1, 2, 4, 8, 16, 32)) + '</tr>']
    for name, load, main, io in inputs:
        need = threads_to_saturate(main, io)
        cells = ''.join(f'<td class="n">{predicted_rps(main, io, n) / 1e6:.2f} M'
                        f'{"" if limited_by(main, io, n) == "main" else " ·"}</td>' for n in (1, 2, 4, 8, 16, 32))
        out.append(f'<tr><td>{esc(load)}</td><td>{esc(name)}</td><td class="n">{main:,.0f}</td>'
                   f'<td class="n">{io:,.0f}</td><td class="n">{need}</td>{cells}</tr>')
    return '\n'.join(out + ['</table></div><p>· limited by the I/O threads; else by main. Threads that spin are '
                            'charged for it, as they would be on a machine that others use too.</p>'])


def runs_html(results):
    """Every load with its medians, as a table."""
    def key(r):
        return (r['experiment'], r['load'], r['server'], r['variant'])
    groups = {}
    for r in results['records']:
        if r.get('rps') is not None:
            groups.setdefault(key(r), []).append(r)
    if not groups:
        return ''
    out = ['<section><h2>All loads</h2><p>Medians of the rounds. A star marks loads in which the generator was the '
           'limit.</p><details><summary>Show the table</summary><div class="scroll"><table><tr><th>experiment</th>'
           '<th>load</th><th>server</th><th></th><th class="n">requests/s</th><th class="n">server ns</th>'
           '<th class="n">main ns</th><th class="n">p50 ms</th><th class="n">p99 ms</th>'
           '<th class="n">generator CPU</th></tr>']
    for (experiment, load, server, variant), runs in groups.items():
        def mid(field, form, runs=runs):
            value = median([r.get(field) for r in runs])
            return '' if value is None else form.format(value)
        star = ' *' if sum(r['generator_limited'] for r in runs) * 2 >= len(runs) else ''
        out.append(f'<tr><td>{esc(experiment)}</td><td>{esc(load)}</td><td>{esc(server)}</td><td>{esc(variant)}</td>'
                   f'<td class="n">{mid("rps", "{:,.0f}")}{star}</td><td class="n">{mid("cpu_ns", "{:,.0f}")}</td>'
                   f'<td class="n">{mid("main_ns", "{:,.0f}")}</td><td class="n">{mid("p50_ms", "{:.2f}")}</td>'
                   f'<td class="n">{mid("p99_ms", "{:.2f}")}</td>'
                   f'<td class="n">{mid("generator_cpu", "{:.0%}")}</td></tr>')
    return '\n'.join(out + ['</table></div></details></section>'])


def micro_html(results):
    rows = results.get('micro') or []
    if not rows:
        return ''
    out = ['<section><h2>Micro-benchmarks</h2><p>Single parts, without a server (<code>make microbench</code>).</p>'
           '<details><summary>Show the table</summary><div class="scroll"><table>'
           '<tr><th>part</th><th>case</th><th class="n">value</th><th>unit</th></tr>']
    out += [f'<tr><td>{esc(r["name"])}</td><td>{esc(r["parameter"])}</td><td class="n">{r["value"]:,.2f}</td>'
            f'<td>{esc(r["unit"])}</td></tr>' for r in rows]
    return '\n'.join(out + ['</table></div></details></section>'])


def remarks_html(rows, folder):
    """Why a goal was missed: `remarks.txt` beside the report, written by hand, one line for each: row | text."""
    missed = {r['row'] for r in rows if r['reached'] is False}
    out = []
    path = folder / 'remarks.txt'
    for line in path.read_text().splitlines() if path.exists() else []:
        row, _, words = (part.strip() for part in line.partition('|'))
        if row in missed:
            out.append(f'<li><b>{esc(row)}</b> {esc(words)}</li>')
    return '<section><h2>Where a bar is missed, and why</h2><ul>' + ''.join(out) + '</ul></section>' if out else ''


def facts_html(pairs):
    return '<dl>' + ''.join(f'<dt>{esc(k)}</dt><dd>{esc(v)}</dd>' for k, v in pairs if v) + '</dl>'


def page(results, folder):
    rows = figures.headline(results)
    shown = [(n, t, w) for n, t, w in THEMES if (folder / f'{n}.png').exists()]
    products = [f'{p["name"]} {p["version"]}'.strip() for p in results['products']]
    kind = {'quick': 'This was a quick run: few rounds, fewer keys; its figures are rough.',
            'partial': 'This was a partial run: only some experiments.'}.get(results.get('kind'), '')
    parts = [f'<!doctype html><html lang="en"><head><meta charset="utf-8">'
             f'<meta name="viewport" content="width=device-width, initial-scale=1"><title>Benchmark report</title>'
             f'<style>{STYLE}</style></head><body><main><h1>Benchmark report</h1>',
             f'<p class="lead">{esc(", ".join(products))}, side by side in one run on '
             f'{esc(results["machine"].get("processors", "?"))} processors, '
             f'{esc(results["machine"].get("date", ""))}. {esc(kind)}</p>',
             f'<div class="tiles">{tiles(results, rows)}</div>',
             '<nav><a href="#bars">Bars</a>' + ''.join(f'<a href="#{n}">{esc(t)}</a>' for n, t, _ in shown) +
             '<a href="#method">Method</a></nav>',
             '<section id="bars"><h2>The bars</h2><p>What was set out to be reached, and what was measured. Of several '
             f'peers the better one counts.</p>{headline_html(rows)}</section>', remarks_html(rows, folder)]
    for name, title, words in shown:
        extra = model_html(results) if name == 'cost_model' else ''
        parts.append(f'<section id="{name}"><h2>{esc(title)}</h2><p>{esc(words)}</p>'
                     f'<img alt="{esc(title)}" src="{name}.png" loading="lazy">{extra}</section>')
    parts += [runs_html(results), micro_html(results),
              f'<section id="method"><h2>Method</h2><p>{METHOD}</p>{facts_html(results["machine"].items())}</section>']
    notes = list(dict.fromkeys(results['notes']))
    if notes:
        parts.append('<section><h2>Notes of this run</h2><ul>' + ''.join(f'<li>{esc(n)}</li>' for n in notes) +
                     '</ul></section>')
    parts.append('<p>Raw figures: <a href="results.json">results.json</a>, <a href="figures.csv">figures.csv</a>, '
                 '<a href="micro.csv">micro.csv</a>.</p></main></body></html>')
    return '\n'.join(p for p in parts if p) + '\n'


def figure_rows(results):
    return [{**r, 'low': r['spread'] and r['spread'][0], 'high': r['spread'] and r['spread'][1]}
            for r in figures.headline(results)]


def write(results, folder):
    (folder / 'figures.csv').write_text(to_csv(figure_rows(results), FIGURE_COLUMNS))
    (folder / 'micro.csv').write_text(to_csv(results.get('micro') or [], ['name', 'parameter', 'value', 'unit']))
    (folder / 'figures.txt').write_text(text(results))
    (folder / 'index.html').write_text(page(results, folder))


def text(results):
    """The headline table for a terminal."""
    return text_table([{'#': r['row'], 'part': f'{r["what"]}: {r["part"]}', 'value': figure_text(r['value'], r['unit']),
                        'bar': bar_text(r), 'result': verdict(r).replace('not reached', 'NOT reached'), 'measured': r['note']}
                       for r in figures.headline(results)], ['#', 'part', 'value', 'bar', 'result', 'measured'])
