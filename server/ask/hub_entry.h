/* Writes the files and folders of a commit for listings. */
#ifndef CAIRN_SERVER_HUB_ENTRY_H
#define CAIRN_SERVER_HUB_ENTRY_H

#include "base/json.h"
#include "hub/tree.h"
#include "server/ask/hub_call.h"

/** Entries collected by a visitor. Describing an entry takes queries, which the visit does not allow. */
struct hub_entries {
	enum cairn_status status; /* CAIRN_E_NOMEM: some entries could not be kept */
	uint32_t n, room;
	struct hub_entry {
		struct cairn_index_entry entry; /* its folder and name are NULL; path is used instead */
		char *path;                     /* owned */
	} * all;                                /* owned; the collected entries */
};

void hub_entries_add(struct hub_entries *entries, const struct cairn_index_entry *entry, const char *path);
/** A visitor of cairn_hub_list_tree(); ctx is the entries. */
void hub_entries_visit(void *ctx, const struct cairn_index_entry *entry);
void hub_entries_fini(struct hub_entries *entries);

/** Writes the entries as objects of an array. @param expand  add the commit that last changed each
 *  @return CAIRN_OK; the status of entries; with expand also as cairn_hub_last_commit(), except CAIRN_E_NOT_FOUND */
CAIRN_MUST_USE enum cairn_status hub_entries_put(struct cairn_json_out *w, const struct cairn_hub *hub,
						 const struct hub_entries *entries, bool expand);

/** Writes {"oid"|"sha256","size","pointerSize"} of a file in the store. Writes nothing for a false SHA-256. */
void hub_entry_put_lfs(struct cairn_json_out *w, const char *hash_member, const struct cairn_index_entry *entry);

#endif
