"""The tools as an MCP server (official SDK; spec 5, MCP).

Owns: how a call becomes an answer or an error that helps, and that a call without a reader is refused. Leaves to others: the tools
(`tools`), who asks: over stdio the reader of the options, over HTTP the one whose token the guard verified.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from mcp import types
from mcp.server.lowlevel import Server
from pydantic import TypeAdapter, ValidationError

from graphrag_provenance.errors import ProvenanceError
from graphrag_provenance.events import report
from graphrag_provenance.interfaces.http.failures import told
from graphrag_provenance.interfaces.http.identity import refused
from graphrag_provenance.interfaces.http.service import Service
from graphrag_provenance.interfaces.mcp.tools import TOOLS, Tool
from graphrag_provenance.model.readers import Reader, Role
from graphrag_provenance.notation import problem
from graphrag_provenance.store.bridge import aside, carried
from graphrag_provenance.version import __version__

WhoAsks = Callable[[Any], Reader | None]
"""The reader of a request of the transport; None: nobody."""
INSTRUCTIONS = (
    "A store of relations in which every relation has evidence. Find entities, trace claims, and cite what the answers cite. What is not "
    "found here is not known here: say so, and do not fill it in. You see what the person you work for may see.")
_MOST_PROBLEMS = 5


def create_server(service: Service, who: WhoAsks) -> Server[Any]:
    """The server of one store."""
    by_name = {tool.name: tool for tool in TOOLS}

    async def list_tools(_: Any, __: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in TOOLS])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = by_name.get(params.name)
        if tool is None:
            return _failed("not-found", "There is no such tool.", f"There are: {', '.join(by_name)}.")
        async with service.turns:
            return await (aside if tool.long else carried)(
                lambda: _called(service, who, tool, context.request, params.arguments or {}))

    return Server("graphrag-provenance", version=__version__, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=call_tool)


def _called(service: Service, who: WhoAsks, tool: Tool, request: Any, arguments: Mapping[str, Any]) -> types.CallToolResult:
    try:
        reader = who(request)
        if reader is None:
            raise refused()
        asked = tool.asked.model_validate(arguments)
        plain = replace(reader, roles=frozenset({Role.READER}))
        body = json.dumps(tool.call(service, plain, _trace_id(request), asked), ensure_ascii=False, default=str)
        return types.CallToolResult(content=[types.TextContent(type="text", text=body)], structured_content=json.loads(body))
    except ValidationError as error:
        return _failed("input", _problems(tool, error), f"{tool.name} takes: {', '.join(_arguments(tool))}.")
    except ProvenanceError as error:
        _, message, hint = told(error)
        return _failed(error.code, message, hint)
    except Exception as error:  # noqa: BLE001 - the last place where anything is caught
        report("error", "a tool failed unexpectedly", tool=tool.name, kind=type(error).__name__, exc_info=True)
        return _failed("unexpected", "The tool failed.", "Trying again will hardly help; tell the operators.")


def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name, title=tool.title, description=tool.description, input_schema=tool.asked.model_json_schema(by_alias=True),
        output_schema=TypeAdapter(tool.answer).json_schema(),
        annotations=types.ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False))


def _failed(code: str, message: str, hint: str | None) -> types.CallToolResult:
    text = f"{code}: {message}" + (f" {hint}" if hint else "")
    return types.CallToolResult(content=[types.TextContent(type="text", text=text)], is_error=True)


def _arguments(tool: Tool) -> list[str]:
    return [field.alias or name for name, field in tool.asked.model_fields.items()]


def _problems(tool: Tool, error: ValidationError) -> str:
    """What is wrong with the arguments, without what they hold."""
    found = [f"{'.'.join(str(part)[:100] for part in one['loc']) or tool.name}: {problem(one)}"
             for one in error.errors(include_input=False)]
    more = [] if len(found) <= _MOST_PROBLEMS else [f"and {len(found) - _MOST_PROBLEMS} more"]
    return "; ".join([*found[:_MOST_PROBLEMS], *more]) + "."


def _trace_id(request: Any) -> str:
    return str(getattr(getattr(request, "state", None), "trace_id", None) or secrets.token_hex(16))
