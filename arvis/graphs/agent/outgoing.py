"""Collects the texts that the judge of outgoing data needs (`domain/outgoing.py`), and judges the calls of a turn.

Each text has an origin. The person's own texts, the configuration and public outputs are known. Every other text, such
as history, memory, files, variables and outputs of servers, is private.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import urlsplit

from arvis.domain.dataclass import dataclass, replace
from arvis.domain.messages import Address, Role, StoredMessage
from arvis.domain.outgoing import Found, Judge, Known, Outgoing, Reach, texts_in
from arvis.domain.outgoing_links import SafeLinks, WrittenAddresses
from arvis.domain.quotations import is_forward, own_taint
from arvis.domain.regex import regex
from arvis.domain.runs import Turn
from arvis.domain.taint import Label, Taint
from arvis.domain.text import EARLIER_MESSAGES, own_words
from arvis.domain.tools import WITH_CREDENTIAL, Need, Permit, Risk, ToolCall, ToolDeclaration, ToolOutput
from arvis.graphs.agent.tool_calls import Planned
from arvis.ports.store import Transaction
from arvis.ports.tool import Objection, Pinned, Tool, Wary, declaration_of
from arvis.prompt import Round
from arvis.prompt.past import CALLS_AS_TEXT
from arvis.tasks.state import WorkState

#: The labels of a message whose text was, at least partly, not written by its sender.
_FOREIGN = frozenset({Label.PEOPLE, Label.TOOLS, Label.AGENTS, Label.FLAGGED})
#: The labels of a text that an agent wrote without other sources. In a turn with only these labels, no unknown author
#: can have chosen a call, so only the hosts of addresses are checked.
_ONLY_AGENTS = frozenset({Label.AGENTS})
#: The first lines of the reason that a question shows.
_UNTRUSTED = "The agent has read text by other authors, and this text may have caused the call."
_STORED = "The call stores or passes on an address that may carry data to an unknown host."
_CHANGED = "The server has changed the description of this tool. Your approval accepts the change:"
#: The maximum number of earlier messages that are read, and of the person's own messages among them that are used.
_EARLIER, _OWN_EARLIER = 40, 6
#: Matches the lines of one message of the person among the earlier messages that a client program reported.
_REPORTED = regex(r"^\[user\]\n((?:> .*(?:\n|\Z))+)", re.MULTILINE)
#: Calls with their outputs.
Made = Sequence[tuple[ToolCall, ToolOutput]]

#: The maximum information (bits) that one script may reveal by its choices of addresses. The limit is lower than for a
#: whole turn, because a turn may run several scripts, whose calls are not stored.
_SCRIPT_BITS = 1.5


@dataclass(frozen=True, slots=True)
class OutgoingRules:
    """The rules of the configuration."""

    #: The hosts that the configuration names.
    hosts: Collection[str]
    #: The hosts among `hosts` whose pages are private.
    private_hosts: Collection[str]
    #: A function that returns True if the configuration has a rule for the tool. Calls of such a tool are not judged.
    ruled: Callable[[Tool], bool]
    #: A function that returns True if programs that show texts of this place may make links of hosts without a scheme
    #: and a path.
    links_bare_hosts: Callable[[Address], bool]


def words_of(messages: Sequence[StoredMessage]) -> str:
    """Return the text that the person who asks wrote in these messages."""
    return "\n".join(_own(message) for message in messages)


def _own(message: StoredMessage) -> str:
    if _reports_earlier(message):
        return own_words(message.content)
    return "" if own_taint(message.taint, message.quotations) & _FOREIGN else message.content


def _reports_earlier(message: StoredMessage) -> bool:
    """Return True if the content contains earlier messages that a client program of the API reported. A forwarded text
    does not count, because it may imitate such messages."""
    return message.content.startswith(EARLIER_MESSAGES) and not is_forward(message.quotations)


def earlier_words(tx: Transaction, state: Mapping[str, Any], messages: Sequence[StoredMessage]) -> str:
    """Return the person's own texts from earlier turns of the conversation, and tasks that agents wrote without other
    sources."""
    texts = [message.content for message in messages if message.taint and message.taint <= _ONLY_AGENTS]
    for message in messages:
        if _reports_earlier(message):
            texts += [each.replace("\n> ", "\n") for each in _REPORTED.findall(message.content)]
    work = WorkState.from_json(state)
    asker = messages[-1].principal_id
    if work.run is None and work.conversation and asker is not None:
        past = tx.messages.history(work.conversation, _EARLIER)
        own = [
            each
            for each in past
            if each.role is Role.USER
            and each.principal_id == asker
            and not own_taint(each.taint, each.quotations) & _FOREIGN
        ]
        texts += [own_words(each.content) for each in own[-_OWN_EARLIER:]]
    return "\n".join(texts)


def found_in(rounds: Sequence[Round], tools: Mapping[str, Tool], private_hosts: Collection[str]) -> list[Found]:
    """Return the public outputs of these rounds: results of searches, and pages of public hosts that were read without a
    credential."""
    found = []
    for call, output in _outputs(rounds):
        tool = tools.get(call.name)
        if tool is None or output.failed or not declaration_of(tool).public_output:
            continue
        if output.sources:
            found.append(Found(output.content, [source.url for source in output.sources]))
        elif declaration_of(tool).only_to_addresses:
            head = output.content.partition("\n")[0]
            if WITH_CREDENTIAL in head:
                continue  # the page was not public
            page = head.partition(" ")[0]
            asked = str((call.arguments or {}).get("url", ""))
            if not {_host_of(page), _host_of(asked)} & {*private_hosts, ""}:
                found.append(Found(output.content, page=page))
    return found


def _outputs(rounds: Sequence[Round]) -> Made:
    return [pair for each in rounds for pair in _pairs(each)]


def _pairs(made: Round) -> Made:
    return list(zip(made.calls, made.outputs, strict=False))


def _host_of(address: str) -> str:
    try:
        return (urlsplit(address).hostname or "").rstrip(".").lower()
    except ValueError:
        return ""


def reach_of(tool: Tool) -> Reach | None:
    """Return the systems to which a call sends its arguments; None if the policy alone decides about the tool."""
    declared = declaration_of(tool)
    if declared.risk is Risk.EGRESS:
        return Reach.ADDRESSES if declared.only_to_addresses else Reach.SERVICE
    if declared.risk is Risk.READ:
        return Reach.SERVICE if Need.NETWORK in declared.needs else Reach.LOCAL
    return None


class Guard:
    """The judge of the calls of a turn. `taint` is the taint of the turn: in a turn without taint, all calls that the
    policy permits may run. `rounds` are the earlier rounds of the turn; their calls count towards the limits.
    People read the reply at `place`."""

    def __init__(
        self,
        *,
        rules: OutgoingRules,
        known: Known,
        taint: Taint,
        tools: Mapping[str, Tool],
        place: Address,
        rounds: Sequence[Round] = (),
    ) -> None:
        self._rules = rules
        self._bare_hosts = rules.links_bare_hosts(place)
        self._taint = taint
        self._tools = tools
        self._rounds = rounds
        self._made = _outputs(rounds)
        self._known = replace(
            known, hosts={*known.hosts, *rules.hosts}, found=found_in(rounds, tools, rules.private_hosts)
        )
        self._judge = Judge(self._known)
        for call, _ in self._made:
            if (tool := tools.get(call.name)) is not None and call.arguments is not None:
                self._judge.objection(self._outgoing(tool, call.arguments) or _NOTHING)

    @property
    def taint(self) -> Taint:
        return self._taint

    def review(self, planned: Sequence[Planned]) -> list[Planned]:
        """Return the calls. A call to which the judge objects needs an approval."""
        return [self._reviewed(each) for each in planned]

    def _reviewed(self, planned: Planned) -> Planned:
        if planned.tool is None or planned.permit is Permit.NEVER:
            return planned
        if isinstance(planned.tool, Pinned) and planned.tool.change:
            return replace(planned, permit=Permit.ASK, why=f"{_CHANGED}\n{planned.tool.change}")
        if not self._taint or planned.permit is not Permit.ALWAYS:
            return planned
        if isinstance(planned.tool, Wary) and planned.tool.wary(planned.arguments):
            return replace(planned, permit=Permit.ASK)
        why = self._objection(planned.tool, planned.arguments, self._judge)
        if why is None and reach_of(planned.tool) is None and not self._rules.ruled(planned.tool):
            why = self._stored_address(planned.arguments)
        return planned if why is None else replace(planned, permit=Permit.ASK, why=f"{_UNTRUSTED} {why}")

    def for_script(self, planned: Planned) -> Objection:
        """Return the function that judges the calls of a script. If a person approved the script, its text counts as
        known, because the person has read it."""
        if not self._taint:
            return lambda _tool, _arguments: None
        script = str(planned.arguments.get("script", "")) if planned.approved else ""
        known = replace(self._known, own=f"{self._known.own}\n{script}")
        judge = Judge(known, address_bits=_SCRIPT_BITS)
        return lambda tool, arguments: self._objection(tool, arguments, judge)

    def links(self, texts: Sequence[str], turns: Sequence[Turn] = ()) -> SafeLinks | None:
        """Return the judge of the links in the reply; None if the reply needs no judge. `texts` are other texts of the
        prompt, and `turns` its messages with earlier calls."""
        if not self._taint - _ONLY_AGENTS:
            return None
        written = WrittenAddresses()
        for text in (*texts, self._known.own):
            written.read(text)
        scripts = False
        for made in (*self._earlier_rounds(written, turns), *map(_pairs, self._rounds)):
            scripts = self._add_outputs(written, made, scripts=scripts)
        judge = Judge(self._known)
        allowed: dict[str, bool] = {}

        def is_known(url: str) -> bool:
            if url not in allowed:
                allowed[url] = judge.objection(Outgoing({"url": url}, Reach.ADDRESSES, {})) is None
            return allowed[url]

        return SafeLinks(is_written=written.has, is_known=is_known, bare_hosts=self._bare_hosts)

    def _earlier_rounds(self, written: WrittenAddresses, turns: Sequence[Turn]) -> Iterator[Made]:
        """Add the texts of the messages, and yield the calls of each message with their outputs. The agent's text and arguments
        in messages with calls are left out: no judge has checked them, so they could contain an address with data."""
        calls: dict[str, ToolCall] = {}
        for turn in turns:
            if turn.calls:
                calls = {call.id: call for call in turn.calls}
            elif CALLS_AS_TEXT not in turn.content:
                written.read(turn.content)
            yield [(calls[output.call_id], output) for output in turn.outputs if output.call_id in calls]

    def _add_outputs(self, written: WrittenAddresses, made: Made, *, scripts: bool) -> bool:
        """Add the outputs of a round. Outputs of scripts are left out. If this round or an earlier round (`scripts`)
        called a script, outputs of local tools are left out, too. Return True if one of these rounds called a
        script."""
        for call, _ in made:
            written.call(call.arguments or {"arguments": call.written})
            written.call({"name": call.name})
        declared = [self._declared(call) for call, _ in made]
        scripts = scripts or any(each is not None and each.risk is Risk.EXEC for each in declared)
        for (_, output), each in zip(made, declared, strict=True):
            remote = each is not None and each.risk is not Risk.EXEC and Need.NETWORK in each.needs
            if remote or not scripts:
                written.output(output.content)
        return scripts

    def _declared(self, call: ToolCall) -> ToolDeclaration | None:
        tool = self._tools.get(call.name)
        return declaration_of(tool) if tool is not None else None

    def _stored_address(self, arguments: Mapping[str, Any]) -> str | None:
        """Return an objection to arguments whose addresses may carry data. A later prompt could contain the stored text, and
        its addresses would then count as written by others."""
        links = self.links([])
        changed = links is not None and any(links.changes(text) for text, _ in texts_in(arguments))
        return _STORED if changed else None

    def _objection(self, tool: Tool, arguments: Mapping[str, Any], judge: Judge) -> str | None:
        outgoing = self._outgoing(tool, arguments)
        if outgoing is None or self._rules.ruled(tool):
            return None
        if self._taint <= _ONLY_AGENTS:
            outgoing = replace(outgoing, reach=Reach.LOCAL)
        return judge.objection(outgoing)

    def _outgoing(self, tool: Tool, arguments: Mapping[str, Any]) -> Outgoing | None:
        reach = reach_of(tool)
        if reach is None:
            return None
        server, dot, _ = tool.spec.name.partition(".")
        returned: list[str] = []
        if dot and tool.risk is Risk.READ:
            prefix = f"{server}__"
            returned = [output.content for call, output in self._made if call.name.startswith(prefix)]
        return Outgoing(arguments, reach, tool.spec.parameters, returned)


_NOTHING = Outgoing({}, Reach.LOCAL, {})


def day_of(now: int) -> date:
    return datetime.fromtimestamp(now / 1000, UTC).date()
