/* Lists mirrored repositories and their files, for operators. */
#include "base/clock.h"
#include "hub/revision.h"
#include "hub/tree.h"
#include "index/hub/parts.h"
#include "mirror/operate.h"
#include "mirror/stream.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Finds the newest commit of main. @param[out] head  id 0: there is none */
static enum cairn_status list_main(const struct cairn_hub *hub, const struct cairn_index_repo *repo,
				   struct cairn_index_commit *head)
{
	*head = (struct cairn_index_commit){0};
	enum cairn_status status = cairn_index_ref(hub->index, repo->id, CAIRN_INDEX_BRANCH, CAIRN_HUB_MAIN, head);
	return status == CAIRN_E_NOT_FOUND ? CAIRN_OK : status;
}

static enum cairn_status list_unknown(struct cairn_diag *diag)
{
	return cairn_fail(diag, CAIRN_E_NOT_FOUND, "repo.unknown", CAIRN_NO_OFFSET,
			  "no mirrored repository has this name");
}

enum cairn_status cairn_mirror_find_repo(const struct cairn_hub *hub, enum cairn_index_repo_kind kind,
					 const char *account, const char *name, struct cairn_index_repo *repo,
					 struct cairn_index_commit *head, struct cairn_diag *diag)
{
	*head = (struct cairn_index_commit){0};
	enum cairn_status status = cairn_index_repo(hub->index, kind, account, name, repo);
	if (status == CAIRN_E_NOT_FOUND || (status == CAIRN_OK && !repo->is_mirrored))
		return list_unknown(diag);
	return status == CAIRN_OK ? list_main(hub, repo, head) : status;
}

enum cairn_status cairn_mirror_find(const struct cairn_hub *hub, enum cairn_index_repo_kind kind, const char *account,
				    const char *name, struct cairn_index_mirrored *out, struct cairn_index_commit *head,
				    struct cairn_diag *diag)
{
	struct cairn_index_repo repo;
	enum cairn_status status = cairn_mirror_find_repo(hub, kind, account, name, &repo, head, diag);
	if (status != CAIRN_OK)
		return status;
	status = cairn_index_mirrored(hub->index, repo.id, out);
	return status == CAIRN_E_NOT_FOUND ? list_unknown(diag) : status; /* it was removed meanwhile */
}

enum cairn_status cairn_mirror_each_repo(const struct cairn_hub *hub, int64_t from_id, uint32_t limit,
					 void (*visit)(void *ctx, const struct cairn_index_mirrored *mirrored),
					 void *ctx, int64_t *next_id)
{
	return cairn_index_each_mirrored(hub->index, from_id, false, limit, visit, ctx, next_id);
}

/* --- fetches in progress ------------------------------------------------------------------------------------------ */

/* Returns how many bytes of a file that is being fetched have arrived. Called with the lock. */
static uint64_t list_come(const struct cairn_mirror *m, const struct mirror_fetch *f)
{
	for (const struct mirror_stream *s = m->streams; s; s = s->next)
		if (s->f == f)
			return mirror_blocks_reach(&s->blocks, mirror_stream_stored(s));
	return 0;
}

unsigned cairn_mirror_find_coming(struct cairn_mirror *mirror, struct cairn_mirror_coming *out, unsigned most)
{
	unsigned n = 0;
	pthread_mutex_lock(&mirror->lock);
	for (const struct mirror_fetch *f = mirror->fetches; f && n < most; f = f->next) {
		if (!f->is_file)
			continue;
		struct cairn_mirror_coming *c = &out[n++];
		memcpy(c->name, f->what.name, sizeof(c->name));
		memcpy(c->path, f->what.path, sizeof(c->path));
		c->size_bytes = f->what.entry.size_bytes;
		c->come_bytes = list_come(mirror, f);
		c->is_ahead = f->what.is_ahead;
	}
	pthread_mutex_unlock(&mirror->lock);
	return n;
}

bool cairn_mirror_is_coming(struct cairn_mirror *mirror, int64_t repo, int64_t content)
{
	pthread_mutex_lock(&mirror->lock);
	const struct mirror_fetch *f = mirror->fetches;
	while (f && !(f->is_file && f->what.repo == repo && f->what.entry.content == content))
		f = f->next;
	pthread_mutex_unlock(&mirror->lock);
	return f != NULL;
}

/* The files of a repository that are being fetched. */
struct list_coming {
	unsigned n;
	struct {
		int64_t content;
		uint64_t bytes;
	} file[CAIRN_MIRROR_FETCHES_MAX];
};

