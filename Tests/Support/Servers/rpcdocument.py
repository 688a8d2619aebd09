"""Checks an OpenRPC document: rpcdocument.py DOCUMENT FOLDER.

The document must follow the OpenRPC specification 1.3.2 and JSON Schema draft 7, and a generator must make clients of it
in FOLDER. Ends with status 1 and a line for each mistake.
"""

import json
import re
import sys
from collections import Counter
from pathlib import Path

from jsonschema import Draft7Validator
from openrpc import OpenRPC
from openrpcclientgenerator import Language, generate

TEXT = {"type": "string", "minLength": 1}
NAMED = {"type": "object", "propertyNames": {"pattern": r"^[a-zA-Z0-9._-]+$"}}


def closed(demanded: str, /, **members: object) -> dict[str, object]:
    """An object of the specification: these members, and extensions."""
    return {
        "type": "object",
        "required": demanded.split(),
        "properties": members,
        "patternProperties": {"^x-": True},
        "additionalProperties": False,
    }


DESCRIPTOR = closed(
    "name schema",
    name=TEXT, summary=TEXT, description=TEXT, required={"type": "boolean"}, deprecated={"type": "boolean"},
    schema={"type": ["object", "boolean"]},
)
METHOD = closed(
    "name params result",
    name=TEXT, summary=TEXT, description=TEXT, deprecated={"type": "boolean"},
    params={"type": "array", "items": DESCRIPTOR}, result=DESCRIPTOR,
    errors={"type": "array", "items": closed("code message", code={"type": "integer"}, message=TEXT, data=True)},
    paramStructure={"enum": ["by-name", "by-position", "either"]},
)  # fmt: skip
DOCUMENT = closed(
    "openrpc info methods",
    openrpc={"type": "string", "pattern": r"^1\.3\.[0-9]+$"},
    info=closed("title version", title=TEXT, version=TEXT, description=TEXT),
    methods={"type": "array", "items": METHOD},
    components=closed("", schemas=NAMED),
)


def references(value: object) -> list[str]:
    """Every `$ref` in a value."""
    if isinstance(value, list):
        return [found for element in value for found in references(element)]
    if not isinstance(value, dict):
        return []
    own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
    return own + [found for element in value.values() for found in references(element)]


def mistakes(document: dict) -> list[str]:
    found = [f"{error.json_path}: {error.message}" for error in Draft7Validator(DOCUMENT).iter_errors(document)]
    if found:
        return found
    schemas = document["components"]["schemas"]
    places = {f"#/components/schemas/{name}": schema for name, schema in schemas.items()}
    found += [f"{name}: nothing is there" for name in references(document) if name not in places]
    found += [f"{name}: it is no identifier" for name in schemas if not re.fullmatch("[A-Z][A-Za-z0-9]*", name)]
    methods = document["methods"]
    lists = {"methods": [method["name"] for method in methods]}
    for method in methods:
        name = method["name"]
        lists[f"{name}, parameters"] = [parameter["name"] for parameter in method["params"]]
        lists[f"{name}, errors"] = [error["code"] for error in method["errors"]]
        required = [parameter.get("required", False) for parameter in method["params"]]
        if required != sorted(required, reverse=True):
            found.append(f"{name}: a parameter that may be absent is before one that must be given")
        for descriptor in [*method["params"], method["result"]]:
            places[f"{name}, {descriptor['name']}"] = descriptor["schema"]
    for name, values in lists.items():
        found += [f"{name}: {value} is there {count} times" for value, count in Counter(values).items() if count > 1]
    rules = Draft7Validator(Draft7Validator.META_SCHEMA)
    for name, schema in places.items():
        found += [f"{name}: {error.message}" for error in rules.iter_errors(schema)]
    return found


def main() -> int:
    text, folder = Path(sys.argv[1]).read_text(), Path(sys.argv[2])
    found = mistakes(json.loads(text))
    print("\n".join(found))
    if found:
        return 1
    for language in Language:
        generate(OpenRPC.model_validate_json(text), language, "http://localhost", folder)
    modules = list(folder.rglob("*.py"))
    for module in modules:
        compile(module.read_text(), module.name, "exec")
    return 0 if modules and list(folder.rglob("*.ts")) and list(folder.rglob("*.rs")) else 1


sys.exit(main())
