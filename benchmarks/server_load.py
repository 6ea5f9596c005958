"""The server under load: many streaming clients at once for a minute, every answer checked.

    python benchmarks/server_load.py [--clients 64] [--seconds 60] [--url URL] [--output FILE] [-- OPTIONS OF SERVE]

Without ``--url`` it starts ``tokenstile serve`` with the default options, on a port of its own, waits until it is up,
and ends it afterwards. The clients are OpenAI's; what they ask for and how it is checked is in `tests.server.load`. It
exits with 1 if any answer was wrong or an error.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY))

import machine  # noqa: E402 - beside this file
from tests.server.load import Report, load  # noqa: E402 - of this checkout

STARTUP_SECONDS = 120


@contextlib.contextmanager
def serving(options: list[str]) -> Iterator[str]:
    """Start a server, and give its address once it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "tokenstile",
        "serve",
        "--port",
        str(port),
        "--log-level",
        "warning",
        *options,
    ]
    started = time.monotonic()
    server = subprocess.Popen(command)
    try:
        address = f"http://127.0.0.1:{port}"
        while not is_up(address):
            if server.poll() is not None or time.monotonic() - started > STARTUP_SECONDS:
                sys.exit("the server did not start")
            time.sleep(0.1)
        print(f"the server was up after {time.monotonic() - started:.1f} s")
        yield address
    finally:
        server.terminate()
        server.wait()


def is_up(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/health") as answer:  # noqa: S310 - our own server
            return bool(answer.status == 200)
    except (urllib.error.URLError, ConnectionError):
        return False


def summary(report: Report, clients: int, seconds: float) -> dict[str, object]:
    """Give the figures for a file of results."""
    ordered = {"first": sorted(report.firsts), "whole": sorted(report.wholes)}
    return {
        "about": machine.describe(),
        "clients": clients,
        "seconds": round(seconds, 1),
        "answers": report.answers,
        "errors": len(report.errors),
        "tokens_per_second": round(report.tokens / seconds, 1),
        **{f"{name}_p50_s": round(times[len(times) // 2], 2) for name, times in ordered.items() if times},
        **{
            f"{name}_p95_s": round(times[int(len(times) * 0.95)], 2)
            for name, times in ordered.items()
            if times
        },
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--url", help="a server that runs already")
    parser.add_argument("--output", type=Path, help="write the figures to this file")
    parser.add_argument("options", nargs="*", help="options of tokenstile serve, after --")
    chosen = parser.parse_args()
    place = contextlib.nullcontext(chosen.url) if chosen.url else serving(chosen.options)
    with place as address:
        started = time.monotonic()
        report = asyncio.run(load(address, chosen.clients, chosen.seconds))
        seconds = time.monotonic() - started
    print(report.line(seconds))
    for error, count in Counter(report.errors).most_common(10):
        print(f"{count} x {error}")
    if chosen.output:
        chosen.output.write_text(
            json.dumps(summary(report, chosen.clients, seconds), indent=1) + "\n", encoding="utf-8"
        )
    sys.exit(1 if report.errors or not report.answers else 0)


if __name__ == "__main__":
    main()
