"""The list of an image's contents as SPDX 2.3, in JSON: what is in it, from which package, under which licence."""

import datetime
import hashlib
import json
import re
import urllib.parse

import packages

# Debian's short names to SPDX's; a package with any other keeps NOASSERTION, and its names as a comment.
SPDX = {
    "Apache-2.0": "Apache-2.0", "BSD-2-clause": "BSD-2-Clause", "BSD-3-clause": "BSD-3-Clause", "BSL-1.0": "BSL-1.0",
    "CC0-1.0": "CC0-1.0", "Expat": "MIT", "GPL-2": "GPL-2.0-only", "GPL-2+": "GPL-2.0-or-later",
    "GPL-3": "GPL-3.0-only", "GPL-3+": "GPL-3.0-or-later", "LGPL-2.1": "LGPL-2.1-only", "LGPL-2.1+": "LGPL-2.1-or-later",
    "LGPL-3+": "LGPL-3.0-or-later", "MIT": "MIT", "MPL-2.0": "MPL-2.0", "Zlib": "Zlib", "zlib": "Zlib",
}


def _identifier(name):
    return "SPDXRef-Package-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def _package(name, version, source, architecture):
    licences = packages.licences(name)
    known = [SPDX.get(licence) for licence in licences]
    declared = " AND ".join(sorted(set(known))) if known and all(known) else "NOASSERTION"
    entry = {
        "name": name,
        "SPDXID": _identifier(name),
        "versionInfo": version,
        "supplier": "Organization: Debian",
        "sourceInfo": f"built from Debian source package {source}",
        "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False,
        "licenseConcluded": "NOASSERTION",
        "licenseDeclared": declared,
        "copyrightText": f"See /usr/share/doc/{name}/copyright in the image.",
        "externalRefs": [{
            "referenceCategory": "PACKAGE-MANAGER",
            "referenceType": "purl",
            "referenceLocator": f"pkg:deb/debian/{urllib.parse.quote(name)}@{urllib.parse.quote(version)}?arch={architecture}&distro=debian-12",
        }],
    }
    if licences:
        entry["licenseComments"] = "Licences of its files: " + ", ".join(licences)
    return entry


def document(name, version, epoch, shipped, linked):
    """`shipped`: packages with files in the image; `linked`: those that went into the program when it was built."""
    created = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    root = {
        "name": name, "SPDXID": _identifier(name), "versionInfo": version, "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False, "licenseConcluded": "Apache-2.0", "licenseDeclared": "Apache-2.0",
        "copyrightText": "NOASSERTION", "primaryPackagePurpose": "CONTAINER",
    }
    facts = packages.facts(shipped | linked)
    entries = [_package(package, *facts[package]) for package in sorted(facts)]
    relations = [("SPDXRef-DOCUMENT", "DESCRIBES", name)]
    relations += [(_identifier(name), "DYNAMIC_LINK", package) for package in sorted(shipped)]
    relations += [(_identifier(name), "STATIC_LINK", package) for package in sorted(linked)]
    contents = hashlib.sha256(json.dumps(entries, sort_keys=True).encode()).hexdigest()[:16]
    return json.dumps({
        "spdxVersion": "SPDX-2.3",
        "dataLicense": "CC0-1.0",
        "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"{name}-{version}",
        "documentNamespace": f"https://tensorfleet.dev/sbom/{name}-{version}-{contents}",
        "creationInfo": {"created": created, "creators": ["Tool: tensorfleet-stage"]},
        "packages": [root, *entries],
        "relationships": [
            {"spdxElementId": a, "relationshipType": kind, "relatedSpdxElement": _identifier(b)} for a, kind, b in relations
        ],
    }, indent=1) + "\n"
