"""The tests under AddressSanitizer: those in Rust, and those in Python that open arrays of other libraries.

AddressSanitizer fails a test that reads or writes outside of what was allocated, also where nothing else would come of
it. It needs the nightly compiler. The compiled module is built once more for it, with the allocator of the system, into
``target/asan``; an interpreter that knows nothing of AddressSanitizer loads it with the runtime put before everything
else.

    python tools/address_sanitizer.py                       # both
    python tools/address_sanitizer.py --only rust -- distinct
    python tools/address_sanitizer.py --only python -- tests/test_bitmask.py -k strides
    python tools/address_sanitizer.py --only python --python .venv-torch/bin/python -- tests/torch/test_torch_bitmask.py
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve() / "asan"
RUSTUP = shutil.which("rustup")
PACKAGE = BUILD / "package"
# What writes into arrays that the module does not own, or reads from them.
DOORS = [
    "tests/test_bitmask.py",
    "tests/test_batch.py",
    "tests/test_draft_tree.py",
    "tests/test_kernels.py",
    "tests/test_testing.py",
    "tests/test_threads.py",
    "tests/structured_output/test_drafts.py",
]
# They judge by the clock, which says nothing of code that is watched.
TIMED = ["it_ends_in_time", "ends_at_the_limit_of_digits"]
OPTIONS = "detect_leaks=0:abort_on_error=1:allocator_may_return_null=1"


def nightly() -> str | None:
    """Return the machine that the nightly compiler compiles for; none if there is no such compiler."""
    if RUSTUP is None:
        return None
    found = subprocess.run(
        [RUSTUP, "run", "nightly", "rustc", "-vV"], capture_output=True, text=True, check=False
    )
    hosts = [line.split()[1] for line in found.stdout.splitlines() if line.startswith("host:")]
    return hosts[0] if found.returncode == 0 and hosts else None


def cargo(host: str, *arguments: str) -> None:
    """Run the nightly cargo with instrumented code for what it builds."""
    flags = f"{os.environ.get('RUSTFLAGS', '')} -Zsanitizer=address".strip()
    # Levels above cost more to compile than they save when the tests run once.
    settings = {"RUSTFLAGS": flags, "ASAN_OPTIONS": OPTIONS, "CARGO_PROFILE_QUICK_OPT_LEVEL": "2"}
    where = ["--profile", "quick", "--locked", "--target", host, "--target-dir", str(BUILD)]
    command = [str(RUSTUP), "run", "nightly", "cargo", arguments[0], *where, *arguments[1:]]
    subprocess.run(command, check=True, cwd=ROOT, env={**os.environ, **settings})


def test_rust(host: str, arguments: list[str]) -> None:
    """Run the tests of the crates. Examples in comments use no memory of their own, and are left out."""
    skipped = ["--", *(word for name in TIMED for word in ("--skip", name))]
    cargo(
        host,
        "test",
        "--workspace",
        "--exclude",
        "tokenstile-python",
        "--lib",
        "--tests",
        *arguments,
        *skipped,
    )


def runtime() -> str:
    """Return the shared runtime of AddressSanitizer: that of the C compiler, which all others are compatible with."""
    compiler = os.environ.get("CC", "cc")
    found = subprocess.run(
        [compiler, "-print-file-name=libasan.so"], capture_output=True, text=True, check=True
    )
    path = Path(found.stdout.strip())
    if not path.is_absolute():
        sys.exit(
            f"{compiler} has no libasan.so: the tests in Python need it (gcc's, in Debian's libasan packages)"
        )
    return str(path.resolve())


def test_python(host: str, python: str, arguments: list[str]) -> None:
    """Run tests of the package with a module that is watched."""
    library = runtime()
    cargo(
        host, "rustc", "-p", "tokenstile-python", "--features", "system-allocator", "--crate-type", "cdylib"
    )
    shutil.rmtree(PACKAGE, ignore_errors=True)
    ignored = shutil.ignore_patterns("*.so", "__pycache__")
    shutil.copytree(ROOT / "python", PACKAGE, ignore=ignored)
    shutil.copy(BUILD / host / "quick" / "lib_core.so", PACKAGE / "tokenstile" / "_core.abi3.so")
    settings = {
        "PYTHONPATH": str(PACKAGE),
        "LD_PRELOAD": library,
        "ASAN_OPTIONS": OPTIONS,
        # Python's own allocator would put several objects into one block.
        "PYTHONMALLOC": "malloc",
    }
    where = "import tokenstile; print(tokenstile.__file__)"
    environment = {**os.environ, **settings}
    told = subprocess.run(
        [python, "-c", where], check=True, cwd=ROOT, env=environment, capture_output=True, text=True
    )
    if PACKAGE not in Path(told.stdout.strip()).parents:
        sys.exit(f"{python} imports {told.stdout.strip()}, not the module that is watched")
    command = [python, "-m", "pytest", "-p", "no:cacheprovider", *(arguments or DOORS)]
    subprocess.run(command, check=True, cwd=ROOT, env=environment)


def main() -> int:
    """Run the tests; return 1 if any failed, and 2 if they cannot be run."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=["rust", "python"], default=None)
    parser.add_argument("--python", default=sys.executable, help="the interpreter of the tests in Python")
    parser.add_argument("arguments", nargs="*", help="for cargo test, or for pytest")
    arguments = parser.parse_args()
    host = nightly()
    if host is None:
        parser.exit(2, "AddressSanitizer needs the nightly compiler: rustup toolchain install nightly\n")
    try:
        if arguments.only != "python":
            test_rust(host, arguments.arguments if arguments.only == "rust" else [])
        if arguments.only != "rust":
            test_python(host, arguments.python, arguments.arguments if arguments.only == "python" else [])
    except subprocess.CalledProcessError as error:
        return 1 if error.returncode else 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
