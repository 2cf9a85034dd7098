"""`merge`: joins branches; its output is the list of theirs. If all of them failed, it fails itself."""

from __future__ import annotations

from dataclasses import replace

from arvis.domain.workflows import LogType
from arvis.engine.context import NodeContext
from arvis.engine.decisions import Decision, Node
from arvis.workflows.runtime.log import line
from arvis.workflows.runtime.parts import NodeParts, NodeSpec
from arvis.workflows.runtime.visit import fail_branch, succeed, token_of


def make(spec: NodeSpec, parts: NodeParts) -> Node:
    del parts

    async def merge(context: NodeContext) -> Decision:
        token = token_of(context)
        if token.failed is not None:
            error = f"too few of its branches succeeded: {token.failed}"
            return fail_branch(context, spec, replace(token, failed=None), error)
        errors = [error for _, error in token.joined if error]
        text = f"{len(errors)} of {len(token.joined)} branches failed: {'; '.join(errors)}"
        lines = [line(spec.id, LogType.WARNING, text)] if errors else []
        return succeed(context, spec, token, token.output, log=lines)

    return merge
