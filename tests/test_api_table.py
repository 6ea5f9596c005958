"""Every public name, parameter and default of XGrammar, from a table: `tests/data/xgrammar_api.toml`.

The table is held against the package, and against XGrammar itself where that is installed, so that neither the table
nor the package can be wrong alone.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import subprocess
import sys
import tomllib
from enum import Enum
from pathlib import Path

import pytest

import tokenstile

TABLE = tomllib.loads((Path(__file__).parent / "data" / "xgrammar_api.toml").read_text(encoding="utf-8"))
KEYWORD = inspect.Parameter.KEYWORD_ONLY
ABSENT = inspect.Parameter.empty


def is_installed(name):
    return importlib.util.find_spec(name) is not None


PACKAGES = ["tokenstile"]
if is_installed("xgrammar") and not isinstance(sys.modules.get("xgrammar"), type(tokenstile)):
    PACKAGES.append("xgrammar")
package = pytest.mark.parametrize("package", PACKAGES)


def module_of(package, entry):
    for needed in ("torch", entry.get("needs")) if package == "xgrammar" else (entry.get("needs"),):
        if needed and not is_installed(needed):
            pytest.skip(f"{needed} is not installed")
    return importlib.import_module(f"{package}.{entry['module']}")


def parameters(text, module, differs=()):
    """Give name, kind and default of what stands in a `def`."""
    namespace = {"VocabType": getattr(module, "VocabType", None)}
    exec(f"def function({text}): ...", namespace)  # noqa: S102 - our own text
    found = inspect.signature(namespace["function"]).parameters.values()
    return [described(p, dict(differs)) for p in found]


def described(parameter, differs):
    # Nobody passes `self` by name, and compiled methods do not take it so.
    if parameter.name == "self":
        return "self", inspect.Parameter.POSITIONAL_ONLY, ABSENT
    default = eval(differs[parameter.name]) if parameter.name in differs else parameter.default  # noqa: S307
    return parameter.name, parameter.kind, default


def check(function, text, module, *, more=(), differs=()):
    """Compare a function with its parameters in the table; what it has beyond them is named there, and by keyword."""
    found = list(inspect.signature(function).parameters.values())
    extra = {p.name for p in found if p.name in more}
    assert all(p.kind == KEYWORD and p.default is not ABSENT for p in found if p.name in extra)
    shown = [described(p, {}) for p in found if p.name not in extra]
    assert shown == parameters(text, module, differs)


@package
@pytest.mark.parametrize("entry", TABLE["class"], ids=lambda entry: entry["name"])
def test_classes(package, entry):
    module = module_of(package, entry)
    found = getattr(module, entry["name"])
    assert inspect.isclass(found)
    ours = package == "tokenstile"
    more = entry.get("more", {}) if ours else {}
    differs = entry.get("differs", {}) if ours else {}
    if "init" in entry:
        check(found, entry["init"], module, more=more.get("__init__", ()))
    kinds = {"methods": None, "static_methods": staticmethod, "class_methods": classmethod}
    for group, wrapper in kinds.items():
        for name, text in entry.get(group, {}).items():
            method = getattr(found, name)
            stored = inspect.getattr_static(found, name)
            assert callable(method)
            assert (
                isinstance(stored, wrapper) if wrapper else not isinstance(stored, staticmethod | classmethod)
            )
            if not is_slot(stored):
                check(method, text, module, more=more.get(name, ()), differs=differs.get(name, {}))
    for name in entry.get("properties", []):
        assert inspect.isdatadescriptor(inspect.getattr_static(found, name)), name
    if "members" in entry:
        assert issubclass(found, Enum)
        assert {member.name: member.value for member in found} == entry["members"]


def is_slot(method):
    """Tell whether a method fills a slot of the interpreter, which decides about its parameters."""
    return isinstance(method, type(str.__eq__))


@package
@pytest.mark.parametrize("entry", TABLE["functions"], ids=lambda entry: entry["module"])
def test_functions(package, entry):
    module = module_of(package, entry)
    for name, text in entry["signatures"].items():
        more = entry.get("more", {}).get(name, ()) if package == "tokenstile" else ()
        check(getattr(module, name), text, module, more=more)


@package
@pytest.mark.parametrize("entry", TABLE["families"], ids=lambda entry: entry["names"][0])
def test_families(package, entry):
    module = module_of(package, entry)
    for name in entry["names"]:
        check(getattr(module, f"get_{name}_structural_tag"), entry["signature"], module)


@package
@pytest.mark.parametrize("entry", TABLE["models"], ids=lambda entry: entry["module"])
def test_models(package, entry):
    module = module_of(package, entry)
    for name, text in entry["fields"].items():
        fields = {
            field.alias or key: ABSENT
            if field.is_required()
            else field.get_default(call_default_factory=True)
            for key, field in getattr(module, name).model_fields.items()
        }
        assert fields == {key: default for key, _, default in parameters(text, module)}, name


@package
@pytest.mark.parametrize("entry", TABLE["exceptions"], ids=lambda entry: entry["module"])
def test_exceptions(package, entry):
    module = module_of(package, entry)
    for name in entry["names"]:
        assert issubclass(getattr(module, name), RuntimeError)
        assert getattr(importlib.import_module(package), name) is getattr(module, name)


@package
@pytest.mark.parametrize("entry", TABLE["imports"], ids=lambda entry: entry["module"])
def test_imports(package, entry):
    module = module_of(package, entry)
    for name in entry["names"]:
        assert getattr(module, name) is not None, name


def test_the_signature_of_the_cuda_kernel():
    # Not in the table: XGrammar's module builds the kernel when it is imported, with a compiler that few have.
    module = importlib.import_module("tokenstile.kernels.apply_token_bitmask_inplace_cuda")
    check(module.apply_token_bitmask_inplace_cuda, "logits, bitmask, indices=None", module)


def test_exported_names():
    assert len(TABLE["exported"]) == 30
    for name in TABLE["exported"]:
        assert name in tokenstile.__all__
        if name != "hf" or is_installed("transformers"):
            assert getattr(tokenstile, name) is not None


@pytest.mark.skipif("xgrammar" not in PACKAGES, reason="xgrammar is not installed")
def test_exported_names_are_those_of_xgrammar():
    assert set(importlib.import_module("xgrammar").__all__) == set(TABLE["exported"])


def test_no_name_is_missing_under_the_other_name():
    """All modules and names of the table are there after `install_as_xgrammar`, in a process of its own."""
    modules = sorted(
        {
            (entry["module"], entry.get("needs", ""))
            for group in TABLE.values()
            for entry in group
            if "module" in entry
        }
    )
    wanted = [module for module, needs in modules if not needs or is_installed(needs)]
    code = (
        "from tokenstile.compat import install_as_xgrammar\ninstall_as_xgrammar()\nimport importlib\n"
        f"for name in {wanted}:\n"
        "    assert importlib.import_module('xgrammar.' + name) is importlib.import_module('tokenstile.' + name)\n"
        "from xgrammar.grammar import Grammar, StructuralTagItem\n"
        "from xgrammar.base import XGRObject\n"
        "from xgrammar._version import version_tuple\n"
        "from xgrammar.kernels.apply_token_bitmask_inplace_cpu import apply_token_bitmask_inplace_cpu\n"
        "assert isinstance(Grammar.builtin_json_grammar(), XGRObject) and not isinstance(1, XGRObject)\n"
        "import xgrammar\n"
        "assert '.'.join(map(str, version_tuple)) == xgrammar.__version__\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
