-- Version 8: the files of an owner are found by the owner, so that they can be listed.

CREATE INDEX file_owner_scope ON file_owner(scope, file);
