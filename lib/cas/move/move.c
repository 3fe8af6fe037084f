#include "cas/move/move.h"

#include "base/crash_point.h"
#include "base/fd.h"
#include "cas/move/move_work.h"
#include "data_dir/hold.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOVE_PASSES_MAX = 8, MOVE_PATH_BYTES = 4200 };

static void move_fini(struct move *m)
{
	cairn_index_transfer_freep(&m->from);
	cairn_index_transfer_freep(&m->to);
	cairn_store_freep(&m->source);
	cairn_data_dir_freep(&m->to_dir);
	cairn_fd_closep(&m->hold_fd);
	free(m->damaged.ids);
	free(m->known.ids);
}

/* --- opening source and target ------------------------------------------------------------------------------------ */

static enum cairn_status move_open_from(struct move *m)
{
	const struct cairn_move_options *o = m->options;
	const struct cairn_store_options store = {.beside = true, .credentials = o->credentials};
	enum cairn_status status = cairn_data_dir_find(o->from, m->diag);
	/* Deleting the source after the move would also delete the target. */
	if (status == CAIRN_OK && cairn_data_dir_has(o->from, o->to))
		return cairn_fail(m->diag, CAIRN_E_USAGE, "move.folder", CAIRN_NO_OFFSET,
				  "%s is in the folder of the store that is moved: name another one", o->to);
	if (status == CAIRN_OK)
		status = cairn_data_dir_places(o->from, m->from_index, m->from_store, m->diag);
	if (status == CAIRN_OK)
		status = cairn_index_transfer_open(&m->from, m->from_index, true, m->diag);
	if (status == CAIRN_OK)
		status = cairn_store_open(&m->source, m->from_store, &store, m->diag);
	/* Block collections, which would remove objects before they are copied. */
	return status == CAIRN_OK ? cairn_hold_take(o->from, &m->hold_fd, m->diag) : status;
}

/* Keeps the secret, so that URLs already given out and answers that clients cached stay valid at the target. */
static enum cairn_status move_place_secret(struct move *m)
{
	char own[MOVE_PATH_BYTES], other[MOVE_PATH_BYTES];
	struct cairn_secret secret, found;
	bool made;
	if (cairn_fd_make_folder(m->options->to, &made) != CAIRN_OK)
		return cairn_fail(m->diag, cairn_fd_make_status(errno), "data_dir.make", CAIRN_NO_OFFSET,
				  "cannot make the data folder %s: %s", m->options->to, strerror(errno));
	if (m->options->secret_file)
		return CAIRN_OK;
	int n = snprintf(own, sizeof(own), "%s/secret", m->options->from);
	int k = snprintf(other, sizeof(other), "%s/secret", m->options->to);
	if (n >= (int)sizeof(own) || k >= (int)sizeof(other))
		return cairn_fail(m->diag, CAIRN_E_USAGE, "data_dir.path", CAIRN_NO_OFFSET,
				  "the data folder's path is too long");
	enum cairn_status status = cairn_secret_load(&secret, own, false, m->diag);
	if (status == CAIRN_OK)
		status = cairn_secret_keep(&secret, other, m->diag);
	if (status == CAIRN_OK)
		status = cairn_secret_load(&found, other, false, m->diag);
	if (status == CAIRN_OK &&
	    (found.len != secret.len || !cairn_secret_equal(found.bytes, secret.bytes, found.len)))
		status = cairn_fail(m->diag, CAIRN_E_CONFLICT, "move.secret", CAIRN_NO_OFFSET,
				    "%s has another secret than %s: name the other store of this move, or "
				    "give --secret-file",
				    m->options->to, m->options->from);
	explicit_bzero(&secret, sizeof(secret));
	explicit_bzero(&found, sizeof(found));
	return status;
}

static enum cairn_status move_open_to(struct move *m)
{
	const struct cairn_move_options *o = m->options;
	char index[CAIRN_DATA_DIR_URL_BYTES], store[CAIRN_DATA_DIR_URL_BYTES];
	enum cairn_status status = move_place_secret(m);
	if (status == CAIRN_OK)
		status = cairn_data_dir_places(o->to, index, store, m->diag);
	if (status != CAIRN_OK)
		return status;
	bool elsewhere = strncmp(index, "sqlite:", strlen("sqlite:")) != 0;
	const struct cairn_data_dir_options dir = {
		.path = o->to,
		.secret_file = o->secret_file,
		.store = o->store,
		.credentials = o->credentials,
		.index = o->index    ? o->index
			 : elsewhere ? index
				     : NULL,
	};
	status = cairn_data_dir_open(&m->to_dir, &dir, m->diag);
	if (status == CAIRN_OK)
		status = cairn_data_dir_places(o->to, index, store, m->diag);
	if (status == CAIRN_OK)
		status = cairn_index_transfer_open(&m->to, index, true, m->diag);
	if (status != CAIRN_OK)
		return status;
	m->target = cairn_data_dir_store(m->to_dir);
	m->names_target =
		cairn_index_names_copies(cairn_data_dir_index(m->to_dir)) && cairn_store_names_copies(m->target);
	m->names_source =
		strncmp(m->from_index, "sqlite:", strlen("sqlite:")) != 0 && cairn_store_names_copies(m->source);
	return CAIRN_OK;
}

