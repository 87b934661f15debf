"""The command ``wormcast``: ``python -m wormcast sweep experiments/quick.toml``."""

import signal
import sys

from wormcast import _native


def main() -> None:
    """Runs the command line of this process, and ends it with the command's exit code: 2 if the input is bad, 1 if the work failed."""
    # The command handles Ctrl-C itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.command(["wormcast", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
