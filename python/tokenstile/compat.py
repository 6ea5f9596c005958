"""For programs that import XGrammar and cannot be edited.

>>> from tokenstile.compat import install_as_xgrammar
>>> install_as_xgrammar()
>>> import xgrammar
>>> xgrammar.Grammar.__module__
'tokenstile'
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import TYPE_CHECKING

from tokenstile._core import set_default_spelling
from tokenstile.exceptions import TokenstileError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from tokenstile.json_schema import Spelling

__all__ = ["install_as_xgrammar"]

_NAME = "xgrammar"


class _Alias(MetaPathFinder, Loader):
    """Finds ``xgrammar`` and what is below it: the modules of tokenstile themselves, not copies of them."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,  # noqa: ARG002 - the protocol's
        target: ModuleType | None = None,  # noqa: ARG002 - the protocol's
    ) -> ModuleSpec | None:
        if fullname != _NAME and not fullname.startswith(_NAME + "."):
            return None
        ours = _our_name(fullname)
        if importlib.util.find_spec(ours) is None:
            return None
        return ModuleSpec(fullname, self, origin=ours)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        module = importlib.import_module(_our_name(spec.name))
        # The import system is about to put its own here, under the other name.
        spec.loader_state = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        alias = module.__spec__
        if alias is not None and alias.loader_state is not None:
            module.__spec__ = alias.loader_state


def _our_name(name: str) -> str:
    return "tokenstile" + name.removeprefix(_NAME)


def install_as_xgrammar(spelling: Spelling | None = None) -> None:
    """Let ``import xgrammar``, and imports of its modules, give tokenstile in this process.

    A ``spelling`` becomes the default of the process, as XGrammar's functions have no argument for it.

    Call it before anything imports XGrammar; if something has, this raises `TokenstileError`. To call it twice is fine.
    """
    if spelling is not None:
        set_default_spelling(spelling)
    if any(isinstance(finder, _Alias) for finder in sys.meta_path):
        return
    if _NAME in sys.modules:
        raise TokenstileError("xgrammar is imported already; install_as_xgrammar() has to come before")
    sys.meta_path.insert(0, _Alias())
