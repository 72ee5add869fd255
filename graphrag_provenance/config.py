"""Settings: flag > environment > workspace file > default (spec 6).

Owns: names, defaults and sources of every setting. Leaves to others: what the settings do.
"""

from __future__ import annotations

import getpass
import tomllib
from pathlib import Path
from typing import Annotated, Any

from platformdirs import user_cache_path, user_data_path
from pydantic import AliasChoices, BeforeValidator, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from graphrag_provenance.errors import ConfigurationError
from graphrag_provenance.notation import parse_toml, problem

WORKSPACE_FILE = "gprov.toml"
DEFAULT_NEO4J_VERSION = "2026.09.0"


def _default_home() -> Path:
    return user_data_path("graphrag-provenance", appauthor=False)


def _default_cache() -> Path:
    return user_cache_path("graphrag-provenance", appauthor=False)


def _comma_separated(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


class Settings(BaseSettings):
    """All settings. Environment names are `GRAPHRAG_PROVENANCE_<NAME>`; the connection also reads `NEO4J_*`."""

    model_config = SettingsConfigDict(
        env_prefix="GRAPHRAG_PROVENANCE_",
        extra="forbid",
        frozen=True,
        use_attribute_docstrings=True,
        populate_by_name=True,
    )

    home: Path = Field(default_factory=_default_home)
    """Folder of all local state (the local server's data, its password, its logs)."""
    cache: Path = Field(default_factory=_default_cache)
    """Folder of downloaded Neo4j jars, shared between homes."""
    maven_url: str | None = None
    """Base address of the Maven repository (a company mirror); default: Maven Central."""
    neo4j_version: str = DEFAULT_NEO4J_VERSION
    """Version of the local Neo4j: one that has a shipped lock file."""

    neo4j_uri: str | None = Field(
        None, validation_alias=AliasChoices("neo4j_uri", "NEO4J_URI", "GRAPHRAG_PROVENANCE_NEO4J_URI"))
    """Address of a Neo4j server; without it the local server of `home` is used."""
    neo4j_username: str = Field(
        "neo4j",
        validation_alias=AliasChoices("neo4j_username", "NEO4J_USERNAME", "GRAPHRAG_PROVENANCE_NEO4J_USERNAME"),
    )
    """User name on that server."""
    neo4j_password: SecretStr | None = Field(
        None, validation_alias=AliasChoices("neo4j_password", "NEO4J_PASSWORD", "GRAPHRAG_PROVENANCE_NEO4J_PASSWORD"))
    """Password on that server."""
    neo4j_database: str | None = Field(
        None, validation_alias=AliasChoices("neo4j_database", "NEO4J_DATABASE", "GRAPHRAG_PROVENANCE_NEO4J_DATABASE"))
    """Database on that server; default: the user's home database."""

    policies: Path | None = None
    """Policy file; default: the shipped `etl/policies.toml`."""
    tenant: str | None = None
    """Tenant of records and readers that name none."""
    clearance: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_comma_separated)] = ()
    """Policies the reader is cleared for (each includes every policy below it); in the environment `internal,hr`."""
    access_file: Path | None = None
    """File that says which live access references are open (docs/access.md); without one, and without OpenFGA, none is."""
    openfga_url: str | None = None
    """Address of an OpenFGA server that says which live access references are open; instead of a file, not beside one."""
    openfga_store_id: str | None = None
    """The OpenFGA store to ask."""
    openfga_model_id: str | None = None
    """The authorization model to ask under; it has `restriction#viewer`."""
    openfga_token: SecretStr | None = None
    """Bearer token of the OpenFGA server, if it wants one."""
    openfga_tenants: Annotated[tuple[str, ...] | None, NoDecode, BeforeValidator(_comma_separated)] = None
    """Tenants whose readers the OpenFGA store knows; default: principals are unique across tenants."""
    openfga_list_seconds: float = Field(3.0, gt=0)
    """The server's own time limit of a list (`listObjectsDeadline`): a list that took that long may have ended early."""
    access_stale_seconds: float = Field(0.0, ge=0, allow_inf_nan=False)
    """How old an answer about live references may be; 0: every one is asked for when it is needed."""
    principal: str | None = None
    """Who reads or writes; default for writing: the operating system's user."""

    max_line_bytes: int = Field(16_777_216, ge=1024)
    """Longest input line that is read, in bytes; a longer one is rejected with its place."""
    batch_size: int = Field(1_000, ge=1, le=100_000)
    """Edges a transaction."""
    pipeline_memory_mb: int = Field(512, ge=64)
    """Memory that the queries of a pipeline may take, in megabytes; beyond it they use the disk."""
    source_username: str = "neo4j"
    """User name on the Neo4j that a pipeline reads (--from-neo4j)."""
    source_password: SecretStr | None = None
    """Password there."""
    source_database: str | None = None
    """Database there; default: the user's home database."""
    query_timeout_seconds: float = Field(10.0, gt=0)
    """Database-side time limit of one read."""
    lease_seconds: float = Field(60.0, gt=1)
    """How long a silent writer keeps the store before another may take over."""
    wait_seconds: float = Field(600.0, ge=0)
    """How long a writer waits for another writer to finish."""
    max_hops: int = Field(4, ge=1, le=8)
    """Longest chain a trace looks for unless told otherwise."""
    require_registered_sources: bool = False
    """Reject evidence whose chunk no record declares."""
    retention_days: int | None = Field(None, ge=0, le=365_000)
    """How many days `doc purge` keeps the texts of what was replaced or deleted; without it nothing is purged."""
    serve_host: str = "127.0.0.1"
    """Address that the service listens on; the default is reached from this machine only."""
    serve_port: int = Field(8750, ge=0, le=65_535)
    """Port of the service; 0: any free one."""
    serve_api_keys: Path | None = None
    """File of hashed API keys (`gprov key new`); for its owner only, mode 0600."""
    serve_proxies: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_comma_separated)] = ()
    """Addresses of the proxies in front of the service, whose X-Forwarded headers are believed."""
    serve_tls_certificate: Path | None = None
    """Certificate chain (PEM), for a service that speaks TLS itself."""
    serve_tls_key: Path | None = None
    """Private key of that certificate (PEM)."""
    serve_at_once: int = Field(16, ge=1, le=256)
    """Requests that are worked on at once."""
    serve_waiting: int = Field(64, ge=0, le=10_000)
    """Requests that may wait for their turn; more are answered 503."""
    serve_timeout_seconds: float = Field(30.0, gt=0, allow_inf_nan=False)
    """How long one request may take before it is answered 504."""
    serve_rate_per_minute: int = Field(600, ge=1, le=1_000_000)
    """Requests a minute that one reader may make, on average."""
    serve_burst: int = Field(60, ge=1, le=100_000)
    """Requests that one reader may make at once."""
    serve_max_body_bytes: int = Field(1_048_576, ge=1_024)
    """Largest body of a request."""
    serve_otel: bool = False
    """Whether the service sends OpenTelemetry spans; where to, the variables `OTEL_*` say."""
    oidc_issuer: str | None = None
    """Issuer of the tokens that the service accepts, word for word as in their claim `iss`."""
    oidc_audience: str | None = None
    """Audience that a token must name in its claim `aud`."""
    oidc_jwks_url: str | None = None
    """Address of the issuer's public keys (JWKS); https, or http on loopback."""
    oidc_algorithms: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_comma_separated)] = ("RS256", "ES256")
    """Signature algorithms that are accepted; asymmetric ones only."""
    oidc_require_nbf: bool = True
    """Whether a token must say from when on it is valid (`nbf`); it is obeyed wherever it stands."""
    oidc_leeway_seconds: float = Field(30.0, ge=0, le=300)
    """How far the issuer's clock and this one may differ."""
    oidc_jwks_seconds: float = Field(300.0, gt=0, le=86_400)
    """How old the issuer's keys may be before they are fetched again."""
    oidc_principal_claim: str = "sub"
    """Claim that names the reader. A claim inside another is written with dots: `realm_access.roles`."""
    oidc_tenant_claim: str = "tenant"
    """Claim with the reader's tenant."""
    oidc_clearance_claim: str = "clearances"
    """Claim with the policies that the reader is cleared for: a list, or words with spaces between."""
    oidc_roles_claim: str = "roles"
    """Claim with the reader's roles; words that are no role of this service are passed over."""
    actor: str | None = None
    """Who writes, for the run record; default: `principal`, then the operating system's user."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments, then the environment: no `.env` file, no folder of secrets."""
        return (init_settings, env_settings)


