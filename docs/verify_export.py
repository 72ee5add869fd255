"""Check an export of `gprov audit export` with nothing but Python: python verify_export.py FILE [sha256:DIGEST@SEQ …]"""
import hashlib
import json
import sys


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def digest(run):  # over every exported field but the digest itself
    return "sha256:" + hashlib.sha256(canonical({name: value for name, value in run.items() if name != "digest"})).hexdigest()


def faults(runs, heads=()):
    """(verdict, run) for all that is wrong; `heads` are (seq, digest) that were kept outside."""
    found, chain, ids, good = [], {}, {}, set()
    # What gives its digest comes first, in order: what says the same after it is the copy.
    for run in sorted(runs, key=lambda run: (digest(run) != run["digest"], len(str(run["seq"])), str(run["seq"]))):
        seq, sound, twin = run["seq"], digest(run) == run["digest"], ids.get(run["run_id"])
        if seq in chain or (twin and (sound or twin["digest"] == run["digest"])):
            found.append(("duplicated", seq))
            continue
        chain[seq] = ids[run["run_id"]] = run
        good.add(seq) if sound else found.append(("changed", seq))
    found += [("missing", seq) for seq in range(min(good, default=1), max(good, default=0)) if seq not in chain]
    found += [("changed", seq) for seq in good if seq + 1 in good and chain[seq + 1]["previous"] != chain[seq]["digest"]]
    found += [("cut", seq) for seq, _ in heads if seq > max(good, default=0) and seq not in chain]
    return found + [("changed", seq) for seq, kept in heads if seq in good and chain[seq]["digest"] != kept]


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        told = [value for text in [file.read()] for value in map(json.loads, [text] if text.startswith("{\n") else text.splitlines())]
    result = faults(told[0].get("runs", told), [(int(head.split("@")[1]), head.split("@")[0]) for head in sys.argv[2:]])
    print("\n".join(f"{verdict} {seq}" for verdict, seq in result) or f"{len(told[0].get('runs', told))} runs stand")
    sys.exit(bool(result))
