__prefix__:
    from collections.abc import Sequence

