import pytest

from tests.nas import made_up


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    """Return a folder with small made-up tables in the form of the published ones."""
    folder = tmp_path_factory.mktemp("tables")
    for form, make in made_up.MADE.items():
        made_up.write(folder, form, make())
    return folder
