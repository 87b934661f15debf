"""What tests share."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

SMALL = """\
topology = "mesh:4x4"
traffic.arrivals = { process = "poisson", rate = 0.02 }
traffic.length = 16
traffic.multicast.destinations = 3
run.messages = 300
run.warmup = 2000
stop.min_replications = 4
stop.max_replications = 8
[sweep]
algorithm = ["dual-path", "column-path"]
traffic.arrivals.rate = [0.01, 0.05, 0.2]
"""


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The file of a small sweep."""
    file = tmp_path / "small.toml"
    file.write_text(SMALL)
    return file


@pytest.fixture
def command(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command in the test's folder."""

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        words = [sys.executable, "-m", "wormcast", *arguments]
        return subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)

    return run
