"""The version of the distribution, in the one place that the build, both programs and the tests read."""

__version__ = "0.4.1"
