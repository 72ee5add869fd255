WITH ours AS (
    SELECT * FROM told_facts WHERE group_id = coalesce($group_id, '')
)
SELECT 'unknown' AS outcome, 'policy' AS subject, 'Graphiti knows no policy, and the option gives none: every edge is withheld' AS reason,
    count(*) AS count
FROM ours WHERE $policy IS NULL
UNION ALL
SELECT 'defaulted', 'policy', 'the option', count(*) FROM ours WHERE $policy IS NOT NULL
UNION ALL
SELECT 'unknown', 'episode', 'a fact names an episode that is not there: refused', count(*)
FROM (SELECT unnest(episodes) AS episode FROM ours) WHERE episode NOT IN (SELECT uuid FROM episodes WHERE group_id = coalesce($group_id, ''))
UNION ALL
SELECT 'defaulted', 'revision', 'the version is the hash of the content', count(*) FROM episodes WHERE group_id = coalesce($group_id, '')
UNION ALL
SELECT 'defaulted', 'effective_at', 'when Graphiti read the episode', count(*)
FROM episodes WHERE undated AND group_id = coalesce($group_id, '')
UNION ALL
SELECT 'defaulted', 'valid_to', 'when Graphiti took the fact back', count(*) FROM ours WHERE invalid_at IS NULL AND expired_at IS NOT NULL
UNION ALL
SELECT 'dropped', 'group', 'facts of other groups', count(*) FROM told_facts WHERE group_id <> coalesce($group_id, '')
UNION ALL
SELECT 'dropped', 'community', 'communities and sagas are no edges', count(*)
FROM nodes WHERE list_contains(labels, 'Community') OR list_contains(labels, 'Saga')
