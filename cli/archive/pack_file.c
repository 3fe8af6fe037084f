/* The verbs list, get, verify and delete of cairn pack, which work on a pack file. */
#include "archive/readshard/delete.h"
#include "base/fd.h"
#include "base/sys.h"
#include "cli/archive/pack.h"
#include "cli/common/output.h"
#include "cli/common/progress.h"
#include "cli/common/report.h"
#include "hash/crypto.h"
#include "xorb/verifier.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum { PACK_BLOCK_BYTES = 256 * 1024, PACK_KEY_TEXT_BYTES = 2 * CAIRN_READSHARD_KEY_BYTES + 1 };

/* An open pack. */
struct pack_file {
	int fd;
	struct cairn_readshard *shard;
};

static void pack_file_fini(struct pack_file *f)
{
	cairn_readshard_freep(&f->shard);
	cairn_fd_closep(&f->fd);
}

static enum cairn_status pack_file_open(struct pack_file *f, const char *path, int flags, struct cairn_diag *diag)
{
	*f = (struct pack_file){.fd = cairn_sys_open(path, flags | O_CLOEXEC | O_NONBLOCK, 0)};
	if (f->fd < 0)
		return cairn_fail(diag, CAIRN_E_NOT_FOUND, "file.open", CAIRN_NO_OFFSET, "%s", strerror(errno));
	return cairn_readshard_open(&f->shard, f->fd, diag);
}

static const char *pack_key_text(const struct pack_args *args, char out[static PACK_KEY_TEXT_BYTES], const uint8_t *key)
{
	struct cairn_hash hash;
	memcpy(hash.b, key, sizeof(hash.b));
	if (args->raw || args->sha256)
		cairn_hex_text(out, key, CAIRN_READSHARD_KEY_BYTES);
	else
		cairn_hash_text(out, &hash);
	return out;
}

static bool pack_key_parse(const struct pack_args *args, struct cairn_hash *out, const char *text)
{
	return (args->raw || args->sha256 ? cairn_hex_parse(out->b, sizeof(out->b), text, strlen(text))
					  : cairn_hash_parse(out, text, strlen(text))) == CAIRN_OK;
}

static int pack_bad_key(const struct cli_command *command, const char *text)
{
	return cli_usage_error(command, "\"%s\" is not a hash of 64 hexadecimal digits", text);
}

static void pack_print_object(struct report *r, const char *key, const struct cairn_readshard_slot *slot)
{
	if (!r->is_json) {
		cli_line("%s %12" PRIu64 " %" PRIu64 "", key, slot->bytes, slot->bytes_at);
		return;
	}
	cairn_json_open_object(&r->json, NULL);
	cairn_json_put_text(&r->json, "key", key);
	cairn_json_put_u64(&r->json, "bytes", slot->bytes);
	cairn_json_put_u64(&r->json, "offset", slot->bytes_at);
	cairn_json_close(&r->json);
	report_flush(r);
}

int pack_list_file(const struct pack_args *args, const char *path)
{
	CLEANUP(pack_file_fini) struct pack_file f;
	struct cairn_diag diag = {0};
	struct report r;
	uint32_t *slots = NULL, n = 0;
	enum cairn_status status = pack_file_open(&f, path, O_RDONLY, &diag);
	if (status == CAIRN_OK)
		status = cairn_readshard_list(f.shard, &slots, &n, &diag);
	if (status != CAIRN_OK)
		return cli_fail(path, status, &diag);
	report_init(&r, args->json);
	if (args->json) {
		cairn_json_open_object(&r.json, NULL);
		cairn_json_put_u64(&r.json, "written", cairn_readshard_header_of(f.shard)->n_objects);
		cairn_json_open_array(&r.json, "objects");
	}
	for (uint32_t i = 0; i < n && status == CAIRN_OK; i++) {
		struct cairn_readshard_slot slot;
		char key[PACK_KEY_TEXT_BYTES];
		status = cairn_readshard_slot(f.shard, slots[i], &slot, &diag);
		if (status == CAIRN_OK && slot.is_live)
			pack_print_object(&r, pack_key_text(args, key, slot.key), &slot);
	}
	free(slots);
	if (args->json) {
		cairn_json_close(&r.json);
		if (status != CAIRN_OK)
			report_error(&r, path, status, &diag, cli_exit_of(status));
		cairn_json_close(&r.json);
	}
	return report_end(&r, status == CAIRN_OK ? CLI_EXIT_OK : cli_fail(path, status, &diag));
}

