-- The policy: the one of the option, or one of several by the SHA-256 of the title. The hash modulo a count would need a number of
-- 256 bits; it is folded digit by digit instead: (a * 16 + b) mod n.
SELECT stated({
    doc_id: title,
    title: title,
    source_type: source_type_of(title, 'wikipedia'),
    policy: coalesce($policy, string_split($policy_names, ',')[1 + list_reduce(
        list_transform(string_split(sha256(title), ''), lambda digit: instr('0123456789abcdef', digit) - 1),
        lambda folded, digit: (folded * 16 + digit) % len(string_split($policy_names, ','))) % len(string_split($policy_names, ','))])
}) AS record
FROM annotated
