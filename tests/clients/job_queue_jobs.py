"""job_queue_jobs.py -- the jobs that the worker of job_queue.py runs: it imports them by name.

SPDX-License-Identifier: BSD-3-Clause
"""


def add(a, b):
    return a + b


def fail():
    raise ValueError("as it should")
