#include "support/history_fixture.h"

#include "support/index_fixture.h"
#include "support/tempdir.h"

#include "index/examine.h"
#include "index/quota.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

static struct tempdir folder;
struct cairn_index *hx_index;
int64_t hx_ann;

const struct cairn_index_message HX_MESSAGE = {
	.author = "ann", .email = "ann@users.noreply.invalid", .title = "A change", .message = ""};

int64_t hx_add_account(enum cairn_index_account_kind kind, const char *name)
{
	struct cairn_index_add_account request = {.kind = kind, .name = name, .fullname = "", .email = ""};
	ck_assert_int_eq(cairn_index_add_account(hx_index, &request), CAIRN_OK);
	return request.id;
}

int64_t hx_add_mirrored(struct cairn_index *ix)
{
	struct cairn_index_add_account request = {
		.kind = CAIRN_INDEX_ORGANISATION, .name = "Far", .fullname = "", .email = "", .is_mirrored = true};
	ck_assert_int_eq(cairn_index_add_account(ix, &request), CAIRN_OK);
	return request.id;
}

void hx_set_up(void)
{
	folder = tempdir_new();
	hx_index = fx_open(folder.path);
	hx_ann = hx_add_account(CAIRN_INDEX_USER, "Ann");
}

static void take_fault(void *ctx, const struct cairn_index_fault *fault)
{
	(void)ctx;
	ck_abort_msg("%s", fault->text);
}

void hx_end(void)
{
	cairn_index_free(hx_index);
	tempdir_fini(&folder);
}

/* Checks, at the end of every test, that the index is whole. */
void hx_tear_down(void)
{
	struct cairn_diag diag = {0};
	ck_assert_int_eq(cairn_index_examine(hx_index, take_fault, NULL, &diag), CAIRN_OK);
	hx_end();
}

const char *hx_folder(void)
{
	return folder.path;
}

struct cairn_index_operation hx_put(const char *path, const char *text)
{
	struct cairn_index_operation o = {
		.kind = CAIRN_INDEX_PUT_INLINE, .path = path, .bytes = (const uint8_t *)text, .len = strlen(text)};
	ck_assert_int_eq(cairn_git_blob(&o.oid, text, strlen(text)), CAIRN_OK);
	return o;
}

static void sha256_of(uint64_t number, uint8_t out[static 32])
{
	struct cairn_hash hash = fx_hash("sha256", number);
	memcpy(out, hash.b, 32);
}

struct cairn_index_operation hx_put_file(const char *path, uint64_t number)
{
	struct cairn_index_operation o = {.kind = CAIRN_INDEX_PUT_FILE, .path = path};
	sha256_of(number, o.sha256);
	return o;
}

struct cairn_index_operation hx_drop(const char *path)
{
	return (struct cairn_index_operation){.kind = CAIRN_INDEX_DELETE, .path = path};
}

struct cairn_index_operation hx_drop_folder(const char *path)
{
	return (struct cairn_index_operation){.kind = CAIRN_INDEX_DELETE_FOLDER, .path = path};
}

int64_t hx_model(const char *name)
{
	const struct cairn_index_operation first[] = {hx_put(".gitattributes", "*.bin filter=lfs\n")};
	struct cairn_index_add_repo request = {.kind = CAIRN_INDEX_MODEL,
					       .account = hx_ann,
					       .name = name,
					       .first = HX_MESSAGE,
					       .operations = first,
					       .n = 1};
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &request), CAIRN_OK);
	return request.id;
}

int64_t hx_bucket(const char *name)
{
	struct cairn_index_add_repo add = {.kind = CAIRN_INDEX_BUCKET, .account = hx_ann, .name = name};
	ck_assert_int_eq(cairn_index_add_repo(hx_index, &add), CAIRN_OK);
	return add.id;
}

const char *hx_owner_of(int64_t repo)
{
	static char owner[CAIRN_INDEX_OWNER_BYTES];
	cairn_index_repo_owner(owner, repo);
	return owner;
}

/* Uploads file `number` under an owner, who claims its SHA-256. */
void hx_uploaded(uint64_t number, const char *owner)
{
	struct fx_shard s;
	struct fx_xorb x = fx_xorb_new(number, 4);
	(void)fx_xorb_put(hx_index, &x);
	fx_shard_init(&s, number);
	s.owner = owner;
	fx_shard_xorb(&s, &x, 0);
	struct fx_file *file = fx_shard_file(&s, number, &x, 0, 4);
	file->file.has_sha256 = true;
	sha256_of(number, file->file.sha256);
	ck_assert_int_eq(fx_shard_put(hx_index, &s), CAIRN_OK);
	fx_xorb_fini(&x);
}

struct cairn_index_add_commit hx_request(int64_t repo, const char *branch,
					 const struct cairn_index_operation *operations, uint32_t n)
{
	return (struct cairn_index_add_commit){.repo = repo,
					       .kind = CAIRN_INDEX_BRANCH,
					       .ref = branch,
					       .message = HX_MESSAGE,
					       .operations = operations,
					       .n = n};
}

/* Commits to a branch. @return true: there is a new commit */
bool hx_committed(int64_t repo, const char *branch, const struct cairn_index_operation *operations, uint32_t n)
{
	struct cairn_index_add_commit request = hx_request(repo, branch, operations, n);
	enum cairn_status status = cairn_index_add_commit(hx_index, &request);
	ck_assert_msg(status == CAIRN_OK, "%s: %s", request.write.diag.rule, request.write.diag.text);
	return request.added;
}

