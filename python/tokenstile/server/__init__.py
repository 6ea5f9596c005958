"""An HTTP server with OpenAI's API, on the engine of `tokenstile.engine`.

``python -m tokenstile.server`` starts it, and so does ``tokenstile serve``. Reading order: `config`, what it allows;
`app`, which path is answered by what; `connections`, `guard` and `bodies`, who may ask, and how much; `api`, `reading`
and `preparing`, requests; `structure`, `tools` and `chat_template`, what they mean; `prompts`, their tokens; `service`,
their way through the engine; `answers`, what is sent back; `clients`, `fair_threads` and `gone`, whose turn it is;
`playground` and `inspecting`, the page; `running` and `listening`, a server from a command line, and its end.
"""

from __future__ import annotations

try:
    import jinja2  # noqa: F401 - looked for, so that the error says what to install
    import prometheus_client  # noqa: F401
    import pydantic  # noqa: F401
    import starlette  # noqa: F401
except ImportError as error:
    raise ImportError("the server needs more packages: pip install 'tokenstile[serve]'") from error

from tokenstile.server.app import create_app
from tokenstile.server.chat_template import ChatTemplate
from tokenstile.server.config import ServerConfig

__all__ = ["ChatTemplate", "ServerConfig", "create_app"]
