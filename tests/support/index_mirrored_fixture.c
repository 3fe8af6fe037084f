#include "support/index_mirrored_fixture.h"

#include "index/hub/mirror_files.h"
#include "index/operate.h"

#include <check.h>
#include <string.h>

struct cairn_index_operation mx_absent(const char *path, const char *text)
{
	struct cairn_index_operation o = {.kind = CAIRN_INDEX_PUT_ABSENT, .path = path, .size_bytes = strlen(text)};
	ck_assert_int_eq(cairn_git_blob(&o.oid, text, strlen(text)), CAIRN_OK);
	return o;
}

struct cairn_index_operation mx_absent_file(const char *path, uint64_t number, uint64_t size_bytes)
{
	struct cairn_index_operation o = hx_put_file(path, number);
	o.kind = CAIRN_INDEX_PUT_ABSENT;
	o.has_pointer = true;
	o.size_bytes = size_bytes;
	return o;
}

/* Makes a repository of an account, whose first commit has the id 0x11… and these files. */
static int64_t mirrored_by(int64_t account, const char *name, const struct cairn_index_operation *operations,
			   uint32_t n)
{
	struct cairn_git_oid id;
	memset(id.b, 0x11, sizeof(id.b));
	struct cairn_index_add_repo add = {.kind = CAIRN_INDEX_MODEL,
					   .account = account,
					   .name = name,
					   .first = HX_MESSAGE,
					   .first_id = &id,
					   .operations = operations,
					   .n = n};
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_OK);
	struct cairn_index_commit head = hx_head(add.id, "main");
	ck_assert_mem_eq(head.oid.b, id.b, sizeof(id.b));
	return add.id;
}

int64_t mx_mirrored(const char *name, const struct cairn_index_operation *operations, uint32_t n)
{
	return mirrored_by(hx_add_mirrored(hx_index), name, operations, n);
}

int64_t mx_mirrored_too(const char *name, const struct cairn_index_operation *operations, uint32_t n)
{
	struct cairn_index_account far;
	ck_assert_int_eq(cairn_index_account(hx_index, "far", &far), CAIRN_OK);
	return mirrored_by(far.id, name, operations, n);
}

struct cairn_index_entry mx_entry(int64_t repo, const char *path)
{
	struct cairn_index_commit head = hx_head(repo, "main");
	struct cairn_index_entry entry;
	ck_assert(hx_is_there(&head, path, &entry));
	return entry;
}

enum cairn_status mx_fill(int64_t repo, const char *path, const char *text)
{
	struct cairn_index_fill_content request = {.repo = repo,
						   .content = mx_entry(repo, path).content,
						   .bytes = (const uint8_t *)text,
						   .len = strlen(text)};
	return cairn_index_fill_content(hx_index, &request);
}

enum cairn_status mx_fill_file(int64_t repo, const char *path, uint64_t number)
{
	struct cairn_index_fill_content request = {.repo = repo, .content = mx_entry(repo, path).content};
	memcpy(request.sha256, hx_put_file(path, number).sha256, sizeof(request.sha256));
	return cairn_index_fill_content(hx_index, &request);
}

enum cairn_status mx_set_state(int64_t repo, enum cairn_index_mirror_state state, int64_t looked_unix_s)
{
	struct cairn_index_set_mirror_state set = {.repo = repo, .state = state, .looked_unix_s = looked_unix_s};
	return cairn_index_set_mirror_state(hx_index, &set);
}

enum cairn_status mx_set_ahead(int64_t repo, int64_t every_s, bool keeps, const char *include)
{
	struct cairn_index_set_ahead set = {.repo = repo, .ahead = {.every_s = every_s, .keeps = keeps}};
	memcpy(set.ahead.include, include, strlen(include) + 1);
	return cairn_index_set_ahead(hx_index, &set);
}

void mx_use(int64_t content, int64_t day)
{
	struct cairn_index_use_content request = {.content = content, .day = day};
	ck_assert_int_eq(cairn_index_use_content(hx_index, &request), CAIRN_OK);
}

void mx_add_file(int64_t repo, const char *path, uint64_t number)
{
	hx_uploaded(number, hx_owner_of(repo));
	struct cairn_index_operation stored = hx_put_file("stored", number);
	ck_assert(hx_committed_one(repo, "main", stored));
	struct cairn_index_operation o = mx_absent_file(path, number, mx_entry(repo, "stored").size_bytes);
	ck_assert(hx_committed(repo, "main", &o, 1));
	ck_assert_int_eq(mx_fill_file(repo, path, number), CAIRN_OK);
}

int64_t mx_mirrored_with_files(void)
{
	const struct cairn_index_operation text = mx_absent("text", "text");
	int64_t repo = mx_mirrored("model", &text, 1);
	mx_add_file(repo, "one", 7);
	mx_add_file(repo, "two", 8);
	ck_assert_int_eq(mx_fill(repo, "text", "text"), CAIRN_OK);
	return repo;
}
