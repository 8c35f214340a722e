"""Reports: one self-contained HTML page on one or several runs, with interactive figures (extra: report)."""

from lamcts.report.page import page
from lamcts.report.runs import LabelledRun

__all__ = ["LabelledRun", "page"]
