"""The shapes that the OpenAPI document calls by a name, because they are used in several places."""

from __future__ import annotations

from collections.abc import Mapping

from arvis.web.accounts import ACCOUNT
from arvis.web.agent_shapes import AGENT_DETAIL, BINDING, VERSION
from arvis.web.api_keys import KEY, MADE_KEY
from arvis.web.billing_shapes import CHANNEL, CHARGE, CLIENT, CLIENT_DETAIL
from arvis.web.bots import BOT, FINDINGS
from arvis.web.logins import CODE, ME
from arvis.web.memory_shapes import FACT, FACT_CHANGE, FACT_DETAIL, STATE
from arvis.web.overview_shapes import OVERVIEW, RUNNING
from arvis.web.people import PAIRING, PERSON, PERSON_DETAIL
from arvis.web.projects import PROJECT
from arvis.web.queue_shapes import QUEUE_JOB, QUEUE_JOB_DETAIL, STORY
from arvis.web.run_shapes import LOG_LINE, RUN, RUN_DETAIL
from arvis.web.schedule_shapes import OCCURRENCE, SCHEDULE, SCHEDULE_DETAIL
from arvis.web.schemas import (
    AGENT,
    ERROR,
    JOB,
    OK,
    STEP,
    TIMELINE,
    WAIT,
    Schema,
)
from arvis.web.session_list import SESSION
from arvis.web.talk_shapes import (
    ASKED_MESSAGE,
    CONVERSATION,
    CONVERSATION_DETAIL,
    STORED_ATTACHMENT,
    STORED_MESSAGE,
)
from arvis.web.users import MADE_USER, USER
from arvis.web.variables import VARIABLE
from arvis.web.wait_shapes import WAIT as QUESTION
from arvis.web.webhooks import WEBHOOK
from arvis.web.workflow_shapes import PROBLEM, WORKFLOW, WORKFLOW_DETAIL
from arvis.web.workflow_shapes import VERSION as WORKFLOW_VERSION

NAMED: Mapping[str, Schema] = {
    "Account": ACCOUNT,
    "Agent": AGENT,
    "AgentDetail": AGENT_DETAIL,
    "AgentVersion": VERSION,
    "ApiKey": KEY,
    "AskedMessage": ASKED_MESSAGE,
    "Attachment": STORED_ATTACHMENT,
    "Binding": BINDING,
    "Bot": BOT,
    "Channel": CHANNEL,
    "Charge": CHARGE,
    "Client": CLIENT,
    "ClientDetail": CLIENT_DETAIL,
    "Conversation": CONVERSATION,
    "ConversationDetail": CONVERSATION_DETAIL,
    "Error": ERROR,
    "Fact": FACT,
    "FactChange": FACT_CHANGE,
    "FactDetail": FACT_DETAIL,
    "Findings": FINDINGS,
    "Job": QUEUE_JOB,
    "JobDetail": QUEUE_JOB_DETAIL,
    "JobRow": JOB,
    "JobStory": STORY,
    "Login": SESSION,
    "LoginLink": CODE,
    "MadeKey": MADE_KEY,
    "MadeUser": MADE_USER,
    "Me": ME,
    "Message": STORED_MESSAGE,
    "Occurrence": OCCURRENCE,
    "Ok": OK,
    "Overview": OVERVIEW,
    "Pairing": PAIRING,
    "Person": PERSON,
    "PersonDetail": PERSON_DETAIL,
    "Problem": PROBLEM,
    "Project": PROJECT,
    "Run": RUN,
    "RunDetail": RUN_DETAIL,
    "RunLine": LOG_LINE,
    "RunningWork": RUNNING,
    "Schedule": SCHEDULE,
    "ScheduleDetail": SCHEDULE_DETAIL,
    "State": STATE,
    "Step": STEP,
    "Timeline": TIMELINE,
    "User": USER,
    "Variable": VARIABLE,
    "Wait": QUESTION,
    "WaitRow": WAIT,
    "Webhook": WEBHOOK,
    "Workflow": WORKFLOW,
    "WorkflowDetail": WORKFLOW_DETAIL,
    "WorkflowVersion": WORKFLOW_VERSION,
}
