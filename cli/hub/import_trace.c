#include "cli/hub/import_trace.h"

#include <stdio.h>
#include <string.h>

enum { TRACE_PAGE = 100 };

static const char TRACE_WHOLE[] = "Imported snapshot ", TRACE_PART[] = "Part of snapshot ";

void import_trace_note(struct cairn_json_out *header, const char *snapshot, bool is_whole)
{
	char note[sizeof(TRACE_WHOLE) + IMPORT_ID_CHARS];
	(void)snprintf(note, sizeof(note), "%s%s", is_whole ? TRACE_WHOLE : TRACE_PART, snapshot);
	cairn_json_put_text(header, "description", note);
}

/* Returns the snapshot in a commit's message. @return NULL: the message has no such note */
static const char *trace_snapshot(const char *message, const char *note)
{
	size_t len = strlen(note);
	return strncmp(message, note, len) == 0 && strlen(message + len) == IMPORT_ID_CHARS ? message + len : NULL;
}

static enum cairn_status trace_take(const struct cairn_json *commit, const char *snapshot, struct import_trace *out,
				    struct cairn_diag *diag)
{
	const char *id = cairn_json_text_of(commit, "id");
	const char *message = cairn_json_text_of(commit, "message");
	if (!id || strlen(id) != IMPORT_ID_CHARS || !message)
		return import_repo_not_a_hub(diag, "message");
	const char *whole = trace_snapshot(message, TRACE_WHOLE);
	const char *noted = whole ? whole : trace_snapshot(message, TRACE_PART);
	if (!out->head[0]) {
		(void)snprintf(out->head, sizeof(out->head), "%s", id);
		(void)snprintf(out->head_snapshot, sizeof(out->head_snapshot), "%s", noted ? noted : "");
	}
	if (strcmp(id, snapshot) == 0 || (whole && strcmp(whole, snapshot) == 0))
		(void)snprintf(out->commit, sizeof(out->commit), "%s", id);
	return CAIRN_OK;
}

enum cairn_status import_trace_read(struct import_repo *r, const char *revision, const char *snapshot, bool head_only,
				    struct import_trace *out, struct cairn_diag *diag)
{
	unsigned limit = head_only ? 1 : TRACE_PAGE, pages = head_only ? 1 : IMPORT_TRACE_COMMITS_MAX / TRACE_PAGE;
	*out = (struct import_trace){0};
	for (unsigned page = 0; page < pages; page++) {
		CLEANUP(cairn_json_freep) struct cairn_json *json = NULL;
		enum cairn_status status = import_repo_list_commits(r, revision, page, limit, &json, diag);
		size_t n = cairn_json_count(json);
		for (size_t i = 0; i < n && status == CAIRN_OK && !out->commit[0]; i++)
			status = trace_take(cairn_json_at(json, i), snapshot, out, diag);
		if (status != CAIRN_OK || out->commit[0] || n < limit)
			return status;
	}
	return CAIRN_OK;
}
