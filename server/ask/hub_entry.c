#include "server/ask/hub_entry.h"

#include "server/ask/hub_reply.h"

#include <stdlib.h>
#include <string.h>

void hub_entries_add(struct hub_entries *entries, const struct cairn_index_entry *entry, const char *path)
{
	if (entries->status == CAIRN_OK && entries->n == entries->room) {
		uint32_t room = entries->room > 0 ? 2 * entries->room : 64;
		struct hub_entry *all = reallocarray(entries->all, room, sizeof(*all));
		entries->status = all ? CAIRN_OK : CAIRN_E_NOMEM;
		if (all) {
			entries->all = all;
			entries->room = room;
		}
	}
	char *copy = entries->status == CAIRN_OK ? strdup(path) : NULL;
	if (!copy) {
		entries->status = CAIRN_E_NOMEM;
		return;
	}
	struct hub_entry *e = &entries->all[entries->n++];
	*e = (struct hub_entry){.entry = *entry, .path = copy};
	e->entry.folder = e->entry.name = NULL;
}

void hub_entries_visit(void *ctx, const struct cairn_index_entry *entry)
{
	char path[CAIRN_INDEX_PATH_MAX + 1];
	cairn_hub_entry_path(path, entry);
	hub_entries_add(ctx, entry, path);
}

void hub_entries_fini(struct hub_entries *entries)
{
	for (uint32_t i = 0; i < entries->n; i++)
		free(entries->all[i].path);
	free(entries->all);
	*entries = (struct hub_entries){0};
}

void hub_entry_put_lfs(struct cairn_json_out *w, const char *hash_member, const struct cairn_index_entry *entry)
{
	char sha256[2 * sizeof(entry->sha256) + 1], pointer[CAIRN_LFS_POINTER_BYTES_MAX];
	if (entry->belief == CAIRN_INDEX_FALSE)
		return;
	cairn_hex_text(sha256, entry->sha256, sizeof(entry->sha256));
	cairn_json_open_object(w, "lfs");
	cairn_json_put_text(w, hash_member, sha256);
	cairn_json_put_u64(w, "size", entry->size_bytes);
	cairn_json_put_u64(w, "pointerSize", cairn_lfs_pointer(pointer, entry->sha256, entry->size_bytes));
	cairn_json_close(w);
}

static enum cairn_status entry_put_last(struct cairn_json_out *w, const struct cairn_hub *hub,
					const struct cairn_index_entry *entry)
{
	struct cairn_index_commit last;
	char oid[CAIRN_GIT_OID_CHARS + 1], when[HUB_TIME_BYTES];
	enum cairn_status status = cairn_hub_last_commit(hub, entry, &last);
	if (status != CAIRN_OK)
		return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
	cairn_git_oid_text(oid, &last.oid);
	cairn_json_open_object(w, "lastCommit");
	cairn_json_put_text(w, "id", oid);
	cairn_json_put_text(w, "title", last.title);
	cairn_json_put_text(w, "date", hub_time(when, last.at_unix_s * 1000));
	cairn_json_close(w);
	return CAIRN_OK;
}

static enum cairn_status entry_put(struct cairn_json_out *w, const struct cairn_hub *hub, const struct hub_entry *e,
				   bool expand)
{
	const struct cairn_index_entry *entry = &e->entry;
	char oid[CAIRN_GIT_OID_CHARS + 1], hash[CAIRN_HASH_TEXT_BYTES];
	cairn_git_oid_text(oid, &entry->oid);
	cairn_json_open_object(w, NULL);
	cairn_json_put_text(w, "type", entry->kind == CAIRN_INDEX_FOLDER ? "directory" : "file");
	cairn_json_put_text(w, "oid", oid);
	cairn_json_put_u64(w, "size", entry->size_bytes);
	cairn_json_put_text(w, "path", e->path);
	if (entry->kind == CAIRN_INDEX_XET)
		hub_entry_put_lfs(w, "oid", entry);
	if (entry->kind == CAIRN_INDEX_XET && entry->has_file) {
		cairn_hash_text(hash, &entry->file);
		cairn_json_put_text(w, "xetHash", hash);
	}
	enum cairn_status status = expand ? entry_put_last(w, hub, entry) : CAIRN_OK;
	cairn_json_close(w);
	return status;
}

enum cairn_status hub_entries_put(struct cairn_json_out *w, const struct cairn_hub *hub,
				  const struct hub_entries *entries, bool expand)
{
	enum cairn_status status = entries->status;
	for (uint32_t i = 0; i < entries->n && status == CAIRN_OK; i++)
		status = entry_put(w, hub, &entries->all[i], expand);
	return status;
}
