"""One call from a prompt to an object.

>>> from pydantic import BaseModel
>>> class City(BaseModel):
...     name: str
>>> import tokenstile
>>> tokenstile.generate("What is the capital of France?", City)  # doctest: +SKIP
City(name='Paris')

In the order of reading:

- `generator`: `generate` for one answer, `Generator` for many, each plain, asynchronous and as a stream;
- `outputs`: what a type, a schema, a pattern or a grammar asks of a model, and how its text becomes an object;
- `typed`: types as Pydantic understands them, and objects of which only a part is there yet;
- `tools`: functions as tools, and their calls;
- `sources`: where answers come from: a model in this process, or a server with OpenAI's API.
"""

from tokenstile.generation.generator import Generator, generate, generate_async
from tokenstile.generation.outputs import OutputError
from tokenstile.generation.sources.remote import RemoteModel
from tokenstile.generation.tools import ToolCall, Tools

__all__ = ["Generator", "OutputError", "RemoteModel", "ToolCall", "Tools", "generate", "generate_async"]
