"""Runs jupyter-book: `python -m tools.sphinx ARGUMENTS`; it ends when its standard input closes.

So it never outlives a runner that was killed, and never writes into the site of the next run.
"""

import sys
import threading

from jupyter_book.cli.main import main

from tools.leash import die_with_parent

if __name__ == "__main__":
    threading.Thread(target=die_with_parent, daemon=True).start()
    sys.exit(main(sys.argv[1:]))
