"""A server with a model without weights in a process of its own: to be ended, starved of files, or weighed.

``python -m tests.server.process '{"settings": {...}}'`` prints its address and serves until it is told to stop.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path

from tests.stub_model import StubModel

ROOT = Path(__file__).parents[2]


class SlowModel(StubModel):
    """Takes its time for each step."""

    def __init__(self, *arguments, delay=0.0, **options):
        super().__init__(*arguments, **options)
        self._delay = delay

    def forward(self, feeds):
        time.sleep(self._delay)
        return super().forward(feeds)


class Running:
    """A process that serves."""

    def __init__(self, process, address, log):
        self.process, self.address, self.log = process, address, log

    @property
    def place(self):
        """Its host and port."""
        return self.address.removeprefix("http://").split(":")

    def said(self):
        """What is in its log."""
        return self.log.read_text(errors="replace")


@contextlib.contextmanager
def served(folder, *, settings=None, files=None, **model):
    """Serve from a process; ``files`` bounds the files that it may have open."""
    log = folder / "server.log"
    given = json.dumps({"settings": settings or {}, "model": model, "files": files})
    command = [sys.executable, "-m", "tests.server.process", given]
    paths = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    with log.open("wb") as stderr:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=stderr, cwd=ROOT, env=environment)
        try:
            address = process.stdout.readline().decode().strip()
            assert address, log.read_text()
            yield Running(process, address, log)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def main():
    from tokenstile.engine import Engine
    from tokenstile.server import ChatTemplate, ServerConfig, create_app
    from tokenstile.server.listening import make_server
    from tokenstile.structured_output import StructuredOutputManager

    given = json.loads(sys.argv[1])
    if given["files"]:
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, (given["files"], given["files"]))
    model = SlowModel(**{"answer": "yes", **given["model"]})
    config = ServerConfig(model_name="stub", **given["settings"])
    manager = StructuredOutputManager(model.tokenizer_info, cache_limit_bytes=32 << 20)
    app = create_app(Engine(model, manager=manager), ChatTemplate("{{ messages[0].content }}"), config)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        sys.stdout.write("http://{}:{}\n".format(*listener.getsockname()))
        sys.stdout.flush()
        make_server(app, log_level="info").run(sockets=[listener])


if __name__ == "__main__":
    main()
