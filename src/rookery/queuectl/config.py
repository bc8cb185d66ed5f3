"""`queuectl config`: the settings of this home."""

import click

from rookery.engine.ops import SaveSetting
from rookery.queuectl.commands import in_home, in_place, json_flag, refuse, reject
from rookery.queuectl.home import Home
from rookery.queuectl.output import show_json
from rookery.queuectl.place import Place
from rookery.queuectl.settings import SETTINGS, BadSetting, checked_text, setting_name

_KEYS = "\n".join(f"{name:<13}  {setting.meaning} ({setting.valid})" for name, setting in SETTINGS.items())


@click.group("config", help=f"Show and change the settings of this home.\n\n\b\n{_KEYS}")
def command() -> None:
    """Show and change the settings of this home."""


@command.command()
@click.argument("key", required=False)
@json_flag
@in_place
def get(place: Place, /, key: str | None, as_json: bool) -> None:
    """Print the value of KEY, or all settings.

    \b
    queuectl config get max_retries
    queuectl config get --json
    """
    texts = place.setting_texts()
    if key is not None:
        name = setting_name(key)
        if name not in texts:
            refuse(f"no setting {key!r}; there are {', '.join(SETTINGS)}")
        texts = {name: texts[name]}
    if as_json:
        show_json({name: SETTINGS[name].read(text) for name, text in texts.items()})
    else:
        for name, text in texts.items():
            click.echo(text if key is not None else f"{name}={text}")


@command.command("set", context_settings={"ignore_unknown_options": True})
@click.argument("key")
@click.argument("value")
@in_home(
    "a server has no settings of queuectl: those of {home} count for what is begun on this machine; "
    "set them without --server"
)
def set_value(home: Home, /, key: str, value: str) -> None:
    """Change a setting. Jobs that are there keep the number of runs and the time limit they were enqueued with.

    \b
    queuectl config set backoff_base 1.5
    queuectl config set job_timeout ""
    """
    name = setting_name(key)
    if name not in SETTINGS:
        reject(f"no setting {key!r}; there are {', '.join(SETTINGS)}")
    try:
        text = checked_text(name, value)
    except BadSetting as error:
        reject(str(error))
    home.apply(SaveSetting(key=name, value=text))
    click.echo(f"set {name}={text}")
