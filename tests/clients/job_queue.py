"""job_queue.py -- RQ: jobs, results, failures, retries and dependencies, with two workers. Started by job_queue.sh.

SPDX-License-Identifier: BSD-3-Clause
"""

import subprocess
import sys
import time
import traceback

import redis
from rq import Queue, Retry, Worker
from rq.command import send_shutdown_command

import job_queue_jobs as jobs

PORT, RQ = int(sys.argv[1]), sys.argv[2]
LOG = open(sys.argv[3], "w", encoding="utf-8")
URL = "redis://127.0.0.1:%d" % PORT


def within(seconds, condition):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.02)


def start_worker():
    return subprocess.Popen([RQ, "worker", "--url", URL, "--quiet", "high", "default"], stderr=LOG)


def blocked(c):
    return c.info("clients")["blocked_clients"]


def many_jobs(c, queue):
    todo = [queue.enqueue(jobs.add, i, 1000) for i in range(30)]
    within(60, lambda: all(job.is_finished for job in todo))
    assert [job.return_value() for job in todo] == [i + 1000 for i in range(30)]
    assert queue.count == 0 and len(queue.finished_job_registry) == 30


def order_of_queues(c, queue):
    """Jobs of the queue that is named first come first."""
    high = Queue("high", connection=c)
    within(30, lambda: blocked(c) == 2)
    later = [queue.enqueue(jobs.add, i, 0) for i in range(6)]
    first = high.enqueue(jobs.add, 7, 0)
    within(60, lambda: all(job.is_finished for job in later + [first]))
    for job in later + [first]:
        job.refresh()
    assert sorted(later + [first], key=lambda job: job.ended_at).index(first) < len(later)


def failures(c, queue):
    job = queue.enqueue(jobs.fail)
    again = queue.enqueue(jobs.fail, retry=Retry(max=2))
    within(60, lambda: job.is_failed and again.is_failed and len(queue.failed_job_registry) == 2)
    assert "as it should" in job.latest_result().exc_string
    again.refresh()
    assert not again.retries_left


def dependencies(c, queue):
    first = queue.enqueue(jobs.add, 1, 2)
    second = queue.enqueue(jobs.add, 3, 4, depends_on=first)
    third = queue.enqueue(jobs.add, 5, 6, depends_on=[first, second])
    within(60, lambda: third.is_finished)
    first.refresh()
    third.refresh()
    assert third.return_value() == 11 and first.ended_at <= third.started_at


def wait_for_the_next(c, queue):
    """The workers block in BLMOVE or BLPOP, and begin a job at once."""
    within(30, lambda: blocked(c) == 2)
    job = queue.enqueue(jobs.add, 20, 22)
    within(30, lambda: job.is_finished)
    assert job.return_value() == 42


def workers_stop_when_told(c, queue):
    """A worker gets the command through a channel."""
    workers = Worker.all(connection=c)
    assert len(workers) == 2
    for worker in workers:
        send_shutdown_command(c, worker.name)


TESTS = [many_jobs, order_of_queues, failures, dependencies, wait_for_the_next, workers_stop_when_told]


def main():
    c = redis.Redis(port=PORT)
    passed = failed = 0
    queue = Queue(connection=c)
    workers = [start_worker(), start_worker()]
    for test in TESTS:
        try:
            test(c, queue)
            passed += 1
        except Exception:
            failed += 1
            print("[fail] %s" % test.__name__)
            traceback.print_exc(file=sys.stdout)
    for worker in workers:
        try:
            worker.wait(timeout=30 if not failed else 1)
        except subprocess.TimeoutExpired:
            print("[fail] a worker does not stop")
            failed += 1
            worker.kill()
    print("%d passed, %d failed, 0 skipped" % (passed, failed))
    return 1 if failed else 0


sys.exit(main())
