/* Calls of the index for a hub: repositories, and the objects of buckets with the files that they keep. */
#include "support/index_fixture.h"
#include "support/run.h"
#include "support/tempdir.h"

#include "base/clock.h"
#include "index/hub/feed.h"
#include "index/hub/hub.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct tempdir folder;
static struct cairn_index *ix;
static int64_t ann, team;

static int64_t add_account(enum cairn_index_account_kind kind, const char *name)
{
	struct cairn_index_add_account request = {.kind = kind, .name = name, .fullname = "", .email = ""};
	ck_assert_int_eq(cairn_index_add_account(ix, &request), CAIRN_OK);
	return request.id;
}

static void set_up(void)
{
	folder = tempdir_new();
	ix = fx_open(folder.path);
	ann = add_account(CAIRN_INDEX_USER, "Ann");
	team = add_account(CAIRN_INDEX_ORGANISATION, "team");
}

static void tear_down(void)
{
	cairn_index_free(ix);
	tempdir_fini(&folder);
}

static enum cairn_status add(int64_t account, const char *name, bool is_private, int64_t *id)
{
	struct cairn_index_add_repo request = {
		.kind = CAIRN_INDEX_BUCKET, .account = account, .name = name, .is_private = is_private};
	enum cairn_status status = cairn_index_add_repo(ix, &request);
	*id = request.id;
	return status;
}

static int64_t bucket(const char *name)
{
	int64_t id;
	ck_assert_int_eq(add(ann, name, false, &id), CAIRN_OK);
	return id;
}

static enum cairn_status find(const char *account, const char *name, struct cairn_index_repo *out)
{
	return cairn_index_repo(ix, CAIRN_INDEX_BUCKET, account, name, out);
}

static const char *owner_of(int64_t repo)
{
	static char owner[CAIRN_INDEX_OWNER_BYTES];
	cairn_index_repo_owner(owner, repo);
	return owner;
}

static void uploaded(uint64_t number, const char *owner)
{
	ck_assert_int_eq(fx_upload(ix, number, owner, NULL), CAIRN_OK);
}

static struct cairn_index_change set(const char *path, uint64_t number)
{
	struct cairn_index_change change = {.kind = CAIRN_INDEX_OBJECT_SET, .path = path, .type = ""};
	if (number != 0)
		change.file = fx_hash("file", number);
	return change;
}

static struct cairn_index_change copy(const char *path, uint64_t number, int64_t source)
{
	struct cairn_index_change change = set(path, number);
	change.kind = CAIRN_INDEX_OBJECT_COPY;
	change.source = source;
	return change;
}

static struct cairn_index_change drop(const char *path)
{
	return (struct cairn_index_change){.kind = CAIRN_INDEX_OBJECT_DROP, .path = path};
}

static enum cairn_status change_all(int64_t repo, struct cairn_index_change *changes, uint32_t n)
{
	struct cairn_index_change_objects request = {.repo = repo, .changes = changes, .n = n};
	return cairn_index_change_objects(ix, &request);
}

/* Makes one change in a bucket. @return true: the change was made */
static bool change_one(int64_t repo, struct cairn_index_change change)
{
	ck_assert_int_eq(change_all(repo, &change, 1), CAIRN_OK);
	return !change.failed;
}

static bool take_path(void *ctx, const struct cairn_index_object *object)
{
	char *text = ctx;
	size_t at = strlen(text);
	(void)snprintf(text + at, 64 - at, "%s ", object->path);
	return strcmp(object->path, "stop") != 0;
}

static const char *paths(int64_t repo, const char *prefix, const char *from)
{
	static char text[64];
	text[0] = '\0';
	ck_assert_int_eq(cairn_index_each_object(ix, repo, prefix, from, take_path, text), CAIRN_OK);
	return text;
}

enum { MANY = 400 }; /* more than the first page of a listing, which has 125, and fewer than two full pages */

static bool take_next(void *ctx, const struct cairn_index_object *object)
{
	unsigned *n = ctx;
	char path[16];
	(void)snprintf(path, sizeof(path), "m/%03u", (*n)++);
	ck_assert_str_eq(object->path, path);
	return true;
}

