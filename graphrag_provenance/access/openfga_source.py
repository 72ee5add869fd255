"""OpenFGA as a live access source (extra `openfga`).

Owns: how references and principals are named in OpenFGA, and how it is asked. The object of a reference carries its
incarnation, so what is created again is another object; a restriction's tuples are deleted with it, so a dangling reference
has none. Every question demands the server's higher consistency and names one authorization model.

Listing: ListObjects stops at 1,000 results, so the streaming call is used, which has no such limit. But the server ends a
stream without a word when its deadline (3 s unless changed) has passed. What came by then is a subset, so nothing opens that
should not; a stream of that length is reported to operators, and `candidates`, if given, are checked one by one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from urllib.parse import quote, unquote

from pydantic import SecretStr

from graphrag_provenance.access.interface import Decision, Grants, Refusal, reference, told, unreachable
from graphrag_provenance.errors import MissingExtraError
from graphrag_provenance.model.readers import Reader
from graphrag_provenance.model.records import AclRef

try:
    from openfga_sdk import ClientConfiguration
    from openfga_sdk.client.models.batch_check_item import ClientBatchCheckItem
    from openfga_sdk.client.models.batch_check_request import ClientBatchCheckRequest
    from openfga_sdk.configuration import RetryParams
    from openfga_sdk.credentials import CredentialConfiguration, Credentials
    from openfga_sdk.models.consistency_preference import ConsistencyPreference
    from openfga_sdk.sync import OpenFgaClient
except ImportError as error:
    raise MissingExtraError(
        f"OpenFGA needs the package '{(error.name or 'openfga_sdk').partition('.')[0]}', which is not installed.",
        hint="Run: pip install 'graphrag-provenance[openfga]'.") from None

TYPE, RELATION = "restriction", "viewer"
MODEL = {
    "schema_version": "1.1",
    "type_definitions": [
        {"type": "user"},
        {"type": "group", "relations": {"member": {"this": {}}}, "metadata": {"relations": {"member": {
            "directly_related_user_types": [{"type": "user"}, {"type": "group", "relation": "member"}]}}}},
        {"type": TYPE, "relations": {RELATION: {"this": {}}}, "metadata": {"relations": {RELATION: {
            "directly_related_user_types": [{"type": "user"}, {"type": "group", "relation": "member"}]}}}},
    ],
}
"""The least authorization model that serves; a larger one does if it defines `restriction#viewer`."""
_CONSISTENCY: str = ConsistencyPreference.HIGHER_CONSISTENCY
_MOST_OBJECT_BYTES, _MOST_USER_BYTES = 256, 512  # what the server accepts


def object_of(key: str) -> str | None:
    """The OpenFGA object of a reference, `restriction:SYSTEM/SPACE/RESTRICTION/INCARNATION`, each part percent-encoded and
    empty where the reference has none. None for what is no reference, or too long for OpenFGA."""
    ref = reference(key)
    if ref is None:
        return None
    parts = (ref.system, ref.space, ref.restriction_id or "", ref.incarnation or "")
    found = f"{TYPE}:{'/'.join(quote(part, safe='') for part in parts)}"
    return found if len(found) <= _MOST_OBJECT_BYTES else None


def key_of(name: str) -> str | None:
    """The reference of an OpenFGA object; None for an object that `object_of` does not write."""
    parts = [unquote(part) for part in name.removeprefix(f"{TYPE}:").split("/")]
    if len(parts) != 4 or not parts[0] or not parts[1]:
        return None
    try:
        key = AclRef(system=parts[0], space=parts[1], restriction_id=parts[2] or None, incarnation=parts[3] or None).key()
    except ValueError:
        return None
    return key if object_of(key) == name else None


def user_of(principal: str) -> str | None:
    """The OpenFGA user of a principal, percent-encoded; None if it is too long for OpenFGA."""
    found = f"user:{quote(principal, safe='@+.-_~')}"
    return found if len(found) <= _MOST_USER_BYTES else None


def connect(
    url: str, store_id: str, model_id: str, *, api_token: SecretStr | None = None, timeout_seconds: float = 5.0
) -> OpenFgaClient:
    """A client that gives up soon: a source that does not answer denies, and waiting changes nothing about that."""
    credentials = None if api_token is None else Credentials(
        method="api_token", configuration=CredentialConfiguration(api_token=api_token.get_secret_value()))
    retries = RetryParams(max_retry=1, min_wait_in_ms=100)  # type: ignore[no-untyped-call]
    return OpenFgaClient(ClientConfiguration(
        api_url=url, store_id=store_id, authorization_model_id=model_id, credentials=credentials,
        timeout_millisec=round(timeout_seconds * 1000), retry_params=retries))


class OpenFgaSource:
    """Permissions in an OpenFGA store.

    `tenants`: the tenants whose readers this store knows; None: principals are unique across tenants.
    `accept_unbound`: whether a reference without an incarnation may open. OpenFGA cannot tell that one was created again.
    `candidates`: the references that the graph has for a reader's tenant, for lists that end early.
    """

    def __init__(
        self, client: OpenFgaClient, *, name: str = "openfga", tenants: Collection[str] | None = None,
        accept_unbound: bool = False, candidates: Callable[[Reader], Iterable[str]] | None = None,
        list_deadline_seconds: float = 3.0,
    ) -> None:
        self._client, self._name = client, name
        self._tenants = None if tenants is None else frozenset(tenants)
        self._accept_unbound, self._candidates, self._deadline = accept_unbound, candidates, list_deadline_seconds
        self._store = str(client.get_store_id())  # type: ignore[no-untyped-call]
        self._model = str(client.get_authorization_model_id())  # type: ignore[no-untyped-call]
        self._token = f"store={self._store} model={self._model} consistency={_CONSISTENCY}"

    @property
    def name(self) -> str:
        """As given."""
        return self._name

    def granted(self, reader: Reader) -> Grants:
        """Every reference that the server lists for the reader."""
        user = user_of(reader.principal)
        if user is None or not self._serves(reader):
            return Grants(self._name, token=self._token)
        began = time.monotonic()
        try:
            listed = frozenset(self._listed(user))
        except Exception as error:  # noqa: BLE001 - the client's errors have no common root
            return Grants(self._name, trouble=told(error))
        if time.monotonic() - began < self._deadline:
            return Grants(self._name, listed, self._token)
        trouble = f"a list of {len(listed)} references took the server's whole {self._deadline:g} s and may have ended early"
        if self._candidates is None:
            return Grants(self._name, listed, self._token, trouble=trouble)
        more = self.check(reader, frozenset(self._candidates(reader)) - listed)
        return Grants(self._name, listed | more.allowed, self._token, trouble=more.trouble and f"{trouble}; {more.trouble}")

    def check(self, reader: Reader, refs: Collection[str]) -> Decision:
        """What the server says about these references."""
        user, denied, objects = user_of(reader.principal), dict[str, str](), dict[str, str]()
        for key in refs:
            why = self._refusal(key, reader)
            found = object_of(key)
            if why is not None:
                denied[key] = why
            elif user is None or found is None:
                denied[key] = Refusal.NOT_EXPRESSIBLE
            else:
                objects[key] = found
        if user is None or not objects:
            return Decision(self._name, denied=denied, token=self._token)
        try:
            allowed, failed = self._checked(user, objects)
        except Exception as error:  # noqa: BLE001 - the client's errors have no common root
            return unreachable(self._name, refs, told(error))
        for key in objects.keys() - allowed:
            denied[key] = Refusal.UNREACHABLE if key in failed else Refusal.NOT_A_READER
        trouble = f"{len(failed)} checks failed: {next(iter(failed.values()))}" if failed else None
        return Decision(self._name, allowed, denied, self._token, trouble=trouble)

    def _serves(self, reader: Reader) -> bool:
        return self._tenants is None or reader.tenant in self._tenants

    def _refusal(self, key: str, reader: Reader) -> Refusal | None:
        ref = reference(key)
        if ref is None:
            return Refusal.NOT_A_REFERENCE
        if not self._serves(reader):
            return Refusal.OTHER_TENANT
        return Refusal.NO_INCARNATION if ref.incarnation is None and not self._accept_unbound else None

    def _listed(self, user: str) -> Iterable[str]:
        # Not streamed_list_objects: it drops the line with which the server ends a stream that failed.
        lines = self._client.execute_streamed_api_request(
            operation_name="StreamedListObjects", method="POST", path="/stores/{store_id}/streamed-list-objects",
            path_params={"store_id": self._store},
            body={"authorization_model_id": self._model, "type": TYPE, "relation": RELATION, "user": user,
                  "consistency": _CONSISTENCY})
        for line in lines:
            if "result" not in line:
                raise ConnectionError(f"the list ended with {line}")
            key = key_of(line["result"]["object"])
            ref = None if key is None else reference(key)
            if key is not None and ref is not None and (ref.incarnation is not None or self._accept_unbound):
                yield key

    def _checked(self, user: str, objects: dict[str, str]) -> tuple[frozenset[str], dict[str, str]]:
        """The keys allowed, and those that the server could not decide with its words."""
        by_number = {str(number): key for number, key in enumerate(objects)}
        checks = [
            ClientBatchCheckItem(user=user, relation=RELATION, object=objects[key], correlation_id=number)
            for number, key in by_number.items()]
        said = self._client.batch_check(ClientBatchCheckRequest(checks=checks), {"consistency": _CONSISTENCY})
        allowed = frozenset(
            by_number[one.correlation_id] for one in said.result if one.allowed is True and one.error is None)
        failed = {by_number[one.correlation_id]: str(one.error) for one in said.result if one.error is not None}
        return allowed, failed
