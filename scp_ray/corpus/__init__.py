"""From a folder or bucket of files to documents and their chunks.

``inventory`` lists what there is and names its content without parsing, ``read`` turns single
inputs into documents, ``chunker`` cuts a document into token windows. ``formats`` knows which file
goes to which parser. Nothing here knows of shards, annotation or Ray.
"""
