"""`python -m tests.structure` is `python -m tests.tools.structure`."""

from tests.tools.structure import main

if __name__ == "__main__":
    main()
