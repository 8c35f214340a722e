"""Execute notebooks in place and keep their outputs: `python notebooks/execute.py notebooks/tree.ipynb`."""

import base64
import io
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image

COLOURS = 128  # of a figure: a third of the bytes, and no difference to the eye


def execute(path: Path) -> None:
    """Run all cells of a notebook in a fresh kernel, and write it back without times, versions and log lines."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=600, record_timing=False).execute(cwd=str(path.parent))
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
            for output in cell.outputs:
                reduce(output.get("data", {}))
    nbformat.write(notebook, path)


def reduce(data: dict[str, str]) -> None:
    """Write the figure of an output with fewer colours."""
    if "image/png" in data:
        picture, file = Image.open(io.BytesIO(base64.b64decode(data["image/png"]))), io.BytesIO()
        picture.convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
        data["image/png"] = base64.b64encode(file.getvalue()).decode()


if __name__ == "__main__":
    for name in sys.argv[1:] or sys.exit("expected the paths of notebooks, got none: name at least one"):
        execute(Path(name))
        print(f"{name}: {Path(name).stat().st_size / 1e3:.0f} kB")
