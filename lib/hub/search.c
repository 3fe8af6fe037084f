#include "hub/search.h"

#include "cas/serve/info.h"
#include "hub/tree.h"
#include "index/refer.h"

#include <stdio.h>
#include <string.h>

enum {
	SEARCH_HASH_DIGITS = 64,
	SEARCH_FILES = 8, /* files per repository and meaning of the hash */
	SEARCH_XORBS = 4, /* xorbs that have the chunk */
};

struct search_hash {
	struct cairn_hash hash;
	uint64_t size_bytes;
};

struct search {
	const struct cairn_hub *hub;
	const char *text;
	bool is_commit;
	bool may_read;                      /* the asker may read the files of the current repository */
	struct cairn_hash hash;             /* the digits as a Xet hash */
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* the digits as a SHA-256 */
	uint64_t files_left, paths_left;
	void (*visit)(void *ctx, const struct cairn_hub_find *find);
	void *ctx;
	struct cairn_hub_search_end *end;
};

/* Hashes found by a lookup, stored until it has released the index. */
struct search_found {
	uint32_t n;
	struct search_hash all[SEARCH_FILES];
};

bool cairn_hub_is_searched(const char *text)
{
	size_t len = strlen(text);
	return strspn(text, "0123456789abcdef") == len &&
	       (len == SEARCH_HASH_DIGITS || (len >= CAIRN_HUB_DIGITS_MIN && len <= CAIRN_GIT_OID_CHARS));
}

struct search_path {
	struct search *s;
	const struct cairn_hash *file;
	char path[CAIRN_INDEX_PATH_MAX + 1]; /* "": not found yet */
};

static bool search_goes_on(struct search_path *p)
{
	if (p->s->paths_left == 0 || p->path[0])
		return false;
	p->s->paths_left--;
	return true;
}

static bool search_take_object(void *ctx, const struct cairn_index_object *object)
{
	struct search_path *p = ctx;
	if (cairn_hash_equal(&object->file, p->file))
		(void)snprintf(p->path, sizeof(p->path), "%s", object->path);
	return search_goes_on(p);
}

static bool search_take_entry(void *ctx, const struct cairn_index_entry *entry)
{
	struct search_path *p = ctx;
	if (entry->kind == CAIRN_INDEX_XET && entry->has_file && cairn_hash_equal(&entry->file, p->file))
		cairn_hub_entry_path(p->path, entry);
	return search_goes_on(p);
}

