"""Checks sitemaps, feeds and robots.txt with third-party schemas and readers: feeds.py BASE DOCUMENT SITEMAP_XSD."""

import datetime
import json
import sys
import urllib.error
import urllib.request
import urllib.robotparser

import atoma
import feedparser
from lxml import etree, html

ATOM = "{http://www.w3.org/2005/Atom}"
SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"

# The elements that readers of job feeds expect, and whether each element may be empty.
JOB = {
    "title": False,
    "date": False,
    "referencenumber": False,
    "requisitionid": False,
    "url": False,
    "company": False,
    "sourcename": False,
    "city": True,
    "state": True,
    "country": True,
    "description": True,
    "lastactivitydate": False,
}
JOB_OPTIONAL = {"category", "salary", "remotetype", "expirationdate"}

# The minimum and maximum count of each element of a feed and of an entry, within the limits of RFC 4287 §4.1.
FEED_ELEMENTS = {"id": (1, 1), "title": (1, 1), "updated": (1, 1), "author": (1, 9), "link": (2, 2), "entry": (0, 100)}
ENTRY_ELEMENTS = {
    "id": (1, 1),
    "title": (1, 1),
    "updated": (1, 1),
    "published": (1, 1),
    "link": (1, 1),
    "category": (0, 1),
    "summary": (1, 1),
    "content": (1, 1),
}


def read(url, kind):
    with urllib.request.urlopen(url) as response:
        assert response.headers["Content-Type"] == kind, (url, response.headers["Content-Type"])
        return response.read()


def parse(data):
    """Parses strictly: without entities, network or recovery."""
    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True, recover=False))


def public_roles(organization):
    return [role for role in organization["roles"] if role.get("public") and role.get("status") == "open"]


def page(base, organization, role=None):
    return f"{base}/careers/{organization['slug']}" + (f"/roles/{role['id']}" if role else "")


def moment(text):
    return datetime.datetime.strptime(text, "%Y-%m-%dT%H:%M:%SZ")


def require_inert(text):
    """Checks that the HTML in a feed contains only inert elements and attributes."""
    if not text.strip():
        return
    for element in html.fragment_fromstring(text, create_parent=True).iter():
        assert element.tag in "div p h2 h3 h4 h5 h6 ul ol li blockquote pre code em strong del a br hr".split(), element.tag
        for name, value in element.attrib.items():
            assert name in ("href", "rel", "start"), name
            assert name != "href" or value.startswith(("http://", "https://", "mailto:")), value


def sitemap(base, organization, schema):
    root = parse(read(f"{page(base, organization)}/sitemap.xml", "application/xml; charset=utf-8"))
    schema.assertValid(root)
    for lastmod in root.iter(f"{SITEMAP}lastmod"):
        moment(lastmod.text)
    expected = {page(base, organization)} | {page(base, organization, role) for role in public_roles(organization)}
    found = [loc.text for loc in root.iter(f"{SITEMAP}loc")]
    assert sorted(found) == sorted(expected), found


def require_counts(element, allowed):
    names = [etree.QName(child).localname for child in element]
    assert set(names) <= set(allowed), names
    for name, (least, most) in allowed.items():
        assert least <= names.count(name) <= most, (name, names.count(name))


def atom(base, organization):
    data = read(f"{page(base, organization)}/feed.atom", "application/atom+xml; charset=utf-8")
    root = parse(data)
    assert root.tag == f"{ATOM}feed"
    require_counts(root, FEED_ELEMENTS)
    (own,) = [link for link in root.findall(f"{ATOM}link") if link.get("rel") == "self"]
    assert own.get("href") == f"{page(base, organization)}/feed.atom"
    entries = root.findall(f"{ATOM}entry")
    ids = [element.text for element in root.iter(f"{ATOM}id")]
    assert len(ids) == len(set(ids)) and all(text.startswith("urn:uuid:") for text in ids), ids
    for entry in entries:
        require_counts(entry, ENTRY_ELEMENTS)
        assert moment(entry.findtext(f"{ATOM}published")) <= moment(entry.findtext(f"{ATOM}updated"))
        assert moment(entry.findtext(f"{ATOM}updated")) <= moment(root.findtext(f"{ATOM}updated"))
        content = entry.find(f"{ATOM}content")
        assert content.get("type") == "html" and not len(content)
        require_inert(content.text or "")
    roles = {page(base, organization, role): role["name"] for role in public_roles(organization)}
    assert {entry.find(f"{ATOM}link").get("href") for entry in entries} == set(roles)
    # Third-party readers.
    feed = feedparser.parse(data, sanitize_html=False)
    assert not feed.bozo and feed.version == "atom10", feed.get("bozo_exception")
    assert len(feed.entries) == len(roles)
    strict = atoma.parse_atom_bytes(data)
    assert strict.title.value and strict.authors and {entry.links[0].href for entry in strict.entries} == set(roles)


