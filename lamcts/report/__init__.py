"""One page on one or several runs: self-contained HTML with figures to look into (extra: report)."""

from lamcts.report.page import page
from lamcts.report.runs import Run

__all__ = ["Run", "page"]