START_TEST(a_listing_of_several_pages)
{
	static char names[MANY][16];
	static struct cairn_index_change changes[MANY];
	int64_t repo = bucket("many");
	unsigned n = 0, from_n = 124;
	for (unsigned i = 0; i < MANY; i++) {
		(void)snprintf(names[i], sizeof(names[i]), "m/%03u", i);
		changes[i] = set(names[i], 0);
	}
	ck_assert_int_eq(change_all(repo, changes, MANY), CAIRN_OK);
	ck_assert_int_eq(cairn_index_each_object(ix, repo, "m/", "", take_next, &n), CAIRN_OK);
	ck_assert_uint_eq(n, MANY);
	ck_assert_int_eq(cairn_index_each_object(ix, repo, "m/", "m/124", take_next, &from_n), CAIRN_OK);
	ck_assert_uint_eq(from_n, MANY);
}
END_TEST

static void counts_are(const char *name, uint64_t n_files, uint64_t bytes)
{
	struct cairn_index_repo repo;
	ck_assert_int_eq(find("ann", name, &repo), CAIRN_OK);
	ck_assert_uint_eq(repo.n_files, n_files);
	ck_assert_uint_eq(repo.bytes, bytes);
}

static uint64_t size_of_file(uint64_t number)
{
	struct cairn_index_file file;
	struct cairn_hash hash = fx_hash("file", number);
	ck_assert_int_eq(cairn_index_file(ix, &hash, NULL, false, &file), CAIRN_OK);
	return file.size_bytes;
}