def jobs(base, organization):
    root = parse(read(f"{page(base, organization)}/jobs.xml", "application/xml; charset=utf-8"))
    assert root.tag == "source"
    names = [child.tag for child in root]
    assert names[:3] == ["publisher", "publisherurl", "lastBuildDate"] and set(names[3:]) <= {"job"}, names
    moment(root.findtext("lastBuildDate"))
    roles = {page(base, organization, role): role for role in public_roles(organization)}
    found = {job.findtext("url"): job for job in root.iter("job")}
    assert set(found) == set(roles), found
    for url, job in found.items():
        members = [child.tag for child in job]
        assert len(members) == len(set(members)), members
        assert set(JOB) <= set(members) <= set(JOB) | JOB_OPTIONAL, members
        for child in job:
            assert not len(child), "an element of a job contains another element"
            assert JOB.get(child.tag, False) or (child.text or "").strip(), (url, child.tag)
        moment(job.findtext("date"))
        assert (job.find("expirationdate") is not None) == ("closesOn" in roles[url]), url
        if "closesOn" in roles[url]:
            moment(job.findtext("expirationdate"))
        require_inert(job.findtext("description") or "")
        # The title is the exact name of the role.
        assert job.findtext("title") == roles[url]["name"], job.findtext("title")
        is_salary_shown = organization["portal"].get("theme", {}).get("showSalary") and roles[url].get("salaryCurrency")
        assert (job.find("salary") is not None) == bool(is_salary_shown), url


def robots(base, organizations):
    data = read(f"{base}/robots.txt", "text/plain; charset=utf-8").decode()
    rules = urllib.robotparser.RobotFileParser()
    rules.parse(data.splitlines())
    for path, allowed in [
        ("/careers/halmwind", True),
        ("/careers/halmwind/roles/x", True),
        ("/api/public/portal/halmwind", False),
        ("/signup/x", False),
        ("/status/x", False),
    ]:
        assert rules.can_fetch("Anybot", base + path) == allowed, path
    # With several portals, robots.txt names no sitemap.
    expected = [f"{page(base, organizations[0])}/sitemap.xml"] if len(organizations) == 1 else None
    assert rules.site_maps() == expected, rules.site_maps()
    return len(expected or [])


def require_refusal(check, *arguments):
    """Checks that a check refuses wrong input."""
    try:
        check(*arguments)
    except (AssertionError, ValueError, etree.LxmlError):
        return
    raise SystemExit(f"{check} accepts wrong input")


def try_checks(schema):
    namespace = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    require_refusal(schema.assertValid, parse(f"<urlset {namespace}><url><lastmod>2026-09-01</lastmod></url></urlset>"))
    require_refusal(schema.assertValid, parse(f"<urlset {namespace}><url><loc>no address</loc><lastmod>now</lastmod></url></urlset>"))
    require_refusal(require_counts, parse('<feed xmlns="http://www.w3.org/2005/Atom"><id>urn:uuid:1</id></feed>'), FEED_ELEMENTS)
    for text in ["<script>x</script>", '<a href="javascript:x">a</a>', '<p onclick="x">a</p>']:
        require_refusal(require_inert, text)
    require_refusal(parse, "<a>\u0001</a>")
    require_refusal(parse, "<a>&nbsp;</a>")


def main():
    base, document, schema = sys.argv[1:]
    with open(document, encoding="utf-8") as file:
        organizations = json.load(file)["organizations"]
    schema = etree.XMLSchema(etree.parse(schema))
    try_checks(schema)
    on = [organization for organization in organizations if organization["portal"]["enabled"]]
    for organization in on:
        sitemap(base, organization, schema)
        atom(base, organization)
        jobs(base, organization)
        print(f"{organization['slug']}: {len(public_roles(organization))} roles in the sitemap, the Atom feed and the job feed")
    for organization in organizations:
        if organization not in on:
            try:
                urllib.request.urlopen(f"{page(base, organization)}/feed.atom")
                raise AssertionError("a disabled portal has a feed")
            except urllib.error.HTTPError as error:
                assert error.code == 404
    print(f"robots.txt names {robots(base, on)} sitemaps for {len(on)} portals")


main()
