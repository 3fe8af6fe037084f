#include "support/index_stage_fixture.h"

#include "index/operate.h"
#include "support/index_fixture.h"
#include "support/index_sqlite.h"

#include <check.h>
#include <stdio.h>

char sx_paths[SX_FILES][16];
struct cairn_index_operation sx_operations[SX_FILES];
struct cairn_index_add_commit sx_commit;
struct cairn_index_add_repo sx_copy;
struct cairn_index_squash sx_squash;
struct cairn_index_add_ref sx_opened;

const struct cairn_index_operation *sx_put_all(const char *text)
{
	for (unsigned i = 0; i < SX_FILES; i++) {
		(void)snprintf(sx_paths[i], sizeof(sx_paths[i]), "d%u/%u", i / SX_FOLDER, i);
		sx_operations[i] = hx_put(sx_paths[i], text);
	}
	return sx_operations;
}

void sx_is_tidy(void)
{
	if (!cairn_index_is_remote(hx_index))
		fx_sql(hx_folder(),
		       "SELECT json(iif(EXISTS(SELECT 1 FROM repo WHERE dropped IS NOT NULL) OR"
		       " EXISTS(SELECT 1 FROM line l WHERE NOT EXISTS(SELECT 1 FROM ref WHERE line = l.id)"
		       " AND NOT EXISTS(SELECT 1 FROM line c WHERE c.parent = l.id)), 'rows are left', '1'))");
}

int64_t sx_new_pull(int64_t repo)
{
	struct cairn_index_add_ref add = {.repo = repo,
					  .kind = CAIRN_INDEX_PULL,
					  .base = "main",
					  .commit = hx_head(repo, "main").id,
					  .account = hx_ann,
					  .first = HX_MESSAGE};
	ck_assert_int_eq(cairn_index_add_ref(hx_index, &add), CAIRN_OK);
	return add.number;
}

struct cairn_index_commit sx_pull_head(int64_t repo, const char *name)
{
	struct cairn_index_commit commit;
	ck_assert_int_eq(cairn_index_ref(hx_index, repo, CAIRN_INDEX_PULL, name, &commit), CAIRN_OK);
	return commit;
}

static char pull_oid[CAIRN_GIT_OID_CHARS + 1];

enum cairn_status sx_send_commit(int64_t repo, void (*done)(struct cairn_index_write *write))
{
	sx_commit = hx_request(repo, "main", sx_put_all("1"), SX_FILES);
	sx_commit.write.done = done;
	return cairn_index_add_commit(hx_index, &sx_commit);
}

enum cairn_status sx_send_copy(int64_t repo, void (*done)(struct cairn_index_write *write))
{
	sx_copy = (struct cairn_index_add_repo){.kind = CAIRN_INDEX_MODEL,
						.account = hx_ann,
						.name = "copy",
						.first = HX_MESSAGE,
						.operations = sx_put_all("1"),
						.n = SX_FILES,
						.source = repo};
	sx_operations[SX_FILES - 1] = hx_put_file("file", 7);
	sx_copy.write.done = done;
	return cairn_index_add_repo(hx_index, &sx_copy);
}

enum cairn_status sx_send_squash(int64_t repo, void (*done)(struct cairn_index_write *write))
{
	sx_squash = (struct cairn_index_squash){
		.repo = repo, .kind = CAIRN_INDEX_BRANCH, .name = "main", .message = HX_MESSAGE};
	sx_squash.write.done = done;
	return cairn_index_squash(hx_index, &sx_squash);
}

enum cairn_status sx_send_pull(int64_t repo, void (*done)(struct cairn_index_write *write))
{
	sx_commit = hx_request(repo, "1", sx_put_all("1"), SX_FILES);
	sx_commit.kind = CAIRN_INDEX_PULL;
	sx_commit.write.done = done;
	return cairn_index_add_commit(hx_index, &sx_commit);
}

enum cairn_status sx_send_merge(int64_t repo, void (*done)(struct cairn_index_write *write))
{
	struct cairn_index_commit head = sx_pull_head(repo, "1");
	cairn_git_oid_text(pull_oid, &head.oid);
	sx_commit = hx_request(repo, "main", sx_put_all("1"), SX_FILES);
	sx_commit.merge = (struct cairn_index_merge){.pull = "1", .head = pull_oid};
	sx_commit.write.done = done;
	return cairn_index_add_commit(hx_index, &sx_commit);
}

static struct cairn_index_operation drops[(SX_FILES + SX_FOLDER - 1) / SX_FOLDER];
enum { N_DROPS = sizeof(drops) / sizeof(drops[0]) };
static char dropped[N_DROPS][16];

enum cairn_status sx_send_drop(int64_t repo, void (*done)(struct cairn_index_write *write))
{
	for (unsigned i = 0; i < N_DROPS; i++) {
		(void)snprintf(dropped[i], sizeof(dropped[i]), "d%u", i);
		drops[i] = hx_drop_folder(dropped[i]);
	}
	sx_commit = hx_request(repo, "main", drops, N_DROPS);
	sx_commit.write.done = done;
	return cairn_index_add_commit(hx_index, &sx_commit);
}

enum cairn_status sx_send_open(int64_t repo, void (*done)(struct cairn_index_write *write))
{
	sx_opened = (struct cairn_index_add_ref){.repo = repo,
						 .kind = CAIRN_INDEX_PULL,
						 .base = "main",
						 .commit = hx_head(repo, "main").id,
						 .account = hx_ann,
						 .first = HX_MESSAGE,
						 .operations = sx_put_all("1"),
						 .n = SX_FILES};
	sx_opened.write.done = done;
	return cairn_index_add_ref(hx_index, &sx_opened);
}

bool sx_copy_is_there(void)
{
	struct cairn_index_repo repo;
	enum cairn_status status = cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "Ann", "copy", &repo);
	ck_assert(status == CAIRN_OK || status == CAIRN_E_NOT_FOUND);
	return status == CAIRN_OK;
}

void sx_copy_is_whole(void)
{
	struct cairn_index_repo repo;
	struct cairn_index_entry entry;
	struct cairn_index_commit head = hx_head(sx_copy.id, "main");
	ck_assert(sx_copy_is_there());
	ck_assert_int_eq(cairn_index_repo(hx_index, CAIRN_INDEX_MODEL, "ann", "Copy", &repo), CAIRN_OK);
	ck_assert(repo.id == sx_copy.id && repo.n_files == SX_FILES && head.n_files == SX_FILES && head.number == 1);
	hx_text_is(&head, "d0/7", "1");
	ck_assert(hx_is_there(&head, "file", &entry) && entry.has_file);
	ck_assert_str_eq(hx_owner_of(sx_copy.id), hx_owner_of(repo.id));
}
