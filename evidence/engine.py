"""The engine of `papermill --engine readable`: papermill imports it by its entry
point."""

from papermill.engines import NBClientEngine

from evidence.readable import make_readable


class Readable(NBClientEngine):
    """Papermill's own engine, and `make_readable` after its run."""

    @classmethod
    def execute_managed_notebook(cls, nb_man, kernel_name, **options):
        super().execute_managed_notebook(nb_man, kernel_name, **options)
        make_readable(nb_man.nb)
