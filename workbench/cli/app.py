"""The command ``workbench``: reads arguments, calls the same functions as a notebook, prints, exits.

Exit codes: 0 done (judge: all as expected), 1 a verdict is not as its file expects, 2 wrong use or
nothing to work on, 3 interrupted (run it again, it resumes), 4 an item failed inside (of an ingest: a
file is damaged, unreadable, or all that could have been a row of it was rejected).
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from workbench.cli import data, investigate, tools, upkeep
from workbench.cli.common import say
from workbench.errors import WorkbenchError
from workbench.version import __version__

__all__ = ["app", "main"]

app = typer.Typer(
    name="workbench",
    help="Offline root-cause analysis for large GPU training clusters: dumps in, honest verdicts out.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for module in (data, investigate, tools, upkeep):
    module.register(app)


def _version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"workbench {__version__}\n")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    del version


def main() -> None:
    """Run the command line; mistakes of the user end with one message, never a traceback."""
    try:
        code = app(standalone_mode=False)
    except typer.TyperException as error:
        format_message = getattr(error, "format_message", error.__str__)  # that of an option names the option
        text = format_message()
        say(text if text.startswith("Usage:") else f"workbench: {text}\nSee workbench --help.")
        sys.exit(2)
    except (KeyboardInterrupt, typer.Abort):
        say("Interrupted. What is finished is kept; run the same command again to go on.")
        sys.exit(3)
    except WorkbenchError as error:
        say(f"workbench: {error}")
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output went away: nobody is left to tell
        sys.exit(0)
    sys.exit(code if isinstance(code, int) else 0)
