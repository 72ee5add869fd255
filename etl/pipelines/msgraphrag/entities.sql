SELECT type_name(type) AS type, title AS id, title AS name, stated({description: description, type: type}) AS attributes
FROM entities