static enum cairn_status search_find_path(struct search_path *p, const struct cairn_index_repo *repo)
{
	const struct cairn_index_listing all = {.folder = "", .recursive = true, .after = ""};
	struct cairn_index *index = p->s->hub->index;
	struct cairn_index_commit head;
	if (repo->kind == CAIRN_INDEX_BUCKET)
		return cairn_index_each_object(index, repo->id, "", "", search_take_object, p);
	enum cairn_status status = cairn_index_ref(index, repo->id, CAIRN_INDEX_BRANCH, CAIRN_HUB_MAIN, &head);
	if (status == CAIRN_OK)
		status = cairn_index_each_entry(index, &head, &all, search_take_entry, p);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

/* Reports a match. A file without a visible path, such as an upload, is reported only to readers of the repository. */
static enum cairn_status search_report(struct search *s, const struct cairn_index_repo *repo,
				       enum cairn_hub_find_kind kind, const struct search_hash *file)
{
	struct search_path path = {.s = s};
	enum cairn_status status = CAIRN_OK;
	if (file) {
		path.file = &file->hash;
		status = search_find_path(&path, repo);
	}
	const struct cairn_hub_find find = {.kind = kind,
					    .repo = repo,
					    .path = path.path[0] ? path.path : NULL,
					    .size_bytes = file ? file->size_bytes : 0};
	if (status == CAIRN_OK && (s->may_read || find.path || !file))
		s->visit(s->ctx, &find);
	return status;
}

static void search_take_file(void *ctx, const struct cairn_index_owned *file)
{
	struct search_found *found = ctx;
	if (found->n < SEARCH_FILES)
		found->all[found->n++] = (struct search_hash){file->hash, file->size_bytes};
}

static enum cairn_status search_match(struct search *s, const struct cairn_index_repo *repo,
				      enum cairn_hub_find_kind kind, enum cairn_index_match match,
				      const uint8_t name[static CAIRN_HASH_BYTES])
{
	char owner[CAIRN_INDEX_OWNER_BYTES];
	struct search_found found = {0};
	bool more;
	cairn_index_repo_owner(owner, repo->id);
	enum cairn_status status = cairn_index_each_match(s->hub->index, owner, match, name, SEARCH_FILES,
							  search_take_file, &found, &more);
	for (uint32_t i = 0; status == CAIRN_OK && i < found.n; i++)
		status = search_report(s, repo, kind, &found.all[i]);
	return status;
}

struct search_places {
	uint32_t n;
	struct cairn_hash xorbs[SEARCH_XORBS];
};

static void search_take_place(void *ctx, const struct cairn_info_place *place)
{
	struct search_places *places = ctx;
	if (places->n < SEARCH_XORBS)
		places->xorbs[places->n++] = place->xorb;
}

/* Finds the chunk as a query of an uploader to the repository would. A private repository has a scope of its own. */
static enum cairn_status search_chunk(struct search *s, const struct cairn_index_repo *repo)
{
	char owner[CAIRN_INDEX_OWNER_BYTES];
	struct search_places places = {0};
	bool more;
	cairn_index_repo_owner(owner, repo->id);
	const struct cairn_cas_who who = {.scope = repo->is_private ? owner : "", .owner = owner, .viewer = owner};
	const struct cairn_info_asker asker = {.who = &who, .limit = SEARCH_XORBS};
	enum cairn_status status = cairn_info_places(s->hub->cas, &asker, &s->hash, search_take_place, &places, &more);
	for (uint32_t i = 0; status == CAIRN_OK && i < places.n; i++)
		status = search_match(s, repo, CAIRN_HUB_FIND_CHUNK, CAIRN_INDEX_MATCH_XORB, places.xorbs[i].b);
	return status;
}

/* Searches a repository's files. The time depends on these files, but not on whether the xorb exists. */
static enum cairn_status search_inside(struct search *s, const struct cairn_index_repo *repo)
{
	if (repo->n_files >= s->files_left) {
		s->end->more_files = true;
		return CAIRN_OK;
	}
	s->files_left -= repo->n_files + 1;
	enum cairn_status status = search_match(s, repo, CAIRN_HUB_FIND_XORB, CAIRN_INDEX_MATCH_XORB, s->hash.b);
	return status == CAIRN_OK ? search_chunk(s, repo) : status;
}

static enum cairn_status search_commit(struct search *s, const struct cairn_index_repo *repo)
{
	struct cairn_index_commit commit;
	if (repo->kind == CAIRN_INDEX_BUCKET)
		return CAIRN_OK;
	enum cairn_status status =
		cairn_index_find_commit(s->hub->index, repo->id, s->text, CAIRN_INDEX_REACHED, &commit);
	if (status == CAIRN_E_NOT_FOUND)
		return CAIRN_OK;
	return status == CAIRN_OK ? search_report(s, repo, CAIRN_HUB_FIND_COMMIT, NULL) : status;
}

static enum cairn_status search_repo(struct search *s, const struct cairn_hub_reach *reach,
				     const struct cairn_index_repo *repo)
{
	if (s->is_commit)
		return search_commit(s, repo);
	enum cairn_status status = cairn_hub_reach_may_read(reach, repo, &s->may_read);
	if (status == CAIRN_OK)
		status = search_match(s, repo, CAIRN_HUB_FIND_FILE, CAIRN_INDEX_MATCH_FILE, s->hash.b);
	if (status == CAIRN_OK)
		status = search_match(s, repo, CAIRN_HUB_FIND_SHA256, CAIRN_INDEX_MATCH_SHA256, s->sha256);
	return status == CAIRN_OK && s->may_read ? search_inside(s, repo) : status;
}

enum cairn_status cairn_hub_search(const struct cairn_hub *hub, const struct cairn_hub_asker *asker, const char *text,
				   void (*visit)(void *ctx, const struct cairn_hub_find *find), void *ctx,
				   struct cairn_hub_search_end *end)
{
	CLEANUP(cairn_hub_reach_fini) struct cairn_hub_reach reach = {.hub = hub, .asker = asker};
	struct search s = {.hub = hub,
			   .text = text,
			   .is_commit = strlen(text) < SEARCH_HASH_DIGITS,
			   .files_left = CAIRN_HUB_SEARCH_FILES_MAX,
			   .paths_left = CAIRN_HUB_SEARCH_PATHS_MAX,
			   .visit = visit,
			   .ctx = ctx,
			   .end = end};
	const struct cairn_index_repo *repo;
	enum cairn_status status = CAIRN_OK;
	*end = (struct cairn_hub_search_end){0};
	if (!s.is_commit && (cairn_hash_parse(&s.hash, text, SEARCH_HASH_DIGITS) != CAIRN_OK ||
			     cairn_hex_parse(s.sha256, sizeof(s.sha256), text, SEARCH_HASH_DIGITS) != CAIRN_OK))
		return CAIRN_E_USAGE;
	do {
		status = cairn_hub_reach_next(&reach, &repo);
		if (status == CAIRN_OK && repo)
			status = search_repo(&s, &reach, repo);
	} while (status == CAIRN_OK && repo);
	end->more_repos = reach.more;
	return status;
}
