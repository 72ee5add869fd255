SELECT DISTINCT type, id, id AS name
FROM ends
ORDER BY type, id