/* --- may the store be moved? -------------------------------------------------------------------------------------- */

static enum cairn_status move_is_empty(struct move *m, bool *empty)
{
	static const enum cairn_index_table TABLES[] = {CAIRN_TABLE_XORB, CAIRN_TABLE_FILE, CAIRN_TABLE_ACCOUNT,
							CAIRN_TABLE_API_KEY, CAIRN_TABLE_REPO};
	*empty = true;
	for (size_t i = 0; i < sizeof(TABLES) / sizeof(TABLES[0]) && *empty; i++) {
		CLEANUP(cairn_index_rows_fini) struct cairn_index_rows rows;
		cairn_index_rows_init(&rows, TABLES[i]);
		enum cairn_status status = cairn_index_transfer_page(m->to, TABLES[i], NULL, 0, 1, &rows, m->diag);
		if (status != CAIRN_OK)
			return status;
		*empty = rows.n == 0;
	}
	return CAIRN_OK;
}

/* Decides from the states of both stores. One of them is in use, and a store in use is never overwritten. */
static enum cairn_status move_judge(struct move *m, const struct cairn_index_state *from)
{
	struct cairn_index_state to;
	bool empty = false;
	enum cairn_status status = cairn_index_transfer_state(m->to, &to, m->diag);
	if (status == CAIRN_OK && to.frozen == CAIRN_INDEX_THAWED)
		status = move_is_empty(m, &empty);
	if (status != CAIRN_OK)
		return status;
	if (from->frozen == CAIRN_INDEX_FILLING)
		return cairn_fail(m->diag, CAIRN_E_CONFLICT, "move.source", CAIRN_NO_OFFSET,
				  "%s is being filled from another store itself: finish that move first",
				  m->options->from);
	if (to.frozen == CAIRN_INDEX_THAWED && !empty)
		return cairn_fail(
			m->diag, CAIRN_E_CONFLICT, "move.target", CAIRN_NO_OFFSET,
			"%s is a store in use: give an empty folder, index and store, or one that was moved out",
			m->options->to);
	if (from->frozen == CAIRN_INDEX_MOVED && to.frozen != CAIRN_INDEX_FILLING)
		return cairn_fail(m->diag, CAIRN_E_CONFLICT, "move.source", CAIRN_NO_OFFSET,
				  "%s was moved out before, and to another place than %s", m->options->from,
				  m->options->to);
	return CAIRN_OK;
}

static enum cairn_status move_open(struct move *m, struct cairn_index_state *from)
{
	enum cairn_status status = move_open_from(m);
	if (status == CAIRN_OK)
		status = move_open_to(m);
	if (status == CAIRN_OK)
		status = cairn_index_transfer_state(m->from, from, m->diag);
	return status == CAIRN_OK ? move_judge(m, from) : status;
}

/* --- the switch --------------------------------------------------------------------------------------------------- */

/* Freezes the source. It then accepts no writes, so a pass without changes has compared two whole stores. */
static enum cairn_status move_catch_up(struct move *m)
{
	enum cairn_status status = cairn_index_transfer_freeze(m->from, CAIRN_INDEX_MOVED, m->diag);
	cairn_crash_point(CAIRN_CRASH_MOVE_FROZEN);
	m->is_frozen = true;
	for (unsigned n = 0; status == CAIRN_OK && n < MOVE_PASSES_MAX; n++) {
		status = move_pass(m);
		if (status != CAIRN_OK || m->n_changed == 0)
			return status;
	}
	return status == CAIRN_OK
		       ? cairn_fail(
				 m->diag, CAIRN_E_BUSY, "move.changes", CAIRN_NO_OFFSET,
				 "%s still changes: stop every daemon of an older version, and run the command again",
				 m->options->from)
		       : status;
}

