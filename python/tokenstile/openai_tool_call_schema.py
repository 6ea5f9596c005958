"""Tools and choices of tools under the module name that XGrammar gives them; see `tokenstile.tool_calling.schema`."""

from tokenstile.tool_calling.schema import *  # noqa: F403 - the same names
