"""Whether the Python of the executors has this package."""

#: Applications whose executors have it.
_checked = set()


def check_executors(context):
    """Raises one clear error, before any query fails with the traceback of a worker."""
    if context.applicationId in _checked:
        return

    # A function inside a function is sent as it is; one of a module would be imported there, which is the question.
    def lacks(_):
        import importlib.util
        import sys

        if importlib.util.find_spec("fullbloom") is None:
            yield sys.executable

    without = context.parallelize(range(1), 1).mapPartitions(lacks).collect()
    if without:
        raise ModuleNotFoundError(
            f"the Python of the executors, {without[0]}, does not have the package fullbloom: install it there, or set "
            "PYSPARK_PYTHON to a Python that has it before the session starts",
            name="fullbloom",
        )
    _checked.add(context.applicationId)