static void list_find_coming(struct cairn_mirror *m, int64_t repo, struct list_coming *out)
{
	out->n = 0;
	if (!m)
		return;
	pthread_mutex_lock(&m->lock);
	for (const struct mirror_fetch *f = m->fetches; f && out->n < CAIRN_MIRROR_FETCHES_MAX; f = f->next) {
		if (!f->is_file || f->what.repo != repo)
			continue;
		out->file[out->n].content = f->what.entry.content;
		out->file[out->n++].bytes = list_come(m, f);
	}
	pthread_mutex_unlock(&m->lock);
}

/* Is a content being fetched? @param[out] bytes  that arrived */
static bool list_is_coming(const struct list_coming *coming, int64_t content, uint64_t *bytes)
{
	for (unsigned i = 0; i < coming->n; i++)
		if (coming->file[i].content == content) {
			*bytes = coming->file[i].bytes;
			return true;
		}
	return false;
}

/* --- counts ------------------------------------------------------------------------------------------------------- */

bool cairn_mirror_next_pattern(const char **at, char out[static CAIRN_INDEX_INCLUDE_MAX + 1])
{
	size_t len = strcspn(*at, "\n");
	if (!**at)
		return false;
	(void)snprintf(out, CAIRN_INDEX_INCLUDE_MAX + 1, "%.*s", (int)len, *at);
	*at += len;
	*at += strspn(*at, "\n");
	return true;
}

bool cairn_mirror_fits(const char *patterns, const char *path)
{
	char pattern[CAIRN_INDEX_INCLUDE_MAX + 1];
	if (!patterns[0])
		return true;
	while (cairn_mirror_next_pattern(&patterns, pattern))
		if (fnmatch(pattern, path, 0) == 0)
			return true;
	return false;
}

struct list_count {
	const char *patterns;
	struct list_coming coming;
	struct cairn_mirror_counts *out;
};

static bool list_count_entry(void *ctx, const struct cairn_index_entry *entry)
{
	struct list_count *l = ctx;
	char path[CAIRN_INDEX_PATH_MAX + 1];
	uint64_t come;
	if (entry->kind == CAIRN_INDEX_FOLDER)
		return true;
	cairn_hub_entry_path(path, entry);
	if (!cairn_mirror_fits(l->patterns, path))
		return true;
	l->out->n_files++;
	l->out->bytes += entry->size_bytes;
	if (!entry->is_absent) {
		l->out->n_here++;
		l->out->here_bytes += entry->size_bytes;
	} else if (list_is_coming(&l->coming, entry->content, &come)) {
		l->out->n_coming++;
		l->out->coming_bytes += come;
	}
	return true;
}

enum cairn_status cairn_mirror_count(const struct cairn_hub *hub, struct cairn_mirror *mirror, int64_t repo,
				     const struct cairn_index_commit *commit, const char *patterns,
				     struct cairn_mirror_counts *out)
{
	const struct cairn_index_listing all = {.folder = "", .recursive = true, .after = ""};
	struct list_count l = {.patterns = patterns, .out = out};
	*out = (struct cairn_mirror_counts){.n_files = 0};
	if (commit->id == 0)
		return CAIRN_OK;
	list_find_coming(mirror, repo, &l.coming);
	return cairn_index_each_entry(hub->index, commit, &all, list_count_entry, &l);
}

bool cairn_mirror_count_main(struct cairn_mirror *mirror, const struct cairn_index_repo *repo, uint64_t files_max,
			     struct cairn_mirror_counts *out)
{
	struct cairn_index_commit head;
	*out = (struct cairn_mirror_counts){.n_files = 0};
	return repo->n_files <= files_max && list_main(mirror->hub, repo, &head) == CAIRN_OK &&
	       cairn_mirror_count(mirror->hub, mirror, repo->id, &head, "", out) == CAIRN_OK;
}

bool cairn_mirror_here(struct cairn_mirror *mirror, const struct cairn_index_repo *repo, uint64_t files_max,
		       struct cairn_mirror_here *out)
{
	struct cairn_index_mirrored m;
	if (cairn_index_mirrored(mirror->hub->index, repo->id, &m) != CAIRN_OK)
		return false;
	*out = (struct cairn_mirror_here){.looked_unix_s = m.looked_unix_s, .is_kept = m.ahead.keeps};
	out->is_counted = cairn_mirror_count_main(mirror, repo, files_max, &out->main);
	return true;
}

struct list_top {
	struct cairn_index_mirrored *out;
	unsigned n, most;
};

static void list_note_top(void *ctx, const struct cairn_index_mirrored *mirrored)
{
	struct list_top *top = ctx;
	if (top->n < top->most)
		top->out[top->n++] = *mirrored;
}

