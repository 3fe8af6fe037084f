-- Version 8: an index of files by owner, so that an owner's files can be listed.

CREATE INDEX file_owner_scope ON file_owner(scope, file);