def load_settings(workspace: Path | None = None, **flags: Any) -> Settings:
    """Settings from flags, environment and the workspace file `gprov.toml` (in `workspace` or the current folder).

    A flag that is None counts as not given. Raises ConfigurationError naming the setting at fault.
    """
    file = (workspace or Path.cwd()) / WORKSPACE_FILE
    given = {k: v for k, v in flags.items() if v is not None}
    try:
        from_file = _workspace_values(file)
        from_env = Settings()
        merged = from_file | {k: getattr(from_env, k) for k in from_env.model_fields_set} | given
        return Settings(**merged)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "settings"
        raise ConfigurationError(
            f"Setting '{name}': {problem(first)}.", hint=f"Mend it in {file.name}, the environment or the flag."
        ) from None


def _workspace_values(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        values = parse_toml(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{file} is not valid TOML: {error}.") from None
    for key in values:
        # An alias (NEO4J_URI) in the file would otherwise win over the flag that has the setting's own name.
        if key not in Settings.model_fields:
            raise ConfigurationError(
                f"{file}: there is no setting '{key}'.", hint=f"Settings: {', '.join(Settings.model_fields)}."
            )
    for key in ("policies", "access_file", "home", "cache", "serve_api_keys", "serve_tls_certificate", "serve_tls_key"):
        if isinstance(values.get(key), str):
            values[key] = (file.parent / Path(values[key]).expanduser()).resolve()
    return values


def default_actor(settings: Settings) -> str:
    """Who a run is written for: setting `actor`, then `principal`, then the operating system's user."""
    return settings.actor or settings.principal or _system_user()


def _system_user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError, ImportError):  # a process without a user entry, as some containers have
        return "unknown"