/* Writes an object into a file that gets its name when complete, or to standard output. */
static enum cairn_status pack_write(int from_fd, const struct cairn_readshard_slot *slot, int to_fd,
				    struct cairn_diag *diag)
{
	uint8_t block[65536];
	for (uint64_t at = 0; at < slot->bytes;) {
		size_t n = slot->bytes - at < sizeof(block) ? (size_t)(slot->bytes - at) : sizeof(block);
		if (cairn_fd_read_at(from_fd, slot->bytes_at + at, block, n) != CAIRN_OK)
			return cairn_fail(diag, CAIRN_E_IO, "file.read", slot->bytes_at + at, "%s", strerror(errno));
		enum cairn_status status = cairn_fd_write_all(to_fd, block, n);
		if (status != CAIRN_OK)
			return cairn_fail(diag, status, "file.write", CAIRN_NO_OFFSET, "%s", strerror(errno));
		at += n;
	}
	return CAIRN_OK;
}

static enum cairn_status pack_write_file(int from_fd, const struct cairn_readshard_slot *slot, const char *output,
					 struct cairn_diag *diag)
{
	CLEANUP(output_fini) struct output out;
	enum cairn_status status = output_open(&out, output, 0666, diag);
	if (status == CAIRN_OK)
		status = pack_write(from_fd, slot, out.fd, diag);
	return status == CAIRN_OK ? output_commit(&out, diag) : status;
}

int pack_get(const struct cli_command *command, const struct pack_args *args, const char *path, const char *key)
{
	CLEANUP(pack_file_fini) struct pack_file f = {.fd = -1};
	struct cairn_diag diag = {0};
	struct cairn_readshard_slot slot = {0};
	struct cairn_hash hash;
	if (!pack_key_parse(args, &hash, key))
		return pack_bad_key(command, key);
	enum cairn_status status = pack_file_open(&f, path, O_RDONLY, &diag);
	if (status == CAIRN_OK)
		status = cairn_readshard_find(f.shard, hash.b, &slot, &diag);
	if (status == CAIRN_E_NOT_FOUND && f.shard)
		status = cairn_fail(&diag, status, "pack.unknown", CAIRN_NO_OFFSET,
				    "it has no object of this key: %s; list shows the keys", key);
	if (status == CAIRN_OK)
		status = args->output ? pack_write_file(f.fd, &slot, args->output, &diag)
				      : pack_write(f.fd, &slot, STDOUT_FILENO, &diag);
	return status == CAIRN_OK ? CLI_EXIT_OK : cli_fail(path, status, &diag);
}

struct pack_check {
	const struct pack_args *args;
	struct progress progress;
	uint64_t bytes_done;
	uint8_t block[PACK_BLOCK_BYTES];
};

