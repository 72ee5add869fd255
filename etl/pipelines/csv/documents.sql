-- A row is a revision, doc@version; what stands before the last @ is the document.
SELECT stated({doc_id: document_of(doc), title: title, source_type: source_type, policy: policy}) AS record
FROM documents
