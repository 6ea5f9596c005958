"""An HTTP server with OpenAI's API, on the engine of `tokenstile.engine`.

``python -m tokenstile.server`` starts it, and so does ``tokenstile serve``. Reading order: `config`, what it allows;
`app`, which path is answered by what; `guard`, who may ask; `api` and `reading`, requests; `structure`, `tools` and
`chat_template`, what they mean; `service`, their way through the engine; `answers`, what is sent back; `playground` and
`inspecting`, the page; `loading` and `running`, models by name and a server from a command line.
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