/* Checks an object's contents against its key: a xorb with that root, or bytes with that SHA-256. */
static enum cairn_status pack_check_object(struct pack_check *c, const struct pack_file *f,
					   const struct cairn_readshard_slot *slot, struct cairn_diag *diag)
{
	CLEANUP(cairn_xorb_verifier_freep) struct cairn_xorb_verifier *v = NULL;
	CLEANUP(cairn_sha256_freep) struct cairn_sha256 *d = NULL;
	struct cairn_xorb_summary summary;
	struct cairn_hash key;
	memcpy(key.b, slot->key, sizeof(key.b));
	bool made = c->args->sha256 ? (d = cairn_sha256_new()) != NULL
				    : (v = cairn_xorb_verifier_new(&CAIRN_XORB_UPLOAD_OPTIONS)) != NULL;
	enum cairn_status status = made ? CAIRN_OK : CAIRN_E_NOMEM;
	for (uint64_t at = 0; at < slot->bytes && status == CAIRN_OK;) {
		size_t n = slot->bytes - at < sizeof(c->block) ? (size_t)(slot->bytes - at) : sizeof(c->block), n_data;
		if (cairn_fd_read_at(f->fd, slot->bytes_at + at, c->block, n) != CAIRN_OK)
			return cairn_fail(diag, CAIRN_E_IO, "file.read", slot->bytes_at + at, "%s", strerror(errno));
		if (d)
			cairn_sha256_add(d, c->block, n);
		else
			status = cairn_xorb_verifier_feed(v, c->block, n, &n_data, diag);
		at += n;
		c->bytes_done += n;
		progress_draw(&c->progress, c->bytes_done, c->bytes_done);
	}
	uint8_t digest[CAIRN_SHA256_BYTES];
	if (status == CAIRN_OK && v)
		return cairn_xorb_verifier_end(v, &key, &summary, diag);
	if (status != CAIRN_OK)
		return status;
	cairn_sha256_end(d, digest);
	return memcmp(digest, key.b, sizeof(digest)) == 0
		       ? CAIRN_OK
		       : cairn_fail(diag, CAIRN_E_MISMATCH, "pack.content", slot->bytes_at,
				    "the object's bytes do not have the SHA-256 that is its key");
}

/* Reports an error within an object, with its offset in the file. */
static enum cairn_status pack_check_contents(struct pack_check *c, const struct pack_file *f, struct cairn_diag *diag)
{
	uint32_t *slots, n;
	enum cairn_status status = cairn_readshard_list(f->shard, &slots, &n, diag);
	for (uint32_t i = 0; i < n && status == CAIRN_OK; i++) {
		struct cairn_readshard_slot slot;
		status = cairn_readshard_slot(f->shard, slots[i], &slot, diag);
		if (status != CAIRN_OK || !slot.is_live)
			continue;
		struct cairn_diag inner = {0};
		char key[PACK_KEY_TEXT_BYTES];
		status = pack_check_object(c, f, &slot, &inner);
		if (status == CAIRN_OK)
			continue;
		uint64_t at = inner.has_offset && !c->args->sha256 ? slot.bytes_at + inner.offset : slot.bytes_at;
		(void)cairn_fail(diag, status, inner.rule ? inner.rule : "pack.content", at, "%s: %s",
				 pack_key_text(c->args, key, slot.key),
				 inner.rule ? inner.text : cairn_status_name(status));
		cairn_diag_values(diag, inner.expected, inner.actual);
	}
	free(slots);
	return status;
}

static void pack_print_verdict(struct report *r, const char *path, enum cairn_status status,
			       const struct cairn_readshard_summary *sum, const struct cairn_diag *diag)
{
	char size[REPORT_SIZE_BYTES];
	if (!r->is_json) {
		if (status == CAIRN_OK)
			cli_line("%s: valid, %" PRIu32 " objects of %s, %" PRIu64 " deleted, %" PRIu64
				 " bytes behind the end",
				 path, sum->n_objects, report_size(size, sum->bytes), sum->n_deleted,
				 sum->trailing_bytes);
		return;
	}
	cairn_json_open_object(&r->json, NULL);
	cairn_json_put_text(&r->json, "path", path);
	cairn_json_put_bool(&r->json, "valid", status == CAIRN_OK);
	if (status == CAIRN_OK) {
		cairn_json_put_u64(&r->json, "objects", sum->n_objects);
		cairn_json_put_u64(&r->json, "bytes", sum->bytes);
		cairn_json_put_u64(&r->json, "deleted", sum->n_deleted);
		cairn_json_put_u64(&r->json, "trailing_bytes", sum->trailing_bytes);
	} else {
		report_status(r, "error", status, diag);
	}
	cairn_json_close(&r->json);
	report_flush(r);
}

