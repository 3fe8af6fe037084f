#include "hub/search.h"

#include "cas/serve/info.h"
#include "hub/tree.h"
#include "index/hub/which.h"
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

/* Xorbs that have the chunk. */
struct search_places {
	uint32_t n;
	struct cairn_hash xorbs[SEARCH_XORBS];
};

/* Marks of a repository. The highest bits are about the chunk. */
enum {
	SEARCH_READABLE = 1 << 0, /* the asker may read its files */
	SEARCH_INSIDE = 1 << 1,   /* its files are searched for a xorb or a chunk */
	SEARCH_PRIVATE = 1 << 2,  /* it also has a dedupe scope of its own */
	SEARCH_HAS_COMMIT = 1 << 3,
	SEARCH_HAS_FILE = 1 << 4,
	SEARCH_HAS_SHA256 = 1 << 5,
	SEARCH_HAS_XORB = 1 << 6,
	SEARCH_MAY_HAVE_CHUNK = 1 << 7, /* in its own dedupe scope */
	SEARCH_HAS_CHUNK = 1 << 8,      /* with the next SEARCH_XORBS - 1 bits: it needs a xorb of the shared scope */
};

/* Repositories that were read at once. Each question about them is one statement for all. */
struct search_page {
	const struct cairn_index_repo *repos; /* borrowed */
	uint32_t n;
	unsigned marks[CAIRN_HUB_REACH_PAGE];
	/* the repositories of the current question, and the mark that it sets */
	uint32_t n_asked, asked[CAIRN_HUB_REACH_PAGE];
	int64_t ids[CAIRN_HUB_REACH_PAGE];
	unsigned mark;
};

