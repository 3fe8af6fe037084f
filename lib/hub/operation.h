/* Parses a client's changes to a bucket: lines of JSON, each checked by itself. Pure. */
#ifndef CAIRN_HUB_OPERATION_H
#define CAIRN_HUB_OPERATION_H

#include "base/json.h"
#include "index/hub/hub.h"

enum {
	CAIRN_HUB_OPERATIONS_MAX = CAIRN_INDEX_CHANGES_MAX,
	CAIRN_HUB_LINE_VALUES_MAX = 1000, /* commas and brackets in a line of a batch or a commit */
};

/** The operation of one line. */
struct cairn_hub_operation {
	struct cairn_json *json; /* owned; the other members borrow from it */
	struct cairn_index_change change;
	enum cairn_index_repo_kind source_kind; /* of a copy: kind of the repository that has the file */
	const char *source_id;                  /* of a copy: namespace/name of that repository */
	const char *fault;                      /* why it was refused, for people; NULL: not refused. Static */
};

/** The lines of a request. */
struct cairn_hub_operations {
	uint32_t n;
	struct cairn_hub_operation *all; /* owned */
};

/** Reads lines of {"type":"addFile","path","xetHash","mtime"?,"contentType"?}, {"type":"copyFile",…,"sourceRepoType",
 * "sourceRepoId"} and {"type":"deleteFile","path"}, the last line with or without a line end. Skips unknown
 * members and empty lines. A bad path or value sets the fault of its own line only.
 * @param[out] out  empty unless CAIRN_OK
 * @return CAIRN_OK; CAIRN_E_FORMAT a line is none of these (batch.line), or its path is too long to report
 * (batch.path); CAIRN_E_LIMIT more than CAIRN_HUB_OPERATIONS_MAX lines (batch.lines); CAIRN_E_NOMEM */
CAIRN_MUST_USE enum cairn_status cairn_hub_operations_read(struct cairn_hub_operations *out, const char *text,
							   size_t len, struct cairn_diag *diag);

void cairn_hub_operations_fini(struct cairn_hub_operations *operations);

#endif
