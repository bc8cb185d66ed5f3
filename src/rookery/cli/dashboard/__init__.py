"""The screen of `rookery top`. Only this package knows textual."""
