"""`arvis login`: a new one-time link to the page, for whoever can read the data folder."""

from __future__ import annotations

from arvis.cli.api import connect
from arvis.cli.options import AsJson, ConfigFile, DataFolder, new_app
from arvis.cli.printing import print_json

app = new_app()


@app.command()
def login(*, as_json: AsJson = False, config: ConfigFile = None, data: DataFolder = None) -> None:
    """Print a link that logs in to the page once, within ten minutes."""
    code = connect(config, data).post("api", "auth", "codes")
    if as_json:
        print_json(code)
    else:
        print(code["url"])
