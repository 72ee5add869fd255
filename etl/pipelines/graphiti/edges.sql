-- A fact that Graphiti took back (expired_at) without saying since when it is wrong ends when it was taken back.
WITH cited AS (
    SELECT asked.uuid, list({doc: episodes.doc, chunk: 'content'} ORDER BY place) AS evidence
    FROM (SELECT uuid, group_id, unnest(episodes) AS episode, generate_subscripts(episodes, 1) AS place FROM told_facts) AS asked
    LEFT JOIN episodes ON episodes.uuid = episode AND episodes.group_id = asked.group_id
    GROUP BY asked.uuid
)
SELECT relation_name(name) AS relation, {type: type_name(source_type), id: source} AS source,
    {type: type_name(target_type), id: target} AS target, coalesce(evidence, []) AS evidence,
    {valid_from: valid_at, valid_to: coalesce(invalid_at, expired_at)} AS scope,
    stated({policy: $policy}) AS access,
    stated({relation: name, fact: fact, graphiti_uuid: told_facts.uuid, expired_at: expired_at}) AS attributes
FROM told_facts LEFT JOIN cited ON cited.uuid = told_facts.uuid
WHERE group_id = coalesce($group_id, '')
ORDER BY told_facts.uuid
