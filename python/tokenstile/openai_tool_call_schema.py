"""Tools and choices of tools under the module name that XGrammar gives them; see `tokenstile.tool_calling.schema`."""

from tokenstile.tool_calling.schema import *  # noqa: F403 - the same names
from tokenstile.tool_calling.schema import __all__ as __all__
