"""The times of ``tokenstile bench`` as curves: which share of compilations and of masks took no longer than so long."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

try:
    import matplotlib as mpl
except ImportError as error:
    raise ImportError("plots need matplotlib: pip install 'tokenstile[cli]'") from error

if TYPE_CHECKING:
    from tokenstile.cli.bench import EngineResult

__all__ = ["draw_times"]

_FEW_DECADES: Final = 200
"""So many times between the shortest and the longest leave room for three numbers in each decade."""


def draw_times(results: "list[EngineResult]", path: Path) -> None:
    """Write the curves of all engines to a PNG or SVG."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the choice of how it draws
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter  # noqa: PLC0415

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    parts = (("compile_ms", "time to compile a schema, ms"), ("mask_us", "time of a mask, µs"))
    for axis, (field, label) in zip(axes, parts, strict=True):
        for result in results:
            values = np.sort(getattr(result, field))
            if len(values):
                axis.step(
                    values, np.arange(1, len(values) + 1) / len(values), where="post", label=result.engine
                )
        axis.set_xscale("log")
        # Few numbers, in plain digits: those of matplotlib overlap where the times lie close together.
        low, high = axis.get_xlim()
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < _FEW_DECADES * low else (1,)))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
        axis.set_xlabel(label)
        axis.set_ylabel("share")
        axis.grid(visible=True, which="both", alpha=0.3)
        axis.legend(loc="lower right")
    figure.savefig(path)
    plt.close(figure)
