"""The engine of agent-runner: accounts, pools, quota, invocations and sessions, without any screen."""

__version__ = "0.1.0"
