"""stats.py -- the arithmetic of the benchmark suite: medians, spread, ratios, the cost model, tables as text.

Pure functions of numbers: nothing here starts a process or reads a file. Tests: selftest.py.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import io


def median(values):
    """The median; of an even count the mean of the two middle values; None if there is no value."""
    ordered = sorted(v for v in values if v is not None)
    if not ordered:
        return None
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


def spread(values):
    """(smallest, largest), or None if there is no value."""
    known = [v for v in values if v is not None]
    return (min(known), max(known)) if known else None


def ratios(ours, theirs):
    """The ratio of each round. Both runs of a round meet the same disturbances, which cancel out."""
    return [a / b for a, b in zip(ours, theirs) if a is not None and b]


def differences(with_it, without):
    """The difference of each round: the cost with an addition minus the cost without it."""
    return [a - b for a, b in zip(with_it, without) if a is not None and b is not None]


def per_command(total, commands):
    return total / commands if commands else None


def reached(value, bar, direction):
    """Whether the goal is reached; None without a measurement or a goal. direction is '<=', '<' or '>='."""
    if value is None or bar is None:
        return None
    return {'<=': value <= bar, '<': value < bar, '>=': value >= bar}[direction]


# ---- Cost model ------------------------------------------------------------------------------------------------------
def predicted_rps(main_ns, io_ns, threads):
    """Requests per second with this many I/O threads beside main, each thread having a core of its own.

    Main can execute 1/main_ns, n threads can serve n/io_ns; the smaller of the two is the result."""
    by_main = 1e9 / main_ns
    return by_main if io_ns <= 0 else min(by_main, threads * 1e9 / io_ns)


def limited_by(main_ns, io_ns, threads):
    """'main' or 'I/O threads': which of the two bounds predicted_rps()."""
    return 'main' if io_ns <= 0 or threads * 1e9 / io_ns >= 1e9 / main_ns else 'I/O threads'


def threads_to_saturate(main_ns, io_ns):
    """The fewest I/O threads that keep main busy."""
    return max(1, -int(-io_ns // main_ns))


def cost_curve(main_ns, io_ns, most=32):
    return [(n, predicted_rps(main_ns, io_ns, n), limited_by(main_ns, io_ns, n)) for n in range(1, most + 1)]


# ---- Text ------------------------------------------------------------------------------------------------------------
def to_csv(rows, columns):
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, extrasaction='ignore', lineterminator='\n')
    writer.writeheader()
    for row in rows:
        writer.writerow({c: compact(row.get(c)) for c in columns})
    return out.getvalue()


def compact(value):
    """A number for a CSV file, with no more digits than were measured."""
    if value is None:
        return ''
    if isinstance(value, bool):
        return 'yes' if value else 'no'
    return f'{value:.6g}' if isinstance(value, float) and abs(value) < 1e6 else \
        f'{value:.0f}' if isinstance(value, float) else value


def text_table(rows, columns):
    """Columns padded to their widest cell; numbers to the right."""
    cells = [list(columns)] + [[str(row.get(c, '')) for c in columns] for row in rows]
    widths = [max(len(r[i]) for r in cells) for i in range(len(columns))]
    lines = ['  '.join(c.ljust(w) for c, w in zip(r, widths)).rstrip() for r in cells]
    return '\n'.join([lines[0], '-' * max(map(len, lines))] + lines[1:]) + '\n'


def size_text(size):
    """16 B, 4 KB, 1 MB."""
    for unit, name in ((1 << 20, 'MB'), (1 << 10, 'KB')):
        if size >= unit and size % unit == 0:
            return f'{size // unit} {name}'
    return f'{size} B'


def figure_text(value, unit):
    """A value of the headline table, as people read it."""
    if value is None:
        return '-'
    if unit == 'x':
        return f'{value:.2f}'
    if unit == '%':
        return f'{value:.2f} %'
    return f'{value:,.0f} {unit}'.rstrip()