static enum cairn_status move_finish(struct move *m)
{
	struct cairn_index_state state;
	int64_t last[CAIRN_TABLES] = {0};
	enum cairn_status status = move_catch_up(m);
	if (status == CAIRN_OK)
		status = cairn_index_transfer_state(m->from, &state, m->diag);
	for (int i = 0; i < CAIRN_TABLES && status == CAIRN_OK; i++)
		status = cairn_index_transfer_last(m->from, i, &last[i], m->diag);
	if (status != CAIRN_OK)
		return status;
	state.stored_bytes -= (int64_t)m->damaged_bytes;
	state.n_eligible -= (int64_t)m->n_withdrawn;
	status = cairn_index_transfer_end(m->to, &state, last, m->diag);
	cairn_crash_point(CAIRN_CRASH_MOVE_ENDED);
	if (status == CAIRN_OK)
		status = cairn_index_transfer_freeze(m->to, CAIRN_INDEX_THAWED, m->diag);
	m->report->is_finished = status == CAIRN_OK;
	return status;
}

enum cairn_status cairn_move(const struct cairn_move_options *options, struct cairn_move_report *report,
			     struct cairn_diag *diag)
{
	CLEANUP(move_fini) struct move m = {.options = options, .report = report, .diag = diag, .hold_fd = -1};
	struct cairn_index_state from;
	*report = (struct cairn_move_report){.table = ""};
	enum cairn_status status = move_open(&m, &from);
	if (status == CAIRN_OK)
		status = cairn_index_transfer_begin(m.to, diag);
	if (status != CAIRN_OK)
		return status;
	report->total_bytes = (uint64_t)from.stored_bytes;
	m.is_frozen = from.frozen == CAIRN_INDEX_MOVED;
	status = move_pass(&m);
	return status == CAIRN_OK && options->finish ? move_finish(&m) : status;
}

enum cairn_status cairn_move_cancel(const struct cairn_move_options *options, struct cairn_diag *diag)
{
	struct cairn_move_report report = {.table = ""};
	CLEANUP(move_fini) struct move m = {.options = options, .report = &report, .diag = diag, .hold_fd = -1};
	struct cairn_index_state from;
	/* A cancel creates nothing: the folder exists if a move was begun. */
	enum cairn_status status = cairn_data_dir_find(options->to, diag);
	if (status == CAIRN_OK)
		status = move_open(&m, &from);
	return status == CAIRN_OK && from.frozen == CAIRN_INDEX_MOVED
		       ? cairn_index_transfer_freeze(m.from, CAIRN_INDEX_THAWED, diag)
		       : status;
}

enum cairn_status cairn_move_reopen(const char *data_dir, struct cairn_diag *diag)
{
	char index[CAIRN_DATA_DIR_URL_BYTES], store[CAIRN_DATA_DIR_URL_BYTES];
	CLEANUP(cairn_index_transfer_freep) struct cairn_index_transfer *t = NULL;
	struct cairn_index_state state = {.frozen = CAIRN_INDEX_THAWED};
	enum cairn_status status = cairn_data_dir_find(data_dir, diag);
	if (status == CAIRN_OK)
		status = cairn_data_dir_places(data_dir, index, store, diag);
	if (status == CAIRN_OK)
		status = cairn_index_transfer_open(&t, index, true, diag);
	if (status == CAIRN_OK)
		status = cairn_index_transfer_state(t, &state, diag);
	if (status == CAIRN_OK && state.frozen == CAIRN_INDEX_FILLING)
		return cairn_fail(diag, CAIRN_E_CONFLICT, "move.source", CAIRN_NO_OFFSET,
				  "%s is half a store, which is being filled from another one: finish that move",
				  data_dir);
	return status == CAIRN_OK && state.frozen == CAIRN_INDEX_MOVED
		       ? cairn_index_transfer_freeze(t, CAIRN_INDEX_THAWED, diag)
		       : status;
}

const char *cairn_move_frozen(const char *data_dir, const char **state)
{
	char index[CAIRN_DATA_DIR_URL_BYTES], store[CAIRN_DATA_DIR_URL_BYTES];
	enum cairn_index_frozen frozen = CAIRN_INDEX_THAWED;
	if (cairn_data_dir_places(data_dir, index, store, NULL) != CAIRN_OK ||
	    cairn_index_ask_frozen(index, &frozen, NULL) != CAIRN_OK || frozen == CAIRN_INDEX_THAWED)
		return NULL;
	*state = frozen == CAIRN_INDEX_MOVED ? "moved" : "filling";
	return cairn_index_frozen_words(frozen);
}
