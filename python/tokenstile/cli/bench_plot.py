"""The times of ``tokenstile bench`` as curves: which share of compilations and of masks took no longer than so long."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

try:
    import matplotlib as mpl
except ImportError as error:
    raise ImportError("plots need matplotlib: pip install 'tokenstile[cli]'") from error

if TYPE_CHECKING:
    from tokenstile.cli.bench import EngineResult

__all__ = ["draw_times"]


def draw_times(results: "list[EngineResult]", path: Path) -> None:
    """Write the curves of all engines to a PNG or SVG."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt  # noqa: PLC0415 - after the choice of how it draws

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
        axis.set_xlabel(label)
        axis.set_ylabel("share")
        axis.grid(visible=True, which="both", alpha=0.3)
        axis.legend(loc="lower right")
    figure.savefig(path)
    plt.close(figure)
