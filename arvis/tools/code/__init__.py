"""Runs Python that a model wrote in the sandbox: the request for it in a reply, the functions that a script can call,
and the tool."""

from arvis.tools.code.packages import Interpreter, PackageSets, daemons_interpreter
from arvis.tools.code.replies import Code, code_of, envelope
from arvis.tools.code.tool import CODE_EXECUTION, Workbench, code_tool, told_of

__all__ = [
    "CODE_EXECUTION",
    "Code",
    "Interpreter",
    "PackageSets",
    "Workbench",
    "code_of",
    "code_tool",
    "daemons_interpreter",
    "envelope",
    "told_of",
]
