"""Code execution: runs a model's Python script in the sandbox. The package contains the format in which a reply asks to
run a script, the functions that a script can call, the installed packages, and the tool."""

from arvis.tools.code.packages import Interpreter, PackageSets, daemons_interpreter
from arvis.tools.code.replies import Code, code_of, envelope
from arvis.tools.code.tool import CODE_EXECUTION, Workbench, code_tool, functions_text
from arvis.tools.code.tool import DECLARATION as CODE_DECLARATION

__all__ = [
    "CODE_DECLARATION",
    "CODE_EXECUTION",
    "Code",
    "Interpreter",
    "PackageSets",
    "Workbench",
    "code_of",
    "code_tool",
    "daemons_interpreter",
    "envelope",
    "functions_text",
]