static int pack_verify_one(const struct pack_args *args, struct report *r, const char *path)
{
	CLEANUP(pack_file_fini) struct pack_file f;
	struct cairn_diag diag = {0};
	struct cairn_readshard_summary sum = {0};
	enum cairn_status status = pack_file_open(&f, path, O_RDONLY, &diag);
	if (status == CAIRN_OK)
		status = cairn_readshard_verify(f.shard, &sum, &diag);
	if (status == CAIRN_OK && !args->skip_data) {
		struct pack_check *c = calloc(1, sizeof(*c));
		status = c ? CAIRN_OK : CAIRN_E_NOMEM;
		if (c) {
			c->args = args;
			progress_init(&c->progress, !args->quiet, sum.bytes, "checked");
			status = pack_check_contents(c, &f, &diag);
			progress_clear(&c->progress);
			free(c);
		}
	}
	pack_print_verdict(r, path, status, &sum, &diag);
	return status == CAIRN_OK ? CLI_EXIT_OK : cli_fail(path, status, &diag);
}

int pack_verify(const struct pack_args *args, char **paths, int n)
{
	struct report r;
	int code = CLI_EXIT_OK;
	report_init(&r, args->json);
	if (args->json) {
		cairn_json_open_object(&r.json, NULL);
		cairn_json_open_array(&r.json, "packs");
	}
	for (int i = 0; i < n; i++) {
		int one = pack_verify_one(args, &r, paths[i]);
		code = one == CLI_EXIT_OK || code == CLI_EXIT_DATA ? code : one;
	}
	if (args->json) {
		cairn_json_close(&r.json);
		cairn_json_close(&r.json);
	}
	return report_end(&r, code);
}

static enum cairn_status pack_delete_one(struct pack_file *f, const struct pack_args *args, const char *key,
					 struct cairn_diag *diag)
{
	struct cairn_hash hash;
	bool zeroed;
	if (!pack_key_parse(args, &hash, key))
		return CAIRN_E_USAGE;
	enum cairn_status status = cairn_readshard_delete(f->shard, f->fd, hash.b, &zeroed, diag);
	return status == CAIRN_E_NOT_FOUND ? cairn_fail(diag, status, "pack.unknown", CAIRN_NO_OFFSET,
							"it has no object of this key: %s; list shows the keys", key)
					   : status;
}

int pack_delete(const struct cli_command *command, const struct pack_args *args, const char *path, char **keys, int n)
{
	CLEANUP(pack_file_fini) struct pack_file f = {.fd = -1};
	struct cairn_diag diag = {0};
	struct cairn_hash hash;
	bool zeroed = true;
	for (int i = 0; i < n; i++)
		if (!pack_key_parse(args, &hash, keys[i]))
			return pack_bad_key(command, keys[i]);
	enum cairn_status status = pack_file_open(&f, path, O_RDWR, &diag);
	if (status == CAIRN_OK && cairn_sys_flock(f.fd, LOCK_EX | LOCK_NB) < 0)
		status = cairn_fail(&diag, CAIRN_E_CONFLICT, "pack.in_use", CAIRN_NO_OFFSET,
				    "a daemon serves from it: let the daemon remove the xorbs (cairn rm, cairn gc), or "
				    "stop the daemon");
	for (int i = 0; i < n && status == CAIRN_OK; i++)
		status = pack_delete_one(&f, args, keys[i], &diag);
	/* this call also zeroes the remains of a deletion that was interrupted */
	if (status == CAIRN_OK)
		status = cairn_readshard_scrub(f.shard, f.fd, &zeroed, &diag);
	if (status != CAIRN_OK)
		return cli_fail(path, status, &diag);
	if (diag.rule)
		cli_error("%s: nothing was zeroed: %s [%s, offset %" PRIu64 "]", path, diag.text, diag.rule,
			  diag.offset);
	if (!args->quiet && !args->json)
		cli_line("%s: %d deleted%s", path, n,
			 zeroed || diag.rule
				 ? ""
				 : "; another program still reads them: run the command again later to zero the bytes");
	if (args->json)
		(void)printf("{\"deleted\":%d,\"zeroed\":%s}\n", n, zeroed ? "true" : "false");
	return fflush(stdout) == 0 ? CLI_EXIT_OK : CLI_EXIT_IO;
}
