"""Python that a model wrote, run in the sandbox: how a reply asks for it, what its scripts can call, and the tool
itself."""

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
