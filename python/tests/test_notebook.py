"""The notebook of the guide runs."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).parents[2] / "docs/guide/python.ipynb"


def test_the_notebook_runs(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    assert len([cell for cell in notebook.cells if cell.cell_type == "code"]) == 10
    NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    pictures = [output.data["image/svg+xml"] for cell in notebook.cells for output in cell.get("outputs", []) if "image/svg+xml" in output.get("data", {})]
    assert len(pictures) >= 6 and all("<svg" in picture for picture in pictures)
