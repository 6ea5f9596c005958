"""Watches a server from a process of its own, which does nothing else: how long ``/health`` waits, and what it holds.

``python -m tests.server.watch HOST PORT PID`` prints a line of JSON when its input ends.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import select
import subprocess
import sys
import time
from pathlib import Path

from tests.server.process import ROOT

PATIENCE = 120.0


def ask(host, port):
    """Give what is wrong with an answer, or nothing."""
    connection = http.client.HTTPConnection(host, port, timeout=PATIENCE)
    try:
        connection.request("GET", "/health", headers={"Host": "localhost", "Connection": "close"})
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException) as error:
        return repr(error)
    finally:
        connection.close()
    return "" if answer.status == 200 else f"status {answer.status}"


def memory(pid):
    """Bytes that a process holds."""
    return int(re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())[1]) << 10


@contextlib.contextmanager
def watching(server):
    """Watch a server; gives a dictionary that has ``waits``, ``memory`` and ``errors`` at the end."""
    told = {}
    command = [sys.executable, "-m", "tests.server.watch", *server.place, str(server.process.pid)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        yield told
        told |= json.loads(process.communicate(timeout=PATIENCE)[0])


def main():
    host, port, pid = sys.argv[1:]
    told = {"waits": [], "memory": [], "errors": []}
    while not select.select([sys.stdin], [], [], 0.05)[0]:
        started = time.monotonic()
        wrong = ask(host, int(port))
        told["waits"].append(time.monotonic() - started)
        told["memory"].append(memory(pid))
        if wrong:
            told["errors"].append(f"/health: {wrong}")
    json.dump(told, sys.stdout)


if __name__ == "__main__":
    main()