struct search {
	const struct cairn_hub *hub;
	const char *text;
	bool is_commit;
	bool may_read;                      /* the asker may read the files of the current repository */
	struct cairn_hash hash;             /* the digits as a Xet hash */
	uint8_t sha256[CAIRN_SHA256_BYTES]; /* the digits as a SHA-256 */
	uint64_t files_left, paths_left;
	bool has_shared;             /* the shared dedupe scope was asked */
	struct search_places shared; /* its answer */
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

static void search_take_place(void *ctx, const struct cairn_info_place *place)
{
	struct search_places *places = ctx;
	if (places->n < SEARCH_XORBS)
		places->xorbs[places->n++] = place->xorb;
}

/* Finds the chunk as a query of an uploader would. @param scope  that of a private repository; "": the shared one */
static enum cairn_status search_places(struct search *s, const char *scope, struct search_places *places)
{
	bool more;
	const struct cairn_cas_who who = {.scope = scope, .owner = scope, .viewer = scope};
	const struct cairn_info_asker asker = {.who = &who, .limit = SEARCH_XORBS};
	return cairn_info_places(s->hub->cas, &asker, &s->hash, search_take_place, places, &more);
}

/* --- questions about a page --------------------------------------------------------------------------------------- */

static void search_take_mark(void *ctx, uint32_t at)
{
	struct search_page *page = ctx;
	page->marks[page->asked[at]] |= page->mark;
}

/* Chooses the repositories that have all of some marks for a question, which sets another mark. */
static bool search_choose(struct search_page *page, unsigned marked, unsigned mark)
{
	page->n_asked = 0;
	page->mark = mark;
	for (uint32_t i = 0; i < page->n; i++) {
		if ((page->marks[i] & marked) != marked)
			continue;
		page->ids[page->n_asked] = page->repos[i].id;
		page->asked[page->n_asked++] = i;
	}
	return page->n_asked > 0;
}

static enum cairn_status search_ask(struct search *s, struct search_page *page, unsigned marked,
				    enum cairn_index_which what, const uint8_t name[static CAIRN_HASH_BYTES],
				    unsigned mark)
{
	if (!search_choose(page, marked, mark))
		return CAIRN_OK;
	return cairn_index_which(s->hub->index, page->ids, page->n_asked, what, name, search_take_mark, page);
}

/* Marks the repositories whose files are searched for a xorb or a chunk. */
static enum cairn_status search_mark_inside(struct search *s, const struct cairn_hub_reach *reach,
					    struct search_page *page)
{
	enum cairn_status status = CAIRN_OK;
	for (uint32_t i = 0; i < page->n && status == CAIRN_OK; i++) {
		const struct cairn_index_repo *repo = &page->repos[i];
		bool may_read = false, fits = repo->n_files < s->files_left;
		status = cairn_hub_reach_may_read(reach, repo, &may_read);
		if (status != CAIRN_OK || !may_read)
			continue;
		page->marks[i] |=
			SEARCH_READABLE | (fits ? SEARCH_INSIDE : 0U) | (repo->is_private ? SEARCH_PRIVATE : 0U);
		if (fits)
			s->files_left -= repo->n_files + 1;
		else
			s->end->more_files = true;
	}
	return status;
}

/* A private repository has a dedupe scope of its own, which is asked if the shared one lacks the chunk. */
static enum cairn_status search_mark_chunks(struct search *s, struct search_page *page)
{
	enum cairn_status status = CAIRN_OK;
	if (!search_choose(page, SEARCH_INSIDE, 0))
		return CAIRN_OK;
	if (!s->has_shared)
		status = search_places(s, "", &s->shared);
	s->has_shared = true;
	for (uint32_t i = 0; i < s->shared.n && status == CAIRN_OK; i++)
		status = search_ask(s, page, SEARCH_INSIDE, CAIRN_INDEX_WHICH_XORB, s->shared.xorbs[i].b,
				    (unsigned)SEARCH_HAS_CHUNK << i);
	if (status == CAIRN_OK && s->shared.n == 0)
		status = search_ask(s, page, SEARCH_INSIDE | SEARCH_PRIVATE, CAIRN_INDEX_WHICH_CHUNK, s->hash.b,
				    SEARCH_MAY_HAVE_CHUNK);
	return status;
}

/* The time depends on the files that the asker may read, but not on whether the xorb exists. */
static enum cairn_status search_mark(struct search *s, const struct cairn_hub_reach *reach, struct search_page *page)
{
	if (s->is_commit && search_choose(page, 0, SEARCH_HAS_COMMIT))
		return cairn_index_which_commit(s->hub->index, page->ids, page->n_asked, s->text, search_take_mark,
						page);
	enum cairn_status status = search_mark_inside(s, reach, page);
	if (status == CAIRN_OK)
		status = search_ask(s, page, 0, CAIRN_INDEX_WHICH_FILE, s->hash.b, SEARCH_HAS_FILE);
	if (status == CAIRN_OK)
		status = search_ask(s, page, 0, CAIRN_INDEX_WHICH_SHA256, s->sha256, SEARCH_HAS_SHA256);
	if (status == CAIRN_OK)
		status = search_ask(s, page, SEARCH_INSIDE, CAIRN_INDEX_WHICH_XORB, s->hash.b, SEARCH_HAS_XORB);
	return status == CAIRN_OK ? search_mark_chunks(s, page) : status;
}

/* --- matches of a repository -------------------------------------------------------------------------------------- */

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

static enum cairn_status search_chunks(struct search *s, const struct cairn_index_repo *repo, unsigned marks)
{
	char owner[CAIRN_INDEX_OWNER_BYTES];
	struct search_places own = {0}, *places = marks & SEARCH_MAY_HAVE_CHUNK ? &own : &s->shared;
	enum cairn_status status = CAIRN_OK;
	cairn_index_repo_owner(owner, repo->id);
	if (places == &own)
		status = search_places(s, owner, &own);
	for (uint32_t i = 0; status == CAIRN_OK && i < places->n; i++)
		if (places == &own || marks & (unsigned)SEARCH_HAS_CHUNK << i)
			status =
				search_match(s, repo, CAIRN_HUB_FIND_CHUNK, CAIRN_INDEX_MATCH_XORB, places->xorbs[i].b);
	return status;
}

static enum cairn_status search_repo(struct search *s, const struct cairn_index_repo *repo, unsigned marks)
{
	enum cairn_status status = CAIRN_OK;
	s->may_read = marks & SEARCH_READABLE;
	if (marks & SEARCH_HAS_COMMIT)
		status = search_commit(s, repo);
	if (status == CAIRN_OK && marks & SEARCH_HAS_FILE)
		status = search_match(s, repo, CAIRN_HUB_FIND_FILE, CAIRN_INDEX_MATCH_FILE, s->hash.b);
	if (status == CAIRN_OK && marks & SEARCH_HAS_SHA256)
		status = search_match(s, repo, CAIRN_HUB_FIND_SHA256, CAIRN_INDEX_MATCH_SHA256, s->sha256);
	if (status == CAIRN_OK && marks & SEARCH_HAS_XORB)
		status = search_match(s, repo, CAIRN_HUB_FIND_XORB, CAIRN_INDEX_MATCH_XORB, s->hash.b);
	return status == CAIRN_OK && marks >= SEARCH_MAY_HAVE_CHUNK ? search_chunks(s, repo, marks) : status;
}

static enum cairn_status search_page(struct search *s, const struct cairn_hub_reach *reach, struct search_page *page)
{
	memset(page->marks, 0, sizeof(page->marks));
	enum cairn_status status = search_mark(s, reach, page);
	for (uint32_t i = 0; i < page->n && status == CAIRN_OK; i++)
		status = search_repo(s, &page->repos[i], page->marks[i]);
	return status;
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
	struct search_page page;
	enum cairn_status status = CAIRN_OK;
	*end = (struct cairn_hub_search_end){0};
	if (!s.is_commit && (cairn_hash_parse(&s.hash, text, SEARCH_HASH_DIGITS) != CAIRN_OK ||
			     cairn_hex_parse(s.sha256, sizeof(s.sha256), text, SEARCH_HASH_DIGITS) != CAIRN_OK))
		return CAIRN_E_USAGE;
	do {
		status = cairn_hub_reach_next_page(&reach, &page.repos, &page.n);
		if (status == CAIRN_OK && page.n > 0)
			status = search_page(&s, &reach, &page);
	} while (status == CAIRN_OK && page.n > 0);
	end->more_repos = reach.more;
	return status;
}
