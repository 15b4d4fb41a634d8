"""Writes an interchange document: the demo, an organization with hostile texts, and two organizations without roles."""

import json
import sys

CANARY = "<script>window.canary = 1</script>"

HOSTILE = [
    CANARY,
    "</script></title></textarea><img src=x onerror=window.canary=1>",
    "]]><job><title>injected</title></job><![CDATA[",
    "<!-- <script> & \" ' ` {{7*7}} ${7*7} %3Cscript%3E &lt;b&gt; &amp;amp;",
    "ü 漢字 🛠️ \U0010ffff",
    "--> ]]> ?> %> \\u003c/script\\u003e \\",
]

DESCRIPTIONS = [
    *HOSTILE[:4],
    # The service refuses these line breaks and invisible characters in a name, so only a description has them.
    "\u2028\u2029\u202e\ufeff\u200b ü 漢字 🛠️ \U0010ffff",
    *HOSTILE[5:],
    "[a](javascript:window.canary=1) [b](data:text/html,x) <javascript:x> [c]: javascript:x\n\n![d](x onerror=y)",
    "# One\n\n<iframe src=//evil.example></iframe>\n\n* [ok](https://example.com/?a=1&b=2 \"t\") **bold** `code <b>`",
    "> " * 200 + "deep\n\n" + "".join("  " * depth + "- a\n" for depth in range(40)),
    "",
]


def role(number, text, description, **members):
    return {
        "id": f"role_hostile-{number}",
        "name": text,
        "department": text[:200],
        "location": text[:200],
        "status": "open",
        "public": True,
        "createdAt": f"2026-09-{number + 1:02}T10:00:00.123456Z",
        "description": {"format": "markdown", "body": description},
        **members,
    }


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        document = json.load(file)
    roles = [
        role(number, HOSTILE[number % len(HOSTILE)], description) for number, description in enumerate(DESCRIPTIONS)
    ]
    salary = {"salaryMin": 15.5, "salaryMax": 15.5, "salaryCurrency": "CHF", "salaryPeriod": "hour"}
    complete = {
        "location": "Zürich, Schweiz",
        "workType": "onsite",
    }
    roles += [
        role(20, "Complete", "Text", **complete, **salary),
        role(21, "From anywhere", "Text", **(salary | {"location": "Germany or Austria", "workType": "remote"})),
        role(22, "No description", "", **complete) | {"description": {}},
        role(23, "Another description", "", **complete) | {"description": {"blocks": [CANARY]}},
    ]
    document["organizations"] += [
        {
            "id": "org_hostile",
            "slug": "Hostile-1",
            "name": f"{CANARY}]]>&",
            "domain": "javascript:window.canary=1",
            "logo": "javascript:window.canary=1",
            "portal": {"enabled": True, "theme": {"showSalary": True, "primaryColor": "#ffff00"}},
            "roles": roles,
        },
        {"id": "org_empty", "slug": "empty", "name": "Nobody wanted", "portal": {"enabled": True}, "roles": []},
        {"id": "org_off", "slug": "off", "name": "Not here", "portal": {"enabled": False}, "roles": []},
    ]
    json.dump(document, sys.stdout)


main()
