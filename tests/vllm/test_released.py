"""Reading the Python files out of a wheel, without a registry: a server on this machine has a small one."""

from __future__ import annotations

import hashlib
import io
import os
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from tests.vllm.released import RELEASES, ChangedError, NotThereError, Release, _hash, python_files, unpack

FILES = {"vllm/__init__.py": b"here = 1\n" * 999, "vllm/deep/one.py": b"", "vllm/_C.so": os.urandom(5 << 20)}


def wheel(files, **changed):
    """A wheel with a list of its files, and the hash of that list; some files are others than the list says."""
    record = "".join(f"{name},{_hash(content)},{len(content)}\n" for name, content in files.items())
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as made:
        for name, content in {**files, **changed}.items():
            made.writestr(name, content)
        made.writestr("vllm-9.9.dist-info/RECORD", record)
    return file.getvalue(), hashlib.sha256(record.encode()).hexdigest()


@pytest.fixture
def serve():
    """Serve some bytes, whole or in ranges; gives the address, and how many bytes were asked for."""
    servers = []

    def start(content, *, ranges=True):
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                first, _, last = self.headers["Range"].removeprefix("bytes=").partition("-")
                piece = content[int(first) : int(last) + 1] if ranges else content
                sent.append(len(piece))
                self.send_response(206 if ranges else 200)
                self.send_header("Content-Range", f"bytes {first}-{last}/{len(content)}")
                self.end_headers()
                self.wfile.write(piece)

            def log_message(self, *_):
                pass

        sent: list[int] = []
        servers.append(HTTPServer(("127.0.0.1", 0), Handler))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}/", sent

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def test_only_the_python_files_are_read(serve, tmp_path):
    content, record = wheel(FILES)
    url, sent = serve(content)
    unpack(url, Release("9.9", "", record), tmp_path)
    found = {
        str(path.relative_to(tmp_path)): path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()
    }
    assert found == {name: content for name, content in FILES.items() if name.endswith(".py")}
    assert sum(sent) < len(content)


def test_what_is_not_the_release(serve, tmp_path):
    content, record = wheel(FILES, **{"vllm/deep/one.py": b"other"})
    url, _ = serve(content)
    with pytest.raises(ChangedError, match=r"vllm/deep/one\.py"):
        unpack(url, Release("9.9", "", record), tmp_path)
    with pytest.raises(ChangedError, match="list of files"):
        unpack(url, Release("9.9", "", "0" * 64), tmp_path)
    outside, record = wheel({"../outside.py": b"1"})
    url, _ = serve(outside)
    with pytest.raises(ChangedError, match="outside"):
        unpack(url, Release("9.9", "", record), tmp_path / "folder")
    assert not (tmp_path / "outside.py").exists()


def test_what_cannot_be_read(serve, tmp_path, monkeypatch):
    content, record = wheel(FILES)
    whole, _ = serve(content, ranges=False)
    with pytest.raises(NotThereError, match="only whole"):
        unpack(whole, Release("9.9", "", record), tmp_path)
    with pytest.raises(NotThereError, match="cannot be read"):
        unpack("http://127.0.0.1:1/", Release("9.9", "", record), tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(NotThereError, match=r"vLLM 0\.33\.0 cannot be found"):
        python_files("0.33.0", tmp_path / "files")
    assert not (tmp_path / "files").exists()
    assert "0.33.0" in RELEASES
