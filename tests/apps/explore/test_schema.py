"""The API conforms to its OpenAPI schema; Schemathesis generates the requests."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings

LIMITS = settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=(HealthCheck.too_slow, HealthCheck.filter_too_much),
    phases=[Phase.explicit, Phase.generate],
)
PATHS = {"/api/v1/solve", "/api/v1/story", "/api/v1/models", "/api/v1/generate"}


@pytest.fixture(scope="module")
def schema(address: str) -> Any:
    import schemathesis  # here, because only one process of the tests needs it

    return schemathesis.openapi.from_url(f"{address}/api/v1/openapi.json")


def test_the_description_names_the_four_paths_and_their_refusals(address: str) -> None:
    told = httpx.get(f"{address}/api/v1/openapi.json").json()
    assert set(told["paths"]) == PATHS
    for path in told["paths"].values():
        for method in path.values():
            answers = method["responses"]
            assert {"200", "400", "413", "422", "429"} <= set(answers)
            for status in set(answers) - {"200"}:
                schema = answers[status]["content"]["application/json"]["schema"]
                assert schema == {"$ref": "#/components/schemas/Problem"}


@pytest.mark.parametrize("path", sorted(PATHS))
def test_answers_are_as_described(schema: Any, path: str) -> None:
    from schemathesis import checks
    from schemathesis.core.result import Ok
    from schemathesis.specs.openapi.checks import (
        content_type_conformance,
        response_schema_conformance,
        status_code_conformance,
    )

    wanted = [checks.not_a_server_error, status_code_conformance]
    wanted += [content_type_conformance, response_schema_conformance]
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    (operation,) = [one for one in operations if one.path == path]

    @LIMITS
    @given(case=operation.as_strategy())
    def check(case: Any) -> None:
        case.call_and_validate(checks=wanted, timeout=120)  # its own limit is 10 seconds

    check()