START_TEST(a_name_is_taken_once_in_an_account)
{
	int64_t one, other, id, now = cairn_clock_unix_ms();
	struct cairn_index_repo repo;
	ck_assert_int_eq(add(ann, "Data", true, &one), CAIRN_OK);
	ck_assert_int_eq(add(team, "data", false, &other), CAIRN_OK);
	ck_assert_int_eq(add(ann, "dATA", false, &id), CAIRN_E_CONFLICT);
	ck_assert_int_eq(find("ANN", "data", &repo), CAIRN_OK);
	ck_assert_int_eq(repo.id, one);
	ck_assert_int_eq(repo.account, ann);
	ck_assert_str_eq(repo.account_name, "Ann");
	ck_assert_str_eq(repo.name, "Data");
	ck_assert(repo.is_private);
	ck_assert_int_ge(repo.created_unix_ms, now);
	ck_assert_uint_eq(repo.n_files, 0);
	ck_assert_int_eq(find("team", "data", &repo), CAIRN_OK);
	ck_assert_int_eq(repo.id, other);
	ck_assert(!repo.is_private);
	ck_assert_int_eq(find("ann", "none", &repo), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(find("none", "data", &repo), CAIRN_E_NOT_FOUND);
}
END_TEST

START_TEST(names_at_their_limits)
{
	char name[CAIRN_INDEX_REPO_NAME_MAX + 2];
	int64_t id;
	memset(name, 'n', sizeof(name));
	name[CAIRN_INDEX_REPO_NAME_MAX + 1] = '\0';
	ck_assert_int_eq(add(ann, name, false, &id), CAIRN_E_CONFLICT);
	ck_assert_int_eq(add(ann, "", false, &id), CAIRN_E_CONFLICT);
	ck_assert_int_eq(add(ann, name + 1, false, &id), CAIRN_OK);
}
END_TEST

static void take_name(void *ctx, const struct cairn_index_repo *repo)
{
	char *text = ctx;
	size_t at = strlen(text);
	(void)snprintf(text + at, 64 - at, "%s ", repo->name);
}

START_TEST(moved_set_and_listed)
{
	int64_t one, id;
	struct cairn_index_repo repo;
	char text[64] = "";
	bool more;
	one = bucket("one");
	(void)bucket("two");
	struct cairn_index_set_repo hide = {.id = one, .is_private = true};
	ck_assert_int_eq(cairn_index_set_repo(ix, &hide), CAIRN_OK);
	ck_assert_int_eq(find("ann", "one", &repo), CAIRN_OK);
	ck_assert(repo.is_private);
	struct cairn_index_repo_list mine = {.kind = CAIRN_INDEX_BUCKET,
					     .account = ann,
					     .all = true,
					     .sort = CAIRN_INDEX_BY_CREATION,
					     .ascending = true,
					     .limit = 10};
	ck_assert_int_eq(cairn_index_list_repos(ix, &mine, take_name, text, &more), CAIRN_OK);
	ck_assert_str_eq(text, "one two ");
	struct cairn_index_move_repo move = {.id = one, .account = ann, .name = "TWO"};
	ck_assert_int_eq(cairn_index_move_repo(ix, &move), CAIRN_E_CONFLICT);
	move = (struct cairn_index_move_repo){.id = one, .account = team, .name = "two"};
	ck_assert_int_eq(cairn_index_move_repo(ix, &move), CAIRN_OK);
	ck_assert_int_eq(find("team", "two", &repo), CAIRN_OK);
	ck_assert_int_eq(repo.id, one);
	ck_assert(repo.is_private);
	ck_assert_int_eq(find("ann", "one", &repo), CAIRN_OK); /* found by its former name */
	ck_assert_int_eq(repo.id, one);
	ck_assert_str_eq(repo.name, "two");
	/* a repository can take its own name with other upper and lower case */
	move = (struct cairn_index_move_repo){.id = one, .account = team, .name = "Two"};
	ck_assert_int_eq(cairn_index_move_repo(ix, &move), CAIRN_OK);
	ck_assert_int_eq(add(ann, "one", false, &id), CAIRN_OK);
	ck_assert_int_gt(id, one);
	ck_assert_int_eq(find("ann", "one", &repo), CAIRN_OK);
	ck_assert_int_eq(repo.id, id);
	struct cairn_index_set_repo none = {.id = 99};
	struct cairn_index_move_repo nowhere = {.id = 99, .account = ann, .name = "x"};
	struct cairn_index_drop_repo nothing = {.id = 99};
	ck_assert_int_eq(cairn_index_set_repo(ix, &none), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_move_repo(ix, &nowhere), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_drop_repo(ix, &nothing), CAIRN_E_NOT_FOUND);
}
END_TEST

/* Returns the names of the listed repositories, in the order of the list. */
static const char *listed(struct cairn_index_repo_list list)
{
	static char text[64];
	text[0] = '\0';
	list.limit = list.limit ? list.limit : 10;
	bool more;
	ck_assert_int_eq(cairn_index_list_repos(ix, &list, take_name, text, &more), CAIRN_OK);
	return text;
}

START_TEST(lists_show_repositories_that_the_reader_may_see)
{
	int64_t hidden, id, bob = add_account(CAIRN_INDEX_USER, "bob");
	struct cairn_index_repo repo;
	struct cairn_index_set_member join = {.organisation = "team", .user = "bob", .role = CAIRN_INDEX_ROLE_READ};
	ck_assert_int_eq(add(ann, "open", false, &id), CAIRN_OK);
	ck_assert_int_eq(add(ann, "Hidden", true, &hidden), CAIRN_OK);
	ck_assert_int_eq(add(team, "teams", true, &id), CAIRN_OK);
	ck_assert_str_eq(listed((struct cairn_index_repo_list){0}), "open ");
	ck_assert_str_eq(listed((struct cairn_index_repo_list){.all = true}), "teams Hidden open ");
	ck_assert_str_eq(listed((struct cairn_index_repo_list){.reader = ann}), "Hidden open ");
	ck_assert_str_eq(listed((struct cairn_index_repo_list){.reader = bob}), "open ");
	ck_assert_int_eq(cairn_index_set_member(ix, &join), CAIRN_OK);
	ck_assert_str_eq(listed((struct cairn_index_repo_list){.reader = bob}), "teams open ");
	ck_assert_str_eq(listed((struct cairn_index_repo_list){.reader = bob, .account = team}), "teams ");
	ck_assert_str_eq(listed((struct cairn_index_repo_list){.all = true, .search = "N/hid"}), "Hidden ");
	ck_assert_str_eq(listed((struct cairn_index_repo_list){.all = true, .search = "%"}), "");
	ck_assert_str_eq(listed((struct cairn_index_repo_list){.all = true, .limit = 2}), "teams Hidden ");
	ck_assert_int_eq(find("ann", "Hidden", &repo), CAIRN_OK);
	ck_assert_str_eq(listed((struct cairn_index_repo_list){
				 .all = true, .after_unix_ms = repo.updated_unix_ms, .after_id = hidden}),
			 "open ");
	struct cairn_index_drop_repo gone = {.id = hidden};
	ck_assert_int_eq(cairn_index_drop_repo(ix, &gone), CAIRN_OK);
	ck_assert_str_eq(listed((struct cairn_index_repo_list){.all = true}), "teams open ");
}
END_TEST

START_TEST(an_object_keeps_its_time_and_content_type)
{
	int64_t one = bucket("one"), now = cairn_clock_unix_ms();
	struct cairn_index_object object;
	struct cairn_hash hash = fx_hash("file", 1);
	uploaded(1, owner_of(one));
	struct cairn_index_change change = set("a/b", 1);
	change.has_mtime = true;
	change.mtime_unix_ms = 1234567890123;
	change.type = "text/plain";
	ck_assert(change_one(one, change));
	ck_assert(change_one(one, set("empty", 0)));
	ck_assert_int_eq(cairn_index_object(ix, one, "a/b", &object), CAIRN_OK);
	ck_assert_mem_eq(&object.file, &hash, sizeof(hash));
	ck_assert_uint_eq(object.size_bytes, size_of_file(1));
	ck_assert(object.has_mtime);
	ck_assert_int_eq(object.mtime_unix_ms, 1234567890123);
	ck_assert_int_ge(object.uploaded_unix_ms, now);
	ck_assert_str_eq(object.type, "text/plain");
	ck_assert_int_eq(cairn_index_object(ix, one, "empty", &object), CAIRN_OK);
	ck_assert_uint_eq(object.size_bytes, 0);
	ck_assert(!object.has_mtime);
	ck_assert_int_eq(cairn_index_object(ix, one, "a", &object), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_object(ix, one, "A/b", &object), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_object(ix, one + 1, "a/b", &object), CAIRN_E_NOT_FOUND);
	counts_are("one", 2, size_of_file(1));
}
END_TEST

START_TEST(paths_are_listed_in_the_order_of_their_bytes)
{
	int64_t one = bucket("one"), two = bucket("two");
	static const char *const NAMES[] = {"b", "a", "a/z", "a.b", "\xc3\xa4", "Z", "stop", "zz"};
	for (size_t i = 0; i < sizeof(NAMES) / sizeof(NAMES[0]); i++)
		ck_assert(change_one(one, set(NAMES[i], 0)));
	ck_assert(change_one(two, set("a", 0)));
	ck_assert_str_eq(paths(one, "", ""), "Z a a.b a/z b stop ");
	ck_assert_str_eq(paths(one, "a", ""), "a a.b a/z ");
	ck_assert_str_eq(paths(one, "a", "a.b"), "a.b a/z ");
	ck_assert_str_eq(paths(one, "a", "a.c"), "a/z ");
	ck_assert_str_eq(paths(one, "a", "Q"), "a a.b a/z ");
	ck_assert_str_eq(paths(one, "a/", ""), "a/z ");
	ck_assert_str_eq(paths(one, "z", ""), "zz ");
	ck_assert_str_eq(paths(one, "none", ""), "");
	ck_assert_str_eq(paths(two, "", ""), "a ");
}
END_TEST

START_TEST(only_files_of_its_own_are_taken)
{
	int64_t one = bucket("one"), two = bucket("two");
	uploaded(1, owner_of(one));
	uploaded(2, "");
	uploaded(3, "models/a/b");
	ck_assert(change_one(one, set("a", 1)));
	ck_assert(change_one(one, set("b", 2))); /* the operator's file, which everybody may read */
	ck_assert(!change_one(one, set("c", 3)));
	ck_assert(!change_one(one, set("c", 4)));
	ck_assert(!change_one(two, set("c", 1)));
	ck_assert_str_eq(paths(one, "", ""), "a b ");
	ck_assert_str_eq(paths(two, "", ""), "");
	/* A failed change does not affect the others of the same request. */
	struct cairn_index_change some[] = {set("d", 1), set("a", 3), drop("b")};
	ck_assert_int_eq(change_all(one, some, 3), CAIRN_OK);
	ck_assert(!some[0].failed && some[1].failed && !some[2].failed);
	ck_assert_str_eq(paths(one, "", ""), "a d ");
	counts_are("one", 2, 2 * size_of_file(1));
	ck_assert_int_eq(change_all(99, some, 3), CAIRN_E_NOT_FOUND);
	static struct cairn_index_change many[CAIRN_INDEX_CHANGES_MAX + 1];
	ck_assert_int_eq(change_all(one, many, CAIRN_INDEX_CHANGES_MAX + 1), CAIRN_E_LIMIT);
}
END_TEST

START_TEST(a_copy_needs_an_object_of_the_source)
{
	int64_t one = bucket("one"), two = bucket("two");
	uploaded(1, owner_of(one));
	ck_assert(!change_one(two, copy("x", 1, one))); /* the file was uploaded there, but has no path */
	ck_assert(!change_one(two, copy("e", 0, one)));
	ck_assert(change_one(one, set("a", 1)));
	ck_assert(change_one(one, set("e", 0)));
	ck_assert(change_one(two, copy("x", 1, one)));
	ck_assert(change_one(two, copy("e", 0, one)));
	ck_assert(!change_one(two, copy("y", 2, one)));
	ck_assert(fx_sees(ix, owner_of(two), 1));
	/* the duplicate no longer depends on its source */
	ck_assert(change_one(one, drop("a")));
	ck_assert(!fx_sees(ix, owner_of(one), 1));
	ck_assert(fx_sees(ix, owner_of(two), 1));
	ck_assert_str_eq(paths(two, "", ""), "e x ");
}
END_TEST

/* A bucket's time is never before that of its newest batch: clients continue from the bucket's time. Batches of one
 * millisecond get different times, which run ahead of the clock. */
START_TEST(a_bucket_is_not_older_than_its_newest_batch)
{
	enum { N_CHANGES = 30 };
	int64_t one = bucket("one");
	uploaded(1, owner_of(one));
	for (unsigned i = 0; i < N_CHANGES; i++) {
		struct cairn_index_feed_state state;
		char path[16];
		(void)snprintf(path, sizeof(path), "%u", i);
		ck_assert(change_one(one, set(path, 1)));
		ck_assert_int_eq(cairn_index_feed_state(ix, one, &state), CAIRN_OK);
		ck_assert_int_ge(state.updated_unix_ms, state.last_unix_ms);
	}
}
END_TEST

START_TEST(files_without_an_object_are_released)
{
	int64_t one = bucket("one");
	uploaded(1, owner_of(one));
	uploaded(2, owner_of(one));
	ck_assert(change_one(one, set("a", 1)));
	ck_assert(change_one(one, set("b", 1)));
	ck_assert(change_one(one, drop("a")));
	ck_assert(fx_sees(ix, NULL, 1));
	ck_assert(change_one(one, set("b", 2))); /* another file takes its path */
	ck_assert(!fx_sees(ix, NULL, 1));
	ck_assert(change_one(one, set("b", 2)));
	ck_assert(fx_sees(ix, NULL, 2));
	/* A file that is dropped and set again by one request stays. */
	struct cairn_index_change around[] = {drop("b"), set("c", 2)};
	ck_assert_int_eq(change_all(one, around, 2), CAIRN_OK);
	ck_assert(!around[1].failed);
	ck_assert(fx_sees(ix, owner_of(one), 2));
	ck_assert(change_one(one, drop("none")));
	ck_assert(change_one(one, drop("c")));
	ck_assert(!fx_sees(ix, NULL, 2));
	counts_are("one", 0, 0);
	/* The shard of a removed file no longer counts as known, so uploading the shard again restores the file. */
	uploaded(2, owner_of(one));
	ck_assert(change_one(one, set("c", 2)));
}
END_TEST

START_TEST(files_of_other_owners_stay)
{
	int64_t one = bucket("one");
	uploaded(1, owner_of(one));
	uploaded(1, "models/a/b");
	ck_assert(change_one(one, set("a", 1)));
	ck_assert(change_one(one, drop("a")));
	ck_assert(!fx_sees(ix, owner_of(one), 1));
	ck_assert(fx_sees(ix, "models/a/b", 1));
}
END_TEST

START_TEST(a_file_that_is_forgotten_takes_its_objects_along)
{
	int64_t one = bucket("one"), two = bucket("two");
	uploaded(1, owner_of(one));
	uploaded(1, owner_of(two));
	ck_assert(change_one(one, set("a", 1)));
	ck_assert(change_one(one, set("b", 1)));
	ck_assert(change_one(two, set("a", 1)));
	struct cairn_index_forget_file forget = {.hash = fx_hash("file", 1), .owner = owner_of(one)};
	ck_assert_int_eq(cairn_index_forget_file(ix, &forget), CAIRN_OK);
	ck_assert(forget.forgotten);
	ck_assert_str_eq(paths(one, "", ""), "");
	counts_are("one", 0, 0);
	ck_assert_str_eq(paths(two, "", ""), "a ");
	ck_assert(change_one(two, set("b", 1)));
	forget.owner = NULL;
	ck_assert_int_eq(cairn_index_forget_file(ix, &forget), CAIRN_OK);
	ck_assert_str_eq(paths(two, "", ""), "");
	counts_are("two", 0, 0);
	ck_assert(!fx_sees(ix, NULL, 1));
}
END_TEST

/* --- deleted buckets ---------------------------------------------------------------------------------------------- */

static unsigned sweep(int64_t grace_s)
{
	struct cairn_index_sweep_repos request = {.grace_s = grace_s};
	unsigned n = 0;
	do {
		ck_assert_int_eq(cairn_index_sweep_repos(ix, &request), CAIRN_OK);
		n++;
	} while (request.more && n < 1000);
	return n;
}

START_TEST(a_deleted_one_is_gone_at_once_and_its_files_later)
{
	int64_t one = bucket("one"), two = bucket("two"), again;
	char owner[CAIRN_INDEX_OWNER_BYTES];
	struct cairn_index_repo repo;
	struct cairn_index_drop_repo drop_one = {.id = one};
	cairn_index_repo_owner(owner, one);
	uploaded(1, owner);
	uploaded(2, owner);
	uploaded(3, owner); /* uploaded, but without a path */
	uploaded(4, owner_of(two));
	uploaded(2, owner_of(two));
	ck_assert(change_one(one, set("a", 1)));
	ck_assert(change_one(one, set("b", 1)));
	ck_assert(change_one(one, set("c", 2)));
	ck_assert(change_one(two, set("c", 2)));
	ck_assert(change_one(one, set("e", 0)));
	ck_assert_int_eq(cairn_index_drop_repo(ix, &drop_one), CAIRN_OK);
	ck_assert_int_eq(find("ann", "one", &repo), CAIRN_E_NOT_FOUND);
	ck_assert_int_eq(cairn_index_drop_repo(ix, &drop_one), CAIRN_E_NOT_FOUND);
	/* a token that is still valid gives no access to a deleted repository, neither to read nor to upload */
	ck_assert(!fx_sees(ix, owner, 1));
	ck_assert_int_eq(fx_upload(ix, 5, owner, NULL), CAIRN_E_DENIED);
	/* A new repository of the same name does not get the old one's files. */
	ck_assert_int_eq(add(ann, "one", false, &again), CAIRN_OK);
	ck_assert_int_ne(again, one);
	ck_assert_str_eq(paths(again, "", ""), "");
	ck_assert(!change_one(again, set("a", 1)));
	ck_assert(fx_sees(ix, NULL, 1));
	(void)sweep(3600);
	ck_assert(!fx_sees(ix, NULL, 1));
	ck_assert(!fx_sees(ix, NULL, 3));
	ck_assert(fx_sees(ix, owner_of(two), 2));
	ck_assert(fx_sees(ix, owner_of(two), 4));
	ck_assert_str_eq(paths(one, "", ""), "");
	ck_assert_uint_le(sweep(3600),
			  8); /* each bucket may take one call for its piece, and one to find the next bucket */
	/* an old file that never got a path is removed; a file with a path stays */
	(void)sweep(0);
	ck_assert(!fx_sees(ix, owner_of(two), 4) && fx_sees(ix, owner_of(two), 2));
}
END_TEST

START_TEST(an_owner_of_no_repository_is_refused)
{
	ck_assert_int_eq(fx_upload(ix, 1, "hub/7", NULL), CAIRN_E_DENIED);
	uploaded(1, "");
	struct cairn_index_share_file share = {.hash = fx_hash("file", 1), .owner = "hub/7"};
	ck_assert_int_eq(cairn_index_share_file(ix, &share), CAIRN_E_NOT_FOUND);
	int64_t one = bucket("one");
	uploaded(2, owner_of(one));
}
END_TEST

int main(int argc, char **argv)
{
	fx_use_engine(argc, argv);
	Suite *s = suite_create("index_bucket_contract");
	TCase *t = tcase_create("buckets");
	tcase_add_checked_fixture(t, set_up, tear_down);
	tcase_add_test(t, a_listing_of_several_pages);
	tcase_add_test(t, a_name_is_taken_once_in_an_account);
	tcase_add_test(t, names_at_their_limits);
	tcase_add_test(t, moved_set_and_listed);
	tcase_add_test(t, an_object_keeps_its_time_and_content_type);
	tcase_add_test(t, paths_are_listed_in_the_order_of_their_bytes);
	tcase_add_test(t, only_files_of_its_own_are_taken);
	tcase_add_test(t, a_copy_needs_an_object_of_the_source);
	tcase_add_test(t, a_bucket_is_not_older_than_its_newest_batch);
	tcase_add_test(t, files_without_an_object_are_released);
	tcase_add_test(t, files_of_other_owners_stay);
	tcase_add_test(t, lists_show_repositories_that_the_reader_may_see);
	tcase_add_test(t, a_file_that_is_forgotten_takes_its_objects_along);
	tcase_add_test(t, a_deleted_one_is_gone_at_once_and_its_files_later);
	tcase_add_test(t, an_owner_of_no_repository_is_refused);
	suite_add_tcase(s, t);
	return run_suite(s);
}
