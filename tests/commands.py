"""Run the command line as a user does, inside the test's process."""

from lamcts.cli import main


def said(capsys, *argv):
    """Run a command and return its exit code, stdout and stderr."""
    try:
        code = main(list(argv))
    except SystemExit as exit:
        code = exit.code
    out, err = capsys.readouterr()
    return code, out, err
