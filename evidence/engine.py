"""The engine of `papermill --engine readable`: papermill imports it by its entry
point."""

import shutil
import sys
from pathlib import Path

from jupyter_client import KernelManager
from papermill.engines import NBClientEngine

from evidence.readable import make_readable


def need_own_kernel(name: str) -> None:
    """Raise ValueError, naming both, if this kernel is the Python of another
    environment: it would run other code than the one that is installed here."""
    command = KernelManager(kernel_name=name).format_kernel_cmd()[0]
    path = Path(shutil.which(command) or command)
    if path.parent.resolve() != Path(sys.executable).parent.resolve():
        raise ValueError(
            f"the kernel must be of this environment, {sys.executable}; kernel {name!r} "
            f"starts {path} (`jupyter kernelspec list` tells where it is registered; "
            "-k takes another one)"
        )


class Readable(NBClientEngine):
    """Papermill's own engine between `need_own_kernel` and `make_readable`."""

    @classmethod
    def execute_managed_notebook(cls, nb_man, kernel_name, **options):
        need_own_kernel(kernel_name)
        super().execute_managed_notebook(nb_man, kernel_name, **options)
        make_readable(nb_man.nb)
