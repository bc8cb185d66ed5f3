"""`queuectl`, and `python -m rookery.queuectl`."""

from rookery.__main__ import begin


def run() -> None:
    """Run the command line."""
    begin("queuectl", "rookery.queuectl.commands")


if __name__ == "__main__":
    run()
