"""``python -m tokenstile`` is the command ``tokenstile``."""

from tokenstile.cli import main

if __name__ == "__main__":
    main()