bool hx_committed_one(int64_t repo, const char *branch, struct cairn_index_operation operation)
{
	return hx_committed(repo, branch, &operation, 1);
}

void hx_refused(int64_t repo, const char *branch, const struct cairn_index_operation *operations, uint32_t n,
		const char *rule)
{
	struct cairn_index_add_commit request = hx_request(repo, branch, operations, n);
	ck_assert_int_ne(cairn_index_add_commit(hx_index, &request), CAIRN_OK);
	ck_assert_str_eq(request.write.diag.rule, rule);
}

void hx_refused_one(int64_t repo, struct cairn_index_operation operation, const char *rule)
{
	hx_refused(repo, "main", &operation, 1, rule);
}

struct cairn_index_commit hx_head(int64_t repo, const char *branch)
{
	struct cairn_index_commit commit;
	ck_assert_int_eq(cairn_index_ref(hx_index, repo, CAIRN_INDEX_BRANCH, branch, &commit), CAIRN_OK);
	return commit;
}

/* Appends an entry as "path " or "path/ ". An entry named "stop" ends the visit. */
static bool take_entry(void *ctx, const struct cairn_index_entry *entry)
{
	char *text = ctx;
	size_t at = strlen(text);
	(void)snprintf(text + at, HX_TEXT_MAX - at, "%s%s%s%s ", entry->folder, entry->folder[0] ? "/" : "",
		       entry->name, entry->kind == CAIRN_INDEX_FOLDER ? "/" : "");
	return strcmp(entry->name, "stop") != 0;
}

const char *hx_listed(const struct cairn_index_commit *commit, const char *in, bool recursive, const char *after)
{
	static char text[HX_TEXT_MAX];
	const struct cairn_index_listing listing = {.folder = in, .recursive = recursive, .after = after};
	text[0] = '\0';
	ck_assert_int_eq(cairn_index_each_entry(hx_index, commit, &listing, take_entry, text), CAIRN_OK);
	return text;
}

const char *hx_all(int64_t repo, const char *branch)
{
	struct cairn_index_commit commit = hx_head(repo, branch);
	return hx_listed(&commit, "", true, "");
}

bool hx_is_there(const struct cairn_index_commit *commit, const char *path, struct cairn_index_entry *out)
{
	enum cairn_status status = cairn_index_entry(hx_index, commit, path, out);
	ck_assert(status == CAIRN_OK || status == CAIRN_E_NOT_FOUND);
	return status == CAIRN_OK;
}

void hx_text_is(const struct cairn_index_commit *commit, const char *path, const char *text)
{
	static uint8_t bytes[CAIRN_INDEX_INLINE_MAX];
	struct cairn_index_entry entry;
	size_t len = 0;
	ck_assert(hx_is_there(commit, path, &entry));
	ck_assert_int_eq(entry.kind, CAIRN_INDEX_INLINE);
	ck_assert_uint_eq(entry.size_bytes, strlen(text));
	ck_assert_int_eq(cairn_index_inline(hx_index, entry.content, bytes, &len), CAIRN_OK);
	ck_assert_uint_eq(len, strlen(text));
	ck_assert(memcmp(bytes, text, len) == 0);
}

void hx_oid_is(const struct cairn_git_oid *oid, const char *text)
{
	char got[CAIRN_GIT_OID_CHARS + 1];
	cairn_git_oid_text(got, oid);
	ck_assert_str_eq(got, text);
}

enum cairn_status hx_add_ref(int64_t repo, enum cairn_index_ref_kind kind, const char *name, int64_t commit)
{
	struct cairn_index_add_ref request = {
		.repo = repo, .kind = kind, .name = name, .commit = commit, .first = HX_MESSAGE};
	return cairn_index_add_ref(hx_index, &request);
}

enum cairn_status hx_drop_ref(int64_t repo, enum cairn_index_ref_kind kind, const char *name)
{
	struct cairn_index_drop_ref request = {.repo = repo, .kind = kind, .name = name};
	return cairn_index_drop_ref(hx_index, &request);
}

uint64_t hx_account_held(int64_t account)
{
	struct cairn_index_quota quota;
	ck_assert_int_eq(cairn_index_quota(hx_index, account, 0, &quota), CAIRN_OK);
	return quota.account.stored_bytes;
}

void hx_sweep_all(int64_t grace_s)
{
	struct cairn_index_sweep_repos request = {.grace_s = grace_s};
	unsigned n = 0;
	do
		ck_assert_int_eq(cairn_index_sweep_repos(hx_index, &request), CAIRN_OK);
	while (request.more && n++ < 1000);
	ck_assert(!request.more);
}

struct cairn_index_add_ref hx_stranger_pull(int64_t repo, int64_t account,
					    const struct cairn_index_operation *operations, uint32_t n)
{
	return (struct cairn_index_add_ref){.repo = repo,
					    .kind = CAIRN_INDEX_PULL,
					    .base = "main",
					    .commit = hx_head(repo, "main").id,
					    .account = account,
					    .is_stranger = true,
					    .first = HX_MESSAGE,
					    .operations = operations,
					    .n = n};
}