unsigned cairn_mirror_find_top(struct cairn_mirror *mirror, enum cairn_index_top top, struct cairn_index_mirrored *out,
			       unsigned most)
{
	struct list_top found = {.out = out, .most = most};
	enum cairn_status status = cairn_index_each_top(mirror->hub->index, top, (uint32_t)most, list_note_top, &found);
	return status == CAIRN_OK ? found.n : 0;
}

/* --- files -------------------------------------------------------------------------------------------------------- */

struct list_note {
	int64_t content;
	bool is_absent;
	uint64_t size_bytes;
	char path[CAIRN_INDEX_PATH_MAX + 1];
};

struct list_page {
	uint32_t n, limit;
	bool more;
	struct list_note note[]; /* limit */
};

static bool list_note_entry(void *ctx, const struct cairn_index_entry *entry)
{
	struct list_page *page = ctx;
	if (entry->kind == CAIRN_INDEX_FOLDER)
		return true;
	page->more = page->n == page->limit;
	if (page->more)
		return false;
	struct list_note *note = &page->note[page->n++];
	*note = (struct list_note){
		.content = entry->content, .is_absent = entry->is_absent, .size_bytes = entry->size_bytes};
	cairn_hub_entry_path(note->path, entry);
	return true;
}

static void list_set_failed(struct cairn_mirror *m, int64_t repo, int64_t content, struct cairn_mirror_file *file)
{
	char key[MIRROR_FILE_KEY_BYTES];
	struct mirror_outcome outcome;
	if (!m)
		return;
	mirror_file_key(key, repo, content);
	if (!mirror_outcome_of(m, key, &outcome) || outcome.status == CAIRN_OK)
		return;
	file->state = CAIRN_MIRROR_FILE_FAILED;
	file->diag = outcome.diag;
	file->until_unix_s = cairn_clock_unix_s() + (outcome.until_ms - cairn_clock_mono_ms() + 999) / 1000;
}

/* Finds the state of a file. A short file has no parts. */
static enum cairn_status list_find_state(const struct cairn_hub *hub, struct cairn_mirror *m, int64_t repo,
					 const struct list_coming *coming, const struct list_note *note,
					 struct cairn_mirror_file *file)
{
	*file = (struct cairn_mirror_file){.size_bytes = note->size_bytes,
					   .here_bytes = note->is_absent ? 0 : note->size_bytes,
					   .state =
						   note->is_absent ? CAIRN_MIRROR_FILE_ABSENT : CAIRN_MIRROR_FILE_HERE};
	if (!note->is_absent)
		return CAIRN_OK;
	if (list_is_coming(coming, note->content, &file->here_bytes)) {
		file->state = CAIRN_MIRROR_FILE_COMING;
		return CAIRN_OK;
	}
	enum cairn_status status = CAIRN_OK;
	if (note->size_bytes > CAIRN_MIRROR_SHORT_BYTES_MAX)
		status = cairn_index_parts_end(hub->index, note->content, &file->here_bytes);
	if (file->here_bytes > 0)
		file->state = CAIRN_MIRROR_FILE_PART;
	list_set_failed(m, repo, note->content, file);
	return status;
}

enum cairn_status cairn_mirror_each_file(const struct cairn_hub *hub, struct cairn_mirror *mirror, int64_t repo,
					 const struct cairn_index_commit *commit, const char *after, uint32_t limit,
					 void (*visit)(void *ctx, const char *path,
						       const struct cairn_mirror_file *file),
					 void *ctx, bool *more)
{
	const struct cairn_index_listing listing = {.folder = "", .recursive = true, .after = after};
	uint32_t most = limit < CAIRN_INDEX_PAGE_MAX ? limit : CAIRN_INDEX_PAGE_MAX;
	struct list_coming coming;
	struct cairn_mirror_file file;
	*more = false;
	if (commit->id == 0)
		return CAIRN_OK;
	struct list_page *page = calloc(1, sizeof(*page) + most * sizeof(page->note[0]));
	if (!page)
		return CAIRN_E_NOMEM;
	page->limit = most;
	list_find_coming(mirror, repo, &coming);
	enum cairn_status status = cairn_index_each_entry(hub->index, commit, &listing, list_note_entry, page);
	for (uint32_t i = 0; i < page->n && status == CAIRN_OK; i++) {
		status = list_find_state(hub, mirror, repo, &coming, &page->note[i], &file);
		if (status == CAIRN_OK)
			visit(ctx, page->note[i].path, &file);
	}
	*more = page->more;
	free(page);
	return status;
}
